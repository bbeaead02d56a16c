"""Proposition 2: the exact error is attained, never beaten and never above the bound."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc.study.theory.proposition2 import approximation_errors
from tests.oracles.theory import approximation_error

seeds = st.integers(0, 10_000)


def random_table(seed: int, zeros: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    n, r = rng.integers(2, 12), rng.integers(1, 8)
    pi = rng.dirichlet(np.full(n, 0.7))
    pi[: min(zeros, n - 1)] = 0.0
    return rng.standard_normal((n, r)) * np.geomspace(3, 0.2, r), pi / pi.sum()


def weighted_error(u: Any, v: Any, pi: Any) -> float:
    return float(np.sqrt(np.sum(pi * np.sum((u - v) ** 2, axis=1))))


@given(seeds, st.integers(0, 9), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_exact_error_is_attained_and_below_both_bounds(seed: int, d: int, zeros: int) -> None:
    u, pi = random_table(seed, zeros)
    result = approximation_error(u, pi, d)
    assert weighted_error(u, result.minimiser, pi) == pytest.approx(result.exact, abs=1e-10)
    assert np.linalg.matrix_rank(result.minimiser, tol=1e-9) <= d
    assert result.exact <= result.weighted_bound * (1 + 1e-12) + 1e-12
    assert result.weighted_bound <= result.bound * (1 + 1e-12)


@given(seeds, st.integers(0, 4))
@settings(max_examples=50, deadline=None)
def test_no_other_table_of_that_rank_does_better(seed: int, d: int) -> None:
    u, pi = random_table(seed, 1)
    best = approximation_error(u, pi, d)
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((40, len(u), d)), rng.standard_normal((40, d, u.shape[1]))
    candidates = [*(left @ right), np.zeros_like(u)]
    if d:
        # The best table in a random row space, and small moves away from the minimiser.
        q = np.linalg.qr(rng.standard_normal((u.shape[1], d)))[0]
        candidates.append(u @ q @ q.T)
        turn = np.eye(u.shape[1]) + 0.01 * rng.standard_normal((u.shape[1], u.shape[1]))
        candidates.append(best.minimiser @ turn)
    assert min(weighted_error(u, v, pi) for v in candidates) >= best.exact - 1e-12


@pytest.mark.parametrize("seed", range(8))
def test_exact_error_equals_weighted_alternating_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, pi, d = rng.standard_normal((9, 6)) * np.geomspace(4, 0.3, 6), rng.dirichlet(np.ones(9)), 2
    right: Any = rng.standard_normal((d, 6))
    for _ in range(3000):
        left = u @ right.T @ np.linalg.inv(right @ right.T)
        weighted = left * pi[:, None]
        right = np.linalg.solve(weighted.T @ left, weighted.T @ u)
    found = weighted_error(u, left @ right, pi)
    assert found == pytest.approx(approximation_error(u, pi, d).exact, rel=1e-7)


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_all_dimensions_at_once_agree_with_each_alone(seed: int) -> None:
    u, pi = random_table(seed)
    every = approximation_errors(u, pi)
    assert every["exact"].size == min(u.shape) + 1
    assert np.all(np.diff(every["exact"]) <= 0)
    assert every["exact"][-1] == every["bound"][-1] == 0.0
    for d, value in enumerate(every["exact"]):
        single = approximation_error(u, pi, d)
        assert (single.exact, single.bound) == (value, every["bound"][d])


def test_equality_cases_of_the_bound() -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal((7, 4))
    uniform = approximation_errors(u, np.full(7, 1 / 7))
    np.testing.assert_allclose(uniform["exact"], uniform["weighted_bound"], rtol=1e-12)
    np.testing.assert_allclose(uniform["bound"], np.sqrt(7) * uniform["exact"], rtol=1e-12)
    single = approximation_errors(u[:1], np.ones(1))  # one category: the bound is exact
    np.testing.assert_allclose(single["exact"], single["bound"])
    certain = approximation_errors(u, np.eye(7)[2])  # one category has all the probability
    assert certain["exact"][0] == pytest.approx(np.linalg.norm(u[2]))
    np.testing.assert_allclose(certain["exact"][1:], 0.0, atol=1e-12)
    low_rank = rng.standard_normal((7, 2)) @ rng.standard_normal((2, 4))
    assert approximation_errors(low_rank, np.full(7, 1 / 7))["bound"][2] < 1e-12


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_zero_probability_rows_do_not_count(seed: int) -> None:
    u, pi = random_table(seed, 2)
    kept = pi > 0
    every = approximation_errors(u, pi)["exact"]
    some = approximation_errors(u[kept], pi[kept])["exact"]
    np.testing.assert_allclose(every[: some.size], some, atol=1e-12)
    np.testing.assert_allclose(every[some.size :], 0.0, atol=1e-12)
