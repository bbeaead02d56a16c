"""From encoded rows to a decision: sample them, find the budget, let the rule decide."""

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from embedalloc.checks import real_number
from embedalloc.data.auto_budget import BudgetSearch, find_budget, list_budgets
from embedalloc.data.case import DataCase, Limits
from embedalloc.data.decision import Decision
from embedalloc.data.network import one_thread
from embedalloc.data.rules import DataRule
from embedalloc.data.table import FieldData, suggest_budget
from embedalloc.data.time_limit import fit_into
from embedalloc.data.worth import measure_worth
from embedalloc.memory import parse_budget
from embedalloc.problem import build_problem


class Found(NamedTuple):
    """A decision, the rows it rests on, the budgets tried, and what fields are worth."""

    decision: Decision
    data: FieldData
    search: BudgetSearch | None = None
    worth: Mapping[str, float] = {}


def search_plan(
    rule: DataRule,
    data: FieldData,
    budget: int | str | None,
    *,
    limits: Limits,
    minutes: Any,
    seed: int,
    prepare: Callable[..., DataCase],
) -> Found:
    """Return what a rule decides; see `EmbeddingAllocator` for the words.

    Parameters
    ----------
    rule, data
        The rule, and the rows, or a sample of them.
    budget, limits, minutes, seed
        What the user wants; without a budget it is what pays three dimensions of every field.
    prepare
        Makes a case of rows, and of a `deadline`.
    """
    amount = None
    if budget != "auto":
        amount = suggest_budget(data.cardinalities) if budget is None else parse_budget(budget)
        if not rule.fits_small_budgets:
            build_problem(data.cardinalities, amount, **limits.constraints())
    if minutes is not None:
        minutes = real_number(minutes, "minutes")
        prepare = partial(prepare, deadline=time.monotonic() + 60 * minutes)
        data = fit_into(data, minutes, prepare, searches=amount is None, seed=seed)
    case = prepare(data)
    search = None
    # In products as small as those of the effects, threads mostly wait for each other.
    with one_thread():
        if amount is None:
            search = find_budget(case, list_budgets(data.cardinalities, limits))
            amount = search.budget
        decision = rule.decide(case, rule.gather(case), amount)
        worth = measure_worth(case) if decision.effects else {}
    return Found(decision, data, search, worth)
