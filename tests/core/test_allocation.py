"""Theorem 3, its integer step, and the promise that the budget is never exceeded."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import embedalloc
from embedalloc.allocation import continuous_dimensions
from embedalloc.from_cardinalities import integer_dimensions
from embedalloc.problem import BudgetError
from embedalloc.result import Allocation
from tests.oracles import naive

coefficient = st.floats(1e-12, 1e12, allow_subnormal=False)
fields = st.lists(st.tuples(st.integers(1, 10_000), coefficient), min_size=1, max_size=12)


@st.composite
def instances(draw):
    """A random problem: cardinalities, coefficients, budget and constraints that can be met."""
    chosen = draw(fields)
    cardinalities = {f"p{j}": n for j, (n, _) in enumerate(chosen)}
    coefficients = {f"p{j}": a for j, (_, a) in enumerate(chosen)}
    step = draw(st.sampled_from([1, 1, 1, 2, 8]))
    minimum = {name: draw(st.integers(0, 5)) for name in cardinalities}
    maximum = {name: minimum[name] + step + draw(st.integers(0, 10**6)) for name in cardinalities}
    fixed = {
        name: draw(st.integers(0, 9))
        for name in draw(st.sets(st.sampled_from(list(cardinalities))))
    }
    least = sum(
        n * (fixed[name] if name in fixed else -(-minimum[name] // step) * step)
        for name, n in cardinalities.items()
    )
    extra = draw(st.one_of(st.just(0), st.integers(0, 3000), st.integers(0, 10**12)))
    constraints = {"minimum": minimum, "maximum": maximum, "fixed": fixed, "multiple_of": step}
    return coefficients, cardinalities, least + extra, constraints


# ---------------------------------------------------------------- Theorem 3, real dimensions


@given(fields, st.floats(1, 1e9))
def test_closed_form_meets_the_kkt_conditions(chosen, budget):
    n, a = (np.array(column, float) for column in zip(*chosen, strict=True))
    d = continuous_dimensions(a, n, budget)
    assert (d > 0).all()
    assert n @ d == pytest.approx(budget, rel=1e-9)
    multiplier = a / (n * d**2)
    np.testing.assert_allclose(multiplier, multiplier[0], rtol=1e-9)


def test_closed_form_agrees_with_a_numerical_solver():
    rng = np.random.default_rng(5)
    for _ in range(20):
        m = rng.integers(2, 7)
        n, a = rng.uniform(2, 50, m), rng.lognormal(0, 1, m)
        budget = 5 * n.sum()
        solved = minimize(
            lambda d, a=a: (a / d).sum(),
            np.full(m, 5.0),
            jac=lambda d, a=a: -a / d**2,
            bounds=[(1e-3, None)] * m,
            constraints={"type": "ineq", "fun": lambda d, n=n, b=budget: b - n @ d},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        d = continuous_dimensions(a, n, budget)
        assert (a / d).sum() <= solved.fun * (1 + 1e-9)
        np.testing.assert_allclose(d, solved.x, rtol=1e-3)


@given(fields, st.floats(1, 1e6), st.floats(1e-6, 1e6))
def test_closed_form_scale_invariances(chosen, budget, factor):
    n, a = (np.array(column, float) for column in zip(*chosen, strict=True))
    d = continuous_dimensions(a, n, budget)
    np.testing.assert_allclose(continuous_dimensions(factor * a, n, budget), d, rtol=1e-9)
    np.testing.assert_allclose(continuous_dimensions(a, n, factor * budget), factor * d, rtol=1e-9)
    np.testing.assert_allclose(continuous_dimensions(a, factor * n, factor * budget), d, rtol=1e-9)


def test_extreme_coefficients_do_not_overflow():
    d = continuous_dimensions([1e-300, 1e300], [1, 1], 10)
    assert np.isfinite(d).all()
    assert d[1] == pytest.approx(10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, -2.0], [3, 4], 10), "coefficient 2 is -2.0"),
        (([1.0, np.inf], [3, 4], 10), "coefficient 2 is inf"),
        (([1.0], [0], 10), "cardinality 1 is 0.0"),
        (([1.0], [3], 0), "budget 1 is 0"),
        (([1.0, 2.0], [3], 10), r"\(2,\) and \(1,\)"),
        (([], [], 10), "one coefficient per cardinality"),
    ],
)
def test_closed_form_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        continuous_dimensions(*arguments)


# ------------------------------------------------------------ Algorithm 1, whole dimensions


@settings(max_examples=1500, deadline=None)
@given(instances())
@example(({"a": 1.0}, {"a": 1}, 1, {}))
@example(({"a": 1.0}, {"a": 1}, 10**15, {}))
@example(({"a": 1.0, "b": 1e-12}, {"a": 10_000, "b": 1}, 2**53, {"maximum": {"a": 3, "b": 2**53}}))
@example(({"a": 1.0, "b": 5.0}, {"a": 7, "b": 9}, 16, {}))
def test_constraints_always_hold_and_nothing_more_fits(instance):
    coefficients, cardinalities, budget, constraints = instance
    result = integer_dimensions(coefficients, cardinalities, budget, **constraints)
    assert_constraints_hold(result, cardinalities, budget, constraints)
    assert_nothing_more_fits(result, cardinalities, constraints)


def assert_constraints_hold(result, cardinalities, budget, constraints):
    step = constraints.get("multiple_of", 1)
    fixed = constraints.get("fixed", {})
    minimum, maximum = constraints.get("minimum", {}), constraints.get("maximum", {})
    cost = sum(n * result.dimensions[name] for name, n in cardinalities.items())
    assert cost == result.cost <= budget
    assert result.leftover == budget - cost
    for name, d in result.dimensions.items():
        if name in fixed:
            assert d == fixed[name]
            continue
        assert d % step == 0
        assert minimum.get(name, 1) <= d <= maximum.get(name, np.inf)


def assert_nothing_more_fits(result, cardinalities, constraints):
    step = constraints.get("multiple_of", 1)
    fixed, maximum = constraints.get("fixed", {}), constraints.get("maximum", {})
    for name, d in result.dimensions.items():
        full = name in fixed or d + step > maximum.get(name, np.inf)
        assert full or cardinalities[name] * step > result.leftover


def test_agrees_with_the_literal_algorithm_on_thousands_of_instances():
    rng = np.random.default_rng(8)
    for _ in range(2000):
        m = rng.integers(1, 7)
        n = rng.integers(1, 40, m)
        a = rng.lognormal(0, rng.choice([0.3, 2.0, 5.0]), m)
        step = int(rng.choice([1, 1, 2, 4]))
        upper = step * rng.integers(2, 60, m)
        budget = int(step * n.sum() + rng.integers(0, 900))
        expected = naive.proposed(a, n, budget, lower=[step] * m, upper=upper, step=step)
        found = integer_dimensions(a, n, budget, maximum=upper, multiple_of=step)
        assert list(found.dimensions.values()) == expected


@pytest.mark.parametrize("seed", range(6))
def test_steps_taken_together_equal_steps_taken_one_by_one(seed):
    """Instances with so many steps that most are taken by threshold instead of by heap."""
    rng = np.random.default_rng(seed)
    n = np.r_[1, 1, rng.integers(2, 4000, 4)]
    a = rng.lognormal(0, 2, 6) * [1e6, 1e6, 1, 1, 1, 1]
    upper = np.r_[10**6, 7000, 30, 2, 1, 50]
    budget = int(n.sum() + 12_000)
    expected = naive.proposed(a, n, budget, upper=upper)
    assert sum(expected) > 4000
    found = integer_dimensions(a, n, budget, maximum=upper)
    assert list(found.dimensions.values()) == expected


@pytest.mark.parametrize("seed", range(6))
def test_many_dimensions_given_back_together(seed):
    """A minimum that is far too expensive at first makes the cheap fields give back a lot."""
    rng = np.random.default_rng(seed)
    n = np.r_[1, 2, 3, 9000]
    a = np.r_[rng.lognormal(8, 1, 3), 1e-6]
    budget = 9000 + int(rng.integers(6, 2000))
    expected = naive.proposed(a, n, budget)
    found = integer_dimensions(a, n, budget)
    assert list(found.dimensions.values()) == expected
    assert found.dimensions["x4"] == 1


def test_more_budget_never_raises_the_objective_of_the_closed_form_and_bound_holds():
    rng = np.random.default_rng(2)
    n, a = rng.integers(2, 50, 6), rng.lognormal(0, 1, 6)
    results = [integer_dimensions(a, n, int(b)) for b in range(int(n.sum()), 3000, 37)]
    bounds = [r.lower_bound for r in results]
    assert all(later <= earlier for earlier, later in itertools.pairwise(bounds))
    for result in results:
        d = np.array(list(result.dimensions.values()))
        assert result.objective == pytest.approx((a / d).sum())
        assert result.lower_bound <= result.objective + 1e-12
        assert result.gap == pytest.approx(result.objective - result.lower_bound)


def test_the_lower_bound_is_the_optimum_over_real_dimensions_within_the_bounds():
    rng = np.random.default_rng(11)
    for _ in range(40):
        m = int(rng.integers(2, 6))
        n, a = rng.integers(1, 40, m), rng.lognormal(0, 2, m)
        lower, upper = rng.integers(1, 4, m), rng.integers(4, 12, m)
        budget = int(n @ lower + rng.integers(1, 200))
        solved = minimize(
            lambda d, a=a: (a / d).sum(),
            lower + 0.5,
            jac=lambda d, a=a: -a / d**2,
            bounds=list(zip(lower, upper, strict=True)),
            constraints={"type": "ineq", "fun": lambda d, n=n, b=budget: b - n @ d},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 1000},
        )
        found = integer_dimensions(a, n, budget, minimum=lower, maximum=upper)
        assert found.lower_bound == pytest.approx(solved.fun, rel=1e-5)
        assert found.lower_bound <= found.objective * (1 + 1e-12)


def test_a_minimum_of_zero_serves_the_best_ratio_first_when_money_is_short():
    a = {"cheap": 1.0, "dear": 50.0, "dull": 0.001}
    n = {"cheap": 2, "dear": 90, "dull": 30}
    assert integer_dimensions(a, n, 40, minimum=0).dimensions == {"cheap": 5, "dear": 0, "dull": 1}
    assert integer_dimensions(a, n, 5, minimum=0).dimensions == {"cheap": 2, "dear": 0, "dull": 0}
    assert integer_dimensions(a, n, 0, minimum=0).dimensions == {"cheap": 0, "dear": 0, "dull": 0}
    rich = integer_dimensions(a, n, 400, minimum=0)
    assert rich.dimensions == integer_dimensions(a, n, 400).dimensions


def test_whole_targets_do_not_depend_on_the_last_bit():
    """Three equal fields at three times their cost: three dimensions each, nothing left."""
    for a in (0.1, 1 / 3, 7.7e5):
        result = integer_dimensions([a] * 3, [7, 7, 7], 63)
        assert list(result.dimensions.values()) == [3, 3, 3]


def test_a_field_that_a_limit_does_not_name_keeps_the_default():
    a, n = {"a": 1.0, "b": 1.0}, {"a": 10, "b": 10}
    assert integer_dimensions(a, n, 100, maximum={"a": 2}).dimensions == {"a": 2, "b": 8}
    assert integer_dimensions(a, n, 100, minimum={"a": 9}).dimensions == {"a": 9, "b": 1}
    with pytest.raises(ValueError, match=r"minimum\['a'\]: -1 is not between 0"):
        integer_dimensions(a, n, 100, minimum={"a": -1})


def test_cost_per_dimension_replaces_the_cardinality():
    result = integer_dimensions([1.0, 1.0], [3, 3], 100, cost_per_dimension=[1, 9])
    assert result.dimensions == {"x1": 28, "x2": 8}  # 25 and 8.33 before rounding
    assert result.parameters == {"x1": 28, "x2": 72}


@pytest.mark.parametrize(
    ("arguments", "constraints", "message"),
    [
        (([1, 1], [30, 20], 49), {}, "budget 49 is below 50, .* raise it to at least 50"),
        (([1, 1], [3, 2], 9), {"minimum": 2}, "below 10"),
        (([1, 0], [3, 2], 9), {}, "coefficients: 'x2' is 0.0, must be above 0"),
        (([1, np.nan], [3, 2], 9), {}, "'x2' is nan"),
        (([1, 1, 1], [3, 2], 9), {}, "coefficients: expected 2 values"),
        (({"x": 1.0}, {"x": 3, "y": 2}, 9), {}, "coefficients: no value for 'y'"),
        (({"x": 1.0, "z": 2.0}, {"x": 3}, 9), {}, "coefficients: 'z' is not a field"),
        (([1], [0], 9), {}, r"cardinalities\['x1'\]: 0 is not between 1"),
        (([1], [2.5], 9), {}, r"cardinalities\['x1'\]: 2.5 is not a whole number"),
        (([1], [True], 9), {}, "True is not a whole number"),
        (([1], ["3"], 9), {}, "'3' is not a whole number"),
        (([], [], 9), {}, "no field to allocate to"),
        (([1], [3], 9.5), {}, "budget: 9.5 is not a whole number"),
        (([1], [3], float("inf")), {}, "budget: inf is not a whole number"),
        (([1], [3], -1), {}, "budget: -1 is not between 0"),
        (([1], [3], 10**30), {}, "is not between 0 and 9007199254740992"),
        (([1], [3], 9), {"fixed": {"y": 1}}, "fixed: 'y' is not a field; there are 'x1'"),
        (([1], [3], 9), {"fixed": {"x1": -1}}, r"fixed\['x1'\]: -1"),
        (([1], [3], 9), {"maximum": 0}, "no dimension is left for 'x1': at least 1, at most 0"),
        (([1], [3], 90), {"maximum": 7, "multiple_of": 8}, "multiples of 8"),
        (([1], [3], 9), {"multiple_of": 0}, "multiple_of: 0"),
        (([1], [3], 9), {"minimum": [1, 1]}, "minimum: expected 1 values, got 2"),
        (([1], [3], 9), {"maximum": "four"}, "maximum: 'four' is neither a mapping nor a list"),
        (([1], {3: 4}, 9), {}, "the name 3 is not a string"),
        (([1], {3}, 9), {}, r"cardinalities: \{3\} is neither a mapping nor a list"),
        (([1], 5, 9), {}, "cardinalities: 5 is neither a mapping nor a list"),
        (([1], [3], 9), {"fixed": [2]}, r"fixed: \[2\] does not name its fields"),
    ],
)
def test_bad_input_is_refused_before_work(arguments, constraints, message):
    with pytest.raises(ValueError, match=message):
        integer_dimensions(*arguments, **constraints)


def test_a_pandas_series_is_read_by_its_names():
    a, n, cap = {"b": 100.0, "a": 1.0}, {"a": 3, "b": 4}, {"b": 2, "a": 30}
    by_dict = integer_dimensions(a, n, 50, maximum=cap)
    by_series = integer_dimensions(pd.Series(a), pd.Series(n), 50, maximum=pd.Series(cap))
    assert by_series.dimensions == by_dict.dimensions
    assert list(by_series.dimensions) == ["a", "b"]


def test_a_cap_at_the_minimum_is_a_cap_and_not_a_settled_dimension():
    """Sharing changes with what is settled, not with how tight a cap is."""
    n, upper = [10, 100, 1000], [50, 50, 1]
    a = [1.0, 1.0, 1.0]
    found = integer_dimensions(a, n, 4000, maximum=upper)
    assert list(found.dimensions.values()) == naive.proposed(a, n, 4000, upper=upper)


def test_budget_error_is_its_own_kind():
    with pytest.raises(BudgetError):
        integer_dimensions([1.0], [3], 2)


def test_the_result_prints_as_a_table():
    result = integer_dimensions({"sex": 1.0, "town": 4.0}, {"sex": 3, "town": 50}, 180)
    text = str(result)
    assert (
        "field  categories  dimension  parameters\nsex             3         10          30" in text
    )
    assert "180 of 180 parameters spent, 0 left over" in text


def test_every_public_name_can_be_reached_from_the_package():
    for name in embedalloc.__all__:
        assert getattr(embedalloc, name) is not None
    assert embedalloc.Allocation is Allocation
    with pytest.raises(AttributeError, match="no attribute 'alocate'"):
        _ = embedalloc.alocate
