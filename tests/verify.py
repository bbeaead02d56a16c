"""The same numbers whichever way the study is run: `make verify`.

Runs the smoke configuration in several ways, each in an empty folder, and compares every parquet
table to the last bit (all columns but timings) and every figure to the last byte. Once more it runs
with the code of another processor: there numbers may differ by a tolerance, and nothing else.
"""

import platform
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

from embedalloc.study.heart.table1 import METRIC_LABELS, SECONDS
from embedalloc.study.workflow.agreement import TOLERANCE, differing_columns
from tests.digests import digests, file_digests, tables
from tests.places import SMOKE
from tests.workflow.runner import complete

FIGURES = ("figures/*.pdf", "figures/*.png")
#: What a user's environment may ask for; the workflow must not listen.
EIGHT_THREADS = {
    f"{library}_NUM_THREADS": "8" for library in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB")
}


@dataclass(frozen=True)
class Way:
    """One way to run the same study."""

    cores: int
    arguments: Sequence[str] = ()
    #: Variables of its own; with None the run is a fork, see `tests.workflow.runner`.
    environment: dict[str, str] | None = field(default_factory=dict)
    #: Settings that divide the work and must not change a number.
    chunks: dict[str, dict[str, int]] = field(default_factory=dict)


WAYS = {
    "two cores": Way(2),
    "one core, eight threads asked for": Way(1, environment=EIGHT_THREADS),
    "two cores, other chunks, the last experiments first": Way(
        2,
        arguments=("--prioritize", "figures/table1.md", "figures/exp3_performance.pdf"),
        chunks={
            "exp1": {"replications_per_job": 2},
            "exp2": {"replications_per_job": 1},
            "exp3": {"replications_per_job": 1},
            "heart": {"splits_per_job": 3},
        },
    ),
}


def other_processor() -> Way:
    """Return a run with code for the oldest processors of this family, which rounds differently."""
    core = {"x86_64": "Nehalem", "aarch64": "ARMV8"}.get(platform.machine(), "")
    vectors = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    kernels = {
        "OPENBLAS_CORETYPE": core,
        "NPY_DISABLE_CPU_FEATURES": " ".join(vectors),
        "NUMBA_CPU_NAME": "generic",
    }
    return Way(2, environment={name: value for name, value in kernels.items() if value})


def run(way: Way, directory: Path) -> None:
    """Run the smoke configuration in one way; the output is shown only if it fails."""
    config = directory / "config.smoke.yaml"
    settings = yaml.safe_load(SMOKE.read_text())
    for block, values in way.chunks.items():
        settings[block] |= values
    config.write_text(yaml.safe_dump(settings))
    complete(directory, *way.arguments, cores=way.cores, config=config, environment=way.environment)


def numbers(directory: Path) -> dict[str, str]:
    """Return the digests of what must be the same in every way."""
    return digests(directory) | file_digests(directory, *FIGURES)


def differences(expected: dict[str, str], found: dict[str, str]) -> list[str]:
    """Return the names that differ or that only one side has."""
    names = sorted({*expected, *found})
    return [name for name in names if expected.get(name) != found.get(name)]


def disagreements(expected: Path, found: Path) -> list[str]:
    """Return what differs by more than two processors may, of all that the second run made.

    These are numbers beyond the tolerance, and any count, allocation, verdict or word; the text of
    `claims.md` stands in the table of claims, that of Table 1 in a file of its own.
    """
    mine, theirs = tables(expected), tables(found)
    odd = [name for name in theirs if name not in mine]
    for name in theirs.keys() & mine.keys():
        columns = differing_columns(mine[name].to_pandas(), theirs[name].to_pandas())
        odd += [f"{name}: {column}" for column in columns]
    for name in ("figures/table1.md", "figures/table1_paired.md"):
        if (found / name).exists():
            texts = (without_times((place / name).read_text()) for place in (expected, found))
            odd += [name] if len({*texts}) > 1 else []
    return sorted(odd)


def without_times(text: str) -> str:
    """Return a Markdown table without the column that a clock measured."""
    rows = [re.split(r" ?\| ?", line) for line in text.splitlines()]
    label = METRIC_LABELS[SECONDS]
    timed = {row.index(label) for row in rows if label in row}
    return "\n".join(
        "|".join(cell for place, cell in enumerate(row) if place not in timed) for row in rows
    )


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        ways = WAYS | {"another processor": other_processor()}
        places = {name: Path(folder, str(number)) for number, name in enumerate(ways)}
        for name, way in ways.items():
            print(f"{name} ...", flush=True)
            places[name].mkdir()
            run(way, places[name])
        first, *others = places
        found = {name: numbers(place) for name, place in places.items()}
        odd = {name: differences(found[first], found[name]) for name in others}
        *_, last = others
        rounded = [name for name in odd[last] if name in found[last]]
        odd[last] = sorted({*odd[last]} - {*rounded}) + disagreements(places[first], places[last])
    for name in (name for name in others if odd[name]):
        print(f"'{name}' differs from '{first}' in:", *odd[name], sep="\n  ", file=sys.stderr)
    if any(odd.values()):
        return 1
    print(f"{len(found[first])} tables and figures are identical in {len(WAYS)} ways;")
    print(f"by the code of {last} {len(rounded)} are rounded differently, within {TOLERANCE:g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
