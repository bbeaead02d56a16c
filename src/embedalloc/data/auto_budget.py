"""A budget from the data: the smallest with which networks are about as good as with more.

Each budget is tried with equal dimensions, one training each on the same rows; the rule decides
at the budget that was found. So the search costs as many trainings as there are budgets, which is
about another plan.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase, Limits
from embedalloc.data.parallel import run_all

#: So many dimensions of every field are paid for, where the limits permit them.
DIMENSIONS = (1, 2, 4, 8, 16, 32)
#: Initial weights alone change the loss by this share: a budget that is so close is as good.
TOLERANCE = 0.005


@dataclass(frozen=True)
class BudgetTry:
    """A budget that was tried, or left out for want of time (then it has no loss)."""

    budget: int
    validation_loss: float | None


@dataclass(frozen=True)
class BudgetSearch:
    """The budget that was chosen, and all that were tried, the smallest first."""

    budget: int
    tries: tuple[BudgetTry, ...]


def list_budgets(cardinalities: Mapping[str, int], limits: Limits) -> list[int]:
    """Return the budgets that pay 1, 2, 4, … dimensions of every field, as far as limits go."""
    budgets = set()
    for dimension in DIMENSIONS:
        cost = 0
        for name, levels in cardinalities.items():
            wanted = max(dimension, limits.smallest(name))
            cost += levels * limits.fixed.get(name, min(wanted, limits.maximum[name]))
        budgets.add(max(cost, 1))
    return sorted(budgets)


def find_budget(case: DataCase, budgets: Sequence[int]) -> BudgetSearch:
    """Return the smallest budget within one standard error, or half a per cent, of the best.

    Parameters
    ----------
    case
        The rows to train and to validate on, and how many trainings run at a time. After its
        deadline no further budget is tried.
    budgets
        What is tried, the smallest first.
    """
    quiet = case.quiet()
    jobs = case.jobs
    losses: dict[int, Floats] = {}
    for batch in (budgets[k : k + jobs] for k in range(0, len(budgets), jobs)):
        if losses and case.is_late:
            break
        found = run_all(_measure, [(quiet, budget) for budget in batch], jobs=jobs)
        for budget, each in zip(batch, found, strict=True):
            losses[budget] = each
            case.trained(len(budgets) - len(losses))
    best = min(losses, key=lambda budget: float(losses[budget].mean()))
    chosen = best
    for budget in sorted(losses):
        behind = losses[budget] - losses[best]
        error = float(behind.std()) / np.sqrt(len(behind))
        if behind.mean() <= max(error, TOLERANCE * float(losses[best].mean())):
            chosen = budget
            break
    tries = (
        BudgetTry(budget, float(losses[budget].mean()) if budget in losses else None)
        for budget in budgets
    )
    return BudgetSearch(chosen, tuple(tries))


def _measure(case: DataCase, budget: int) -> Floats:
    dimensions = case.allocate("equal", budget).dimensions
    return case.train(dimensions, "budget").validation_losses
