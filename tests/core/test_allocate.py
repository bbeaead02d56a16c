"""Dimensions from cardinalities and a budget: every rule, every constraint, by name."""

import itertools
import pkgutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc import BudgetError, allocate, parse_budget
from embedalloc.data.rules import DataRule
from embedalloc.from_cardinalities import integer_dimensions, useful_maximum
from embedalloc.rules import RULES, find_rule
from tests.oracles.rule_calls import apply_rule

SIZES = {"user": 943, "item": 1682, "sex": 2}
WITHOUT_DATA = [rule.name for rule in RULES.values() if rule.needs != "data"]


def inputs_for(rule, weights):
    return {RULES[rule].inputs[0]: weights} if RULES[rule].inputs else {}


# Budgets in words


@pytest.mark.parametrize(
    ("budget", "keywords", "expected"),
    [
        (4096, {}, 4096),
        (np.int64(7), {}, 7),
        (4096.0, {"dtype": "float64", "optimizer": "adam"}, 4096),
        ("4096", {}, 4096),
        (" 20_000 ", {}, 20_000),
        ("1e6", {}, 10**6),
        ("64 MB", {}, 16 * 10**6),
        ("64mb", {}, 16 * 10**6),
        ("1 MiB", {}, 2**18),
        ("1.5 GiB", {"dtype": "float16"}, 3 * 2**28),
        ("1.1 kB", {"dtype": "float64"}, 137),
        ("7 B", {"dtype": "bfloat16"}, 3),
        ("12 B", {"optimizer": "sgd"}, 3),
        ("24 B", {"optimizer": "momentum"}, 3),
        ("24 B", {"optimizer": "adagrad"}, 3),
        ("36 B", {"optimizer": "adam"}, 3),
        ("0 MB", {}, 0),
    ],
)
def test_budgets_in_words(budget, keywords, expected):
    found = parse_budget(budget, **keywords)
    assert found == expected
    assert type(found) is int


@pytest.mark.parametrize(
    ("budget", "keywords", "message"),
    [
        ("much", {}, r"'much' is neither a number of parameters \(4096\) nor memory"),
        ("", {}, "'' is neither"),
        ("-5", {}, "'-5' is neither"),
        ("1,5 GB", {}, "'1,5 GB' is neither"),
        ("64 XB", {}, "'XB' in '64 XB' is not a unit; there are B, kB, MB"),
        ("0.5", {}, r"0\.5 is not a whole number"),
        (-1, {}, "-1 is not between 0"),
        (1.5, {}, r"1\.5 is not a whole number"),
        (True, {}, "True is not a whole number"),
        (None, {}, "None is not a whole number"),
        ("1e30 TB", {}, "is not between 0 and 9007199254740992"),
        ("1 MB", {"dtype": "int8"}, "'int8' is not one of float16, bfloat16, float32, float64"),
        ("1 MB", {"optimizer": "lion"}, "'lion' is not one of sgd, momentum, adagrad, adam"),
    ],
)
def test_budgets_that_cannot_be_read(budget, keywords, message):
    with pytest.raises(ValueError, match=message):
        parse_budget(budget, **keywords)


@given(st.integers(1, 10**9), st.sampled_from(["float16", "float32", "float64"]))
def test_what_memory_allows_fits_into_it(size, dtype):
    each = {"float16": 2, "float32": 4, "float64": 8}[dtype] * 3
    found = parse_budget(f"{size} B", dtype=dtype, optimizer="adam")
    assert found * each <= size < (found + 1) * each


# The rules


def test_the_default_rule_follows_what_is_known():
    assert allocate(SIZES, 20_000).allocation_rule == "equal"
    assert allocate(SIZES, 20_000, coefficients=[1, 2, 3]).allocation_rule == "paper"
    curves = {name: [9.0, 1.0] for name in SIZES}
    assert allocate(SIZES, 20_000, curves=curves).allocation_rule == "optimal"


def test_the_papers_rule_is_that_of_the_core():
    a = {"user": 2.0, "item": 1.0, "sex": 0.1}
    limits = {"user": 942, "item": 1681, "sex": 1}
    core = integer_dimensions(a, SIZES, 20_000, maximum=limits)
    ours = allocate(SIZES, 20_000, rule="paper", coefficients=a)
    assert ours.dimensions == core.dimensions
    assert ours.objective == pytest.approx(core.objective)
    assert ours.lower_bound == pytest.approx(core.lower_bound)


def test_formulas_before_rounding_are_the_stated_ones():
    """With a budget so large that rounding vanishes, shares follow the stated proportions."""
    n, budget = np.array([30, 900, 10**6]), 10**14
    for rule, weights, inputs in [
        ("fourth_root", n**0.25, {}),
        ("fastai", [1.6 * 30**0.56, 1.6 * 900**0.56, 600.0], {}),
        ("popularity", n**-0.3, {}),
        ("popularity", (np.array([2.0, 1.0, 0.5]) / n) ** 0.3, {"frequencies": [2.0, 1.0, 0.5]}),
        ("popularity", n**-0.5, {"alpha": 0.5}),
        ("popularity", np.ones(3), {"alpha": 0.0}),
        ("unit", n**-0.5, {}),
    ]:
        found = np.array(list(apply_rule(rule, n, budget, inputs=inputs).dimensions.values()))
        expected = budget * np.array(weights) / (n @ np.array(weights))
        np.testing.assert_allclose(found, expected, atol=1, rtol=1e-6)
    with pytest.raises(ValueError, match=r"alpha: -1\.0 is not between 0 and 1"):
        apply_rule("popularity", n, budget, inputs={"alpha": -1.0})


def test_every_rule_has_a_description_and_every_description_a_rule():
    for name in WITHOUT_DATA:
        found = allocate(SIZES, 9_000, rule=name, **inputs_for(name, [1.0, 2.0, 3.0]))
        assert found.allocation_rule == name
    for name, rule in RULES.items():
        assert rule.name == name
        assert rule.sentence.endswith(".")
        assert rule.source
        assert rule.function is not None or rule.from_table
        if rule.from_table:
            assert isinstance(pkgutil.resolve_name(rule.from_table), DataRule)
    assert find_rule("fastai").needs == "cardinalities"


named_sizes = st.dictionaries(
    st.text("abcdefgh.", min_size=1, max_size=3), st.integers(1, 400), min_size=1, max_size=7
)


@settings(max_examples=300, deadline=None)
@given(named_sizes, st.data())
def test_budget_and_bounds_hold_and_the_order_of_fields_does_not_matter(sizes, data):
    rule = data.draw(st.sampled_from(WITHOUT_DATA))
    step = data.draw(st.sampled_from([1, 1, 3, 4]))
    least = 1 if rule == "optimal" else data.draw(st.integers(0, 2))
    fixed = {
        name: data.draw(st.integers(0, 9)) for name in sizes if data.draw(st.integers(0, 4)) == 0
    }
    maximum = data.draw(st.sampled_from([None, 12]))
    smallest = -(-least // step) * step
    budget = sum(n * fixed.get(name, smallest) for name, n in sizes.items())
    budget += data.draw(st.integers(0, 6_000))
    weights = {name: data.draw(st.sampled_from([0.25, 1.0, 1.0, 7.5])) for name in sizes}
    keywords = {
        "rule": rule,
        "fixed": fixed,
        "minimum": least,
        "maximum": maximum,
        "multiple_of": step,
        **inputs_for(rule, weights),
    }
    if RULES[rule].proportional:
        keywords["leftover"] = data.draw(st.sampled_from(["floored", "spent"]))
    found = allocate(sizes, budget, **keywords)
    assert list(found.dimensions) == list(sizes)
    assert sum(n * found.dimensions[name] for name, n in sizes.items()) == found.cost <= budget
    for name, dimension in found.dimensions.items():
        if name in fixed:
            assert dimension == fixed[name]
        else:
            cap = 12 if maximum else max(sizes[name] - 1, max(1, -(-max(least, 1) // step)) * step)
            assert smallest <= dimension <= cap
            assert dimension % step == 0
    shuffled = data.draw(st.permutations(list(sizes)))
    again = allocate({name: sizes[name] for name in shuffled}, budget, **keywords)
    assert again.dimensions == found.dimensions


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.lists(st.lists(st.floats(0, 10), min_size=2, max_size=6), min_size=3, max_size=3),
    st.integers(0, 60),
    st.integers(0, 1),
)
def test_curves_agree_with_a_look_at_every_allocation(sizes, curves, extra, least):
    names = [f"x{j + 1}" for j in range(len(sizes))]
    budget = least * sum(sizes) + extra
    curves = dict(zip(names, curves, strict=False))
    best = min(
        sum(curves[name][d] for name, d in zip(names, dimensions, strict=True))
        for dimensions in itertools.product(*(range(least, len(curves[name])) for name in names))
        if np.dot(sizes, dimensions) <= budget
    )
    found = allocate(sizes, budget, curves=curves, minimum=least)
    chosen = sum(curves[name][d] for name, d in found.dimensions.items())
    assert chosen == pytest.approx(best)
    assert found.objective == pytest.approx(best)
    assert found.cost <= budget


def test_curves_by_dimension_permit_what_was_measured():
    curves = {"a": {1: 5.0, 4: 2.0, 8: 1.0}, "b": [9.0, 3.0, 2.5]}
    assert allocate({"a": 3, "b": 5}, 32, curves=curves).dimensions == {"a": 8, "b": 1}
    assert allocate({"a": 3, "b": 5}, 28, curves=curves).dimensions == {"a": 4, "b": 2}
    assert allocate({"a": 3, "b": 5}, 28, curves=curves, minimum={"b": 0}).dimensions == {
        "a": 4,
        "b": 2,
    }
    capped = allocate({"a": 3, "b": 5}, 32, curves=curves, maximum={"a": 4})
    assert capped.dimensions == {"a": 4, "b": 2}
    with pytest.raises(ValueError, match="curves: 'a' has no dimension"):
        allocate({"a": 3}, 32, curves={"a": {}})
    with pytest.raises(ValueError, match=r"curves\['a'\], a dimension: -1 is not between 0"):
        allocate({"a": 3}, 32, curves={"a": {-1: 2.0}})


# What the user may say


def test_fixed_fields_are_paid_first_and_need_no_coefficient():
    found = allocate(SIZES, 20_000, coefficients={"user": 1.0, "sex": 1.0}, fixed={"item": 8})
    assert found.dimensions == {"user": 6, "item": 8, "sex": 1}
    assert found.objective == pytest.approx(1 / 6 + 1)
    dropped = allocate(SIZES, 20_000, coefficients=[1, 1, 1], fixed={"item": 0})
    assert dropped.dimensions == {"user": 21, "item": 0, "sex": 1}
    assert np.isfinite(dropped.objective)
    assert allocate(SIZES, 5_000, fixed={"user": 5, "item": 0, "sex": 3}).cost == 4_721
    curves = {"user": [3.0, 2.0, 1.0], "sex": [3.0, 2.0]}
    assert allocate(SIZES, 9_000, curves=curves, fixed={"item": 4}).dimensions["item"] == 4


def test_maximum_and_minimum_by_name_complete_the_defaults():
    found = allocate(SIZES, 90_000, maximum={"user": 16}, minimum={"item": 40})
    assert found.dimensions["user"] == 16
    assert found.dimensions["item"] >= 40
    assert found.dimensions["sex"] == 1
    assert allocate([943, 2], 90_000, maximum=[16, 5]).dimensions == {"x1": 16, "x2": 5}
    assert allocate({"one": 1}, 50).dimensions == {"one": 1}
    assert useful_maximum({"a": 0, "b": 8}) == {"a": 1, "b": 8}
    # A default cap gives way to the multiple; a cap of the user's own does not.
    assert allocate({"sex": 2}, 50, multiple_of=8).dimensions == {"sex": 8}
    with pytest.raises(ValueError, match="no dimension is left for 'sex': at least 8, at most 0"):
        allocate({"sex": 2}, 50, multiple_of=8, maximum=2)


def test_a_minimum_of_zero_lets_fields_go_where_the_rule_wants_none():
    sizes = {"small": 10, "large": 1000}
    assert allocate(sizes, 500, minimum=0).dimensions == {"small": 9, "large": 0}
    served = allocate(sizes, 500, coefficients=[1.0, 1.0], minimum=0)
    assert served.dimensions == {"small": 9, "large": 0}
    both = allocate(sizes, 1_010, coefficients=[1.0, 1.0], minimum=0)
    assert both.dimensions == {"small": 1, "large": 1}


def test_budgets_in_bytes_and_other_prices():
    in_bytes = allocate(SIZES, "80 kB", rule="unit", optimizer="sgd")
    assert in_bytes.budget == 20_000
    assert in_bytes.dimensions == allocate(SIZES, 20_000, rule="unit").dimensions
    half = allocate(SIZES, "80 kB", rule="unit", dtype="bfloat16", optimizer="momentum")
    assert half.budget == 20_000
    priced = allocate(SIZES, 100, cost_per_dimension={"user": 10, "item": 1, "sex": 1})
    assert priced.parameters["user"] == 10 * priced.dimensions["user"]
    assert priced.cost <= 100


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"rule": "unifrom"}, "unknown allocation rule 'unifrom'; there are paper, optimal"),
        ({"rule": "paper"}, "rule: 'paper' needs coefficients"),
        ({"rule": "optimal"}, "rule: 'optimal' needs coefficients or curves"),
        ({"rule": "spectral_mass"}, "rule: 'spectral_mass' needs masses"),
        (
            {"rule": "equal", "coefficients": [1, 2, 3]},
            "coefficients: the rule 'equal' does not use them; leave them out or choose paper, ",
        ),
        (
            {"coefficients": [1, 2, 3], "frequencies": [1, 2, 3]},
            "frequencies: the rule 'paper' does not use them; .* choose popularity",
        ),
        (
            {"coefficients": [1, 2, 3], "curves": [[1]] * 3},
            "give either coefficients or curves",
        ),
        ({"coefficients": [1, 2]}, "coefficients: expected 3 values, got 2"),
        ({"coefficients": {"user": 1.0}}, "coefficients: no value for 'item'"),
        ({"coefficients": {"usr": 1.0}}, "coefficients: 'usr' is not a field; there are 'user"),
        ({"coefficients": [1, 0, 1]}, r"coefficients: 'item' is 0\.0, must be above 0"),
        ({"coefficients": 3.0}, r"coefficients: 3\.0 is neither a mapping nor a list"),
        ({"fixed": {"usr": 3}}, "fixed: 'usr' is not a field"),
        ({"minimum": {"user": 1.5}}, r"minimum\['user'\]: 1\.5 is not a whole number"),
        ({"maximum": "many"}, "maximum: 'many' is neither a mapping nor a list"),
        ({"multiple_of": 0}, "multiple_of: 0 is not between 1"),
        ({"leftover": "kept"}, "leftover: 'kept' is not one of floored, spent"),
        ({"rule": "unit", "leftover": "floored"}, "leftover: the rule 'unit' always spends it"),
    ],
)
def test_mistakes_name_the_value_and_the_way_out(keywords, message):
    with pytest.raises(ValueError, match=message):
        allocate(SIZES, 20_000, **keywords)


def test_a_budget_too_small_names_the_smallest_one():
    with pytest.raises(
        BudgetError, match=r"budget 2000 is below 2627, .* raise it to at least 2627"
    ):
        allocate(SIZES, 2_000)
    assert allocate(SIZES, 2_627).cost == 2_627
