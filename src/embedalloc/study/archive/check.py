"""Whether an archive is whole and true: digests, receipts, source, and cells made anew."""

import json
import random
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import yaml

from embedalloc.study.archive.container import ArchiveError, Files
from embedalloc.study.archive.contents import (
    CONFIGURATION,
    MANIFEST,
    METADATA,
    SOURCE,
    digest_bytes,
    read_manifest,
)
from embedalloc.study.archive.crate import digests_in
from embedalloc.study.settings.configuration import read_configuration
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.workflow.agreement import TOLERANCE, differing_columns, without_clocks
from embedalloc.study.workflow.dependencies import code_of
from embedalloc.study.workflow.places import PROJECT
from embedalloc.study.workflow.receipts import MADE, RECEIPTS, Receipt, read_receipt

#: What the bits of a number can depend on, besides the code; the number of cores is not among it.
_BITS = ("system", "processor", "linear algebra")


class Cell(NamedTuple):
    """A job that makes tables: its receipt and where that lies."""

    place: str
    receipt: Receipt

    @property
    def tables(self) -> list[str]:
        """The tables that the job makes."""
        return [name for name in self.receipt["outputs"] if name.endswith(".parquet")]

    @property
    def name(self) -> str:
        """The name of the job, as in simulate_exp2/n500_0."""
        return self.place.removeprefix(f"{RECEIPTS.as_posix()}/").removesuffix(".json")


def find_damage(files: Files) -> Iterator[str]:
    """Yield which files are not as the archive's own lists say."""
    if missing := {MANIFEST, METADATA, CONFIGURATION} - {*files}:
        yield from (f"{name}: missing" for name in sorted(missing))
        return
    listed, found = read_manifest(files[MANIFEST]), {*files} - {MANIFEST}
    yield from (f"{name}: missing" for name in sorted({*listed} - found))
    yield from (f"{name}: surplus, no list names it" for name in sorted(found - {*listed}))
    for name in sorted(found & {*listed}):
        if digest_bytes(files[name]) != listed[name]:
            yield f"{name}: changed, its digest is not the one listed"
    try:
        described = digests_in(files[METADATA])
    except (ValueError, LookupError, TypeError, RecursionError):
        yield f"{METADATA}: not a description of files"
        return
    listed = {name: digest for name, digest in listed.items() if name != METADATA}
    for name in sorted({*listed} | {*described}):
        if listed.get(name) != described.get(name):
            yield f"{name}: {METADATA} and {MANIFEST} do not say the same of it"


def unpack(files: Files, folder: Path) -> None:
    """Write all files below a folder; their names have been checked."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def read_cells(files: Files, folder: Path) -> list[Cell]:
    """Return the receipts of an unpacked archive; refuse a damaged one."""
    cells = []
    for name in sorted(files):
        if name.startswith(f"{RECEIPTS.as_posix()}/"):
            receipt = read_receipt(folder / name)
            if receipt is None:
                raise ArchiveError(f"{name}: not a receipt of this study")
            cells.append(Cell(name, receipt))
    return cells


def find_broken_links(files: Files, cells: Iterable[Cell]) -> Iterator[str]:
    """Yield which results no receipt accounts for, and which receipts account for other files."""
    digests = {name: digest_bytes(content) for name, content in files.items()}
    made: set[str] = set()
    for cell in cells:
        for name, digest in cell.receipt["outputs"].items():
            made.add(name)
            if digests.get(name) != digest:
                yield f"{name}: not what {cell.name} made"
        for name, digest in cell.receipt["inputs"].items():
            here = digests.get(name) or digests.get(f"{SOURCE}/{name}")
            if here is None and name.split("/")[0] in MADE:
                yield f"{name}: missing, and {cell.name} was made from it"
            elif here not in (None, digest):
                yield f"{name}: not what {cell.name} was made from"
    results = {name for name in files if name.split("/")[0] in MADE}
    for name in sorted(results - made):
        if not name.startswith(RECEIPTS.as_posix()):
            yield f"{name}: no receipt says what made it"


def find_other_source(cells: Iterable[Cell], project: Path) -> Iterator[str]:
    """Yield the rules whose code in a project is not what made their results."""
    made_by: dict[str, set[str]] = {}
    for cell in cells:
        made_by.setdefault(cell.receipt["rule"], set()).add(cell.receipt["code"])
    for rule, codes in made_by.items():
        try:
            here = code_of(rule, project)
        except (OSError, ValueError, SyntaxError):
            here = ""
        if codes != {here}:
            yield rule


def read_values(files: Files) -> dict[str, Any]:
    """Return the configuration of an archive, checked as any other."""
    try:
        values: dict[str, Any] = yaml.safe_load(files[CONFIGURATION])
        read_configuration(values)
    except (yaml.YAMLError, ConfigError, ValueError) as error:
        lines = " ".join(str(error).split())
        raise ArchiveError(f"{CONFIGURATION}: {lines}") from None
    return values


def archived_blocks(values: dict[str, Any]) -> dict[str, Any]:
    """Return what archived results depend on, with keys that a file may leave out."""
    return read_configuration(values).model_dump(mode="json", exclude={"benchmarks", "multiverse"})


def find_other_settings(values: Any, others: Any, place: str = "") -> Iterator[str]:
    """Yield the keys in which two configurations differ, with both values."""
    if isinstance(values, dict) and isinstance(others, dict):
        for key in sorted({*values, *others}):
            inside = f"{place}.{key}" if place else str(key)
            yield from find_other_settings(values.get(key), others.get(key), inside)
    elif values != others:
        yield f"{place} is {json.dumps(values)}, not {json.dumps(others)}"


def choose(cells: Sequence[Cell], named: Collection[str], count: int, seed: int) -> list[Cell]:
    """Return the cells to be made anew: those named, or some at random."""
    known = {cell.name: cell for cell in cells if _is_comparable(cell)}
    if unknown := sorted({*named} - {*known}):
        raise ArchiveError(f"no cell {unknown[0]!r}; there are {', '.join(sorted(known))}")
    if named:
        return [known[name] for name in sorted(named)]
    drawn = random.Random(seed).sample(sorted(known), min(count, len(known)))
    return [known[name] for name in sorted(drawn)]


def _is_comparable(cell: Cell) -> bool:
    """Return whether a job makes tables of anything but times."""
    return bool(cell.tables) and cell.receipt["rule"] != "time_heart"


def run_workflow(folder: Path, values: dict[str, Any], *arguments: str) -> str:
    """Run this project's workflow in an unpacked archive; return what it said."""
    settings = folder / "check.yaml"
    if not (PROJECT / values["heart"]["data"]).exists():
        # Patients of another machine; their table is in the archive.
        default = yaml.safe_load((PROJECT / "config.yaml").read_text(encoding="utf-8"))
        values = values | {"heart": values["heart"] | {"data": default["heart"]["data"]}}
    settings.write_text(yaml.safe_dump(values), encoding="utf-8")
    command = [sys.executable, "-m", "snakemake", "--configfile", str(settings)]
    command += ["--snakefile", str(PROJECT / "Snakefile"), "--directory", str(folder)]
    done = subprocess.run(
        [*command, "--nocolor", "--cores", "1", *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode != 0:
        raise ArchiveError("the workflow failed:\n" + done.stdout[-2000:])
    return done.stdout


#: What a run says of a result that its settings did not make.
OTHER_SETTINGS = "made with other settings"


def find_stale(folder: Path, values: dict[str, Any], cells: Iterable[Cell]) -> dict[str, str]:
    """Return the rules that this project would run again with the archive's results, and why."""
    made = [name for cell in cells for name in cell.receipt["outputs"]]
    said = run_workflow(folder, values, "--dry-run", "--", *made)
    return dict(re.findall(r"^(\w+) runs again: (.+)$", said, flags=re.MULTILINE))


def rebuild(folder: Path, values: dict[str, Any], cells: Sequence[Cell]) -> None:
    """Make the tables of some cells anew, from the archive's own inputs."""
    for cell in cells:
        for name in cell.receipt["outputs"]:
            (folder / name).unlink()
    rules = sorted({cell.receipt["rule"] for cell in cells})
    targets = [next(iter(cell.receipt["outputs"])) for cell in cells]
    run_workflow(folder, values, "--allowed-rules", *rules, "--", *targets)


class Comparison(NamedTuple):
    """Whether the tables of a cell agree with those made anew, and how, in words."""

    agrees: bool
    words: str


def compare(cell: Cell, files: Files, folder: Path) -> Comparison:
    """Compare the tables of a cell: the same bits on the same kind of processor and versions."""
    now = read_receipt(folder / cell.place)
    if now is None or now["settings"] != cell.receipt["settings"]:
        return Comparison(False, f"{CONFIGURATION} is another configuration than made it")
    surroundings = _describe_other(cell.receipt, now)
    equal = True
    for name in cell.tables:
        then, again = (
            without_clocks(pd.read_parquet(source))
            for source in (BytesIO(files[name]), folder / name)
        )
        equal &= then.equals(again)
        columns = [] if equal else differing_columns(then, again)
        if columns or not (equal or surroundings):
            where = f"differs in {', '.join(columns)}" if columns else "differs in last bits"
            return Comparison(False, f"{name} {where}" + (surroundings and f" ({surroundings})"))
    if equal:
        return Comparison(True, "the same bits")
    return Comparison(True, f"the same within {TOLERANCE:g} ({surroundings})")


def _describe_other(then: Receipt, now: Receipt) -> str:
    """Return in words in which processor or versions two jobs differ; nothing if in none."""
    pairs = [(what, then["machine"].get(what), now["machine"].get(what)) for what in _BITS]
    names = sorted({*then["versions"], *now["versions"]})
    pairs += [(name, then["versions"].get(name), now["versions"].get(name)) for name in names]
    return ", ".join(f"{what} {old}, here {new}" for what, old, new in pairs if old != new)
