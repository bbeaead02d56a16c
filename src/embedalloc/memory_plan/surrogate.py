"""What a table can explain of its field, from the counts of the levels alone.

Three shares multiply: what the rows tell of the levels, what the columns hold of the effects, and
what the numbers keep when they are stored. `docs/memory.md` derives them.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from embedalloc.arrays import Floats, Ints
from embedalloc.memory_plan.prices import NUMBER_FORMATS

#: Points of the integral over hashes.
POINTS = 96
#: Mean of 1/m² over significands m between 1 and 2 whose logarithms are evenly spread.
_MEAN_INVERSE_SQUARE = 0.375 / np.log(2.0)


class GroupedCounts(NamedTuple):
    """Counts of a field's levels, equal ones together, the largest first."""

    values: Floats
    ends: Ints

    @property
    def cardinality(self) -> int:
        """Levels."""
        return int(self.ends[-1]) if self.ends.size else 0

    @property
    def rows(self) -> float:
        """Rows of data."""
        return float(self.values @ np.diff(self.ends, prepend=0))

    def left_from(self, levels: int) -> tuple[Floats, Floats]:
        """Return counts and how many levels have each, without the first so many levels."""
        first = int(np.searchsorted(self.ends, levels, side="right"))
        left = np.diff(self.ends[first:], prepend=levels)
        return self.values[first:], left.astype(np.float64)


def group_counts(counts: Ints) -> GroupedCounts:
    """Group counts that are sorted, the largest first."""
    changes = np.flatnonzero(np.diff(counts)) if counts.size else np.zeros(0, np.int64)
    ends = np.r_[changes, counts.size - 1][: counts.size] + 1
    return GroupedCounts(counts[ends - 1].astype(np.float64), ends.astype(np.int64))


def share_of_rows(counts: GroupedCounts, levels: Ints, buckets: Ints, smoothing: float) -> Floats:
    """Return the share of a field's effect that rows and shared rows can tell of its levels.

    Parameters
    ----------
    counts
        The rows of data of every level.
    levels, buckets
        How many of the most frequent levels have a row of their own, and how many rows the others
        share by hashing. One pair per answer.
    smoothing
        λ, in rows of data: a level with so many tells half of its effect.

    Notes
    -----
    Levels that share a row have one estimate, their shrunken pooled mean. A set with n rows of
    data and Σn_l² = q explains the share (q/n²) · q/(q + λn) of its own effect. This is exact for
    own rows and for one shared row. Where a level meets others by hashing, it explains the mean
    over hashes of n_l/n, times n_l/(n_l + λ): exact where the levels of a set are equally frequent.
    """
    n = counts.values
    own = _add_first(counts, n**2 / (n + smoothing), levels)
    total, squares = (_add_rest(counts, each, levels) for each in (n, n**2))
    with np.errstate(invalid="ignore"):
        common = squares**2 / total / (squares + smoothing * total)
    met = _explain_in_buckets(counts, levels, buckets, smoothing)
    shared = np.where(buckets == 1, common, met)
    return (own + np.where(total > 0, shared, 0.0)) / max(counts.rows, 1.0)


def _explain_in_buckets(
    counts: GroupedCounts, levels: Ints, buckets: Ints, smoothing: float
) -> Floats:
    """Return what levels explain that share rows by hashing, in rows of data, over all hashes.

    The mean of 1/n over hashes is ∫ E[exp(−nt)] dt, where E[exp(−nt)] is a product over levels. The
    integral is a sum over points t that are evenly spread over the orders.
    """
    counts = _merge_close(counts)
    n, each = counts.values, 1.0 / buckets[:, None]
    orders = np.linspace(np.log(1e-6 / counts.rows), np.log(60.0 / n[-1]), POINTS)
    gone = np.exp(-np.outer(n, np.exp(orders)))
    there = 1.0 - gone
    kept, place = np.unique(levels, return_inverse=True)

    def add_rest(worth: Floats) -> Floats:
        return _add_rest(counts, worth, kept)[place]

    # The logarithm of Π(1 − x/b) over all levels, then 1/(1 − x/b) for the level itself.
    product = np.exp(-each * add_rest(there) - each**2 / 2.0 * add_rest(there**2))
    worth, told = (n**3 / (n + smoothing))[:, None] * gone, np.zeros_like(product)
    for power in range(3):
        told += each**power * product * add_rest(worth)
        worth = worth * there
    return told @ np.exp(orders) * (orders[1] - orders[0])


def _merge_close(counts: GroupedCounts) -> GroupedCounts:
    """Put counts together that are within 2 per cent of each other, as their mean."""
    order = np.floor(np.log(counts.values) / np.log(1.02))
    last = np.r_[np.flatnonzero(np.diff(order)), len(order) - 1]
    sizes = np.diff(counts.ends, prepend=0)
    rows = np.add.reduceat(counts.values * sizes, np.r_[0, last[:-1] + 1])
    ends = counts.ends[last]
    return GroupedCounts(rows / np.diff(ends, prepend=0), ends)


def _add_first(counts: GroupedCounts, worth: Floats, levels: Ints) -> Floats:
    """Return what the first so many levels are worth together; one worth for equal counts."""
    everything = _add_rest(counts, worth, np.zeros(1, np.int64))
    return everything - _add_rest(counts, worth, levels)


def _add_rest(counts: GroupedCounts, worth: Floats, levels: Ints) -> Floats:
    """Return what all but the first so many levels are worth together."""
    sizes = np.diff(counts.ends, prepend=0)
    column = (-1,) + (1,) * (worth.ndim - 1)
    sums = np.cumsum((worth * sizes.reshape(column))[::-1], axis=0)[::-1]
    sums = np.concatenate([sums, np.zeros_like(sums[:1])])
    place = np.searchsorted(counts.ends, levels, side="right")
    group = np.minimum(place, len(sizes) - 1)
    here = np.where(place < len(sizes), counts.ends[group] - levels, 0)
    return sums[np.minimum(place + 1, len(sizes))] + here.reshape(column) * worth[group]


def share_of_columns(dimensions: Ints, ranks: Ints, coefficient: float) -> Floats:
    """Return the share of the effects that d columns hold: all but a/d, and all at full rank.

    Parameters
    ----------
    dimensions, ranks
        Columns, and how many hold everything.
    coefficient
        a as a share of the signal s². Where a/d is more than there is, nothing is held.
    """
    held = np.maximum(0.0, 1.0 - coefficient / dimensions)
    return np.where(dimensions >= ranks, 1.0, held)


def full_rank(rows: Ints) -> Ints:
    """Return the columns that hold all effects of so many rows: one less, the mean tells nothing.

    Examples
    --------
    >>> full_rank(np.array([1, 2, 10])).tolist()
    [1, 1, 9]
    """
    return np.maximum(rows - 1, 1)


def share_of_numbers(dimensions: Ints, number_format: str) -> Floats:
    """Return the share of a row's square that is not rounded away.

    Whole numbers of b bits lie evenly between a row's smallest and largest number, which are
    exact. The square of what the d − 2 others are off by is Δ²/12 on average, with Δ the row's
    range over 2^b − 1. The numbers of a row are taken as normal.
    """
    stored = NUMBER_FORMATS[number_format]
    if stored.significand:
        lost = 4.0 ** (1 - stored.significand) / 12.0 * _MEAN_INVERSE_SQUARE
        return np.full(len(dimensions), 1.0 - lost)
    between = np.maximum(dimensions - 2, 0) / np.maximum(dimensions, 1)
    ranges = np.array([mean_squared_range(d) for d in dimensions.tolist()])
    return 1.0 - between * ranges / (12.0 * (2.0**stored.bits - 1) ** 2)


@cache
def mean_squared_range(count: int) -> float:
    """Return the mean square of the range of so many standard normal numbers.

    Examples
    --------
    >>> round(mean_squared_range(2), 6)  # the square of a normal number with variance 2
    2.0
    """
    if count < 2:
        return 0.0
    # The smallest number is x, and the range r: with steps of one size x + r is on the grid too.
    step, places, ranges = 0.025, 721, 641
    grid = -9.0 + step * np.arange(places + ranges - 1)
    below = np.array([math.erfc(-each / math.sqrt(2.0)) / 2.0 for each in grid])
    density = np.exp(-(grid[:places] ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
    between = sliding_window_view(below, places) - below[:places]
    within = count * (density * between ** (count - 1)).sum(axis=1) * step
    r = step * np.arange(ranges)
    height = 2.0 * r * np.clip(1.0 - within, 0.0, 1.0)
    # Simpson's rule.
    return float(step / 3.0 * (4.0 * height[1::2].sum() + 2.0 * height[2:-1:2].sum() + height[-1]))
