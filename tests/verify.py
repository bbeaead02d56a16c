"""The same numbers whichever way the study is run: `make verify`.

Runs the smoke configuration in several ways, each in an empty folder, and compares every parquet
table to the last bit (all columns but timings) and every figure to the last byte.
"""

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from tests.digests import digests, file_digests
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
    environment: dict[str, str] = field(default_factory=dict)
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


def main() -> int:
    found: dict[str, dict[str, str]] = {}
    for name, way in WAYS.items():
        with tempfile.TemporaryDirectory() as directory:
            print(f"{name} ...", flush=True)
            run(way, Path(directory))
            found[name] = numbers(Path(directory))
    first, *others = found
    failed = False
    for other in others:
        odd = differences(found[first], found[other])
        failed |= bool(odd)
        if odd:
            print(f"'{other}' differs from '{first}' in:\n  " + "\n  ".join(odd), file=sys.stderr)
    if not failed:
        print(f"{len(found[first])} tables and figures are identical in {len(WAYS)} ways")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
