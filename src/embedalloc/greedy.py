"""Greedy steps under a budget: who gets the next dimension, and who gives one back.

A priority ranks the step from dimension d to the next for every predictor and never rises with
d. Taking steps one by one, always the highest that still fits, would need as many turns as
there are steps; here all steps above a threshold are taken together first (the same steps in
another order) and only the last ones one by one from a heap.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.problem import BudgetProblem


class Priority(Protocol):
    """How much the step d → d + step is worth, for each predictor; never rising in d."""

    def values(self, dimensions: Ints) -> Floats:
        """Return the worth of the next step of every predictor."""
        ...

    def value_of(self) -> Callable[[int, int], float]:
        """Return a fast function of (predictor index, dimension) with the same values."""
        ...

    def dimensions_above(self, threshold: float) -> Floats:
        """Return, roughly, the dimension at which the next step's worth falls to the threshold."""
        ...


@dataclass(frozen=True)
class ReductionPerParameter:
    """Reduction of the sum of a_j/d_j per parameter spent (Algorithm 1, step 4)."""

    coefficients: Floats
    costs: Ints
    step: int = 1

    def values(self, dimensions: Ints) -> Floats:
        """(a/d − a/(d + s)) / (s N) = a / (N d (d + s))."""
        d = dimensions.astype(np.float64)
        with np.errstate(divide="ignore"):
            return self.coefficients / (self.costs * d * (d + self.step))

    def value_of(self) -> Callable[[int, int], float]:
        ratios_a, ratios_n = self.coefficients.tolist(), self.costs.astype(float).tolist()
        step = self.step
        return lambda j, d: float("inf") if d == 0 else ratios_a[j] / (ratios_n[j] * d * (d + step))

    def dimensions_above(self, threshold: float) -> Floats:
        with np.errstate(divide="ignore", over="ignore"):
            product = self.coefficients / (self.costs * threshold)
            return (np.sqrt(self.step**2 + 4.0 * product) - self.step) / 2.0


@dataclass(frozen=True)
class Deficit:
    """How far a predictor is below the dimension that its rule wanted for it."""

    targets: Floats

    def values(self, dimensions: Ints) -> Floats:
        return self.targets - dimensions

    def value_of(self) -> Callable[[int, int], float]:
        targets = self.targets.tolist()
        return lambda j, d: targets[j] - d

    def dimensions_above(self, threshold: float) -> Floats:
        return self.targets - threshold


@dataclass(frozen=True)
class Score:
    """A score per predictor that the dimension does not change, or divided by the dimension."""

    scores: Floats
    per_dimension: bool = False

    def values(self, dimensions: Ints) -> Floats:
        if not self.per_dimension:
            return self.scores
        with np.errstate(divide="ignore"):
            return self.scores / dimensions

    def value_of(self) -> Callable[[int, int], float]:
        scores = self.scores.tolist()
        if not self.per_dimension:
            return lambda j, d: scores[j]
        return lambda j, d: float("inf") if d == 0 else scores[j] / d

    def dimensions_above(self, threshold: float) -> Floats:
        if not self.per_dimension:
            return np.where(self.scores > threshold, np.inf, 0.0)
        with np.errstate(divide="ignore", over="ignore"):
            return self.scores / threshold


def give_back(dimensions: Ints, problem: BudgetProblem, priority: Priority) -> Ints:
    """Take the least valuable steps back, one at a time, until the budget holds.

    The caller makes sure that the lower bounds are affordable, so this always ends.
    """
    if problem.cost_of(dimensions) <= problem.budget:
        return dimensions
    dimensions = _give_back_together(dimensions, problem, priority)
    excess = problem.cost_of(dimensions) - problem.budget
    kept, step = dimensions.tolist(), problem.step
    value, costs, lower = priority.value_of(), problem.costs.tolist(), problem.lower.tolist()
    heap = [(value(j, d - step), j) for j, d in enumerate(kept) if d - step >= lower[j]]
    heapq.heapify(heap)
    while excess > 0:
        _, j = heapq.heappop(heap)
        kept[j] -= step
        excess -= step * costs[j]
        if kept[j] - step >= lower[j]:
            heapq.heappush(heap, (value(j, kept[j] - step), j))
    return np.array(kept, dtype=np.int64)


def spend(dimensions: Ints, problem: BudgetProblem, priority: Priority) -> Ints:
    """Take the most valuable step that still fits, again and again, until none fits.

    A step that does not fit now never will, because the leftover only shrinks; its predictor is
    done. Ties go to the predictor that comes first.
    """
    done = False
    while not done:
        dimensions = _spend_together(dimensions, problem, priority)
        dimensions, done = _spend_one_by_one(dimensions, problem, priority)
    return dimensions


def _can_grow(dimensions: Ints, problem: BudgetProblem) -> NDArray[np.bool_]:
    """Tell which predictors may and can afford to take another step."""
    leftover = problem.budget - problem.cost_of(dimensions)
    affordable = problem.costs * problem.step <= leftover
    return affordable & (dimensions <= problem.upper - problem.step)


def _spend_one_by_one(
    dimensions: Ints, problem: BudgetProblem, priority: Priority
) -> tuple[Ints, bool]:
    """Take steps from a heap, about one per predictor, then return, for steps taken together.

    It returns early where many steps no longer fit: those are sorted out more quickly all at
    once. Returns the dimensions and whether no step is left that fits.
    """
    indices = np.flatnonzero(_can_grow(dimensions, problem)).tolist()
    taken, step = dimensions.tolist(), problem.step
    value, upper = priority.value_of(), problem.upper.tolist()
    prices = (problem.costs * step).tolist()
    leftover = problem.budget - problem.cost_of(dimensions)
    heap = [(-value(j, taken[j]), j) for j in indices]
    heapq.heapify(heap)
    misses, most_misses = 0, _quick_steps(problem)
    for _ in range(len(prices) + 200):
        if not heap or misses > most_misses:
            break
        _, j = heapq.heappop(heap)
        if prices[j] > leftover:
            misses += 1
            continue
        taken[j] += step
        leftover -= prices[j]
        if taken[j] + step <= upper[j]:
            heapq.heappush(heap, (-value(j, taken[j]), j))
    return np.array(taken, dtype=np.int64), not heap


def _quick_steps(problem: BudgetProblem) -> int:
    """Return as many steps as a heap takes more quickly than another threshold is tried."""
    return len(problem.costs) // 20 + 200


def _spend_together(dimensions: Ints, problem: BudgetProblem, priority: Priority) -> Ints:
    """Take all steps worth more than a threshold, as low a threshold as the budget allows."""
    leftover = problem.budget - problem.cost_of(dimensions)
    prices = problem.costs * problem.step
    if leftover <= _quick_steps(problem) * int(prices.min()):
        return dimensions
    is_open = _can_grow(dimensions, problem)
    affordable = dimensions + problem.step * (leftover // prices)
    ceiling = np.where(is_open, np.minimum(problem.upper, affordable), dimensions)
    if _few_steps(dimensions, ceiling, problem):
        return dimensions

    def after(threshold: float) -> Ints:
        return _steps_above(threshold, priority, dimensions, ceiling, problem.step)

    def price(candidate: Ints) -> float:
        # In floating point the sum cannot overflow, and it is exact up to the largest budget.
        return float(problem.costs @ (candidate - dimensions).astype(np.float64))

    worth = priority.values(dimensions)[is_open]
    last_worth = priority.values(np.maximum(ceiling - problem.step, dimensions))[is_open]
    return _furthest(
        after,
        lambda candidate: price(candidate) <= leftover,
        problem,
        start=dimensions,
        near=float(worth[np.isfinite(worth)].max(initial=0.0)),
        far=float(last_worth.min()),
    )


def _give_back_together(dimensions: Ints, problem: BudgetProblem, priority: Priority) -> Ints:
    """Give back all steps worth at most a threshold, if that leaves the budget exceeded."""
    floor = np.minimum(problem.lower, dimensions)
    if _few_steps(floor, dimensions, problem):
        return dimensions

    def after(threshold: float) -> Ints:
        return _steps_above(threshold, priority, floor, dimensions, problem.step)

    last_worth = priority.values(np.maximum(dimensions - problem.step, floor))
    first_worth = priority.values(floor)
    return _furthest(
        after,
        lambda candidate: problem.cost_of(candidate) >= problem.budget,
        problem,
        start=dimensions,
        near=float(last_worth.min()),
        far=float(first_worth[np.isfinite(first_worth)].max(initial=0.0)),
    )


def _few_steps(one: Ints, other: Ints, problem: BudgetProblem) -> bool:
    """Tell whether a heap alone is quick enough for the steps from one to the other."""
    steps = float(np.abs(one - other).astype(np.float64).sum()) / problem.step
    return steps <= _quick_steps(problem)


def _steps_above(threshold: float, priority: Priority, low: Ints, high: Ints, step: int) -> Ints:
    """Return the dimensions after all steps worth more than the threshold, from low to high."""
    estimate = np.clip(priority.dimensions_above(threshold), low, high)
    reached = low + step * np.ceil((estimate - low) / step).astype(np.int64)
    reached = np.minimum(reached, high)
    # The estimate may be a step off by rounding; the values decide, as they do one by one.
    for _ in range(8):
        too_far = (reached > low) & (priority.values(np.maximum(reached - step, 0)) <= threshold)
        reached = np.where(too_far, reached - step, reached)
        too_short = (reached < high) & (priority.values(reached) > threshold)
        reached = np.where(too_short, reached + step, reached)
        if not (too_far.any() or too_short.any()):
            break
    return reached


def _furthest(
    after: Callable[[float], Ints],
    accept: Callable[[Ints], bool],
    problem: BudgetProblem,
    *,
    start: Ints,
    near: float,
    far: float,
) -> Ints:
    """Move the threshold from near towards far as long as the outcome is accepted.

    It ends where only a few steps lie between what is accepted and what is not.
    """
    best = start
    for _ in range(60):
        middle = math.sqrt(near) * math.sqrt(far) if min(near, far) > 0 else (near + far) / 2
        if middle in (near, far):
            break
        candidate = after(middle)
        if accept(candidate):
            best, near = candidate, middle
        elif _few_steps(best, candidate, problem):
            break
        else:
            far = middle
    return best
