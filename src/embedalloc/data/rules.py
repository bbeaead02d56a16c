"""Allocation rules that read data, by the two halves that each defines for tables.

A rule first gathers evidence, which costs training and does not depend on the budget, and then
decides for a budget. Rules that need cardinalities only gather nothing.
"""

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from embedalloc.data.case import DataCase
from embedalloc.data.decision import Decision
from embedalloc.rules import TABLE_RULES, find_rule


@dataclass(frozen=True)
class DataRule:
    """A rule by its two halves: what it measures, and how it decides for a budget.

    Attributes
    ----------
    gather, decide
        The halves.
    fits_small_budgets
        Whether it drops and pools until a budget suffices that cannot pay the smallest
        dimensions of all levels.
    """

    gather: Callable[[DataCase], Any]
    decide: Callable[[DataCase, Any, int], Decision]
    fits_small_budgets: bool = False


def data_rule(name: str) -> DataRule:
    """Return the halves of a rule."""
    home = find_rule(name, among=TABLE_RULES).from_table
    if home is None:
        return DataRule(
            lambda case: None, lambda case, _, budget: Decision(case.allocate(name, budget))
        )
    found: DataRule = pkgutil.resolve_name(home)
    return found
