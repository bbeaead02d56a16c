"""Splitting the patients and preparing them, with everything learned on training rows only."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from embedalloc.arrays import Floats, Ints
from embedalloc.study.heart.patients import CATEGORICAL, NUMERIC

RowNumbers = NDArray[np.intp]


class Preprocessor:
    """What the training rows teach: most frequent levels and codes, medians, means and spreads.

    A level that the training rows do not have gets the one code reserved for unseen levels, the
    last of its predictor. The `cardinalities` of the categorical predictors include it.
    """

    def __init__(self, training: pd.DataFrame) -> None:
        impute = SimpleImputer(strategy="most_frequent")
        encode = OrdinalEncoder(
            dtype=np.int64, handle_unknown="use_encoded_value", unknown_value=-1
        )
        self._encoder = make_pipeline(impute, encode).fit(_values(training, CATEGORICAL))
        self._levels = np.array([len(levels) for levels in encode.categories_])
        self.cardinalities = tuple((self._levels + 1).tolist())
        scale = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
        self._scaler = scale.fit(_values(training, NUMERIC))

    def codes(self, frame: pd.DataFrame) -> Ints:
        """Return the codes of the categorical predictors, one column each."""
        codes = self._encoder.transform(_values(frame, CATEGORICAL))
        return np.where(codes < 0, self._levels, codes)

    def numbers(self, frame: pd.DataFrame) -> Floats:
        """Return the numeric predictors, imputed and standardised."""
        numbers: Floats = self._scaler.transform(_values(frame, NUMERIC))
        return numbers


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
