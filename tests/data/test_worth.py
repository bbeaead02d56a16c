"""What a field is worth, and models without embeddings, against others written out."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.metrics import log_loss

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.effects import expand_numbers
from embedalloc.data.references import (
    NAMES,
    SMALLEST_PROBABILITY,
    fit_references,
    make_logistic,
    measure_every_class,
    measure_losses,
    measure_references,
)
from embedalloc.data.table import find_task, learn_encoding
from embedalloc.data.worth import measure_worth
from tests.oracles.simulated_tables import make_table


def make(kind):
    frame, y = make_table(3, rows=600, signal=(6, 15), noise=(20,), kind=kind)
    fields = ["signal0", "signal1", "noise0"]
    data = learn_encoding(frame, y, fields, task=find_task(y))[1]
    return make_case(data, set_limits(data.cardinalities), seed=0, epochs=1)


def fit_by_hand(inputs, target, kind):
    """Return intercept and slopes with scikit-learn's default penalty, by a general optimiser."""

    def cost(values):
        predicted = values[0] + inputs @ values[1:]
        if kind == "regression":
            return ((target - predicted) ** 2).sum() + (values[1:] ** 2).sum()
        return np.logaddexp(0, predicted).sum() - target @ predicted + (values[1:] ** 2).sum() / 2

    return minimize(cost, np.zeros(inputs.shape[1] + 1), tol=1e-10).x


@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_worth_is_what_the_loss_rises_without_a_field(kind):
    case = make(kind)
    inputs = np.hstack([expand_numbers(case.training.numbers), *case.training_effects.values()])
    values = fit_by_hand(inputs, case.training.target.astype(float), kind)
    new, target = case.validation, case.validation.target.astype(float)

    def loss(hidden):
        effects = [case.validation_effects[name] * (name != hidden) for name in case.names]
        predicted = values[0] + np.hstack([expand_numbers(new.numbers), *effects]) @ values[1:]
        if kind == "regression":
            return ((target - predicted) ** 2).mean()
        return (np.logaddexp(0, predicted) - target * predicted).mean()

    found = measure_worth(case)
    least = loss(None)
    for name in case.names:
        assert found[name] == pytest.approx(loss(name) / least - 1, abs=2e-3)
    assert found["signal0"] > 0.02 > abs(found["noise0"])


def test_classes_that_no_training_row_has_are_worth_nothing():
    case = make("binary")
    case.whole.target[case.kept] = 0
    assert measure_worth(case) == {}


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_yardsticks_are_there_where_full_ones_would_take_minutes(kind, monkeypatch):
    """Gradient boosting grows a tree per class and round; a logistic regression takes steps."""
    assert [make_logistic(size).max_iter for size in (10**5, 10**9, 10**12)] == [200, 100, 10]
    case = make(kind)
    full = measure_references(case)
    monkeypatch.setattr("embedalloc.data.references.MOST_WORK_OF_ROUNDS", 10**4)
    monkeypatch.setattr("embedalloc.data.references.DIRECTIONS", 2)
    short = measure_references(case)
    assert list(short) == list(full) == list(NAMES)
    for name in NAMES[:2]:
        np.testing.assert_array_equal(short[name], full[name])
    assert (short["gradient boosting"] != full["gradient boosting"]).any()
    assert np.isfinite(short["gradient boosting"]).all()


def test_three_hundred_classes_have_every_yardstick(monkeypatch):
    """There gradient boosting without a penalty is worse than knowing nothing."""
    monkeypatch.setattr("embedalloc.data.references.MOST_WORK_OF_STEPS", 1e8)  # quick
    monkeypatch.setattr("embedalloc.data.references.MOST_WORK_ON_DIRECTIONS", 1e8)
    rng = np.random.default_rng(0)
    level = rng.integers(300, size=3_000)
    target = np.where(rng.random(3_000) < 0.7, level, rng.integers(300, size=3_000))
    task = find_task(target, "classification")
    _, data = learn_encoding(
        pd.DataFrame({"level": level.astype(str), "number": rng.normal(size=3_000)}),
        target,
        categorical=["level"],
        task=task,
    )
    case = make_case(data, set_limits(data.cardinalities), seed=0, epochs=1)
    found = measure_references(case)
    assert list(found) == list(NAMES)
    assert found["gradient boosting"].mean() < np.log(300)


def test_yardsticks_of_one_class_know_nothing_else():
    case = make("binary")
    case.whole.target[case.kept] = 0
    for losses in measure_references(case).values():
        unseen = case.validation.target == 1
        assert losses[~unseen].max() == 0
        assert losses[unseen].min() == pytest.approx(-np.log(SMALLEST_PROBABILITY))


def test_the_loss_of_every_class_is_that_of_scikit_learn():
    case = make("multiclass")
    new, effects = case.validation, list(case.validation_effects.values())
    model, inputs = dict(fit_references(case, new, effects))["effects only"]
    losses = measure_every_class(model, inputs, new)
    np.testing.assert_allclose(np.exp(-losses).sum(axis=1), 1.0)
    expected = log_loss(new.target, model.predict_proba(inputs), labels=range(losses.shape[1]))
    assert measure_losses(model, inputs, new).mean() == pytest.approx(expected)
