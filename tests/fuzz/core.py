"""The core beside literal versions, huge numbers, odd values, plans as JSON, and torch models."""

import ast
import json
import math
from urllib.parse import unquote

import numpy as np
import pandas as pd
import torch
from hypothesis import strategies as st
from torch import nn

from embedalloc import allocate, allocate_from_model, choice_search, from_json, optimum, to_json
from embedalloc.exporters import EXPORTERS, export_text
from embedalloc.from_cardinalities import optimal_dimensions
from embedalloc.problem import build_problem
from embedalloc.rules import RULES
from tests.fuzz.damage import damaged
from tests.oracles import naive
from tests.oracles.rule_calls import apply_rule

NO_DATA = [name for name, rule in RULES.items() if rule.function is not None]
#: The stated proportions, written out.
WEIGHTS = {
    "equal": lambda n: 1.0,
    "cardinality": float,
    "square_root": lambda n: n**0.5,
    "fourth_root": lambda n: n**0.25,
    "fastai": lambda n: min(600.0, 1.6 * n**0.56),
    "popularity": lambda n: n**-0.3,
}


@st.composite
def small_problems(draw):
    count, step = draw(st.integers(1, 4)), draw(st.sampled_from([1, 1, 2, 3]))
    n = draw(st.lists(st.integers(1, 30), min_size=count, max_size=count))
    upper = [step * k for k in draw(st.lists(st.integers(1, 8), min_size=count, max_size=count))]
    a = draw(st.lists(st.floats(1e-3, 1e3), min_size=count, max_size=count))
    budget = step * sum(n) + draw(st.integers(0, 400))
    rule = draw(st.sampled_from(["paper", "optimal", "cardinality_priority", *WEIGHTS]))
    return rule, n, a, upper, step, budget


def check_small_problem(value):
    """A rule comes to what its literal version comes to."""
    rule, n, a, upper, step, budget = value
    inputs = {"coefficients": a} if rule in ("paper", "optimal") else {}
    limits = {"maximum": upper, "multiple_of": step}
    found = apply_rule(rule, n, budget, inputs=inputs, leftover="spent", **limits)
    chosen = list(found.dimensions.values())
    assert found.cost == sum(c * d for c, d in zip(n, chosen, strict=True)) <= budget
    lower = [step] * len(n)
    if rule == "paper":
        assert chosen == naive.proposed(a, n, budget, lower=lower, upper=upper, step=step)
    elif rule == "optimal":
        curves = [[math.inf, *(each / d for d in range(1, 25))] for each in a]
        ranges = [range(step, u + 1, step) for u in upper]
        best = naive.best_by_listing(curves, n, budget, ranges)
        assert math.isclose(found.objective, best, rel_tol=1e-12)
        assert found.gap == 0
    elif rule == "cardinality_priority":
        scores = [max(each - 1, 1) ** 0.5 / each for each in n]
        assert chosen == naive.spend(lower, upper, n, budget, lambda j, d: scores[j], step)
    else:
        weights = [WEIGHTS[rule](each) for each in n]
        total = sum(c * w for c, w in zip(n, weights, strict=True))
        targets = [budget * w / total for w in weights]
        start = [
            min(max(int((t + 1e-9 * max(t, 1.0)) // step) * step, step), u)
            for t, u in zip(targets, upper, strict=True)
        ]

        def deficit(j, d):
            return targets[j] - d

        kept = naive.give_back(start, lower, n, budget, deficit, step)
        spent = naive.spend(kept, upper, n, budget, deficit, step)
        # A tie between targets that round differently may fall either way, at the same worth.
        assert spent == chosen or is_tie(targets, spent, chosen)


def is_tie(targets, one, other):
    gaps = [
        sorted(round(t - d, 6) for t, d in zip(targets, each, strict=True)) for each in (one, other)
    ]
    return gaps[0] == gaps[1]


sizes = st.one_of(st.integers(0, 60), st.integers(0, 53).map(lambda k: 2**k), st.integers(0, 2**53))


@st.composite
def huge_problems(draw):
    count = draw(st.integers(1, 5))
    many = st.lists(sizes, min_size=count, max_size=count)
    n = [max(each, 1) for each in draw(many)]
    if draw(st.integers(0, 20)) == 0:
        n = n * 500
    constraints = {}
    if draw(st.booleans()):
        constraints["minimum"] = draw(st.one_of(sizes, st.just(0), st.just(1)))
    if draw(st.booleans()):
        constraints["multiple_of"] = max(draw(sizes), 1)
    if draw(st.integers(0, 3)) == 0:
        constraints["maximum"] = draw(sizes)
    if draw(st.integers(0, 3)) == 0:
        constraints["fixed"] = {"x1": draw(sizes)}
    if draw(st.integers(0, 3)) == 0:
        constraints["cost_per_dimension"] = [max(each, 1) for each in draw(many)] * (
            len(n) // count
        )
    wide = st.floats(-100, 100).map(lambda x: min(max(10**x, 1e-100), 1e100))
    a = draw(st.lists(wide, min_size=count, max_size=count)) * (len(n) // count)
    return draw(st.sampled_from(NO_DATA)), n, a, draw(sizes), constraints


def check_huge_problem(value):
    """A budget is kept to the last parameter, or refused."""
    rule, n, a, budget, constraints = value
    inputs = dict.fromkeys(RULES[rule].inputs[:1], a)
    costs = constraints.get("cost_per_dimension", n)
    # Less proof in less time; the allocations are what matters.
    kept = optimum.LARGEST_LISTING, choice_search.DEPARTURES_IN_ALL
    optimum.LARGEST_LISTING, choice_search.DEPARTURES_IN_ALL = 5_000, 50_000
    try:
        for solve in (
            lambda: allocate(n, budget, rule=rule, **inputs, **constraints),
            lambda: apply_rule(rule, n, budget, inputs=inputs, **constraints),
        ):
            found = answer(solve)
            if found is not None:
                spent = sum(c * d for c, d in zip(costs, found.dimensions.values(), strict=True))
                assert spent == found.cost <= budget
                assert found.objective is None or not math.isnan(found.objective)
    finally:
        optimum.LARGEST_LISTING, choice_search.DEPARTURES_IN_ALL = kept


def answer(call):
    """Return the result, or None if the input was refused in one line."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        said = str(error)
    assert len(said) < 2000
    assert said.isprintable(), said
    return None


odd_numbers = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.none(), st.complex_numbers(),
    st.decimals().filter(lambda d: not d.is_snan()),  # pandas cannot print these
    st.fractions(), st.text(max_size=8), st.binary(max_size=3), sizes,
    st.integers(0, 500).map(lambda k: 10**k),
    st.sampled_from([np.float16, np.float32, np.int8, np.uint64, np.bool_, np.longdouble]).flatmap(
        lambda kind: st.integers(0, 100).map(kind)
    ),
)  # fmt: skip


def put_somewhere(value):
    """One odd value where a user may put it: alone, in a list, under a name, beside a good one."""
    forms = [
        *(value, [value], [3, value], [value, value], {"x1": value}, {"x1": 3, "x2": value}),
        *([[9, 3, value]] * 2, [{1: value}, [9, 1]], {"x1": 3, "x2": 4, "x3": value}),
        pd.Series([3, value], index=["x1", "x2"], dtype=object),
        pd.Series([3, value], index=["x1", "x1"], dtype=object),
    ]
    return st.sampled_from(forms)


odd_values = st.one_of(
    odd_numbers.flatmap(put_somewhere),
    odd_numbers.flatmap(put_somewhere),
    st.dictionaries(odd_numbers, odd_numbers, max_size=3),
    st.lists(st.floats(), max_size=3).map(np.array),
)
ARGUMENTS = (
    "cardinalities", "budget", "rule", "coefficients", "curves", "frequencies", "masses", "fixed",
    "minimum", "maximum", "multiple_of", "cost_per_dimension", "leftover", "dtype", "optimizer",
)  # fmt: skip
odd_calls = st.dictionaries(st.sampled_from(ARGUMENTS), odd_values, min_size=1, max_size=2)


def check_odd_call(words):
    """`allocate` uses odd values or refuses them in one line."""
    words = {"cardinalities": [5, 9], "budget": 200, **words}
    found = answer(lambda: allocate(words.pop("cardinalities"), words.pop("budget"), **words))
    assert found is None or found.cost <= found.budget


names = st.one_of(
    st.text(min_size=1, max_size=8),
    st.sampled_from(
        ["a.b", "keys", "%2E", "class", "a\nb", "forward", "x=1", "'", '"', "\\", "{}"]
    ),
)
plans = st.tuples(
    st.dictionaries(
        names, st.tuples(st.integers(1, 99), st.integers(0, 9)), min_size=1, max_size=5
    ),
    st.randoms(use_true_random=False),
)


def check_plan(value):
    """An allocation survives every writer that has a reader; damaged JSON is refused or sound."""
    tables, rng = value
    fixed = {name: dimension for name, (_, dimension) in tables.items()}
    cardinalities = {name: rows for name, (rows, _) in tables.items()}
    budget = sum(rows * dimension for rows, dimension in tables.values())
    allocation = allocate(cardinalities, budget, fixed=fixed)
    text = to_json(allocation)
    assert from_json(text) == allocation
    expected = {name: (rows, d) for name, (rows, d) in tables.items() if d}
    keras = EXPORTERS["keras"](allocation)
    assert {k: (v["input_dim"], v["output_dim"]) for k, v in keras.items()} == expected
    made = EXPORTERS["torch"](allocation)
    assert {unquote(k): tuple(v.weight.shape) for k, v in made.items()} == expected
    for library in ("torch", "keras"):
        ast.parse(export_text(allocation, library))
    for changed in (damaged(rng, text.encode()), json.dumps(with_odd_place(rng, json.loads(text)))):
        found = answer(lambda changed=changed: from_json(changed))
        if found is not None:
            assert found.cost <= found.budget
            assert from_json(to_json(found)) == found


def with_odd_place(rng, content):
    """Put an odd value somewhere into what JSON holds."""
    holder, key = content, rng.choice(sorted(content))
    while isinstance(holder[key], dict) and holder[key] and rng.random() < 0.8:
        holder = holder[key]
        key = rng.choice(sorted(holder))
    holder[key] = rng.choice(
        [None, True, -1, 0, 1, 7, 2.5, 1e300, 10**30, math.nan, "x", "inf", [], [1], {}, {"a": 1}]
    )
    return content


@st.composite
def models(draw):
    """Modules with tables of all kinds: shared, parts of one another, of every type."""
    memory = torch.arange(60.0).sin()
    children = {}
    for number in range(draw(st.integers(1, 4))):
        rows, columns = draw(st.integers(0, 6)), draw(st.integers(1, 5))
        weight = memory[: rows * columns].view(rows, columns)
        kind = draw(st.integers(0, 9))
        if kind == 0:
            weight = weight.to_sparse()
        elif kind in (1, 2, 3, 4):
            types = [torch.float16, torch.bfloat16, torch.float64, torch.complex64]
            weight = weight.to(types[kind - 1])
        elif kind == 5:
            weight = weight.to("meta")
        table = nn.Embedding(rows, columns, _weight=weight)
        if kind == 6:
            table.weight = None
        if kind == 7 and children:
            table = draw(st.sampled_from(list(children.values())))
        children[f"t{number}"] = table
    model = nn.ModuleDict(children)
    return (nn.DataParallel(model) if draw(st.booleans()) else model), draw(st.integers(0, 200))


def check_model(value):
    """Every table of a model is there once, or the model is refused."""
    model, budget = value
    found = answer(lambda: allocate_from_model(model, budget))
    if found is None:
        return
    assert found.cost <= budget
    weights = {id(child.weight) for child in model.modules() if isinstance(child, nn.Embedding)}
    kinds = {
        (w.data_ptr(), w.shape, w.dtype)
        for w in (c.weight for c in model.modules() if isinstance(c, nn.Embedding))
    }
    assert len(kinds) == len(found.dimensions) <= len(weights)


curves = st.lists(
    st.one_of(
        st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=6),
        st.dictionaries(sizes, st.floats(-1e100, 1e100), min_size=1, max_size=5),
    ),
    min_size=1,
    max_size=4,
)
menus = st.tuples(curves, st.randoms(use_true_random=False), sizes)


def check_menu(value):
    """Measured errors: the budget is kept and nothing that fits is better."""
    lists, rng, budget = value
    costs = [rng.choice([1, 2, 7, 2**20, 2**40]) for _ in lists]
    found = answer(lambda: optimal_dimensions(costs, budget, curves=lists, minimum=0))
    tables = [each if isinstance(each, dict) else dict(enumerate(each)) for each in lists]
    totals = {0: 0.0}
    for cost, table in zip(costs, tables, strict=True):
        totals = cheapest(
            (spent + cost * d, error + worse)
            for spent, error in totals.items()
            for d, worse in table.items()
            if spent + cost * d <= budget
        )
    assert (found is not None) == bool(totals)
    if found is not None:
        size = sum(max(map(abs, table.values())) for table in tables)
        assert found.cost <= budget
        assert found.objective <= min(totals.values()) + 1e-9 * size
        assert found.gap == 0


def cheapest(pairs):
    best = {}
    for spent, error in pairs:
        best[spent] = min(error, best.get(spent, math.inf))
    return best


def check_build(words):
    """`build_problem` alone: bounds that 64 bits hold."""
    problem = answer(lambda: build_problem([3, 2**40], 2**50, **words))
    if problem is not None:
        for cost, upper in zip(problem.costs.tolist(), problem.upper.tolist(), strict=True):
            assert cost * upper <= 2 * 2**50


limits = st.dictionaries(
    st.sampled_from(["minimum", "maximum", "multiple_of", "fixed", "cost_per_dimension"]),
    odd_values,
    max_size=3,
)
