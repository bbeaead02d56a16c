"""The group lasso behind the factored objective, and that dimensions above 1 add nothing."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from embedalloc.study.theory.alternating import fit_alternating, rebalance
from embedalloc.study.theory.convex import global_optimality_residual
from embedalloc.study.theory.linear import Loss, objective
from tests.oracles.linear_cases import random_case, random_point, with_vector
from tests.oracles.theory import cheapest_factors, convex_objective

seeds = st.integers(0, 10_000)
losses = st.sampled_from(["squared", "logistic"])


@given(seeds, st.integers(1, 5))
@settings(max_examples=50, deadline=None)
def test_cheapest_factors_reach_the_formula_for_every_dimension(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(6)
    lam_w, lam_u = rng.uniform(0.1, 3, 2)
    table, weights = cheapest_factors(t, d, lam_w, lam_u)
    np.testing.assert_allclose(table @ weights, t, atol=1e-12)
    cost = lam_w * np.sum(weights**2) + lam_u * np.sum(table**2)
    formula = 2 * np.sqrt(lam_w * lam_u) * np.linalg.norm(t)
    assert cost == pytest.approx(formula)
    for _ in range(20):  # other factors of the same effect: any w, plus columns with U w = 0
        w = rng.standard_normal(d)
        null = np.eye(d) - np.outer(w, w) / (w @ w)
        u = np.outer(t, w) / (w @ w) + rng.standard_normal((6, d)) @ null
        np.testing.assert_allclose(u @ w, t, atol=1e-10)
        assert lam_w * w @ w + lam_u * np.sum(u**2) >= formula - 1e-10


def test_cheapest_factors_against_a_numerical_minimiser() -> None:
    t, lam_w, lam_u, d = np.array([1.0, -2.0, 0.5]), 0.3, 1.7, 3

    def cost(w: Any) -> float:
        # For w held, the smallest table with U w = t has squared norm |t|^2 / |w|^2.
        return float(lam_w * w @ w + lam_u * (t @ t) / (w @ w))

    found = minimize(cost, np.array([0.3, 0.2, -0.4]), tol=1e-12).fun
    table, w = cheapest_factors(t, d, lam_w, lam_u)
    assert found == pytest.approx(lam_w * w @ w + lam_u * np.sum(table**2), rel=1e-8)


def test_cheapest_factors_edge_cases() -> None:
    table, weights = cheapest_factors(np.zeros(3), 2, 1.0, 1.0)
    assert not table.any()
    assert not weights.any()
    with pytest.raises(ValueError, match="dimension is 0"):
        cheapest_factors(np.ones(3), 0, 1.0, 1.0)


@given(seeds, losses)
@settings(max_examples=30, deadline=None)
def test_convex_objective_is_a_lower_envelope(seed: int, loss: Loss) -> None:
    case = random_case(seed, loss, n=40, dimensions=(1, 1))
    p = random_point(case, seed)
    args = case.sample, case.penalties, loss
    assert convex_objective(p, *args) <= objective(p, *args) + 1e-12
    # One column leaves only the scale free, so rebalancing reaches the envelope.
    assert objective(rebalance(p, case.penalties), *args) == pytest.approx(
        convex_objective(p, *args)
    )


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("penalty", [0.005, 0.05, 0.2])
def test_more_dimensions_do_not_lower_the_minimum(loss: Loss, penalty: float) -> None:
    values, scores = [], []
    for d in (1, 2, 5, 12):
        case = random_case(4, loss, dimensions=(d, d), penalty=penalty)
        result = fit_alternating(
            case.start, case.sample, case.penalties, loss, accelerated=True, tolerance=1e-9
        )
        assert result.converged
        args = case.sample, case.penalties, loss
        assert global_optimality_residual(result.parameters, *args) < 1e-5
        assert convex_objective(result.parameters, *args) == pytest.approx(result.objective[-1])
        values.append(result.objective[-1])
        scores.append(result.parameters.predict(case.sample.codes, case.sample.numeric))
    np.testing.assert_allclose(values, values[0], rtol=1e-10)
    np.testing.assert_allclose(scores, np.broadcast_to(scores[0], (4, 120)), atol=1e-5)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_minimum_equals_proximal_gradient_on_the_group_lasso(loss: Loss) -> None:
    """An independent solver of the convex problem, with effects as the unknowns."""
    case = random_case(6, loss, cardinalities=(6,), dimensions=(3,), numeric=0, penalty=0.03)
    n, codes, y = 120, case.sample.codes["x0"], case.sample.target
    strength = 2 * np.sqrt(case.penalties.weights * case.penalties.tables["x0"])
    t, b, step = np.zeros(6), 0.0, 0.2
    for _ in range(20_000):
        score = t[codes] + b
        slope = (2 * (score - y) if loss == "squared" else 1 / (1 + np.exp(-score)) - y) / n
        moved = t - step * np.bincount(codes, slope, 6)
        t = moved * max(0.0, 1 - step * strength / np.linalg.norm(moved))
        b -= step * slope.sum()
    p = replace(case.start, tables={"x0": np.c_[t, t, t]}, weights={"x0": np.full(3, 1 / 3)})
    p = replace(p, intercept=b)
    args = case.sample, case.penalties, loss
    fitted = fit_alternating(case.start, *args, accelerated=True)
    assert fitted.objective[-1] == pytest.approx(convex_objective(p, *args), rel=1e-9)
    assert global_optimality_residual(p, *args) < 1e-7


def test_residual_tells_a_saddle_from_a_minimum() -> None:
    case = random_case(0)
    zero = with_vector(case.start, np.zeros(case.start.flatten().size))
    saddle = fit_alternating(zero, case.sample, case.penalties)
    assert saddle.converged
    assert global_optimality_residual(saddle.parameters, case.sample, case.penalties) > 0.1
    shrunk = random_case(0, penalty=5.0)  # here zero effects are the minimum
    best = fit_alternating(shrunk.start, shrunk.sample, shrunk.penalties, accelerated=True)
    assert global_optimality_residual(best.parameters, shrunk.sample, shrunk.penalties) < 1e-6
    assert max(np.abs(t).max() for t in best.parameters.effects.values()) < 1e-6
