"""The plan beside listing everything, Theorem 3 as a special case, bytes beside torch."""

import json
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc import BudgetError, MemoryPlan, TableChoice, optimal_dimensions, plan_memory
from embedalloc.allocation import continuous_dimensions
from embedalloc.memory import parse_bytes
from embedalloc.memory_plan.menus import build_memory_problem, list_rows
from embedalloc.memory_plan.plan import solve_memory
from embedalloc.memory_plan.prices import NUMBER_FORMATS, OPTIMIZERS, Prices
from tests.oracles import naive

COUNTS = {
    "user": np.maximum(1, 500 * np.arange(1, 301) ** -0.9).astype(np.int64),
    "item": np.maximum(1, 900 * np.arange(1, 121) ** -1.2).astype(np.int64),
    "sex": np.array([6000, 4000]),
}


# Exact


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 6000),
    st.lists(st.integers(1, 400), min_size=1, max_size=3),
    st.sampled_from([None, "adam", "rowwise_adagrad"]),
    st.sampled_from([None, 3, 8]),
    st.integers(0, 20),
)
def test_equals_listing_every_combination_of_tables(budget, sizes, optimizer, width, keys):
    rng = np.random.default_rng(sum(sizes))
    counts = {f"x{j}": rng.geometric(0.05, size % 9 + 1) for j, size in enumerate(sizes)}
    words = {"dimensions": [1, 3], "signals": rng.lognormal(0, 1, len(counts))}
    plan = plan_memory(counts, budget, optimizer=optimizer, width=width, key_bytes=keys, **words)
    formats = (
        ("float32", "float16", "int8", "int4") if optimizer is None else ("float32", "float16")
    )
    problem = build_memory_problem(
        counts, prices=Prices(optimizer, keys, width), formats=formats, **words
    )
    menus = [problem.list_tables(field) for field in problem.fields]
    curves = [menu.error for menu in menus]
    best = naive.best_by_cost(curves, [menu.cost for menu in menus], budget)
    assert plan.error == pytest.approx(best, rel=1e-12)
    assert plan.gap == pytest.approx(0, abs=1e-12)
    assert plan.bytes <= budget


def test_theorem_3_is_the_case_of_all_levels_in_float32():
    rng = np.random.default_rng(3)
    rows = rng.integers(20, 400, 6)
    a = rng.lognormal(0, 1, 6)
    budget = int(8 * rows.sum())
    # Every level has a row of its own and one is shared; the errors are a/d.
    measured = {
        f"x{j + 1}": [TableChoice(int(n) - 1, 1, d, "float32", a[j] / d) for d in range(1, 100)]
        for j, n in enumerate(rows)
    }
    counts = {name: np.ones(choices[0].levels, int) for name, choices in measured.items()}
    plan = plan_memory(counts, 4 * budget, formats=["float32"], measured=measured)
    expected = optimal_dimensions(rows.tolist(), budget, coefficients=a)
    assert {name: table.dimension for name, table in plan.tables.items()} == expected.dimensions
    assert plan.bytes == 4 * expected.cost
    assert plan.error == pytest.approx(expected.objective, rel=1e-12)
    assert plan.gap == 0


def test_the_surrogate_with_all_levels_and_many_rows_of_data_comes_to_theorem_3():
    # Rows of data without end: a level's effect is known, and only a/d is lost.
    rows, a, signal = np.array([200, 250, 1000]), np.array([1.0, 2.0, 0.5]), 10.0
    counts = {f"x{j}": np.full(n, 10**12) for j, n in enumerate(rows)}
    budget = 10_000
    problem = build_memory_problem(
        counts,
        prices=Prices(),
        formats=["float32"],
        dimensions=range(1, 400),
        signals=np.full(3, signal),
        coefficients=a,
    )
    plan = solve_memory(problem, 4 * budget)
    chosen = np.array([table.dimension for table in plan.tables.values()])
    # A last level that has the shared row to itself needs no other.
    paid = np.array([table.rows for table in plan.tables.values()])
    assert (paid >= rows).all()
    assert plan.error == pytest.approx((a / chosen).sum(), rel=1e-6)
    ideal = continuous_dimensions(a, paid, budget)
    assert np.abs(chosen - ideal).max() <= 1.0 + 0.02 * ideal.max()
    assert (a / ideal).sum() <= plan.error <= 1.02 * (a / ideal).sum()


def test_more_memory_is_never_worse_and_none_means_no_tables():
    errors = [plan_memory(COUNTS, size).error for size in (0, 100, 1000, 10_000, 10**6)]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] == len(COUNTS)
    assert all(not table.rows for table in plan_memory(COUNTS, 0).tables.values())


def test_choices_of_the_menu_only_add():
    full = plan_memory(COUNTS, 3000).error
    assert full < plan_memory(COUNTS, 3000, formats=["float32"]).error
    assert full <= plan_memory(COUNTS, 3000, hashing=False).error
    assert full <= plan_memory(COUNTS, 3000, key_bytes=16).error
    assert full <= plan_memory(COUNTS, 3000, width=16).error


@pytest.mark.slow
def test_a_thousand_fields_with_ten_thousand_entries_take_seconds():
    rng = np.random.default_rng(0)
    counts = {
        f"x{j}": np.sort(rng.geometric(0.001, int(size)))[::-1]
        for j, size in enumerate(rng.integers(20_000, 30_000, 1000))
    }
    problem = build_memory_problem(
        counts, prices=Prices("rowwise_adagrad"), formats=["float32", "float16"]
    )
    entries = [len(problem.list_tables(field).cost) for field in problem.fields[:3]]
    assert min(entries) > 10_000
    begin = time.process_time()
    plan = solve_memory(problem, 10**9)
    assert time.process_time() - begin < 60
    assert plan.bytes <= 10**9
    assert plan.gap <= 1e-9 * plan.error


# Bytes


@pytest.mark.parametrize("name", NUMBER_FORMATS)
@pytest.mark.parametrize("dimension", [2, 8, 34])
def test_a_served_table_takes_the_bytes_that_torch_takes(name, dimension):
    weights = torch.randn(11, dimension)
    pack = {"int8": "embedding_bag_byte_prepack", "int4": "embedding_bag_4bit_prepack"}
    stored = (
        getattr(torch.ops.quantized, pack[name])(weights)
        if name in pack
        else weights.to(getattr(torch, name))
    )
    assert 11 * Prices().row_bytes(np.array([dimension]), name)[0] == stored.nbytes


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("optimizer", "build"),
    [
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.1)),
        ("momentum", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
        ("adagrad", lambda p: torch.optim.Adagrad(p, lr=0.1)),
        ("adam", lambda p: torch.optim.Adam(p, lr=0.1)),
    ],
)
def test_a_trained_table_takes_the_bytes_that_torch_takes(name, optimizer, build):
    table = torch.nn.Parameter(torch.randn(11, 6).to(getattr(torch, name)))
    training = build([table])
    (table**2).sum().backward()
    training.step()
    kept = [each for each in training.state[table].values() if torch.is_tensor(each)]
    state = sum(each.nbytes for each in kept if each.ndim)  # a step counter has no axis
    assert 11 * Prices(optimizer).row_bytes(np.array([6]), name)[0] == table.nbytes + state


def test_row_wise_optimisers_keep_a_value_per_row():
    one = np.array([10])
    assert Prices("rowwise_adagrad").row_bytes(one, "float16")[0] == 2 * 10 + 4
    assert Prices("partial_rowwise_adam").row_bytes(one, "float32")[0] == 4 * 20 + 4
    assert Prices("adam").row_bytes(one, "int8")[0] == 10 + 8 + 80
    assert set(OPTIMIZERS) >= {"sgd", "adam", "rowwise_adagrad"}


def test_keys_and_projections_are_paid_for():
    measured = {"user": [TableChoice(100, 7, 4, "float32", 0.5)]}

    def bytes_of(**words):
        counts = {"user": np.ones(300, int)}
        return plan_memory(counts, 10**6, measured=measured, **words).bytes

    assert bytes_of() == 107 * 4 * 4
    assert bytes_of(key_bytes=16) == 107 * 16 + 100 * 16
    assert bytes_of(width=10) == 107 * 16 + 4 * 10 * 4
    assert bytes_of(width=4) == 107 * 16
    assert bytes_of(width=10, optimizer="adam") == 3 * (107 * 16 + 4 * 10 * 4)


# Result


def test_every_code_has_a_row_and_frequent_ones_their_own():
    plan = plan_memory(COUNTS, 1500, formats=["float32"])
    table = plan.tables["user"]
    assert 0 < table.levels < 300
    rows = table.rows_of(np.arange(-5, 10_000))
    assert rows.min() == 0
    assert rows.max() <= table.rows - 1
    assert table.rows_of(np.arange(table.levels)).tolist() == list(range(table.levels))
    assert (table.rows_of(np.array([-1, table.levels, 2**62])) >= table.levels).all()


def test_hashing_spreads_codes_evenly():
    measured = {"user": [TableChoice(0, 64, 4, "float32", 0.5)]}
    table = plan_memory({"user": np.ones(300, int)}, 10**6, measured=measured).tables["user"]
    met = np.bincount(table.rows_of(np.arange(64_000)), minlength=64)
    assert met.min() > 800
    assert met.max() < 1200


def test_the_dictionary_holds_everything_and_is_json():
    plan = plan_memory(COUNTS, "3 kB", optimizer="adam", width=8)
    content = json.loads(json.dumps(plan.to_dict()))
    assert content["bytes"] == sum(each["bytes"] for each in content["tables"].values())
    assert content["bytes"] <= content["budget_bytes"] == 3000
    assert content["optimizer"] == "adam"
    assert content["width"] == 8
    assert content["error"] == plan.error
    assert list(content["tables"]) == list(COUNTS)
    for name, each in content["tables"].items():
        assert each["rows"] == each["levels"] + each["buckets"]
        own = COUNTS[name][: each["levels"]].sum() / COUNTS[name].sum()
        assert each["covered"] == pytest.approx(own)


def test_a_plan_comes_back_from_json():
    plan = plan_memory(COUNTS, "3 kB", optimizer="adam", width=8, key_bytes=2)
    content = json.loads(json.dumps(plan.to_dict()))
    assert MemoryPlan.from_dict(content) == plan
    for wrong in ({}, {"tables": 3}, content | {"tables": {"user": {}}}, content | {"width": -1}):
        with pytest.raises(ValueError, match="this does not hold a memory plan"):
            MemoryPlan.from_dict(wrong)
    with pytest.raises(ValueError, match="more than its 10"):
        MemoryPlan.from_dict(content | {"budget_bytes": 10})


def test_the_order_of_counts_and_levels_without_rows_do_not_matter():
    mixed = {name: np.r_[0, np.random.default_rng(0).permutation(n)] for name, n in COUNTS.items()}
    assert plan_memory(mixed, 2000).to_dict() == plan_memory(COUNTS, 2000).to_dict()


def test_rows_in_question_go_from_none_to_all():
    for cardinality in (1, 2, 50, 97, 12_345):
        levels, buckets = list_rows(cardinality)
        assert levels.min() == 0
        assert levels.max() == cardinality
        assert (buckets >= 1).all()
        assert (levels + buckets <= max(cardinality, levels.max()) + 1).all()
        assert set(list_rows(cardinality, hashing=False)[1].tolist()) == {1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"counts": {}}, "does not give counts by field"),
        ({"counts": {"user": [1.5]}}, "not a list of whole numbers"),
        ({"counts": {"user": [-1]}}, "'user' has -1, which is below 0"),
        ({"optimizer": "lion"}, "'lion' is not one of sgd, momentum"),
        ({"formats": ["int2"]}, "'int2' is not one of float32, float16"),
        ({"formats": []}, "formats: there is none"),
        ({"dimensions": []}, "dimensions: there is none"),
        ({"dimensions": [0]}, "dimensions: 0 is not between 1 and"),
        ({"dimensions": [2**21]}, "dimensions: 2097152 is more than 1048576"),
        ({"width": 2**21}, "width: 2097152 is more than 1048576"),
        ({"measured": {"user": [(2**40, 1, 4, "int8", 0.5)]}}, "levels: 1099511627776 is more"),
        ({"width": 0}, "width: 0 is not between 1 and"),
        ({"key_bytes": -1}, "key_bytes: -1 is not between 0 and"),
        ({"signals": {"shop": 1.0}}, "signals: 'shop' is not a field"),
        ({"smoothing": -2.0}, "smoothing: 'user' is -2.0, must be above 0 and finite"),
        ({"budget": "2 gold"}, "'gold' in '2 gold' is not a unit"),
        ({"measured": {"user": [(1, 1, 4)]}}, "is not a TableChoice with its error"),
        ({"measured": {"user": [(1, 1, 0, "int8", 0.5)]}}, "has rows without columns"),
        ({"measured": {"user": [(1, 1, 4, "int2", 0.5)]}}, "format 'int2' is not one of"),
        ({"measured": {"user": [(1, 1, 4, "int8", np.nan)]}}, "is not a finite number"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_line(words, message):
    given = {"counts": {"user": [3, 2]}, "budget": 1000} | words
    with pytest.raises(ValueError, match=message) as error:
        plan_memory(**given)
    assert "\n" not in str(error.value)


def test_a_budget_below_the_cheapest_measured_tables_is_refused():
    measured = {"user": [TableChoice(1, 1, 4, "float32", 0.5)]}
    with pytest.raises(BudgetError, match="budget 31 is below 32 bytes"):
        plan_memory({"user": [3, 2]}, 31, measured=measured)


def test_the_largest_numbers_that_are_accepted_do_not_overflow():
    huge = TableChoice(2**36, 2**36, 2**20, "float32", 0.1)
    measured = {"user": [huge, TableChoice(0, 0, 0, "float32", 0.5)]}
    words = {"measured": measured, "optimizer": "adam", "key_bytes": 2**20, "width": 2**20 - 1}
    plan = plan_memory({"user": [3, 2]}, 2**53, **words)
    assert plan.bytes == 0  # the other one costs more than a budget can be
    assert (Prices("adam").row_bytes(np.array([2**20]), "float32") * 2**37 > 2**53).all()


def test_sizes_in_words():
    assert parse_bytes("2 GB") == 2 * 10**9
    assert parse_bytes("1 KiB") == parse_bytes(1024) == parse_bytes("1024") == 1024
    with pytest.raises(ValueError, match="neither a number of bytes"):
        parse_bytes("lots")
