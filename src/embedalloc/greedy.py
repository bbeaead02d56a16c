"""Greedy steps under a budget: who gets the next dimension, and who gives one back.

Steps are taken one by one from a heap. Where there are many more steps than fields, those above
some worth are taken together in between, which are the same steps in another order.
"""

import heapq
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from embedalloc.arrays import Floats, Ints
from embedalloc.problem import BudgetProblem


@dataclass(frozen=True)
class Worth:
    """What the step from dimension d to the next is worth to each field; never rising with d.

    Attributes
    ----------
    formula
        Of d and the field's own numbers. It is given numbers or arrays of them.
    own
        The fields' own numbers, one array for each that the formula takes.
    """

    formula: Callable[..., Any]
    own: tuple[Floats, ...]

    def of_each(self, dimensions: Ints) -> Floats:
        """Return the worth of every field's next step."""
        with np.errstate(divide="ignore"):  # the first dimension may be worth infinitely much
            return np.asarray(self.formula(dimensions, *self.own))

    def of_one(self) -> Callable[[int, int], float]:
        """Return a quick function of (field, dimension) with the same values."""
        formula, own = self.formula, list(zip(*(each.tolist() for each in self.own), strict=True))
        return lambda j, d: float(formula(d, *own[j]))


def give_back(dimensions: Ints, problem: BudgetProblem, worth: Worth) -> Ints:
    """Take the least valuable steps back, one at a time, until the budget holds.

    The caller makes sure that the lower bounds are affordable, so this always ends. Ties are given
    back by the field that comes first.
    """
    if problem.cost_of(dimensions) <= problem.budget:
        return dimensions
    _, dimensions = _narrow(np.minimum(problem.lower, dimensions), dimensions, problem, worth)
    excess = problem.cost_of(dimensions) - problem.budget
    kept, step = dimensions.tolist(), problem.step
    value, costs, lower = worth.of_one(), problem.costs.tolist(), problem.lower.tolist()
    heap = [(value(j, d - step), j) for j, d in enumerate(kept) if d - step >= lower[j]]
    heapq.heapify(heap)
    while excess > 0:
        _, j = heapq.heappop(heap)
        kept[j] -= step
        excess -= step * costs[j]
        if kept[j] - step >= lower[j]:
            heapq.heappush(heap, (value(j, kept[j] - step), j))
    return np.array(kept, dtype=np.int64)


def spend(dimensions: Ints, problem: BudgetProblem, worth: Worth) -> Ints:
    """Take the most valuable step that still fits, again and again, until none fits.

    A step that does not fit now never will, because the leftover only shrinks; its field is done.
    Ties go to the field that comes first.
    """
    step, value, upper = problem.step, worth.of_one(), problem.upper.tolist()
    prices = problem.step_prices
    price_of, few = prices.tolist(), _few_steps(problem)
    while True:
        leftover = problem.budget - problem.cost_of(dimensions)
        able = np.flatnonzero((prices <= leftover) & (dimensions <= problem.upper - step))
        heap = list(zip((-worth.of_each(dimensions)[able]).tolist(), able.tolist(), strict=True))
        heapq.heapify(heap)
        taken, steps, misses = dimensions.tolist(), 0, 0
        while heap and steps < few and misses < few // 10:
            _, j = heapq.heappop(heap)
            if price_of[j] > leftover:
                misses += 1  # many of them are sorted out more quickly all at once
                continue
            taken[j] += step
            leftover -= price_of[j]
            steps += 1
            if taken[j] + step <= upper[j]:
                heapq.heappush(heap, (-value(j, taken[j]), j))
        dimensions = np.array(taken, dtype=np.int64)
        if not heap:
            return dimensions
        if steps == few:
            most = np.minimum(problem.upper, dimensions + step * (leftover // prices))
            dimensions, _ = _narrow(dimensions, most, problem, worth)


def _few_steps(problem: BudgetProblem) -> int:
    """Return as many steps as a heap takes more quickly than they are taken together."""
    return len(problem.costs) + 1000


def _narrow(low: Ints, high: Ints, problem: BudgetProblem, worth: Worth) -> tuple[Ints, Ints]:
    """Return dimensions within the budget and dimensions above it, with few steps in between.

    Both hold all steps from low to high above some worth and none below it. That worth moves to
    the middle of the field with most steps in question, so that each turn halves these at least.
    """
    step = problem.step

    def fits(dimensions: Ints) -> bool:
        return problem.cost_of(dimensions) <= problem.budget

    while float((high - low).astype(np.float64).sum()) > step * _few_steps(problem):
        j = int(np.argmax(high - low))
        middle = low + (high - low) // (2 * step) * step
        pivot = worth.of_each(middle)[j]
        above = _take_all(operator.gt, pivot, low, high, step, worth)
        at_least = _take_all(operator.ge, pivot, above, high, step, worth)
        if not fits(above):
            high = above
        elif fits(at_least):
            low = at_least
        else:
            return above, at_least
    return low, high


def _take_all(
    compare: Callable[[Any, Any], Any], pivot: float, low: Ints, high: Ints, step: int, worth: Worth
) -> Ints:
    """Return the dimensions after all steps from low to high whose worth compares to the pivot."""
    fewest, most = np.zeros_like(low), (high - low) // step
    while (is_open := fewest < most).any():
        middle = (fewest + most + 1) // 2
        is_wanted = compare(worth.of_each(low + (middle - 1) * step), pivot)
        fewest = np.where(is_open & is_wanted, middle, fewest)
        most = np.where(is_open & ~is_wanted, middle - 1, most)
    return low + fewest * step
