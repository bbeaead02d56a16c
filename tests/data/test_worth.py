"""What a field is worth, against a ridge regression and a logistic one written out."""

import numpy as np
import pytest
from scipy.optimize import minimize

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.effects import expand_numbers
from embedalloc.data.references import make_logistic, measure_references
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
    case.training.target[:] = 0
    assert measure_worth(case) == {}


def test_hundreds_of_classes_do_not_take_minutes(monkeypatch):
    """Gradient boosting grows a tree per class and round; a logistic regression takes steps."""
    assert [make_logistic(size).max_iter for size in (10**5, 10**9, 10**12)] == [200, 100, 10]
    case = make("binary")
    names = ["effects only", "one-hot ridge", "gradient boosting"]
    assert list(measure_references(case)) == names
    monkeypatch.setattr("embedalloc.data.references.MOST_WORK_OF_ROUNDS", 10**4)
    assert list(measure_references(case)) == names[:2]
