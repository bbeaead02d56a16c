"""Singular values of one table over its rows and columns: Gram matrix beside decompositions.

One product of the table's transpose with another table of its shape is what a pass over the data
costs; a product of square matrices with as many operations shows what the machine can do at best.
Both are measured in the same turns.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.linalg import svdvals
from sklearn.utils.extmath import randomized_svd

from embedalloc.arrays import Floats
from embedalloc.spectra import singular_values_by_rows
from embedalloc.streams import stream
from embedalloc.study.settings.benchmarks import Decomposition
from tests.benchmarks.measure import OURS, Case, Contestant, require_close
from tests.benchmarks.summary import PEAK, PRODUCT

#: The Gram matrix squares the singular values, which leaves about eight digits of the largest.
TOLERANCE = 1e-7
#: Floating-point operations in a run, at least, so that the clock can tell.
LEAST_WORK = 2e8


def cases(cell: Decomposition) -> list[Case]:
    """Return tables that grow in their rows, and tables that grow in their columns."""
    by_rows = [_case("rows", n, n, cell.columns, cell) for n in cell.rows]
    by_columns = [_case("columns", r, cell.rows_of_wide_tables, r, cell) for r in cell.widths]
    return by_rows + by_columns


def _case(name: str, size: int, rows: int, columns: int, cell: Decomposition) -> Case:
    rng = stream(1, "benchmark", "decomposition", rows, columns)
    table = rng.standard_normal((rows, columns)) * np.arange(1, columns + 1) ** -0.5
    side = round((rows * columns**2) ** (1 / 3))
    other, square = table[::-1].copy(), rng.standard_normal((side, side))
    kept = max(1, columns // 4)
    product = 2.0 * rows * columns**2  # operations of the table's transpose with a table
    often = max(1, round(LEAST_WORK / product))
    seldom = max(1, often // 8)

    def sketch() -> Floats:
        values = randomized_svd(table, kept, n_iter=7, random_state=0)[1]
        return np.asarray(values)

    return Case(
        name,
        size,
        [
            _repeated(OURS, lambda: singular_values_by_rows(blocks(table, cell.block)), often),
            _repeated("numpy SVD", lambda: np.linalg.svd(table, full_matrices=False)[1], seldom),
            _repeated("scipy svdvals", lambda: svdvals(table), seldom),
            _repeated("randomized SVD", sketch, seldom),
            _repeated(PRODUCT, lambda: table.T @ other, often),
            _repeated(PEAK, lambda: square @ square, often),
        ],
        agree,
    )


def blocks(table: Floats, size: int) -> list[Floats]:
    """Return the table cut into blocks of rows."""
    return [table[start : start + size] for start in range(0, len(table), size)]


def agree(results: Mapping[str, Any]) -> None:
    """Refuse spectra that differ; the sketch only finds the leading values, and roughly."""
    ours = results[OURS]
    for name in ("numpy SVD", "scipy svdvals"):
        require_close(results[name], ours, name, relative=TOLERANCE)
    leading = results["randomized SVD"]
    require_close(leading, ours[: len(leading)], "randomized SVD", relative=0.05)


def _repeated(name: str, run: Callable[[], Any], times: int) -> Contestant:
    """Do the same several times and return the last result."""

    def repeat() -> Any:
        for _ in range(times - 1):
            run()
        return run()

    return Contestant(name, repeat, times)
