"""The budget holds for every input that is accepted, in bounded time; the rest is refused."""

import decimal
import fractions
import json
import time

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from embedalloc import (
    allocate,
    allocate_from_model,
    choice_search,
    from_json,
    optimum,
    parse_budget,
    to_json,
)
from embedalloc.allocation import Solution
from embedalloc.from_cardinalities import optimal_dimensions
from embedalloc.model_tables import embedding_tables
from embedalloc.problem import build_problem
from embedalloc.result import name_solution
from embedalloc.rules import RULES
from tests.oracles.rule_calls import apply_rule

LARGEST = 2**53
NO_DATA = [rule.name for rule in RULES.values() if rule.function is not None]


def inputs_of(name, count):
    wanted = RULES[name].inputs[:1]
    return {what: np.ones(count) for what in wanted}


def spent(allocation, costs):
    """The cost in Python's integers, which do not overflow."""
    return sum(c * d for c, d in zip(costs, allocation.dimensions.values(), strict=True))


@pytest.mark.parametrize("rule", NO_DATA)
@pytest.mark.parametrize(
    ("cardinalities", "budget", "constraints"),
    [
        ([1] * 2048, LARGEST, {}),
        ([1] * 2048, LARGEST, {"multiple_of": 2**41}),
        ([3, 5], 10**12, {}),
        ([7, 7, 7], 10**12, {}),
        ([7, 7, 7], LARGEST - 1, {"minimum": 2**40, "multiple_of": 2**20}),
        ([2, LARGEST], LARGEST, {"minimum": {"x2": 0}, "fixed": {"x1": 2**51}}),
        ([2, 3], LARGEST, {"cost_per_dimension": [LARGEST // 3, 1], "fixed": {"x2": 0}}),
        ([LARGEST, 2], 10, {"minimum": 0, "multiple_of": 5}),
        ([1, 1, LARGEST], 2**30, {"fixed": {"x3": 0}, "multiple_of": 2**29}),
    ],
)
def test_no_rule_breaks_a_huge_budget(rule, cardinalities, budget, constraints, monkeypatch):
    monkeypatch.setattr(optimum, "LARGEST_LISTING", 20_000)  # less proof, in less time
    monkeypatch.setattr(choice_search, "DEPARTURES_IN_ALL", 1_000_000)
    inputs = inputs_of(rule, len(cardinalities))
    costs = constraints.get("cost_per_dimension", cardinalities)
    problem = build_problem(cardinalities, budget, **constraints)
    absent = problem.lower == 0
    for call, is_infinite in (
        (lambda: apply_rule(rule, cardinalities, budget, inputs=inputs, **constraints), absent),
        (
            lambda: allocate(cardinalities, budget, rule=rule, **inputs, **constraints),
            absent & ~problem.fixed,
        ),
    ):
        if rule == "optimal" and is_infinite.any():
            with pytest.raises(ValueError, match="infinite at d = 0"):
                call()
        else:
            found = call()
            assert spent(found, costs) == found.cost <= budget


def test_menus_of_huge_dimensions_keep_the_budget():
    menu = {1: 1.0, 2**42: 0.9, 2**52: 0.1}
    found = optimal_dimensions([1] * 2048, LARGEST, curves=[menu] * 2048)
    assert spent(found, [1] * 2048) == found.cost <= LARGEST
    assert found.gap == 0
    assert set(found.dimensions.values()) == {2**42}  # which is 2**53 in all


def test_the_last_look_does_not_overflow():
    problem = build_problem([1] * 2048, LARGEST)
    too_much = np.full(2048, 2**53)  # 2**64 in all, which 64 bits take for 0
    with pytest.raises(AssertionError, match="broke a constraint"):
        name_solution(problem, Solution(too_much), "paper")


@pytest.mark.parametrize("budget", [10**11, 10**12, LARGEST])
def test_time_does_not_grow_with_the_budget(budget):
    started = time.process_time()
    found = optimal_dimensions([3, 5], budget, coefficients=[1, 1])
    assert time.process_time() - started < 30
    assert found.cost <= budget
    assert found.gap <= 1e-12 * found.objective
    for rule in ("cardinality_priority", "cardinality_priority_per_dimension", "equal"):
        assert apply_rule(rule, [4, 4, 4], budget, leftover="spent").cost == budget // 4 * 4
    assert time.process_time() - started < 40


def test_the_cheapest_choice_keeps_its_lead_beside_large_costs():
    """A price per parameter so high that only the cheapest fit, with costs that round."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        size = int(rng.integers(10**5, 10**8))
        menus = [{size + k: float(e) for k, e in enumerate(-np.cumsum(rng.random(4)))}] * 3
        found = optimal_dimensions([1, 1, 1], 3 * size, curves=menus)
        assert set(found.dimensions.values()) == {size}


def refusal(call):
    """The message of an error of the usual kinds; empty if the value was of use after all."""
    try:
        found = call()
    except (ValueError, TypeError) as error:
        return str(error)
    assert isinstance(found, int) or found.cost <= found.budget
    return ""


ODD = [
    *(None, True, np.bool_(True), 2.5, float("nan"), float("inf"), -1, 10**30, 10**400, -(10**400)),
    *(
        1 + 2j,
        np.timedelta64(5, "D"),
        np.uint64(2**63),
        decimal.Decimal(3),
        "",
        "x",
        b"3",
        [],
        [[3]],
    ),
    *(fractions.Fraction(10**400, 3), {}, {None: 1}, {1: 2}, {3}, iter([1]), object(), np.array(3)),
    *(np.array([[3]]), np.array([True]), np.array(["3"]), pd.Series([3, 4], index=["a", "a"])),
    *(
        pd.DataFrame({"a": [1]}),
        torch.tensor([3.0]),
        "٣",
        "1e30 GB",
        "-1 MB",
        "9" * 5000,
        "\x1b[31m",
    ),
]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
@pytest.mark.filterwarnings("error")
def test_odd_values_are_refused_in_one_line(value):
    calls = [
        lambda: allocate(value, 100),
        lambda: allocate([5, value], 100),
        lambda: allocate({"a": value}, 100),
        lambda: allocate([5], value),
        lambda: parse_budget(value),
        lambda: allocate([5], 100, multiple_of=value),
        lambda: allocate([5], 100, rule=value, coefficients=[1.0], leftover=value),
        lambda: allocate_from_model(value, 100),
        lambda: from_json(value),
        lambda: allocate([5], 100, curves=[[9, value]]),
        lambda: allocate([5], 100, curves=[{1: value}]),
        lambda: allocate([5], 100, dtype=value, optimizer=value),
        lambda: allocate_from_model(nn.Embedding(3, 2), 9, frequencies={"embedding": value}),
    ]
    for what in ("minimum", "maximum", "fixed", "cost_per_dimension", "coefficients"):
        if value is not None:
            calls.append(lambda what=what: allocate([5], 100, **{what: [value]}))
        calls.append(lambda what=what: allocate([5], 100, **{what: {"x1": value}}))
        calls.append(lambda what=what: allocate([5], 100, **{what: {"x1": 2, "other": value}}))
    for call in calls:
        said = refusal(call)
        assert said.isprintable()
        assert len(said) < 600


def test_names_that_stand_twice_are_refused():
    twice = pd.Series([5, 9, 3], index=["user", "item", "user"])
    once = {"user": 5, "item": 9}
    calls = {
        "cardinalities": lambda: allocate(twice, 100),
        "coefficients": lambda: allocate(once, 100, coefficients=twice),
        "minimum": lambda: allocate(once, 100, minimum=twice),
        "fixed": lambda: allocate(once, 100, fixed=twice),
        "cost_per_dimension": lambda: allocate(once, 100, cost_per_dimension=twice),
    }
    for what, call in calls.items():
        with pytest.raises(ValueError, match=f"{what}: 'user' is named twice"):
            call()


def test_a_budget_in_words_is_exact_and_bounded():
    assert parse_budget("7.9999999999999999999999999999999999 B", dtype="float64") == 0
    assert parse_budget("8.0 B", dtype="float64") == 1
    assert parse_budget("1e15") == 10**15
    with pytest.raises(ValueError, match="is not between 0 and 9007199254740992"):
        parse_budget("1e30")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 10}, "costs 28, more than its budget 10"),
        ({"budget": 2.5}, "budget: 2.5 is not a whole number"),
        ({"budget": "100"}, "budget: '100' is not a whole number"),
        ({"objective": "much"}, "objective: 'much' is not a number"),
        ({"objective": float("nan")}, "objective: nan is not a number"),
        ({"predictors": {}}, "it has no field"),
        ({"predictors": {"a": 5}}, "does not hold an allocation"),
        (
            {"predictors": {"a": {"cardinality": 5, "dimension": 0, "parameters": 5}}},
            "5 parameters",
        ),
        ({"predictors": {"a": {"cardinality": 5, "dimension": 2, "parameters": 5}}}, "2 equal dim"),
        (
            {"predictors": {"a": {"cardinality": 0, "dimension": 1, "parameters": 5}}},
            "0 is not betw",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused(change, message):
    plan = json.loads(to_json(allocate({"a": 5, "b": 9}, 28)))
    assert from_json(json.dumps(plan)).cost == 28
    with pytest.raises(ValueError, match=message):
        from_json(json.dumps(plan | change))


def test_a_plan_in_damaged_json_is_refused():
    text = to_json(allocate({"a": 5, "b": 9}, 28))
    for damaged, message in (
        (text.replace('"b"', '"a"'), "'a' is named twice"),
        ("[" * 100_000, "does not hold an allocation"),
        (text[:-5], "does not hold an allocation"),
        ("null", "does not hold an allocation"),
    ):
        with pytest.raises(ValueError, match=message):
            from_json(damaged)


def test_tables_that_start_at_one_address_are_both_there():
    memory = torch.randn(40)
    model = nn.ModuleDict(
        {
            "short": nn.Embedding(5, 4, _weight=memory[:20].view(5, 4)),
            "long": nn.Embedding(10, 4, _weight=memory.view(10, 4)),
            "wide": nn.Embedding(4, 5, _weight=memory[:20].view(4, 5)),
        }
    )
    model["same"] = nn.Embedding(10, 4, _weight=memory.view(10, 4))
    assert [(t.name, t.aliases) for t in embedding_tables(model)] == [
        ("short", ()),
        ("long", ("same",)),
        ("wide", ()),
    ]
    assert set(allocate_from_model(model, 60).dimensions) == {"short", "long", "wide"}


def test_a_model_that_is_a_table_and_has_one_keeps_both():
    model = nn.Embedding(6, 3)
    model.embedding = nn.Embedding(4, 2)
    assert [table.name for table in embedding_tables(model)] == ["embedding_", "embedding"]


class Uninitialised(nn.Embedding):
    def __init__(self):
        super().__init__(4, 2)
        self.weight = nn.parameter.UninitializedParameter()


def without_weight():
    model = nn.Embedding(4, 2)
    model.weight = None
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            lambda: nn.Embedding(4, 2, _weight=torch.eye(4, 2).to_sparse()),
            "sparse_coo; make it dense",
        ),
        (without_weight, "'embedding' has no weights yet"),
        (Uninitialised, "'embedding' has no weights yet"),
        (lambda: nn.Embedding(0, 2), r"shape \(0, 2\)"),
        (lambda: nn.Embedding(3, 2, dtype=torch.complex64), "holds torch.complex64"),
        (lambda: nn.Embedding(3, 2, device="meta"), "meta device"),
        (lambda: torch.jit.trace(nn.Embedding(3, 2), torch.tensor([1])), "scripted or traced"),
        (
            lambda: nn.Embedding(1, 2, _weight=torch.full((1, 2), 1e200, dtype=torch.float64)),
            "above 1e",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_tables_that_cannot_be_read_are_refused(model, message):
    with pytest.raises(ValueError, match=message):
        allocate_from_model(model(), 8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_tables_of_every_precision_are_read(dtype):
    torch.manual_seed(0)
    weight = torch.randn(6, 4)
    model = nn.DataParallel(nn.ModuleDict({"user": nn.Embedding(6, 4, _weight=weight.to(dtype))}))
    (table,) = embedding_tables(model)
    assert table.name == "module.user"
    rough = np.linalg.svd(weight.to(dtype).double().numpy(), compute_uv=False)
    np.testing.assert_allclose(table.singular_values(), rough, rtol=1e-6)
