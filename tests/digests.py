"""Fingerprints of what a run computed, the same for the same numbers to the last bit."""

import hashlib
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from embedalloc.study.workflow.agreement import CLOCKS

#: What a clock measured, besides columns: rows of Table 1 and claims decided by them.
TIMED_METRICS = {"seconds_per_epoch"}
TIMED_CLAIMS = {"heart-cost", "heart-one-hot-fastest", "heart-balance"}


def tables(directory: str | Path) -> dict[str, pa.Table]:
    """Return all rows of every parquet table below a directory, but for timings.

    The parts that a table was computed in count as one table: its name has a star in place of
    their numbers.
    """
    parts: dict[str, list[tuple[int, Path]]] = {}
    for path in Path(directory).rglob("*.parquet"):
        # Files of Snakemake's, and data that lie in a copy of the project.
        if {".snakemake", "workflow"} & {*path.parts} or path.name.startswith(".part-"):
            continue
        family, number = re.fullmatch(r"(.*?)(\d*)\.parquet", path.name).groups()
        name = f"{family}{'*' if number else ''}.parquet"
        shown = path.relative_to(directory).with_name(name).as_posix()
        parts.setdefault(shown, []).append((int(number or 0), path))
    return {
        name: pa.concat_tables(_without_timings(path) for _, path in sorted(paths))
        for name, paths in sorted(parts.items())
    }


def digests(directory: str | Path) -> dict[str, str]:
    """Return a digest of every table below a directory."""
    return {name: _digest(table) for name, table in tables(directory).items()}


def file_digests(directory: str | Path, *patterns: str) -> dict[str, str]:
    """Return a digest of the bytes of every file that matches."""
    return {
        path.relative_to(directory).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for pattern in patterns
        for path in sorted(Path(directory).glob(pattern))
    }


def provenance_of(path: str | Path) -> dict[str, str | int]:
    """Return contract, digest of the settings and seed that a table of the study carries."""
    return json.loads(pq.read_schema(path).metadata[b"embedalloc"])


def _without_timings(path: Path) -> pa.Table:
    table = pq.ParquetFile(path).read()
    table = table.drop_columns([name for name in table.column_names if name in CLOCKS])
    for column, timed in (("metric", TIMED_METRICS), ("claim", TIMED_CLAIMS)):
        if column in table.column_names:
            table = table.filter(
                pa.array([name not in timed for name in table[column].to_pylist()])
            )
    return table.replace_schema_metadata(None)


def _digest(table: pa.Table) -> str:
    # The written form of a double gives back each of its bits.
    return hashlib.sha256(repr((table.schema, table.to_pydict())).encode()).hexdigest()
