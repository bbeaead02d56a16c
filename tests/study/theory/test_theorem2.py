"""Theorem 2: complexity without dimensions, and how measured gaps scale."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc.study.theory.alternating import fit_alternating, initial_parameters
from embedalloc.study.theory.linear import Parameters, Penalties, Sample
from embedalloc.study.theory.theorem2 import (
    GapLoss,
    GapProblem,
    draw_gap_problem,
    expected_gap,
    find_gap,
    fit_gap_scaling,
    measure_gap,
)
from tests.oracles.theory import NormBounds, rademacher_bound, rademacher_complexity


def supremum_by_search(signs: Any, codes: Any, d: int, rng: np.random.Generator) -> float:
    """Ascend over a table and weights of norm one, the class of Theorem 2 without b and z."""
    g = np.bincount(codes, 2.0 * signs / signs.size)
    best = 0.0
    for _ in range(3):
        w = rng.standard_normal(d)
        for _ in range(50):
            u = np.outer(g, w)
            u /= np.linalg.norm(u)
            w = u.T @ g
            w /= np.linalg.norm(w)
        best = max(best, float(g @ u @ w))
    return best


@pytest.mark.parametrize("d", [1, 2, 7])
def test_supremum_over_the_class_is_the_same_for_every_dimension(d: int) -> None:
    rng = np.random.default_rng(d)
    codes, signs = rng.integers(0, 6, 40), rng.choice([-1.0, 1.0], 40)
    closed = np.linalg.norm(np.bincount(codes, 2.0 * signs / 40))
    assert supremum_by_search(signs, codes, d, rng) == pytest.approx(closed)


@given(st.integers(0, 1000), st.integers(1, 60))
@settings(max_examples=25, deadline=None)
def test_complexity_is_below_its_bound_for_any_cardinality(seed: int, cardinality: int) -> None:
    rng = np.random.default_rng(seed)
    codes = {"a": rng.integers(0, cardinality, 80), "b": rng.integers(0, 3, 80)}
    z = rng.uniform(-0.5, 0.5, (80, 2))
    bounds = NormBounds(2.0, {"a": 1.0, "b": 3.0}, 0.5, float(np.linalg.norm(z, axis=1).max()))
    value = rademacher_complexity(codes, bounds, numeric=z, draws=400, rng=rng)
    assert value < 1.05 * rademacher_bound(bounds, 80)  # 5 % for the mean over 400 draws


def test_complexity_hardly_depends_on_cardinality() -> None:
    rng, n = np.random.default_rng(0), 4000
    bounds = NormBounds(1.0, {"a": 1.0})
    values = {
        count: rademacher_complexity({"a": np.arange(n) % count}, bounds, draws=2000, rng=rng)
        for count in (1, 10, 1000, n)
    }
    limit = rademacher_bound(bounds, n)
    assert values[n] == pytest.approx(limit)  # one row per category: the bound is exact
    assert values[1] == pytest.approx(np.sqrt(2 / np.pi) * limit, rel=0.05)
    assert values[10] > 0.95 * limit
    wide = NormBounds(2.0, {"a": 3.0})
    value = rademacher_complexity({"a": np.arange(n)}, wide, draws=2, rng=rng)
    assert value == pytest.approx(rademacher_bound(wide, n)) == pytest.approx(6.0 * limit)


LOSSES: tuple[GapLoss, ...] = ("squared", "bounded")
GRID = [(count, n, d) for count in (5, 10, 20) for n in (500, 1000, 2000) for d in (1, 3, 9)]


@pytest.fixture(scope="module")
def gaps() -> Any:
    """Mean gaps by loss over the grid; one data set serves all dimensions of a replication."""
    rng, values = np.random.default_rng(11), {}
    for count, n in {(count, n): None for count, n, _ in GRID}:
        problems = [draw_gap_problem(count, n, rng=rng) for _ in range(20)]
        for d in (1, 3, 9):
            measured = [measure_gap(problem, d, rng=rng) for problem in problems]
            values[count, n, d] = {
                loss: np.mean([gap[loss] for gap in measured]) for loss in LOSSES
            }
    return {loss: np.array([values[cell][loss] for cell in GRID]) for loss in LOSSES}


CATEGORIES, SIZES, DIMENSIONS = (np.array(column) for column in zip(*GRID, strict=True))


def test_gap_does_not_grow_with_dimension(gaps: Any) -> None:
    by_dimension = gaps["squared"].reshape(9, 3)
    np.testing.assert_allclose(by_dimension, np.tile(by_dimension[:, :1], 3), rtol=1e-3)


@pytest.mark.parametrize("loss", ["squared", "bounded"])
def test_gap_grows_like_categories_over_rows(gaps: Any, loss: GapLoss) -> None:
    result = fit_gap_scaling(gaps[loss], 2 * CATEGORIES, DIMENSIONS, SIZES)
    assert result["categories_exponent"] == pytest.approx(1.0, abs=0.2)
    assert result["size_exponent"] == pytest.approx(-1.0, abs=0.2)
    assert result["dimension_exponent"] == pytest.approx(0.0, abs=1e-4)
    assert result["looseness"] > 5
    assert result["envelope"] > result["constant"]
    ratio = gaps[loss] / expected_gap(2 * CATEGORIES, 2, SIZES, 1.0, loss)
    assert np.mean(ratio) == pytest.approx(1.0, abs=0.15)


@pytest.mark.parametrize("noise", [0.5, 2.0])
def test_expected_gap_for_one_predictor_by_monte_carlo(noise: float) -> None:
    """Category means of a large balanced sample, for which the first order is nearly all."""
    rng, count, per, draws = np.random.default_rng(4), 5, 200, 4000
    errors = noise * rng.standard_normal((draws, count, per))
    means = errors.mean(axis=2, keepdims=True)

    def bounded(x: Any) -> Any:
        return 1.0 - np.exp(-(x**2) / 2.0)

    spread = 1.0 + noise**2
    for loss, function, test in (
        ("squared", np.square, np.mean(means**2)),
        ("bounded", bounded, np.mean(1.0 - np.exp(-(means**2) / (2 * spread))) / np.sqrt(spread)),
    ):
        gap = test - np.mean(function(errors - means) - function(errors))
        expected = expected_gap(count, 1, count * per, noise, loss)  # type: ignore[arg-type]
        assert gap == pytest.approx(expected, rel=0.03)


def test_gap_agrees_with_fresh_test_rows() -> None:
    """The closed forms for the test risk against one large sample of new rows."""
    rng = np.random.default_rng(3)
    truth, n, m = rng.standard_normal(6), 60, 400_000
    codes, new = rng.integers(0, 6, n), rng.integers(0, 6, m)
    noise, new_noise = 0.7 * rng.standard_normal(n), 0.7 * rng.standard_normal(m)
    sample = Sample({"x0": codes}, np.zeros((n, 0)), 0.8 + truth[codes] + noise)
    start = initial_parameters({"x0": 6}, {"x0": 2}, rng=rng)
    p = fit_alternating(start, sample, Penalties(0.01, {"x0": 0.01}), accelerated=True).parameters
    true_p = Parameters({"x0": truth[:, None]}, {"x0": np.ones(1)}, np.zeros(0), 0.8)
    gap = find_gap(p, GapProblem(true_p, sample, 0.7))
    e = 0.8 + truth[new] - p.predict({"x0": new})
    r = sample.target - p.predict({"x0": codes})

    def bounded_loss(x: Any) -> Any:
        return 1.0 - np.exp(-(x**2) / 2.0)

    for value, loss in ((gap["squared"], np.square), (gap["bounded"], bounded_loss)):
        test = np.mean(loss(e + new_noise) - loss(new_noise))
        assert value == pytest.approx(test - np.mean(loss(r) - loss(noise)), abs=2e-3)


def test_scaling_fit_recovers_a_known_law() -> None:
    k, d, n = (g.ravel().astype(float) for g in np.meshgrid([10, 20], [1, 4], [100, 1000]))
    bound_like = fit_gap_scaling(3.0 * np.sqrt(k * d / n), k, d, n)
    linear = fit_gap_scaling(0.5 * k / n, k, d, n)
    assert bound_like["constant"] == pytest.approx(3.0)
    assert bound_like["looseness"] == pytest.approx(1.0)
    assert bound_like["relative_error"] < 1e-12
    np.testing.assert_allclose(
        [
            bound_like["categories_exponent"],
            bound_like["dimension_exponent"],
            bound_like["size_exponent"],
        ],
        [0.5, 0.5, -0.5],
    )
    np.testing.assert_allclose(
        [linear["categories_exponent"], linear["dimension_exponent"], linear["size_exponent"]],
        [1.0, 0.0, -1.0],
        atol=1e-12,
    )


def test_same_seed_same_gap() -> None:
    def run() -> dict[GapLoss, float]:
        rng = np.random.default_rng(5)
        return measure_gap(draw_gap_problem(3, 50, rng=rng), 2, rng=rng)

    assert run() == run()


def test_refusals() -> None:
    with pytest.raises(ValueError, match="smallest mean gap is 0"):
        fit_gap_scaling(np.arange(5), np.ones(5), np.ones(5), np.ones(5))
    with pytest.raises(ValueError, match="n is 0"):
        rademacher_bound(NormBounds(1.0, {}), 0)
