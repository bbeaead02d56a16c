"""Tails, fits and their identities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize_scalar

from embedalloc.spectra import (
    COEFFICIENT_FLOOR,
    fit_coefficient,
    goodness_of_fit,
    singular_values,
    spectral_tails,
)

tables = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 8)),
    elements=st.floats(-100, 100, allow_subnormal=False).map(lambda x: round(x, 3)),
)
rng = np.random.default_rng(3)


@given(tables)
def test_tails_are_the_residuals_of_truncated_decompositions(table):
    tails = spectral_tails(singular_values(table))
    left, values, right = np.linalg.svd(table, full_matrices=False)
    for d in range(len(values) + 1):
        truncated = (left[:, :d] * values[:d]) @ right[:d]
        assert tails[d] == pytest.approx(np.linalg.norm(table - truncated), abs=1e-9)


@given(tables)
def test_tails_fall_from_the_norm_to_zero(table):
    tails = spectral_tails(singular_values(table))
    assert tails[0] == pytest.approx(np.linalg.norm(table))
    assert tails[-1] == 0.0
    assert (np.diff(tails) <= 0).all()


def test_stacks_give_what_single_tables_give():
    stack = rng.normal(size=(4, 3, 9, 5))
    tails = spectral_tails(singular_values(stack))
    fits = fit_coefficient(tails)
    assert tails.shape == (4, 3, 6)
    for i in np.ndindex(4, 3):
        single = spectral_tails(singular_values(stack[i]))
        np.testing.assert_array_equal(tails[i], single)
        assert fits[i] == fit_coefficient(single)


def test_least_squares_fit_agrees_with_a_numerical_minimiser():
    tails = spectral_tails(np.sort(rng.exponential(size=9))[::-1])
    d = np.arange(1, 9)
    best = minimize_scalar(lambda a: ((tails[1:-1] - a / d) ** 2).sum(), tol=1e-14)
    assert fit_coefficient(tails) == pytest.approx(best.x, rel=1e-7)


def test_log_fit_agrees_with_a_regression_on_logarithms():
    tails = spectral_tails(np.sort(rng.exponential(size=9))[::-1])
    d = np.arange(1, 9)
    intercept = np.mean(np.log(tails[1:-1]) + np.log(d))
    assert fit_coefficient(tails, method="log") == pytest.approx(np.exp(intercept))


@pytest.mark.parametrize("method", ["least_squares", "log", "mean"])
def test_every_fit_recovers_an_exact_reciprocal_and_scales(method):
    tails = np.r_[99.0, 7.0 / np.arange(1, 12), 0.0]
    a = fit_coefficient(tails, method=method)
    assert a == pytest.approx(7.0)
    assert goodness_of_fit(tails, a) == pytest.approx(1.0)
    assert fit_coefficient(3.0 * tails, method=method) == pytest.approx(21.0)


def test_goodness_of_fit_is_one_minus_the_unexplained_share():
    tails = spectral_tails(np.arange(6, 0, -1.0))
    a = fit_coefficient(tails)
    d = np.arange(1, 6)
    residual = tails[1:-1] - a / d
    expected = (
        1 - residual.var(ddof=0) / tails[1:-1].var() - residual.mean() ** 2 / tails[1:-1].var()
    )
    assert goodness_of_fit(tails, a) == pytest.approx(expected)


def test_a_table_without_interior_dimensions_gets_the_floor():
    for spectrum in ([5.0], [5.0, 0.0]):
        for method in ("least_squares", "log", "mean"):
            assert fit_coefficient(spectral_tails(spectrum), method=method) == COEFFICIENT_FLOOR
    assert fit_coefficient(spectral_tails([2.0, 1.0]), floor=3.0) == 3.0
    assert np.isnan(goodness_of_fit(spectral_tails([5.0]), 1.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: singular_values([[1.0, np.nan]]), r"nan at position \(0, 1\)"),
        (lambda: singular_values(np.zeros((0, 3))), "at least one row"),
        (lambda: singular_values([1.0, 2.0]), "at least one row"),
        (lambda: spectral_tails([]), "at least one singular value"),
        (lambda: spectral_tails([1.0, 2.0]), "largest first"),
        (lambda: spectral_tails([1.0, -2.0]), "not negative"),
        (lambda: spectral_tails([np.nan]), "not negative"),
        (lambda: fit_coefficient([1.0]), "at least two"),
        (lambda: fit_coefficient([2.0, -1.0, 0.0]), "not negative"),
        (lambda: fit_coefficient([2.0, 1.0, 0.0], method="cubic"), "'cubic'; choose from"),
        (lambda: fit_coefficient([2.0, 1.0, 0.0], floor=0.0), "must be positive, got 0.0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
