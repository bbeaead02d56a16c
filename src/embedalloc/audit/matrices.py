"""Exact search for the confusion matrices that explain printed metrics.

A printed value is a closed interval with integer ends over an integer scale, and every decision is
made in integers. Arrays of candidates are narrowed count by count: first TP, then FN, then FP.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Ints

Bools = NDArray[np.bool_]

MAX_DECIMALS = 6  # with LARGEST_N this keeps every int64 product below 2**63
LARGEST_N = 10_000
PIECE = 1 << 15  # elements handled at once: bounds the memory, changes no result
FLOAT_MARGIN = 1e-9  # a float MCC is wrong by about 1e-15; nearer to a border, integers decide


@dataclass(frozen=True)
class Cell:
    """A printed value as the closed interval ``low/scale <= x <= high/scale``."""

    column: str
    printed: str
    low: int
    high: int
    scale: int
    unit: int


class Explanation(NamedTuple):
    """A test set by size and positives, with the number of unexplained cells of each row."""

    n: int
    positives: int
    dropped: tuple[int, ...]


def _spread(low: Ints, high: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield (index i, value) for all whole values in ``low[i] .. high[i]``, piece by piece."""
    size = np.maximum(high - low + 1, 0)
    filled = np.flatnonzero(size)
    cuts = np.flatnonzero(np.diff(np.cumsum(size[filled]) // PIECE)) + 1
    for part in np.split(filled, cuts) if filled.size else []:
        start = low[part] - np.cumsum(size[part]) + size[part]
        owner, offset = np.repeat(part, size[part]), np.repeat(start, size[part])
        yield owner, np.arange(owner.size) + offset


def _bound_rest(cell: Cell | None, part: Ints, most: Ints, zero_ok: bool) -> tuple[Ints, Ints]:
    """Bounds on ``rest >= 0`` such that ``part / (part + rest)`` lies in the cell's interval."""
    if cell is None:
        return np.zeros_like(part), most
    low = np.maximum(-(part * (cell.high - cell.scale) // cell.high), 0)
    if not (zero_ok and cell.low <= 0):
        low = np.where(part == 0, np.maximum(low, 1), low)  # 0/0 is undefined
    if cell.low <= 0:
        return low, most
    return low, np.minimum(part * (cell.scale - cell.low) // cell.low, most)


def _mcc_fits(cell: Cell, tp: Ints, fp: Ints, fn: Ints, tn: Ints, zero_ok: bool) -> Bools:
    top, square = tp * tn - fp * fn, (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    value = top / np.sqrt(np.maximum(square, 1))
    low, high = cell.low / cell.scale, cell.high / cell.scale
    fits: Bools = (value >= low) & (value <= high)
    for i in np.flatnonzero(np.minimum(abs(value - low), abs(value - high)) < FLOAT_MARGIN):
        # Squares that keep their sign keep the order, and need no root.
        middle = int(top[i]) * abs(int(top[i])) * cell.scale**2
        lower, upper = (x * abs(x) * int(square[i]) for x in (cell.low, cell.high))
        fits[i] = lower <= middle <= upper
    return np.where(square > 0, fits, zero_ok and cell.low <= 0 <= cell.high)


def _bound_by_mcc(cell: Cell, n: Ints, tp: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Bounds on FN, a little too wide, that MCC sets if FP lies in ``low .. high``, or the reverse.

    With n, TP and one of FP, FN fixed, MCC falls as the other rises, and equals v at the root of a
    quadratic equation. The float root only saves work: `_mcc_fits` decides.
    """

    def root(value: float, known: Ints) -> NDArray[np.float64]:
        marked, weight = tp + known, value**2 * (n - tp - known)
        inner = weight * (weight + 4 * tp * known / np.maximum(marked, 1))
        shift = weight - math.copysign(1, value) * np.sqrt(inner)
        return np.asarray(n * (2 * tp + shift) / (2 * (marked + weight)) - tp)

    least = np.floor(root(min(cell.high / cell.scale, 1.0), high) - 0.5)
    most = np.ceil(root(max(cell.low / cell.scale, -1.0), low) + 0.5)
    return least.astype(np.int64), most.astype(np.int64)


class _Bounds(NamedTuple):
    """Test sets by number and TP, with the ends of what FP, FN and FP + FN can be."""

    i: Ints
    tp: Ints
    fp_low: Ints
    fp_high: Ints
    fn_low: Ints
    fn_high: Ints
    sum_low: Ints
    sum_high: Ints


def _bound_counts(
    by_metric: Mapping[str, Cell], n: Ints, p_low: Ints, p_high: Ints, zero_ok: bool
) -> Iterator[_Bounds]:
    """Yield the bounds that all metrics but MCC set; for each FN within, some FP fits.

    The positives lie in ``p_low[i] .. p_high[i]``. With TP fixed, precision bounds FP, recall
    bounds FN, accuracy and F1 bound FP + FN.
    """
    wrong_low, wrong_high = np.zeros_like(n), n
    if accuracy := by_metric.get("accuracy"):
        wrong_low = np.maximum(-(n * (accuracy.high - accuracy.scale) // accuracy.scale), 0)
        wrong_high = np.minimum(n * (accuracy.scale - accuracy.low) // accuracy.scale, n)
    tp_high = np.where(wrong_low <= wrong_high, np.minimum(p_high, n - wrong_low), -1)
    for i, tp in _spread(np.zeros_like(n), tp_high):
        room = n[i] - tp
        fp_low, fp_high = _bound_rest(by_metric.get("precision"), tp, room, zero_ok)
        fn_low, fn_high = _bound_rest(by_metric.get("recall"), tp, p_high[i] - tp, zero_ok)
        sum_low, sum_high = _bound_rest(by_metric.get("f1"), 2 * tp, room, zero_ok)
        sum_low = np.maximum(sum_low, wrong_low[i])
        sum_high = np.minimum(sum_high, wrong_high[i])
        fn_low = np.maximum(np.maximum(fn_low, p_low[i] - tp), sum_low - fp_high)
        fn_high = np.minimum(fn_high, sum_high - fp_low)
        alive = (sum_low <= sum_high) & (fp_low <= fp_high) & (fn_low <= fn_high)
        bounds = _Bounds(i, tp, fp_low, fp_high, fn_low, fn_high, sum_low, sum_high)
        yield _Bounds(*(each[alive] for each in bounds))


def find_matrices(
    cells: Sequence[Cell], n: Ints, p_low: Ints, p_high: Ints, zero_ok: bool
) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
    """Yield (i, TP, FP, FN) of all matrices of size ``n[i]`` that explain all the cells.

    The positives lie in ``p_low[i] .. p_high[i]``. Only MCC must be computed for each matrix.
    """
    by_metric = {cell.column: cell for cell in cells}
    mcc = by_metric.get("mcc")
    prune = mcc if mcc and not (zero_ok and mcc.low <= 0 <= mcc.high) else None
    for bounds in _bound_counts(by_metric, n, p_low, p_high, zero_ok):
        i, tp, fp_low, fp_high, fn_low, fn_high, sum_low, sum_high = bounds
        if prune:
            low, high = _bound_by_mcc(prune, n[i], tp, fp_low, fp_high)
            fn_low, fn_high = np.maximum(fn_low, low), np.minimum(fn_high, high)
        for j, fn in _spread(fn_low, fn_high):
            least = np.maximum(fp_low[j], sum_low[j] - fn)
            most = np.minimum(fp_high[j], sum_high[j] - fn)
            if prune:
                low, high = _bound_by_mcc(prune, n[i[j]], tp[j], fn, fn)
                least, most = np.maximum(least, low), np.minimum(most, high)
            for k, fp in _spread(least, most):
                found = i[j[k]], tp[j[k]], fp, fn[k]
                if mcc:
                    tn = n[found[0]] - sum(found[1:])
                    fits = _mcc_fits(mcc, *found[1:], tn, zero_ok)
                    found = found[0][fits], found[1][fits], found[2][fits], found[3][fits]
                yield found


def _mark_explained(
    row: Sequence[Cell], dropped: int, sizes: Ints, wanted: Bools, zero_ok: bool
) -> Bools:
    """Mark the wanted (n, positives) where some matrix explains all but ``dropped`` cells."""
    if dropped == len(row):
        return wanted
    found = np.zeros_like(wanted)
    at = np.flatnonzero(wanted.any(axis=1))
    p_low = wanted[at].argmax(axis=1)
    p_high = wanted.shape[1] - 1 - wanted[at, ::-1].argmax(axis=1)
    for kept in combinations(row, len(row) - dropped):
        by_metric = {cell.column: cell for cell in kept}
        if "mcc" in by_metric:
            for i, tp, _, fn in find_matrices(kept, sizes[at], p_low, p_high, zero_ok):
                found[at[i], tp + fn] = True
            continue
        # Without MCC every FN between its bounds will do: count where such ranges begin and end.
        edges = np.zeros((len(at), wanted.shape[1] + 1), dtype=np.int32)
        for each in _bound_counts(by_metric, sizes[at], p_low, p_high, zero_ok):
            np.add.at(edges, (each.i, each.tp + each.fn_low), 1)
            np.add.at(edges, (each.i, each.tp + each.fn_high + 1), -1)
        found[at] |= np.cumsum(edges, axis=1)[:, :-1] > 0
    return found & wanted


def find_best_explanations(
    rows: Sequence[Sequence[Cell]], sizes: Ints, most: int, known: int | None, zero_ok: bool
) -> tuple[int, list[Explanation]]:
    """Find the fewest unexplained cells, if at most ``most``, for test sets of the given sizes.

    Each row and pair (n, positives) has a lower bound on its unexplained cells, at first 0. Only
    pairs with the least sum of bounds are looked at, and a bound rises where no matrix reaches it:
    a row that fits badly costs time only where the other rows fit well.
    """
    positives = np.arange(sizes[-1] + 1)
    allowed = (positives <= sizes[:, None]) & (True if known is None else positives == known)
    bound = np.zeros((len(rows), *allowed.shape), dtype=np.int16)
    settled = np.zeros(bound.shape, dtype=np.bool_)
    total = np.zeros(allowed.shape, dtype=np.int16)
    for cost in range(most + 1):
        for r, row in enumerate(rows):
            for dropped in range(min(cost, len(row)) + 1):
                wanted = allowed & (total == cost) & ~settled[r] & (bound[r] == dropped)
                if wanted.any():
                    found = _mark_explained(row, dropped, sizes, wanted, zero_ok)
                    settled[r] |= found
                    bound[r] += wanted & ~found
                    total += wanted & ~found
        at, p = np.nonzero(allowed & (total == cost) & settled.all(axis=0))
        if at.size:
            costs = map(tuple, bound[:, at, p].T.tolist())
            return cost, list(map(Explanation, sizes[at].tolist(), p.tolist(), costs))
    return most + 1, []
