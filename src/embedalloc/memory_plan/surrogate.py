"""What a table can explain of its field, from the counts of the levels alone.

Three shares multiply: what the rows tell of the levels, what the columns hold of the effects, and
what the numbers keep when they are stored. `docs/memory.md` derives them.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.integrate import simpson
from scipy.special import ndtr

from embedalloc.arrays import Floats, Ints
from embedalloc.memory_plan.prices import NUMBER_FORMATS

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
    Levels that share a row have one estimate, their shrunken pooled mean. A set S with n rows of
    data and Σn_l² = q explains the share (q/n²) · q/(q + λn) of its own effect. Own rows and one
    shared row are exact; for buckets the set that a level meets is taken at its mean over hashes.
    """
    answer = np.zeros(len(levels))
    for kept in np.unique(levels).tolist():
        wanted = np.flatnonzero(levels == kept)
        value, left = counts.left_from(kept)
        answer[wanted] = _share_of_shared(value, left, buckets[wanted], smoothing)
    own = _cumulate(counts, counts.values**2 / (counts.values + smoothing), levels)
    return (own + answer) / max(counts.rows, 1.0)


def _share_of_shared(value: Floats, left: Floats, buckets: Ints, smoothing: float) -> Floats:
    """Return what the shared rows explain, in rows of data."""
    total, squares = float(value @ left), float(value**2 @ left)
    if total == 0.0:
        return np.zeros(len(buckets))
    each = 1.0 / np.asarray(buckets, dtype=np.float64)[:, None]
    met = value + (total - value) * each
    met_squares = value**2 + (squares - value**2) * each
    told = value / met * met_squares / (met_squares + smoothing * met)
    return told @ (value * left)


def _cumulate(counts: GroupedCounts, worth: Floats, levels: Ints) -> Floats:
    """Return what the first so many levels are worth together."""
    place = np.minimum(np.searchsorted(counts.ends, levels, side="left"), len(worth) - 1)
    before = np.r_[0, counts.ends[:-1]]
    whole = np.r_[0.0, np.cumsum(worth * (counts.ends - before))]
    return whole[place] + (levels - before[place]) * worth[place]


def share_of_columns(dimensions: Ints, coefficient: float, signal: float) -> Floats:
    """Return the share of the effects that d columns hold: all but a/d of the signal s².

    It is 0 where a/d is more than there is.
    """
    return np.maximum(0.0, 1.0 - coefficient / signal / dimensions)


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
    x, r = np.linspace(-9.0, 9.0, 721), np.linspace(0.0, 16.0, 641)
    density = np.exp(-(x**2) / 2.0) / np.sqrt(2.0 * np.pi)
    within = count * (density * (ndtr(x + r[:, None]) - ndtr(x)) ** (count - 1)).sum(1)
    beyond = np.clip(1.0 - within * (x[1] - x[0]), 0.0, 1.0)
    return float(simpson(2.0 * r * beyond, x=r))
