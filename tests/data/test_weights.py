"""Rows that count more than others: as if they were there several times."""

from dataclasses import replace

import numpy as np
import pytest

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.effects import RIDGE, expand_numbers, fit_effects, target_columns
from embedalloc.data.network import train_tabular
from embedalloc.data.references import measure_references
from embedalloc.data.table import find_task, learn_encoding
from tests.oracles.mixed_model import solve_henderson
from tests.oracles.simulated_tables import make_table

FIELDS = ["signal0", "signal1", "noise0"]


def weighted_table(kind, rows, repeats):
    """Return rows with whole weights, and the same rows as often as their weights say."""
    frame, y = make_table(1, rows=rows, signal=(5, 8), noise=(9,), kind=kind)
    _, data = learn_encoding(frame, y, FIELDS, task=find_task(y))
    times = np.arange(rows) % repeats + 1
    weights = times / times.mean()
    return replace(data, weights=weights), data.take(np.repeat(np.arange(rows), times)), times


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_effects_of_weighted_rows_are_those_of_repeated_rows(kind):
    data, repeated, times = weighted_table(kind, 300, 4)
    shrinkage = dict.fromkeys(FIELDS, 5.0)
    found = fit_effects(data, shrinkage=shrinkage, sweeps=500, tolerance=1e-12)
    mean = times.mean()
    intercept, slopes, effects = solve_henderson(
        target_columns(repeated),
        expand_numbers(repeated.numbers),
        repeated.codes,
        repeated.cardinalities,
        {name: mean * value for name, value in shrinkage.items()},
        mean * RIDGE,
    )
    np.testing.assert_allclose(found.intercept, intercept, atol=1e-9)
    np.testing.assert_allclose(found.slopes, slopes, atol=1e-9)
    for name, expected in effects.items():
        np.testing.assert_allclose(found.fields[name].values, expected, atol=1e-9)


def test_training_on_weighted_rows_is_that_on_repeated_rows(monkeypatch):
    """Of so few rows that all of them are one batch, and without dropout, which knows no pairs."""
    monkeypatch.setattr("embedalloc.data.network.DROPOUT", 0.0)
    data, repeated, times = weighted_table("regression", 40, 2)
    words = {"seed": 0, "label": "t", "epochs": 5}
    sizes = dict.fromkeys(FIELDS, 2)
    one = train_tabular(data, data, sizes, **words)
    other = train_tabular(repeated, repeated, sizes, **words)
    np.testing.assert_allclose(one.history, other.history, rtol=1e-4)
    assert one.history[-1] == pytest.approx(
        np.average(one.losses(replace(data, weights=None)), weights=times)
    )


def test_parts_of_the_rows_have_weights_that_are_one_on_average():
    data, _, times = weighted_table("binary", 200, 3)
    case = make_case(data, set_limits(data.cardinalities), seed=0, epochs=1)
    for part in (case.training, case.validation):
        assert part.weights.mean() == pytest.approx(1.0)
    rows = np.arange(50, 90)
    np.testing.assert_allclose(data.take(rows).weights, times[rows] / times[rows].mean())


def test_models_without_embeddings_see_the_weights():
    """Rows of next to no weight may hold any target: the losses of the others hardly move."""
    data, _, _ = weighted_table("binary", 600, 2)
    light = np.arange(600) % 3 == 0
    weights = np.where(light, 1e-9, 1.0)
    spoilt = replace(data, target=np.where(light, 1 - data.target, data.target).astype(np.float32))
    found = {}
    for name, rows in {"clean": data, "spoilt": spoilt}.items():
        case = make_case(data, set_limits(data.cardinalities), seed=0, epochs=1)
        given = replace(rows, weights=weights / weights.mean())
        found[name] = measure_references(replace(case, whole=given))
    for name in ("effects only", "one-hot ridge"):
        assert found["spoilt"][name].mean() == pytest.approx(found["clean"][name].mean(), rel=0.02)
