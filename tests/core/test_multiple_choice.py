"""Choices of any cost and error beside listing all combinations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc.choice_search import Choices, add_exactly
from embedalloc.multiple_choice import find_hull, keep_efficient, solve_choices
from tests.oracles import naive

entry = st.tuples(st.integers(0, 60), st.floats(-9, 9).map(lambda x: round(x, 1)))
menus = st.lists(st.lists(entry, min_size=1, max_size=9), min_size=1, max_size=4)


def build(menus):
    """Return the efficient choices of all menus, and each menu's costs and errors."""
    groups, costs, errors = [], [], []
    for field, entries in enumerate(menus):
        cost, error = (np.array(column) for column in zip(*entries, strict=True))
        kept = keep_efficient(cost.astype(np.int64), error.astype(float))
        groups.append(np.full(len(kept), field))
        costs.append(cost[kept].astype(np.int64))
        errors.append(error[kept].astype(float))
    return Choices(np.concatenate(groups), np.concatenate(costs), np.concatenate(errors))


@settings(max_examples=400, deadline=None)
@given(menus, st.integers(0, 150))
def test_equals_listing_all_combinations(menus, extra):
    choices = build(menus)
    budget = sum(min(cost for cost, _ in entries) for entries in menus) + extra
    found = solve_choices(choices, budget)
    errors = [[error for _, error in entries] for entries in menus]
    costs = [[cost for cost, _ in entries] for entries in menus]
    assert found.objective == pytest.approx(naive.best_by_cost(errors, costs, budget), abs=1e-9)
    assert found.lower_bound == found.objective
    assert choices.cost[found.rows].sum() <= budget
    assert choices.group[found.rows].tolist() == list(range(len(menus)))


@settings(max_examples=200, deadline=None)
@given(st.lists(entry, min_size=1, max_size=30))
def test_what_is_kept_is_what_no_other_entry_beats(entries):
    cost, error = (np.array(column) for column in zip(*entries, strict=True))
    kept = keep_efficient(cost, error.astype(float))
    expected = {
        (c, e)
        for c, e in entries
        if not any((c2 <= c and e2 < e) or (c2 < c and e2 <= e) for c2, e2 in entries)
    }
    assert {(int(cost[k]), float(error[k])) for k in kept} == expected
    assert len(kept) == len(expected)


@settings(max_examples=200, deadline=None)
@given(menus, st.floats(0, 3))
def test_the_hull_holds_the_best_choice_at_any_price(menus, price):
    choices = build(menus)
    hull = find_hull(choices)
    value = choices.error + price * choices.cost
    for field in range(len(menus)):
        on_hull = hull[choices.group[hull] == field]
        assert value[on_hull].min() == pytest.approx(value[choices.group == field].min(), abs=1e-9)


def test_the_hull_of_a_convex_curve_is_all_of_it_and_of_a_concave_one_its_ends():
    cost = np.tile(np.arange(50), 2)
    error = np.r_[100.0 / (1 + np.arange(50)), 100.0 - np.arange(50) ** 2 / 25]
    hull = find_hull(Choices(np.repeat([0, 1], 50), cost, error))
    assert hull.tolist() == [*range(50), 50, 99]


def test_sums_beyond_64_bits_are_exact():
    many = np.full(4000, 2**53 + 1)
    assert add_exactly(many) == 4000 * (2**53 + 1) > 2**63
