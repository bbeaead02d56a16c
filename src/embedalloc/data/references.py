"""Models without embeddings: what a planned network must beat to be worth its trouble."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import OneHotEncoder
from threadpoolctl import threadpool_limits

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.effects import expand_numbers
from embedalloc.data.table import FieldData

#: Probabilities below this count as this: the loss stays finite.
SMALLEST_PROBABILITY = 1e-6
#: Rounds of gradient boosting and steps of a logistic regression, where these are affordable, ...
ROUNDS, STEPS = 100, 200
#: ... which means so many rows times inputs times classes in all rounds or steps.
MOST_WORK_OF_ROUNDS, MOST_WORK_OF_STEPS = 2e10, 1e11
#: A tree looks at 255 intervals of every input in 31 leaves, whatever the rows.
CELLS_OF_A_TREE = 255 * 31
#: With fewer rounds gradient boosting is no yardstick and left out.
FEWEST_ROUNDS = 3


def measure_references(case: DataCase, test: FieldData | None = None) -> dict[str, Floats]:
    """Return the loss of every validation row, or of other ones, by the name of the model.

    The models are scikit-learn's, untuned. The first and the last read the numbers and the
    shrunken effect of every field, the second one column per level.
    """
    if test is None:
        new, told = case.validation, [case.validation_effects[name] for name in case.names]
    else:
        new, told = test, [case.design.fields[name].read(test.codes[name]) for name in case.names]
    known = case.training
    inputs = _join(known, [case.training_effects[name] for name in case.names]), _join(new, told)
    encoder = OneHotEncoder(handle_unknown="ignore").fit(_stack_codes(known))
    levels = tuple(
        sparse.hstack(
            [encoder.transform(_stack_codes(rows)), sparse.csr_array(expand_numbers(rows.numbers))]
        ).tocsr()
        for rows in (known, new)
    )
    regression = known.task.kind == "regression"
    counts = np.unique(known.target, return_counts=True)[1]
    if not regression and len(counts) < 2:
        return {}  # the other classes are so rare that no training row has one
    # Early stopping holds out a tenth of the rows, with every class in both parts.
    early = regression or bool(counts.min() >= 2 and len(known) >= 10 * len(counts))
    size = inputs[0].size * known.task.outputs
    rounds = int(MOST_WORK_OF_ROUNDS / (size + size / len(known) * CELLS_OF_A_TREE))
    linear = Ridge() if regression else make_logistic(size)
    boosting = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    models: dict[str, tuple[Any, Any]] = {
        "effects only": (linear, inputs),
        "one-hot ridge": (linear, levels),
    }
    if rounds >= FEWEST_ROUNDS:  # not with hundreds of classes, where it takes many minutes
        trees = boosting(early_stopping=early, max_iter=min(rounds, ROUNDS), random_state=0)
        models["gradient boosting"] = (trees, inputs)
    # On a busy machine the threads of gradient boosting wait for each other for minutes.
    with threadpool_limits(1), unconverged():
        return {
            name: new.weigh(
                measure_losses(
                    model.fit(of_known, known.target, sample_weight=known.weights), of_new, new
                )
            )
            for name, (model, (of_known, of_new)) in models.items()
        }


def make_logistic(size: int) -> LogisticRegression:
    """Return a logistic regression that takes fewer steps where there are very many classes."""
    return LogisticRegression(max_iter=min(max(int(MOST_WORK_OF_STEPS / size), 10), STEPS))


@contextmanager
def unconverged() -> Iterator[None]:
    """Let models that would need more steps be; they are yardsticks as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _join(data: FieldData, effects: list[Floats]) -> Floats:
    return np.hstack([expand_numbers(data.numbers), *effects])


def _stack_codes(data: FieldData) -> Floats:
    return np.stack([data.codes[name] for name in data.names], axis=1)


def measure_losses(model: Any, inputs: Any, data: FieldData) -> Floats:
    """Return squared errors, or the log loss of the class that was seen."""
    if data.task.kind == "regression":
        return np.asarray((model.predict(inputs) - data.target) ** 2, dtype=np.float64)
    # A class without a training row has no column; its probability is 0.
    place = np.searchsorted(model.classes_, data.target).clip(max=len(model.classes_) - 1)
    found = model.predict_proba(inputs)[np.arange(len(data)), place]
    found = np.where(model.classes_[place] == data.target, found, 0.0)
    return -np.log(np.maximum(found, SMALLEST_PROBABILITY))
