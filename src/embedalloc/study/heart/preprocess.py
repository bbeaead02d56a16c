"""Splitting the patients and preparing them, with everything learned on training rows only."""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.study.heart.patients import CATEGORICAL, NUMERIC

RowNumbers = NDArray[np.intp]


class Preprocessor:
    """What the training rows teach: most frequent levels and codes, medians, means and spreads.

    A level that the training rows do not have gets the one code reserved for unseen levels, the
    last of its predictor. The `cardinalities` of the categorical predictors include it.
    """

    # Written out, for scikit-learn takes longer to load than all this takes; tests compare them.
    def __init__(self, training: pd.DataFrame) -> None:
        columns = _values(training, CATEGORICAL).T
        counted = [np.unique(known[~np.isnan(known)], return_counts=True) for known in columns]
        self._levels = [pd.Index(levels) for levels, _ in counted]
        self._usual = [levels[counts.argmax()] for levels, counts in counted]
        self.cardinalities = tuple(len(levels) + 1 for levels in self._levels)
        numbers = _values(training, NUMERIC)
        self._medians = np.nanmedian(numbers, axis=0)
        filled = _fill(numbers, self._medians)
        self._means, spreads = filled.mean(axis=0), filled.std(axis=0)
        # A predictor that is the same in all rows is only centred.
        self._spreads = np.where(np.ptp(filled, axis=0) > 0, spreads, 1.0)

    def codes(self, frame: pd.DataFrame) -> Ints:
        """Return the codes of the categorical predictors, one column each."""
        filled = _fill(_values(frame, CATEGORICAL), self._usual)
        columns = zip(self._levels, filled.T, strict=True)
        codes = np.column_stack([levels.get_indexer(column) for levels, column in columns])
        unseen = np.array(self.cardinalities) - 1
        return np.where(codes < 0, unseen, codes)

    def numbers(self, frame: pd.DataFrame) -> Floats:
        """Return the numeric predictors, imputed and standardised."""
        filled = _fill(_values(frame, NUMERIC), self._medians)
        return (filled - self._means) / self._spreads


def _fill(values: Floats, usual: ArrayLike) -> Floats:
    """Return the values with each missing one replaced by its column's usual value."""
    return np.where(np.isnan(values), usual, values)


def _values(frame: pd.DataFrame, names: tuple[str, ...]) -> Floats:
    return frame[list(names)].to_numpy(np.float64)


def stratified_split(
    rng: np.random.Generator, rows: RowNumbers, labels: Ints, share: float
) -> tuple[RowNumbers, RowNumbers]:
    """Split rows into (rest, part) so that both keep the shares of the labels.

    The part has round(share × rows) rows; what rounding leaves over goes to the label with the
    largest remainder. Both come back sorted.
    """
    classes, counts = np.unique(labels[rows], return_counts=True)
    wanted = counts * share
    take = np.floor(wanted).astype(int)
    missing = round(len(rows) * share) - int(take.sum())
    take[np.argsort(-(wanted - take), kind="stable")[:missing]] += 1
    part = np.concatenate(
        [
            rng.permutation(rows[labels[rows] == label])[:count]
            for label, count in zip(classes, take, strict=True)
        ]
    )
    return np.setdiff1d(rows, part), np.sort(part)
