"""What a comparison measures on rows that were held out: the loss, and a score that people know."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from threadpoolctl import threadpool_limits

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.references import (
    NAMES,
    fit_references,
    measure_every_class,
    measure_losses,
)
from embedalloc.data.table import FieldData

#: The score beside the loss, by task.
SCORES = {"binary": "AUC", "multiclass": "accuracy", "regression": "R²"}


class Measured(NamedTuple):
    """Mean loss and score of one model."""

    loss: float
    score: float


def measure(losses_of: Callable[[FieldData], Floats], test: FieldData) -> Measured:
    """Return the loss of a model on held-out rows, and its score.

    The losses say all that the scores need: that of a class is −log of its probability. So each
    row is judged once for every class that it could have.
    """
    every = losses_of(_ask_every_class(test))
    return score_losses(every, test)


def measure_yardsticks(case: DataCase, test: FieldData) -> dict[str, Measured]:
    """Return the models without embeddings, trained on the case's training rows."""
    losses_of = measure_losses if test.task.kind == "regression" else measure_every_class
    effects = [case.design.fields[name].read(test.codes[name]) for name in case.names]
    with threadpool_limits(1):
        found = {
            name: score_losses(losses_of(model, inputs, test).T.ravel(), test)
            for name, (model, inputs) in fit_references(case, test, effects)
        }
    return {name: found[name] for name in NAMES}


def _ask_every_class(test: FieldData) -> FieldData:
    """Return the rows once for every class; without weights, which belong to the true one."""
    plain = replace(test, weights=None)
    if test.task.kind == "regression":
        return plain
    classes = len(test.task.classes)
    rows = np.tile(np.arange(len(test)), classes)
    asked = np.repeat(np.arange(classes), len(test)).astype(test.target.dtype)
    return replace(plain.take(rows), target=asked)


def score_losses(losses: Floats, test: FieldData) -> Measured:
    """Return loss and score from the losses of every row, and of every class it could have."""
    weights = np.ones(len(test)) if test.weights is None else test.weights
    target = test.target
    if test.task.kind == "regression":
        spread = np.average((target - np.average(target, weights=weights)) ** 2, weights=weights)
        mean = float(np.average(losses, weights=weights))
        return Measured(mean, 1 - mean / spread if spread > 0 else float("nan"))
    by_class = losses.reshape(len(test.task.classes), len(test))
    seen = by_class[target.astype(np.intp), np.arange(len(test))]
    mean = float(np.average(seen, weights=weights))
    if test.task.kind == "multiclass":
        right = by_class.argmin(axis=0) == target
        return Measured(mean, float(np.average(right, weights=weights)))
    return Measured(mean, area_under_curve(-by_class[1] + by_class[0], target > 0.5))


def area_under_curve(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """Return the share of pairs of a positive and another row that scores put in order."""
    count = int(positive.sum())
    others = len(positive) - count
    if not count or not others:
        return float("nan")
    ranks = rankdata(scores)
    return float((ranks[positive].sum() - count * (count + 1) / 2) / (count * others))
