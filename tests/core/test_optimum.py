"""The exact optimum beside listing everything and beside an integer programming solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from embedalloc import choice_search, optimum
from embedalloc.from_cardinalities import integer_dimensions, optimal_dimensions
from embedalloc.problem import BudgetError
from tests.oracles import naive


def milp_optimum(curves, costs, budget, lower):
    """Least total error as a 0/1 programme with one variable per field and dimension."""
    owner = np.concatenate([np.full(len(c) - lower, j) for j, c in enumerate(curves)])
    dims = np.concatenate([np.arange(lower, len(c)) for c in curves])
    error = np.concatenate([np.asarray(c)[lower:] for c in curves])
    one_each = (owner[None, :] == np.arange(len(curves))[:, None]).astype(float)
    solved = milp(
        error,
        integrality=np.ones_like(error),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(one_each, 1, 1),
            LinearConstraint((np.asarray(costs)[owner] * dims)[None, :], -np.inf, budget),
        ],
        options={"mip_rel_gap": 0.0, "time_limit": 60},
    )
    assert solved.success
    return solved.fun


curve = st.lists(st.floats(-50, 50).map(lambda x: round(x, 2)), min_size=2, max_size=7)


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 12), curve), min_size=1, max_size=4),
    st.integers(0, 80),
    st.integers(0, 1),
)
def test_equals_listing_all_allocations_for_curves_of_any_shape(fields, extra, minimum):
    costs, curves = zip(*fields, strict=True)
    budget = minimum * sum(costs) + extra
    result = optimal_dimensions(costs, budget, curves=curves, minimum=minimum)
    ranges = [range(minimum, len(c)) for c in curves]
    assert result.objective == pytest.approx(naive.best_by_listing(curves, costs, budget, ranges))
    assert result.gap == 0
    assert result.cost <= budget


def test_equals_listing_for_the_surrogate_with_bounds_fixed_and_multiples():
    rng = np.random.default_rng(4)
    for _ in range(300):
        m, step = rng.integers(1, 4), int(rng.choice([1, 2, 3]))
        n, a = rng.integers(1, 12, m), rng.lognormal(0, 1.5, m)
        upper = step * rng.integers(1, 9, m)
        fixed = {"x1": int(rng.integers(1, 4))} if rng.random() < 0.3 else {}
        budget = int((step * n).sum() + 4 * n[0] + rng.integers(0, 60))
        result = optimal_dimensions(
            n, budget, coefficients=a, maximum=upper, multiple_of=step, fixed=fixed
        )
        curves = [np.r_[np.inf, a[j] / np.arange(1, 30)] for j in range(m)]
        ranges = [range(step, upper[j] + 1, step) for j in range(m)]
        if fixed:
            ranges[0] = [fixed["x1"]]
        best = naive.best_by_listing(curves, n, budget, ranges)
        assert result.objective == pytest.approx(best, rel=1e-12)
        assert result.gap == 0


@pytest.mark.parametrize("seed", range(8))
def test_equals_integer_programming_on_larger_instances(seed):
    rng = np.random.default_rng(seed)
    m = 25
    costs = rng.integers(2, 300, m)
    budget = int(costs.sum() * rng.uniform(1.2, 6))
    if seed % 2:
        curves = [np.r_[np.inf, a / np.arange(1, 13)] for a in rng.lognormal(0, 1.5, m)]
    else:
        curves = [np.r_[np.inf, np.sort(rng.exponential(size=12))[::-1]] for _ in range(m)]
    result = optimal_dimensions(costs, budget, curves=curves)
    assert result.gap == 0
    assert result.objective == pytest.approx(milp_optimum(curves, costs, budget, 1), rel=1e-9)


def test_never_worse_than_the_greedy_rule_and_never_below_the_bound():
    rng = np.random.default_rng(1)
    for m in (2, 10, 100, 2000):
        n, a = rng.integers(2, 5000, m), rng.lognormal(0, 2, m)
        budget = int(3.7 * n.sum())
        best, greedy = (
            optimal_dimensions(n, budget, coefficients=a),
            integer_dimensions(a, n, budget),
        )
        assert greedy.lower_bound <= best.objective <= greedy.objective * (1 + 1e-12)
        assert best.gap == 0


def test_the_gap_is_honest_when_the_search_is_cut_short(monkeypatch):
    rng = np.random.default_rng(12)
    m = 40
    costs = rng.integers(500, 1000, m)
    curves = [np.r_[np.inf, 1.3 * c * np.arange(6, 0, -1) + rng.uniform(0, 90, 6)] for c in costs]
    budget = int(costs.sum() * 2.5) + 7
    exact = optimal_dimensions(costs, budget, curves=curves)
    assert exact.gap == 0
    monkeypatch.setattr(choice_search, "STATES_AT_ONCE", 2)
    cut = optimal_dimensions(costs, budget, curves=curves)
    assert cut.gap > 0
    assert cut.lower_bound <= exact.objective <= cut.objective
    assert cut.cost <= budget
    monkeypatch.setattr(choice_search, "DEPARTURES_IN_ALL", 1)
    cut = optimal_dimensions(costs, budget, curves=curves)
    assert cut.gap > 0
    assert cut.lower_bound <= exact.objective <= cut.objective


def test_curves_that_cannot_be_paid_together_name_the_minimum():
    with pytest.raises(BudgetError, match="budget 13 is below 14"):
        optimal_dimensions([3, 4], 13, curves=[[9, np.inf, 1], [9, np.inf, 1]])


@pytest.mark.parametrize("budget", [10**9, 2**53])
def test_huge_budgets_end_with_an_honest_gap(monkeypatch, budget):
    monkeypatch.setattr(optimum, "LARGEST_LISTING", 20_000)
    monkeypatch.setattr(choice_search, "DEPARTURES_AT_ONCE", 20_000)
    n, a = [3, 50, 400], [1.0, 4.0, 6.0]
    result = optimal_dimensions(n, budget, coefficients=a)
    greedy = integer_dimensions(a, n, budget)
    assert result.cost <= budget
    assert result.lower_bound <= result.objective <= greedy.objective * (1 + 1e-9)
    assert result.gap <= 1e-6 * result.objective


def test_a_cut_window_gives_the_same_optimum_or_admits_a_gap(monkeypatch):
    rng = np.random.default_rng(3)
    for _ in range(30):
        n, a = rng.integers(1, 30, 4), rng.lognormal(0, 2, 4)
        budget = int(n.sum() * 40)
        monkeypatch.setattr(optimum, "LARGEST_LISTING", 2_000_000)
        monkeypatch.setattr(choice_search, "DEPARTURES_AT_ONCE", 2_000_000)
        exact = optimal_dimensions(n, budget, coefficients=a)
        monkeypatch.setattr(optimum, "LARGEST_LISTING", 16)
        monkeypatch.setattr(choice_search, "DEPARTURES_AT_ONCE", 16)
        cut = optimal_dimensions(n, budget, coefficients=a)
        assert cut.lower_bound <= exact.objective * (1 + 1e-12)
        assert cut.objective >= exact.objective * (1 - 1e-12)
        if cut.gap == 0:
            assert cut.objective == pytest.approx(exact.objective, rel=1e-12)


def test_ties_go_to_the_cheaper_allocation():
    flat = optimal_dimensions([5, 7], 1000, curves=[[3, 2, 2, 2], [4, 1, 1, 1]])
    assert flat.dimensions == {"x1": 1, "x2": 1}


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({}, "either coefficients or curves"),
        ({"coefficients": [1, 1], "curves": [[1], [1]]}, "either coefficients or curves"),
        ({"coefficients": [1, 1], "minimum": 0}, "infinite at d = 0, which 'x1' may take"),
        ({"curves": [[1, 0]]}, "expected 2 values, got 1"),
        ({"curves": [[1, 0], [1, np.nan]]}, "'x2' must be a list of errors"),
        ({"curves": [[1, 0], [1]]}, "'x2' has no finite error between dimension 1"),
        ({"curves": {"x1": [1, 0]}}, "no value for 'x2'"),
    ],
)
def test_bad_input_is_refused(keywords, message):
    with pytest.raises(ValueError, match=message):
        optimal_dimensions([3, 4], 100, **keywords)
