"""Spectra of a table set of real size: 26 tables, most rows in a few of them, read from disk.

Ours reads blocks of rows and keeps one Gram matrix; the peers read each table whole.
"""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.spectra import singular_values_by_rows
from embedalloc.streams import stream
from embedalloc.study.settings.benchmarks import TableSet
from tests.benchmarks.measure import OURS, Case, Contestant, require_close

#: Squaring leaves about eight digits of the largest value of a table.
TOLERANCE = 1e-6
Table = tuple[Path, int]


def cases(cell: TableSet) -> list[Case]:
    """Return one set of tables on disk; the files go when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="benchmark-tables-")
    width, block = cell.width, cell.block
    tables = write_tables(Path(folder.name), table_sizes(cell.tables, cell.rows), width)

    def ours() -> list[Floats]:
        return [singular_values_by_rows(blocks(table, width, block)) for table in tables]

    def by(function: Callable[[Floats], Floats]) -> list[Floats]:
        return [function(whole(table, width)) for table in tables]

    def agree(results: Mapping[str, Any]) -> None:
        assert folder.name  # the files live as long as this function
        for found, expected in zip(results[OURS], results["numpy SVD"], strict=True):
            require_close(found, expected, "ours", relative=TOLERANCE)

    return [
        Case(
            "table set",
            cell.rows,
            [
                Contestant(OURS, ours),
                Contestant("numpy SVD", lambda: by(_thin_svd)),
                Contestant("numpy svdvals", lambda: by(np.linalg.svdvals)),
            ],
            agree,
        )
    ]


def _thin_svd(table: Floats) -> Floats:
    return np.linalg.svd(table, full_matrices=False)[1]


def table_sizes(tables: int, rows: int) -> list[int]:
    """Split the rows into tables whose sizes fall by a constant factor; at least 4 rows each."""
    shares = 0.6 ** np.arange(tables)
    return [max(4, int(size)) for size in rows * shares / shares.sum()]


def write_tables(folder: Path, sizes: list[int], width: int) -> list[Table]:
    """Write tables of float32 and return where they are, with their rows."""
    scale = np.arange(1, width + 1, dtype=np.float32) ** -0.5
    tables = []
    for number, rows in enumerate(sizes):
        rng, path = stream(1, "benchmark", "table", number), folder / f"{number}.f32"
        with path.open("wb") as file:
            for start in range(0, rows, 65536):
                count = min(65536, rows - start)
                drawn = rng.standard_normal((count, width), dtype=np.float32)
                (drawn * scale).tofile(file)
        tables.append((path, rows))
    return tables


def blocks(table: Table, width: int, size: int) -> Iterator[NDArray[np.float32]]:
    """Read a table in blocks of rows."""
    path, rows = table
    with path.open("rb") as file:
        for start in range(0, rows, size):
            count = min(size, rows - start) * width
            yield np.fromfile(file, dtype=np.float32, count=count).reshape(-1, width)


def whole(table: Table, width: int) -> Floats:
    """Read a table at once."""
    return np.fromfile(table[0], dtype=np.float32).reshape(-1, width).astype(np.float64)
