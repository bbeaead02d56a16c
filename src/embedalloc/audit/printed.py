"""Find the confusion matrices behind a printed table of binary classification metrics.

A printed value v with k decimals fits an exact value x if ``|x - v| <= 0.5 * 10**-k``, so both
usual ways to round a tie are accepted; "1" has k = 0. All decisions are made in integers. A metric
with a zero denominator is undefined and fits nothing, unless ``undefined_as_zero`` is given.
F1 is ``2 TP / (2 TP + FP + FN)``, thus 0 and not undefined if TP = 0 and there are errors.
Averages over classes ("macro", "weighted") are other metrics and are not covered.
"""

import math
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import NamedTuple

import numpy as np

from embedalloc.audit.matrices import (
    LARGEST_N,
    MAX_DECIMALS,
    Cell,
    Explanation,
    find_best_explanations,
    find_matrices,
)
from embedalloc.audit.metrics_file import ALIASES, METRICS, AuditError, find_metric

PAIRS_AT_ONCE = 100_000  # pairs (n, positives) searched together: bounds the memory


class ConfusionMatrix(NamedTuple):
    """Counts of true positives, false positives, false negatives and true negatives."""

    tp: int
    fp: int
    fn: int
    tn: int


@dataclass(frozen=True)
class UnexplainedCell:
    """A printed cell that ``matrix``, which explains more of its row than others, contradicts.

    ``implied`` is the value of the matrix in the unit of the table, None where undefined. Both
    are None if no cell of the row is explained, as then no matrix is singled out.
    """

    row: str
    column: str
    printed: str
    implied: float | None
    matrix: ConfusionMatrix | None

    def __str__(self) -> str:
        decimals = len(self.printed.partition(".")[2])
        implied = "nothing" if self.implied is None else f"{self.implied:.{decimals}f}"
        return f"{self.column} printed {self.printed}, implied {implied}"


@dataclass(frozen=True)
class Solution:
    """One test set, with every best matrix of each row and the cells these leave unexplained."""

    n: int
    positives: int
    matrices: Mapping[str, tuple[ConfusionMatrix, ...]]
    unexplained: tuple[UnexplainedCell, ...]

    def of_first_matrices(self) -> tuple[UnexplainedCell, ...]:
        """Return the cells that the first matrix of each row, or none, leaves unexplained."""
        first = {row: matrices[0] if matrices else None for row, matrices in self.matrices.items()}
        return tuple(cell for cell in self.unexplained if cell.matrix == first[cell.row])


@dataclass(frozen=True)
class Audit:
    """All test sets with the fewest unexplained cells, smallest first.

    ``n_unexplained`` counts each row once, also where a solution has several matrices for it. If
    ``complete`` is false, the list was cut and larger test sets may do as well. Without solutions
    (see ``max_unexplained``), ``n_unexplained`` is only known to be at least the number given.

    Attributes
    ----------
    solutions
        Test sets, each with the matrices of every row.
    n_unexplained, n_cells
        Cells that no solution explains, and all cells.
    n_min, n_max
        Sizes of the test sets that were tried.
    complete
        Whether the list of solutions is whole.

    Examples
    --------
    >>> found = audit_table({"forest": {"accuracy": "0.803", "f1": "0.800", "mcc": "0.613"}}, n=61)
    >>> found.n_unexplained, [(each.n, each.positives) for each in found.solutions]
    (0, [(61, 28), (61, 32)])
    >>> found.solutions[0].matrices["forest"]
    (ConfusionMatrix(tp=24, fp=8, fn=4, tn=25),)
    """

    solutions: tuple[Solution, ...]
    n_unexplained: int
    n_cells: int
    n_min: int
    n_max: int
    complete: bool

    def __str__(self) -> str:
        searched = f"{self.n_cells} cells; test sets of {self.n_min} to {self.n_max}"
        if not self.solutions:
            return f"{searched}\nevery one leaves at least {self.n_unexplained} unexplained"
        first, *others = self.solutions
        more = "" if self.complete else " or more (the list is cut)"
        width = max(map(len, first.matrices))
        lines = [
            searched,
            f"fewest unexplained cells: {self.n_unexplained}",
            f"test sets that reach this: {len(self.solutions)}{more}",
            f"smallest: n = {first.n} with {first.positives} positives",
            f"  {'':{width}}     TP    FP    FN    TN",
        ]
        for row, matrices in first.matrices.items():
            counts = "".join(f" {count:>5}" for count in (matrices or ["????"])[0])
            extra = f"  (or {len(matrices) - 1} more)" if len(matrices) > 1 else ""
            lines.append(f"  {row:{width}} {counts}{extra}")
        lines += [f"  ! {cell.row}: {cell}" for cell in first.of_first_matrices()]
        if others:
            listed = ", ".join(f"{s.n}/{s.positives}" for s in others[:10])
            listed += ", ..." if len(others) > 10 else ""
            lines += textwrap.wrap(f"also n/positives: {listed}", 79, subsequent_indent="  ")
        return "\n".join(lines)


def implied_metrics(tp: int, fp: int, fn: int, tn: int) -> dict[str, Fraction | float | None]:
    """Return all metrics of one confusion matrix.

    Parameters
    ----------
    tp, fp, fn, tn
        True positives, false positives, false negatives and true negatives.

    Returns
    -------
    dict
        By metric, None where it is undefined; all but MCC are exact fractions.

    Examples
    --------
    >>> implied_metrics(tp=24, fp=4, fn=8, tn=25)["recall"]
    Fraction(3, 4)
    """
    for name, count in zip(ConfusionMatrix._fields, (tp, fp, fn, tn), strict=True):
        if type(count) is not int or count < 0:
            raise AuditError(f"{name} = {count!r}: an int of at least 0 is needed")

    def ratio(part: int, whole: int) -> Fraction | None:
        return Fraction(part, whole) if whole else None

    top = tp * tn - fp * fn
    square = ratio(top * abs(top), (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    return {
        "accuracy": ratio(tp + tn, tp + fp + fn + tn),
        "precision": ratio(tp, tp + fp),
        "recall": ratio(tp, tp + fn),
        "f1": ratio(2 * tp, 2 * tp + fp + fn),
        "mcc": None if square is None else math.copysign(math.sqrt(abs(square)), square),
    }


def _parse_cell(row: str, column: str, value: object, percent: bool) -> Cell:
    metric, text = find_metric(column), str(value).strip()
    unit, shift = (100, 2) if percent else (1, 0)
    where = f"row {row!r}, column {column!r}, value {text!r}"
    if metric is None:
        raise AuditError(f"{where}: unknown metric; known are {', '.join(ALIASES)}")
    if not isinstance(value, str | Decimal):
        raise AuditError(
            f"{where}: text or Decimal is needed; {type(value).__name__} does not "
            "keep the printed decimals"
        )
    if not re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+", text):
        raise AuditError(f"{where}: a plain decimal number such as 0.620 is needed")
    lowest = -unit if metric == "mcc" else 0
    if not lowest <= Decimal(text) <= unit:
        hint = "" if percent or Decimal(text) < 0 else "; values in percent need the option percent"
        raise AuditError(f"{where}: {lowest} to {unit} is allowed{hint}")
    decimals = len(text.partition(".")[2]) + shift
    if decimals > MAX_DECIMALS:
        raise AuditError(f"{where}: at most {MAX_DECIMALS - shift} decimals are allowed")
    digits = int(text.replace(".", ""))
    return Cell(metric, text, 2 * digits - 1, 2 * digits + 1, 2 * 10**decimals, unit)


def _parse_row(row: str, cells: Mapping[str, object], percent: bool) -> tuple[Cell, ...]:
    parsed = tuple(_parse_cell(row, column, value, percent) for column, value in cells.items())
    columns = [cell.column for cell in parsed]
    if len(set(columns)) < len(columns):
        raise AuditError(f"row {row!r}: two columns for one metric among {', '.join(cells)}")
    if "accuracy" not in columns and len(columns) < 2:
        raise AuditError(
            f"row {row!r}: only {', '.join(columns) or 'no metric'} given; accuracy "
            f"or two of {', '.join(METRICS[1:])} are needed"
        )
    return parsed


def _list_solution(
    table: Mapping[str, Sequence[Cell]], found: Explanation, zero_ok: bool, most: int
) -> Solution | None:
    """List all best matrices of each row for one test set; None where there are more than most."""
    n, p = np.array([found.n]), np.array([found.positives])
    listed = 0
    matrices: dict[str, tuple[ConfusionMatrix, ...]] = {}
    missed: list[UnexplainedCell] = []
    for (name, row), dropped in zip(table.items(), found.dropped, strict=True):
        best: dict[ConfusionMatrix, Sequence[Cell]] = {}
        for kept in combinations(row, len(row) - dropped) if dropped < len(row) else ():
            for _, *counts in find_matrices(kept, n, p, p, zero_ok):
                listed += len(counts[0])
                if listed > most:
                    return None
                for tp, fp, fn in np.stack(counts, axis=1).tolist():
                    best[ConfusionMatrix(tp, fp, fn, found.n - tp - fp - fn)] = kept
        matrices[name] = tuple(sorted(best))
        for matrix in matrices[name]:
            for cell in (c for c in row if c not in best[matrix]):
                value = implied_metrics(*matrix)[cell.column]
                implied = None if value is None else float(value * cell.unit)
                missed.append(UnexplainedCell(name, cell.column, cell.printed, implied, matrix))
        if not best:
            missed += [UnexplainedCell(name, c.column, c.printed, None, None) for c in row]
    return Solution(found.n, found.positives, matrices, tuple(missed))


def audit_table(
    rows: Mapping[str, Mapping[str, str | Decimal]],
    *,
    n_min: int = 1,
    n_max: int = 2000,
    n: int | None = None,
    positives: int | None = None,
    percent: bool = False,
    undefined_as_zero: bool = False,
    max_solutions: int = 1000,
    max_matrices: int = 100_000,
    max_unexplained: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Audit:
    """Find the test sets and confusion matrices that best explain a table of printed metrics.

    Parameters
    ----------
    rows : mapping of model name to mapping of metric to printed value
        Text or Decimal, to keep the number of decimals. All rows share one test set.
    n_min : int
        Smallest test set tried.
    n_max : int
        Largest test set tried.
    n, positives : int, optional
        Size and positives of the test set, where known; ``n`` replaces n_min and n_max.
    percent : bool
        All values are printed in percent (83.7 for 0.837).
    undefined_as_zero : bool
        Count a metric with a zero denominator as 0, as some libraries print it.
    max_solutions : int
        Where to cut the list of test sets. The fewest unexplained cells hold for the whole range
        even then.
    max_matrices : int
        The list is also cut where the matrices are so many in all (accuracies alone permit
        millions).
    max_unexplained : int, optional
        Give up, with no solution, where more cells than this stay unexplained. A table that fits
        nowhere (more than a cell per row) takes minutes without this limit, seconds with a low one.
    progress : callable, optional
        Told how many more sizes were searched, from time to time.

    Returns
    -------
    Audit
        Test sets with their matrices, smallest first; printed, it sums them up.

    Raises
    ------
    AuditError
        If a cell or an option is not usable, or if the matrices of the smallest test set alone are
        more than ``max_matrices``.

    Examples
    --------
    >>> printed = {"accuracy": "0.803", "precision": "0.857", "recall": "0.750", "f1": "0.800"}
    >>> print(audit_table({"forest": printed}, n_max=100))
    4 cells; test sets of 1 to 100
    fewest unexplained cells: 0
    test sets that reach this: 2
    smallest: n = 61 with 32 positives
                 TP    FP    FN    TN
      forest     24     4     8    25
    also n/positives: 76/40
    """
    n_min, n_max = (n_min, n_max) if n is None else (n, n)
    if not 1 <= n_min <= n_max <= LARGEST_N:
        raise AuditError(f"n from {n_min} to {n_max}: 1 <= n_min <= n_max <= {LARGEST_N} is needed")
    if positives is not None and not 0 <= positives <= n_max:
        raise AuditError(f"positives = {positives}: 0 to {n_max} is allowed")
    if min(max_solutions, max_matrices) < 1 or not rows or (max_unexplained or 0) < 0:
        raise AuditError(
            "at least one row, max_solutions and max_matrices of at least 1, and max_unexplained "
            "of at least 0 are needed"
        )
    table = {name: _parse_row(name, cells, percent) for name, cells in rows.items()}
    n_cells = sum(map(len, table.values()))
    sizes = np.arange(max(n_min, positives or 0), n_max + 1)
    best = n_cells if max_unexplained is None else min(n_cells, max_unexplained)
    explanations: list[Explanation] = []
    cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // PAIRS_AT_ONCE)) + 1
    for block in np.split(sizes, cuts):
        full = len(explanations) > max_solutions  # then only better ones replace the list
        cost, found = find_best_explanations(
            list(table.values()), block, best - full, positives, undefined_as_zero
        )
        if found:
            best, explanations = cost, (explanations if cost == best else []) + found
        if progress is not None:
            progress(len(block))
    solutions: list[Solution] = []
    room = max_matrices
    for each in explanations[:max_solutions]:
        solution = _list_solution(table, each, undefined_as_zero, room)
        if solution is None:
            break
        solutions.append(solution)
        room -= sum(map(len, solution.matrices.values()))
    if explanations and not solutions:
        first = explanations[0]
        raise AuditError(
            f"n = {first.n} with {first.positives} positives alone has more than {max_matrices} "
            "matrices: the table says too little; give more metrics, or raise max_matrices"
        )
    fewest = best if explanations else best + 1
    complete = len(solutions) == len(explanations)
    return Audit(tuple(solutions), fewest, n_cells, n_min, n_max, complete)
