"""One choice per field at least total error within a budget, exactly, with a certificate.

This is the multiple-choice knapsack problem. With a price λ per unit of the budget every field
decides alone, which gives a lower bound (the Lagrangian bound) and, for every other choice, its
*regret*: how much the bound rises if that choice is forced. A choice whose regret exceeds the
distance between the best known selection and the bound cannot be part of a better one. What
remains is searched completely.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.choice_search import Choices, ChoiceSearch, add_exactly

#: Rounds in which points above the hull are removed; more points than needed do no harm.
HULL_ROUNDS = 50


class Selection(NamedTuple):
    """The row that each field chose, the total error, and what no selection can go below."""

    rows: NDArray[np.intp]
    objective: float
    lower_bound: float


def solve_choices(choices: Choices, budget: int, outside: float = np.inf) -> Selection:
    """Search the choices for the least total error within the budget.

    Parameters
    ----------
    choices
        Sorted by field and, within a field, by cost. The cheapest choices fit the budget.
    budget
        What the chosen costs may add up to.
    outside
        No selection that uses choices not listed has an error below this.

    Examples
    --------
    >>> field = np.array([0, 0, 0, 1, 1])
    >>> choices = Choices(field, np.array([0, 3, 7, 0, 4]), np.array([9.0, 4.0, 1.0, 5.0, 1.5]))
    >>> solve_choices(choices, budget=7)
    Selection(rows=array([1, 4]), objective=5.5, lower_bound=5.5)
    """
    hull = find_hull(choices)
    on_hull = Choices(choices.group[hull], choices.cost[hull], choices.error[hull])
    starts = on_hull.starts

    def decide(price: float) -> NDArray[np.intp]:
        value = on_hull.error + price * on_hull.cost
        winners = np.flatnonzero(value == np.minimum.reduceat(value, starts)[on_hull.group])
        return winners[np.searchsorted(on_hull.group[winners], np.arange(len(starts)))]

    spread = np.maximum.reduceat(on_hull.error, starts) - np.minimum.reduceat(on_hull.error, starts)
    price = find_price(
        lambda price: add_exactly(on_hull.cost[decide(price)]),
        budget,
        steepest=float(spread.max()),
    )
    base = hull[decide(price)]
    value = choices.error + price * choices.cost
    least = np.minimum.reduceat(value, choices.starts)
    bound = float(least.sum()) - price * budget
    search = ChoiceSearch(budget, choices, base, value - least[choices.group], bound)
    search.run()
    objective = float(choices.error[search.best].sum())
    lower_bound = min(objective, outside, bound + search.unexplored)
    return Selection(search.best, objective, lower_bound)


def find_price(cost_at: Callable[[float], int], budget: int, *, steepest: float) -> float:
    """Return the lowest price found at which lone decisions keep the budget.

    That price gives the highest Lagrangian bound.

    Parameters
    ----------
    cost_at
        What the lone decisions cost at a price.
    budget
        What they may cost.
    steepest
        A price of this or more makes the cheapest choice everyone's best one.
    """
    if cost_at(0.0) <= budget or steepest == 0.0:
        return 0.0
    low, high = steepest * 1e-40, steepest
    for _ in range(100):
        middle = float(np.sqrt(low) * np.sqrt(high))
        if middle in (low, high):
            break
        if cost_at(middle) <= budget:
            high = middle
        else:
            low = middle
    # Beside large costs the cheapest choice can lose its lead to rounding, even at the steepest.
    while cost_at(high) > budget:
        high *= 2.0
    return high


def find_hull(choices: Choices) -> NDArray[np.intp]:
    """Return the rows on each field's lower convex hull, where lone decisions lie at any price.

    All fields at once: in each round every point on or above the line between its neighbours goes.
    Each field's first and last point stay.

    Examples
    --------
    >>> cost, error = np.array([0, 1, 2, 3, 4]), np.array([9.0, 5.0, 4.5, 1.0, 0.5])
    >>> find_hull(Choices(np.zeros(5, np.intp), cost, error))
    array([0, 1, 3, 4])
    """
    rows = np.arange(len(choices.cost))
    for _ in range(HULL_ROUNDS):
        group, cost = choices.group[rows], choices.cost[rows].astype(np.float64)
        error = choices.error[rows]
        ahead, back = cost[2:] - cost[:-2], cost[1:-1] - cost[:-2]
        rise, step = error[2:] - error[:-2], error[1:-1] - error[:-2]
        above = (group[2:] == group[:-2]) & (step * ahead >= rise * back)
        if not above.any():
            break
        rows = rows[np.r_[True, ~above, True]]
    return rows


def keep_efficient(cost: Ints, error: Floats) -> NDArray[np.intp]:
    """Return one field's entries that no other beats, by cost: each next one has less error.

    Examples
    --------
    >>> keep_efficient(np.array([4, 0, 2, 2, 3]), np.array([1.0, 9.0, 5.0, 4.0, 6.0]))
    array([1, 3, 0])
    """
    order = np.lexsort((error, cost))
    best_before = np.minimum.accumulate(np.r_[np.inf, error[order]])[:-1]
    return order[error[order] < best_before]
