"""Greedy steps under a budget: who gets the next dimension, and who gives one back.

A function ``worth(j, d)`` says what the step from dimension d to the next is worth to field j, for
numbers and for arrays of them alike; it never rises with d. Steps are taken one by one from a heap.
Where there are many more steps than fields, those above some worth are taken together in between,
which are the same steps in another order.
"""

import heapq
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from embedalloc.arrays import Ints
from embedalloc.problem import BudgetProblem

Worth = Callable[[Any, Any], Any]


def give_back(dimensions: Ints, problem: BudgetProblem, worth: Worth) -> Ints:
    """Take the least valuable steps back, one at a time, until the budget holds.

    The caller makes sure that the lower bounds are affordable, so this always ends. Ties are given
    back by the field that comes first.
    """
    if problem.cost_of(dimensions) <= problem.budget:
        return dimensions
    _, dimensions = _narrow(np.minimum(problem.lower, dimensions), dimensions, problem, worth)
    excess = problem.cost_of(dimensions) - problem.budget
    kept, step, costs, lower = dimensions.tolist(), problem.step, problem.costs, problem.lower
    able = np.flatnonzero(dimensions - step >= lower)
    heap = list(zip(worth(able, dimensions[able] - step).tolist(), able.tolist(), strict=True))
    heapq.heapify(heap)
    while excess > 0:
        _, j = heapq.heappop(heap)
        kept[j] -= step
        excess -= step * int(costs[j])
        if kept[j] - step >= lower[j]:
            heapq.heappush(heap, (float(worth(j, kept[j] - step)), j))
    return np.array(kept, dtype=np.int64)


def spend(dimensions: Ints, problem: BudgetProblem, worth: Worth) -> Ints:
    """Take the most valuable step that still fits, again and again, until none fits.

    A step that does not fit now never will, because the leftover only shrinks; its field is done.
    Ties go to the field that comes first.
    """
    prices, step = problem.costs * problem.step, problem.step
    while True:
        leftover = problem.budget - problem.cost_of(dimensions)
        able = np.flatnonzero((prices <= leftover) & (dimensions <= problem.upper - step))
        with np.errstate(divide="ignore"):  # the first dimension may be worth infinitely much
            first = -worth(able, dimensions[able])
        heap = list(zip(first.tolist(), able.tolist(), strict=True))
        heapq.heapify(heap)
        taken, most = dimensions.tolist(), _few_steps(problem)
        while heap and most:
            _, j = heapq.heappop(heap)
            price = int(prices[j])
            if price > leftover:
                continue
            taken[j] += step
            leftover -= price
            most -= 1
            if taken[j] + step <= problem.upper[j]:
                heapq.heappush(heap, (-float(worth(j, taken[j])), j))
        dimensions = np.array(taken, dtype=np.int64)
        if not heap:
            return dimensions
        most_affordable = dimensions + step * np.maximum(leftover // prices, 0)
        ceiling = np.maximum(np.minimum(problem.upper, most_affordable), dimensions)
        dimensions, _ = _narrow(dimensions, ceiling, problem, worth)


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
        # In floating point the sum cannot overflow, and it is exact up to the largest budget.
        return float(problem.costs @ dimensions.astype(np.float64)) <= problem.budget

    while float((high - low).astype(np.float64).sum()) > step * _few_steps(problem):
        j = int(np.argmax(high - low))
        with np.errstate(divide="ignore"):
            pivot = worth(j, low[j] + (high[j] - low[j]) // (2 * step) * step)
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
    fewest, most, every = np.zeros_like(low), (high - low) // step, np.arange(len(low))
    while (is_open := fewest < most).any():
        middle = (fewest + most + 1) // 2
        is_wanted = compare(worth(every, low + (middle - 1) * step), pivot)
        fewest = np.where(is_open & is_wanted, middle, fewest)
        most = np.where(is_open & ~is_wanted, middle - 1, most)
    return low + fewest * step
