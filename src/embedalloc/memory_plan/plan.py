"""The exact choice of tables under a budget of bytes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from embedalloc.arrays import Ints
from embedalloc.choice_search import Choices
from embedalloc.memory import parse_bytes
from embedalloc.memory_plan.menus import (
    DIMENSIONS,
    SMOOTHING,
    Field,
    MemoryProblem,
    Menu,
    TableChoice,
    build_memory_problem,
)
from embedalloc.memory_plan.prices import Prices
from embedalloc.memory_plan.result import MemoryPlan, PlannedTable
from embedalloc.multiple_choice import solve_choices
from embedalloc.problem import BudgetError, PerField

#: Number formats that are tried: tables that serve, and tables that are trained.
SERVING_FORMATS = ("float32", "float16", "int8", "int4")
TRAINING_FORMATS = ("float32", "float16")


def plan_memory(
    counts: Mapping[str, Ints],
    budget: int | str,
    *,
    optimizer: str | None = None,
    formats: Sequence[str] | None = None,
    dimensions: Iterable[int] = DIMENSIONS,
    width: int | None = None,
    hashing: bool = True,
    key_bytes: int = 0,
    signals: PerField | None = None,
    coefficients: PerField | None = None,
    smoothing: float | PerField = SMOOTHING,
    measured: Mapping[str, Iterable[TableChoice]] | None = None,
) -> MemoryPlan:
    """Return the tables with the least total error that a budget of bytes can pay.

    Each field gets a row for its most frequent levels and shared rows for the others, a number of
    columns and a number format, or no table. The choice is exact among all of these, and never
    above the budget.

    Parameters
    ----------
    counts
        Rows of data of every level, by field.
    budget
        Bytes, or memory such as "2 GB".
    optimizer
        Whose state shares the memory: sgd, momentum, adagrad, rowwise_adagrad, adam or
        partial_rowwise_adam; None for tables that only serve.
    formats
        Number formats to choose from: float32, float16, bfloat16, int8, int4. By default all but
        bfloat16 for serving, and float32 and float16 for training.
    dimensions
        Numbers of columns to choose from.
    width
        Columns that the model needs of every field. Tables with fewer are followed by a
        projection, whose bytes count.
    hashing
        Whether levels without a row of their own may share more than one row.
    key_bytes
        Bytes per level with a row of its own, for the hash table that finds it.
    signals
        s_j², by field or in order: the loss without the field. 1 for each by default.
    coefficients
        a_j: with every level's effect known, d columns leave a_j/d. s_j²/2 by default.
    smoothing
        λ_j in rows of data: a level with so many tells half of its effect. 20 by default, as in
        smoothed target encoding; for all or by field.
    measured
        Measured errors in place of the surrogate: `TableChoice` with error, by field. Such a field
        can have only what was measured; include one without rows if it can do without a table.

    Returns
    -------
    MemoryPlan
        Its gap is 0 where the search was complete.

    Examples
    --------
    >>> counts = {"user": np.arange(1000, 0, -1), "shop": np.array([40_000, 30_000, 20_000])}
    >>> print(plan_memory(counts, "4 kB"))
    field  levels  own rows  shared  columns  numbers  bytes  covered
    user    1,000       646      16        4     int4  3,972    87.4%
    shop        3         2       1        2     int4     15    77.8%
    exact: 3,987 of 4,000 bytes spent, 13 left over
    error 0.252044 by the surrogate, at most 0 above the optimum
    """
    if formats is None:
        formats = SERVING_FORMATS if optimizer is None else TRAINING_FORMATS
    problem = build_memory_problem(
        counts,
        prices=Prices(optimizer, key_bytes, width),
        formats=formats,
        dimensions=dimensions,
        hashing=hashing,
        signals=signals,
        coefficients=coefficients,
        smoothing=smoothing,
        measured=measured,
    )
    return solve_memory(problem, parse_bytes(budget))


def solve_memory(problem: MemoryProblem, budget: int) -> MemoryPlan:
    """Return the exact plan of a problem."""
    menus = [problem.menu_of(field) for field in problem.fields]
    least = sum(int(menu.cost[0]) for menu in menus)
    if least > budget:
        raise BudgetError(
            f"budget {budget} is below {least} bytes, what the cheapest measured tables cost; "
            "raise it or measure smaller ones"
        )
    # What a field can pay while all others take their cheapest table.
    menus = [menu.take(menu.cost <= budget - least + menu.cost[0]) for menu in menus]
    sizes = [len(menu.cost) for menu in menus]
    choices = Choices(
        np.repeat(np.arange(len(menus)), sizes),
        np.concatenate([menu.cost for menu in menus]),
        np.concatenate([menu.error for menu in menus]),
    )
    found = solve_choices(choices, budget)
    places = found.rows - (np.cumsum(sizes) - sizes)
    chosen = [menu.take([place]) for menu, place in zip(menus, places.tolist(), strict=True)]
    return name_plan(problem, chosen, budget, "exact", found.objective - found.lower_bound)


def name_plan(
    problem: MemoryProblem,
    chosen: Sequence[Menu],
    budget: int,
    rule: str,
    gap: float | None = None,
) -> MemoryPlan:
    """Return the named result from one table per field, after a last look at the budget."""
    tables = {
        field.name: _name_table(problem, field, menu)
        for field, menu in zip(problem.fields, chosen, strict=True)
    }
    measured = tuple(field.name for field in problem.fields if field.measured)
    plan = MemoryPlan(rule, tables, budget, problem.prices, measured=measured)
    if gap is not None:
        plan = replace(plan, lower_bound=plan.error - gap)
    if plan.bytes > budget:
        raise AssertionError(f"{rule} broke the budget: {plan.bytes} of {budget}")
    return plan


def _name_table(problem: MemoryProblem, field: Field, menu: Menu) -> PlannedTable:
    levels, buckets, dimension, kind, cost = (int(column[0]) for column in menu[:5])
    return PlannedTable(
        field.counts.cardinality,
        levels,
        buckets,
        dimension,
        problem.formats[kind],
        cost,
        _share_covered(field, levels),
        float(menu.error[0]),
    )


def _share_covered(field: Field, levels: int) -> float:
    """Return the share of the rows of data whose level is among the first so many."""
    value, left = field.counts.left_from(levels)
    every = field.counts.rows
    return 1.0 - float(value @ left) / every if every else 0.0
