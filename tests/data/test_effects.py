"""Effects against dense mixed-model equations, statsmodels, the analysis of variance, and truth."""

import time
from dataclasses import replace

import numpy as np
import pytest

from embedalloc.data.effects import (
    RIDGE,
    cross_fit_effects,
    expand_numbers,
    fit_effects,
    target_columns,
)
from embedalloc.data.table import FieldData, PredictionTask, find_task, learn_encoding
from tests.oracles.mixed_model import crossed_example, solve_henderson
from tests.oracles.simulated_tables import make_table


def fields_of(codes, target, numbers=None, kind="regression", classes=()):
    """Return rows from plain arrays; the codes are the levels."""
    rows = len(target)
    return FieldData(
        {name: int(each.max()) + 1 for name, each in codes.items()},
        {name: each.astype(np.int32) for name, each in codes.items()},
        np.zeros((rows, 0), np.float32) if numbers is None else numbers.astype(np.float32),
        target,
        PredictionTask(kind, classes),
    )


def example():
    frame = crossed_example()
    codes = {name: frame[name].to_numpy() for name in ("a", "b")}
    return fields_of(codes, frame["y"].to_numpy(), frame[["x"]].to_numpy())


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
def test_sweeps_solve_hendersons_equations(kind):
    frame, y = make_table(3, rows=400, signal=(5, 30), noise=(60,), kind=kind)
    _, data = learn_encoding(frame, y, ["signal0", "signal1", "noise0"], task=find_task(y))
    shrinkage = {"signal0": 3.0, "signal1": 12.0, "noise0": 40.0}
    found = fit_effects(data, shrinkage=shrinkage, sweeps=500, tolerance=1e-12)
    goals, basis = target_columns(data), expand_numbers(data.numbers)
    intercept, slopes, effects = solve_henderson(
        goals, basis, data.codes, data.cardinalities, shrinkage, RIDGE
    )
    np.testing.assert_allclose(found.intercept, intercept, atol=1e-9)
    np.testing.assert_allclose(found.slopes, slopes, atol=1e-9)
    for name, expected in effects.items():
        np.testing.assert_allclose(found.fields[name].values, expected, atol=1e-9)
    predicted = intercept + basis @ slopes + sum(effects[j][data.codes[j]] for j in effects)
    np.testing.assert_allclose(found.predict(data), predicted, atol=1e-8)


def test_effects_and_variances_are_those_of_statsmodels():
    """Known answers of statsmodels 0.15.0, computed with

    smf.mixedlm("y ~ x", data, groups="one", re_formula="0",
                vc_formula={"a": "0+C(a)", "b": "0+C(b)"}).fit(reml=True)

    on `crossed_example()` with a column "one" of ones: variances `vcomp`, `scale` and
    `random_effects`. The variances by moments need not be those by REML, but must be near.
    """
    variance, noise = {"a": 1.3242035, "b": 0.68441882}, 0.97557129
    effects = {
        "a": [1.274344, -1.552564, 0.069966, 0.722506, -1.205412, 0.69116],
        "b": [
            0.92111, -0.446898, 0.813304, 0.693715, 1.034674, -0.21979, -0.507986, 0.036806,
            0.293881, -1.071235, 0.36152, 0.402104, -0.089571, -1.880073, -0.34156,
        ],
    }  # fmt: skip
    data = example()
    shrinkage = {name: noise / each for name, each in variance.items()}
    same = fit_effects(data, shrinkage=shrinkage, sweeps=500, tolerance=1e-12)
    for name, expected in effects.items():
        # The slope of statsmodels has no ridge and our basis a second column: two digits.
        np.testing.assert_allclose(same.fields[name].values[:, 0], expected, atol=0.04)
    own = fit_effects(data)
    for name, expected in variance.items():
        assert own.fields[name].variance == pytest.approx(expected, rel=0.15)
        assert own.fields[name].noise == pytest.approx(noise, rel=0.04)
        assert own.fields[name].p_value < 1e-6


def test_one_balanced_field_has_the_textbook_analysis_of_variance():
    """With m rows per level REML is (MSB − MSW)/m, and effects shrink by 1/(1 + λ/m)."""
    rng = np.random.default_rng(1)
    codes, per_level = np.repeat(np.arange(12), 9), 9
    y = 0.8 * rng.normal(size=12)[codes] + rng.normal(size=108)
    effect = fit_effects(fields_of({"g": codes}, y)).fields["g"]
    means = y.reshape(12, 9).mean(axis=1)
    between = per_level * means.var(ddof=1)
    within = y.reshape(12, 9).var(axis=1, ddof=1).mean()
    assert effect.noise == pytest.approx(within)
    assert effect.variance == pytest.approx((between - within) / per_level)
    assert effect.f_statistic == pytest.approx(between / within)
    assert effect.degrees == (11, 96)
    kept = 1 - within / between
    np.testing.assert_allclose(effect.values[:, 0], kept * (means - y.mean()))
    assert effect.deviations[0] == pytest.approx(effect.values[:, 0].std())


def test_variances_and_effects_come_near_the_truth():
    """Over 20 tables of 4,000 rows: mean estimates within 15 % of τ² = 0.5 and 0.2, σ² = 1."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes = {"a": rng.integers(40, size=4000), "b": rng.integers(300, size=4000)}
        truth = {"a": np.sqrt(0.5) * rng.normal(size=40), "b": np.sqrt(0.2) * rng.normal(size=300)}
        y = truth["a"][codes["a"]] + truth["b"][codes["b"]] + rng.normal(size=4000)
        fields = fit_effects(fields_of(codes, y)).fields
        found.append([fields["a"].variance, fields["b"].variance, fields["b"].noise])
        # Shrunken effects are nearer to the truth than the levels' plain means.
        plain = np.bincount(codes["b"], y - truth["a"][codes["a"]]) / np.bincount(codes["b"])
        error = ((fields["b"].values[:, 0] - truth["b"]) ** 2).mean()
        assert error < ((plain - truth["b"]) ** 2).mean()
    np.testing.assert_allclose(np.mean(found, axis=0), [0.5, 0.2, 1.0], rtol=0.15)


def test_a_field_without_effect_is_rejected_at_the_stated_rate():
    """A field of noise has p < 0.05 in about 5 of 100 tables; in more than 12 it hardly can."""
    small = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        codes = {"a": rng.integers(8, size=400), "noise": rng.integers(50, size=400)}
        y = rng.normal(size=8)[codes["a"]] + rng.normal(size=400)
        small += fit_effects(fields_of(codes, y)).fields["noise"].p_value < 0.05
    assert 0 < small <= 12


def test_degenerate_fields_have_no_effect():
    rng = np.random.default_rng(0)
    codes = {"id": np.arange(50), "one": np.zeros(50, int), "real": rng.integers(5, size=50)}
    fields = fit_effects(fields_of(codes, rng.normal(size=50))).fields
    for name in ("id", "one"):
        assert not fields[name].values.any()
        assert fields[name].variance == 0
        assert fields[name].p_value == 1
        assert not fields[name].read(codes[name]).any()
    constant = fit_effects(fields_of({"real": codes["real"]}, np.ones(50)))
    assert not constant.fields["real"].values.any()
    exact = fit_effects(fields_of({"real": codes["real"]}, codes["real"].astype(float)))
    means = np.arange(5) - codes["real"].mean()
    np.testing.assert_allclose(
        np.diff(exact.fields["real"].values[:, 0]), np.diff(means), atol=1e-6
    )


def test_cross_fitted_effects_never_saw_the_rows_own_target():
    """Changing one row's target changes the inputs of the other folds only."""
    data = example()
    fitted = fit_effects(data)
    before = cross_fit_effects(data, fitted, ["a", "b"], seed=4)
    target = data.target.copy()
    target[17] += 100
    after = cross_fit_effects(replace(data, target=target), fitted, ["a", "b"], seed=4)
    fold = data.scramble(4, "effects") % np.uint64(5)
    same = fold == fold[17]
    for name in ("a", "b"):
        np.testing.assert_array_equal(before[name][same], after[name][same])
        assert (before[name][~same] != after[name][~same]).any()


def test_cross_fitting_is_a_plain_loop_over_folds():
    data = example()
    fitted = fit_effects(data)
    shrinkage = {name: each.shrinkage for name, each in fitted.fields.items()}
    found = cross_fit_effects(data, fitted, ["b"], seed=4)["b"]
    fold = data.scramble(4, "effects") % np.uint64(5)
    for k in range(5):
        model = fit_effects(data.take(np.flatnonzero(fold != k)), shrinkage=shrinkage)
        raw = model.fields["b"].values[data.codes["b"][fold == k]]
        expected = np.clip(raw / fitted.fields["b"].deviations, -6, 6)
        np.testing.assert_array_equal(found[fold == k], expected)


@pytest.mark.parametrize("times", [False, True])
def test_effects_of_held_out_rows_come_from_the_others_or_from_earlier_ones(times):
    data = example()
    if times:
        data = replace(data, times=np.arange(len(data), dtype=float))
    held = np.arange(len(data) - 40, len(data)) if times else np.arange(3, len(data), 5)
    fitted = fit_effects(data)
    shrinkage = {name: each.shrinkage for name, each in fitted.fields.items()}
    found = cross_fit_effects(data, fitted, ["b"], seed=4, rows=held)["b"]
    assert len(found) == len(held)
    fold = data.scramble(4, "effects") % np.uint64(5)
    for place, row in enumerate(held):
        left_out = held if times else held[fold[held] == fold[row]]
        others = np.setdiff1d(np.arange(len(data)), left_out)
        model = fit_effects(data.take(others), shrinkage=shrinkage)
        raw = model.fields["b"].values[data.codes["b"][row]]
        expected = np.clip(raw / fitted.fields["b"].deviations, -6, 6)
        np.testing.assert_array_equal(found[place], expected)


def test_a_hundred_thousand_rows_take_well_under_a_second_of_cpu_time():
    rng = np.random.default_rng(0)
    codes = {f"f{j}": rng.integers(10 * 4**j, size=100_000) for j in range(6)}
    effects = [rng.normal(size=10 * 4**j) for j in range(6)]
    y = sum(each[codes[f"f{j}"]] for j, each in enumerate(effects)) + rng.normal(size=100_000)
    data = fields_of(codes, y, rng.normal(size=(100_000, 3)))
    begin = time.process_time()
    fit_effects(data)
    assert time.process_time() - begin < 1.5
