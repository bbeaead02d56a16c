"""Splitting the patients and preparing them, with everything learned on training rows only."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.study.heart.patients import CATEGORICAL, NUMERIC

RowNumbers = NDArray[np.intp]


@dataclass(frozen=True)
class Preprocessor:
    """What the training rows taught: levels, most frequent levels, medians, means and spreads.

    A level that the training rows do not have gets the one code reserved for unseen levels, the
    last of its predictor.
    """

    levels: tuple[Floats, ...]
    most_frequent: Floats
    medians: Floats
    means: Floats
    spreads: Floats

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Codes per categorical predictor, the reserved one included."""
        return tuple(len(levels) + 1 for levels in self.levels)

    def codes(self, frame: pd.DataFrame) -> Ints:
        """Return the codes of the categorical predictors, one column each."""
        raw = frame[list(CATEGORICAL)].to_numpy(np.float64)
        filled = np.where(np.isnan(raw), self.most_frequent, raw)
        columns = []
        for values, levels in zip(filled.T, self.levels, strict=True):
            place = np.searchsorted(levels, values)
            known = levels[np.minimum(place, len(levels) - 1)] == values
            columns.append(np.where(known, place, len(levels)))
        return np.column_stack(columns).astype(np.int64)

    def numbers(self, frame: pd.DataFrame) -> Floats:
        """Return the numeric predictors, imputed and standardised."""
        raw = frame[list(NUMERIC)].to_numpy(np.float64)
        filled = np.where(np.isnan(raw), self.medians, raw)
        return (filled - self.means) / self.spreads


def fit_preprocessor(training: pd.DataFrame) -> Preprocessor:
    """Learn from training rows: most frequent level, median, then mean and spread."""
    levels, most_frequent = [], []
    for name in CATEGORICAL:
        present = training[name].dropna().to_numpy(np.float64)
        values, counts = np.unique(present, return_counts=True)
        levels.append(values)
        most_frequent.append(values[np.argmax(counts)])
    raw = training[list(NUMERIC)].to_numpy(np.float64)
    medians = np.nanmedian(raw, axis=0)
    filled = np.where(np.isnan(raw), medians, raw)
    spreads = filled.std(axis=0)
    return Preprocessor(
        tuple(levels),
        np.array(most_frequent),
        medians,
        filled.mean(axis=0),
        np.where(spreads > 0, spreads, 1.0),
    )


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
