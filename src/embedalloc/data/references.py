"""Models without embeddings: what a planned network must beat to be worth its trouble."""

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.effects import expand_numbers
from embedalloc.data.ordering import Codes, look_up
from embedalloc.data.table import FieldData

NAMES = ("effects only", "one-hot ridge", "gradient boosting")
#: Probabilities below this count as this: the loss stays finite.
SMALLEST_PROBABILITY = 1e-6
#: Rounds of gradient boosting and steps of a logistic regression, where these are affordable, ...
ROUNDS, STEPS = 100, 200
#: ... which means so many rows times inputs times classes in all rounds or steps.
MOST_WORK_OF_ROUNDS, MOST_WORK_OF_STEPS = 2e10, 1e11
#: A tree looks at 255 intervals of every input in 31 leaves, whatever the rows.
CELLS_OF_A_TREE = 255 * 31
#: With hundreds of classes gradient boosting reads so many directions of the inputs, ...
DIRECTIONS = 20
#: ... so many rows at most, and takes the rounds of this work (half a minute), but a few at least.
MOST_ROWS, MOST_WORK_ON_DIRECTIONS, FEWEST_ROUNDS = 20_000, 5e9, 3


def measure_references(case: DataCase) -> dict[str, Floats]:
    """Return the loss of every validation row, by the name of the model.

    The models are scikit-learn's, untuned. The first and the last read the numbers and the
    shrunken effect of every field, the second one column per level.
    """
    new = case.validation
    effects = (case.validation_effects[name] for name in case.names)
    with threadpool_limits(1), unconverged():
        found = {
            name: new.weigh(measure_losses(model, inputs, new))
            for name, (model, inputs) in fit_references(case, new, effects)
        }
    return {name: found[name] for name in NAMES}


def fit_references(
    case: DataCase, new: FieldData, effects: Iterable[Floats]
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Yield the models' names, each with the model and what it is to read of new rows.

    The new rows' effects are given. They are read when no model needs the known rows' any more:
    large tables are all that takes memory here.
    """
    known = case.training
    columns = len(case.names) * case.design.intercept.size
    regression = known.task.kind == "regression"
    if not regression and len(np.unique(known.target)) < 2:
        # The other classes are so rare that no training row has one.
        constant = DummyClassifier().fit(np.zeros((len(known), 1)), known.target)
        yield from dict.fromkeys(NAMES, (constant, np.zeros((len(new), 1)))).items()
        return
    size = len(known) * (2 * known.numbers.shape[1] + columns)
    linear: Any = Ridge() if regression else make_logistic(size * known.task.outputs)
    effects_only, one_hot, boosting = NAMES
    # On a busy machine the threads of gradient boosting wait for each other for minutes.
    with threadpool_limits(1), unconverged():
        of_known = join_inputs(known, (case.training_effects[name] for name in case.names), columns)
        # Only the targets are read now.
        known = replace(known, codes={}, numbers=known.numbers[:, :0].copy())
        model = _fit(clone(linear), of_known, known)
        boosted = _boost(of_known, known, case.seed)
        known = case.training
        del of_known
        of_new = join_inputs(new, effects, columns)
        yield effects_only, (model, of_new)
        yield boosting, (boosted, of_new)
        levels = [np.unique(known.codes[name]) for name in known.names]
        model = _fit(linear, _encode_levels(known, levels), known)
        yield one_hot, (model, _encode_levels(new, levels))


def _fit(model: Any, inputs: Any, known: FieldData) -> Any:
    return model.fit(inputs, known.target, sample_weight=known.weights)


def _encode_levels(data: FieldData, levels: list[Codes]) -> sparse.csr_matrix:
    """Return one column for each of these levels, field by field, and the numbers."""
    numbers = expand_numbers(data.numbers)
    fields, width = len(levels), len(levels) + numbers.shape[1]
    entries = np.empty((len(data), width))
    columns = np.empty((len(data), width), dtype=np.int32)
    end = 0
    for place, (name, seen) in enumerate(zip(data.names, levels, strict=True)):
        begin, end = end, end + len(seen)
        column_of = np.zeros(data.cardinalities[name], dtype=np.int32)
        column_of[seen] = np.arange(begin, end)
        columns[:, place] = look_up(column_of, data.codes[name])
        entries[:, place] = look_up(np.isin(np.arange(len(column_of)), seen), data.codes[name])
    columns[:, fields:] = np.arange(end, end + numbers.shape[1])
    entries[:, fields:] = numbers
    ends = np.arange(len(data) + 1) * width
    shape = (len(data), end + numbers.shape[1])
    # An array would take the type of the ends, eight bytes, for the columns too.
    return sparse.csr_matrix((entries.ravel(), columns.ravel(), ends), shape=shape)


def _boost(of_known: Floats, known: FieldData, seed: int) -> Any:
    """Return gradient boosting.

    It grows a tree per class and round, and there is an effect per class and field. Where that
    takes too long, it reads the main directions of all these, some of the rows, and takes fewer
    rounds; the penalty keeps classes with few rows from running away.
    """
    rounds = _count_rounds(MOST_WORK_OF_ROUNDS, of_known.shape, known.task.outputs)
    penalty, steps = 0.0, []
    if rounds < ROUNDS:
        rows = np.sort(known.shuffle(seed, "gradient boosting")[:MOST_ROWS])
        known, of_known = known.take(rows), of_known[rows]
        if of_known.shape[1] > DIRECTIONS:
            steps = [TruncatedSVD(DIRECTIONS, random_state=0).fit(of_known)]
            of_known = steps[0].transform(of_known)
        rounds = _count_rounds(MOST_WORK_ON_DIRECTIONS, of_known.shape, known.task.outputs)
        rounds, penalty = max(rounds, FEWEST_ROUNDS), 1.0
    regression = known.task.kind == "regression"
    counts = np.unique(known.target, return_counts=True)[1]
    # Early stopping holds out a tenth of the rows, with every class in both parts.
    early = regression or bool(counts.min() >= 2 and len(known) >= 10 * len(counts))
    make = HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier
    trees = make(
        early_stopping=early,
        max_iter=min(rounds, ROUNDS),
        l2_regularization=penalty,
        random_state=0,
    )
    return make_pipeline(*steps, trees.fit(of_known, known.target, sample_weight=known.weights))


def _count_rounds(work: float, shape: tuple[int, ...], classes: int) -> int:
    """Return for how many rounds such work is enough."""
    rows, inputs = shape
    return int(work / (inputs * classes * (rows + CELLS_OF_A_TREE)))


def make_logistic(size: int) -> LogisticRegression:
    """Return a logistic regression that takes fewer steps where there are very many classes."""
    return LogisticRegression(max_iter=min(max(int(MOST_WORK_OF_STEPS / size), 10), STEPS))


@contextmanager
def unconverged() -> Iterator[None]:
    """Let models that would need more steps be; they are yardsticks as they are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def join_inputs(data: FieldData, effects: Iterable[Floats], columns: int) -> Floats:
    """Return the numbers of rows, as the effects' model reads them, beside effects.

    The effects are looked up one by one; `columns` is how many columns they have in all.
    """
    end = 2 * data.numbers.shape[1]
    inputs = np.empty((len(data), end + columns))
    inputs[:, :end] = expand_numbers(data.numbers)
    for each in effects:
        begin, end = end, end + each.shape[1]
        inputs[:, begin:end] = each
    return inputs


def measure_losses(model: Any, inputs: Any, data: FieldData) -> Floats:
    """Return squared errors, or the log loss of the class that was seen."""
    if data.task.kind == "regression":
        return np.asarray((model.predict(inputs) - data.target) ** 2, dtype=np.float64)
    losses = measure_every_class(model, inputs, data)
    return np.asarray(losses[np.arange(len(data)), data.target.astype(np.intp)])


def measure_every_class(model: Any, inputs: Any, data: FieldData) -> Floats:
    """Return the log loss of every row for every class that it could have."""
    # A class without a training row has no column; its probability is 0.
    found = np.zeros((len(data), len(data.task.classes)))
    found[:, model.classes_.astype(np.intp)] = model.predict_proba(inputs)
    return -np.log(np.maximum(found, SMALLEST_PROBABILITY))
