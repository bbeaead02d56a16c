"""Plans: one budget for tables and effects, the user's limits, and what a network reads."""

import itertools

import numpy as np
import pytest

from embedalloc.data.case import set_limits
from embedalloc.data.plan import FieldPlan, Plan, Wish, make_plan, name_effects, plan_allocation
from embedalloc.data.report import describe_plan, find_larger
from embedalloc.data.table import FieldData, PredictionTask
from embedalloc.from_cardinalities import allocate

COUNTS = {
    "town": np.array([0, 400, 300, 200, 50, 20, 15, 10, 4, 1]),
    "shop": np.concatenate([[0], np.repeat([100, 30, 8, 3, 2, 1], [4, 10, 20, 20, 30, 60])]),
    "sex": np.array([0, 520, 480]),
}
LEVELS = {name: len(counts) for name, counts in COUNTS.items()}
WORTH = {"town": 5.0, "shop": 1.2, "sex": 30.0}


def plan(wish, budget, *, columns=1, **words):
    return make_plan(
        wish, COUNTS, set_limits(LEVELS, **words), budget, worth=WORTH, effect_columns=columns
    )


def true_cost(found):
    return sum(
        (each.kept + 1) * each.dimension + LEVELS[name] * each.effect_columns
        for name, each in found.fields.items()
    )


def test_cost_is_rows_times_dimension_and_a_number_per_level_and_effect_column():
    fields = {"a": FieldPlan(101, 40, 3, 2), "b": FieldPlan(10, 9, 0, 1), "c": FieldPlan(5, 4, 0)}
    found = Plan("x", fields, 400)
    assert found.cost == 41 * 3 + 2 * 101 + 10
    assert found.tables == {"a": {"rows": 41, "dimension": 3}}
    assert (found.effects, found.dropped, found.pooled) == (("a", "b"), ("c",), ("a",))
    with pytest.raises(AssertionError, match="costs 335, the budget is 334"):
        Plan("x", fields, 334)


WISHES = [
    Wish("equal"),
    Wish("pruned", frozenset(["shop"]), {"town": 12.0}),
    Wish("effects", frozenset(["shop"]), {"town": 12.0}, ["town", "shop"]),
    Wish("all", frozenset(), {"shop": 5.0}, ["shop", "town", "sex"]),
]


@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.label)
@pytest.mark.parametrize("columns", [1, 3])
def test_no_budget_is_exceeded_and_none_is_an_error(wish, columns):
    """From nothing to more than everything costs; limits hold wherever there is a table."""
    for budget in [0, 1, 2, 5, 13, 40, 100, 157, 158, 500, 1500, 30_000]:
        for minimum, maximum, multiple in itertools.product((1, 3), (4, 8), (1, 2)):
            found = plan(
                wish, budget, columns=columns, minimum=minimum, maximum=maximum,
                multiple_of=multiple,
            )  # fmt: skip
            assert found.cost == true_cost(found) <= budget
            for each in found.fields.values():
                assert each.kept < each.levels
                if each.dimension:
                    assert minimum <= each.dimension <= maximum
                    assert each.dimension % multiple == 0


def test_fixed_fields_keep_all_levels_and_what_must_stay_stays():
    found = plan(WISHES[1], 400, fixed={"shop": 1})
    assert (found.fields["shop"].kept, found.fields["shop"].dimension) == (144, 1)
    kept = plan(WISHES[1], 400, drop_allowed=False)
    assert min(kept.dimensions.values()) >= 1
    whole = plan(WISHES[1], 4000, pool_allowed=False)
    assert all(each.kept == each.levels - 1 for each in whole.fields.values())
    assert plan(WISHES[0], 157, drop_allowed=False, pool_allowed=False) is None
    assert plan(WISHES[0], 158, drop_allowed=False, pool_allowed=False).dimensions == {
        "town": 1, "shop": 1, "sex": 1,
    }  # fmt: skip


def test_a_small_budget_pools_rare_levels_before_it_drops_the_least_worth():
    tight = plan(Wish("equal"), 60)
    assert list(tight.tables) == ["town", "shop", "sex"]
    assert "shop" in tight.pooled
    tiny = plan(Wish("equal"), 11)  # pooled to levels of 64 rows the three need 12
    assert "shop" not in tiny.tables
    assert "sex" in tiny.tables


def test_minimum_counts_decide_which_levels_have_a_row():
    found = plan(Wish("pruned", frozenset(), {"town": 12.0, "shop": 8.0}), 5000)
    assert found.fields["town"].kept == (COUNTS["town"] >= 12).sum()
    assert found.fields["shop"].kept == (COUNTS["shop"] >= 8).sum()
    assert found.fields["sex"].kept == 2


def test_effects_are_paid_first_and_by_their_order():
    found = plan(Wish("effects", frozenset(["shop"]), None, ["town", "shop"]), 160)
    assert found.effects == ("town", "shop")
    assert found.fields["shop"].dimension == 0
    assert plan(Wish("effects", frozenset(), None, ["shop", "town"]), 20).effects == ("town",)


def test_a_network_reads_pooled_codes_and_effects_behind_the_numbers():
    fields = {"a": FieldPlan(5, 2, 3, 1), "b": FieldPlan(3, 2, 0)}
    data = FieldData(
        {"a": 5, "b": 3},
        {"a": np.array([0, 1, 2, 3, 4], np.int32), "b": np.array([1, 2, 1, 2, 1], np.int32)},
        np.arange(5, dtype=np.float32)[:, None],
        np.zeros(5, np.float32),
        PredictionTask("regression"),
    )
    effects = {"a": np.array([[0.5], [1.0], [1.5], [2.0], [2.5]])}
    found = Plan("x", fields, 100).apply(data, effects)
    assert found.codes["a"].tolist() == [0, 1, 2, 0, 0]
    assert found.cardinalities == {"a": 3, "b": 3}
    np.testing.assert_array_equal(found.numbers, [[0, 0.5], [1, 1], [2, 1.5], [3, 2], [4, 2.5]])


def test_effects_are_named_by_field_and_class():
    assert name_effects("town", PredictionTask("binary", (0, 1))) == ("town__effect",)
    three = PredictionTask("multiclass", ("blue", "green", "red"))
    assert name_effects("town", three)[1] == "town__effect_green"


# ---- equal means equal ----------------------------------------------------------------------

SIZES = {"town": 1000, "shop": 50, "kind": 10, "sex": 3}


@pytest.mark.parametrize("budget", [1063, 2500, 2960, 3200, 5000, 70_000])
@pytest.mark.parametrize("words", [{}, {"maximum": 4}, {"fixed": {"shop": 7}}])
def test_a_report_names_the_fields_that_equal_dimensions_give_more(budget, words):
    """Without the rest of the budget, dimensions are the same but for limits."""
    limits = set_limits(SIZES, **words)
    if budget < 1400 and "fixed" in words:
        budget += 350
    found = allocate(SIZES, budget, rule="equal", **limits.constraints())
    floored = allocate(SIZES, budget, rule="equal", leftover="floored", **limits.constraints())
    equal = plan_allocation("equal", found)
    least, larger = find_larger(equal, limits)
    text = describe_plan(equal, limits)
    assert text.startswith("equal dimensions for all levels")
    if not larger:
        free = [d for name, d in found.dimensions.items() if name not in limits.fixed]
        most = max(free)
        assert all(
            d in (most, limits.maximum[name])
            for name, d in found.dimensions.items()
            if name not in limits.fixed
        )
        assert "rest" not in text
        return
    assert text.endswith(f"{least} each, and the rest of the budget for {', '.join(larger)}")
    for name, d in floored.dimensions.items():
        if name not in limits.fixed:
            assert d <= min(least, limits.maximum[name])
            assert (found.dimensions[name] > least) == (name in larger)


def test_equal_dimensions_of_a_small_budget_are_far_from_equal_and_it_says_so():
    equal = plan_allocation("equal", allocate(SIZES, 2960, rule="equal"))
    assert equal.dimensions == {"town": 2, "shop": 17, "kind": 9, "sex": 2}
    text = describe_plan(equal, set_limits(SIZES))
    assert text.endswith("; 2 each, and the rest of the budget for shop, kind")
