"""One digest per parquet file of a run, of every number but measured times."""

import hashlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: Columns that hold measured times.
TIMES = ("seconds_per_epoch", "cpu_seconds_per_epoch")
#: Rows that are about measured times: column and its values.
ABOUT_TIMES = {"metric": TIMES, "claim": ("heart-cost", "heart-one-hot-fastest", "heart-balance")}


def without_times(table: pa.Table) -> pa.Table:
    """Drop a table's columns and rows of measured times."""
    for column, values in ABOUT_TIMES.items():
        if column in table.column_names:
            table = table.filter(pc.invert(pc.is_in(table[column], pa.array(values))))
    return table.drop_columns([name for name in TIMES if name in table.column_names])


def digest(path: Path) -> str:
    """Digest of a table's names, types and values, in order."""
    table = without_times(pq.read_table(path, partitioning=None))
    total = hashlib.sha256()
    for field, column in zip(table.schema, table.columns, strict=True):
        # Python prints every float so that it reads back as the same bits.
        total.update(f"{field.name} {field.type} {column.to_pylist()}\n".encode())
    return total.hexdigest()


def digests(directory: Path) -> dict[str, str]:
    """Digest of every parquet file below a run's results and figures."""
    files = [
        path
        for folder in ("results", "figures")
        for path in (directory / folder).rglob("*.parquet")
    ]
    return {str(path.relative_to(directory)): digest(path) for path in sorted(files)}
