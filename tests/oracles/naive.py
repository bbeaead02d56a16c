"""Literal, slow versions of the allocation rules: the second witness for the fast ones."""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

#: How much the step of predictor j at dimension d is worth.
Worth = Callable[[int, int], float]


def give_back(
    dimensions: Sequence[int],
    lower: Sequence[int],
    costs: ArrayLike,
    budget: int,
    worth: Worth,
    step: int = 1,
) -> list[int]:
    """Remove the step worth least until the budget holds; look at every predictor every time."""
    d = list(dimensions)
    while np.dot(costs, d) > budget:
        able = [j for j in range(len(d)) if d[j] - step >= lower[j]]
        j = min(able, key=lambda j: (worth(j, d[j] - step), j))
        d[j] -= step
    return d


def spend(
    dimensions: Sequence[int],
    upper: Sequence[int],
    costs: Sequence[int],
    budget: int,
    worth: Worth,
    step: int = 1,
) -> list[int]:
    """Add the step worth most that fits; look at every predictor every time."""
    d = list(dimensions)
    while True:
        left = budget - np.dot(costs, d)
        able = [j for j in range(len(d)) if d[j] + step <= upper[j] and step * costs[j] <= left]
        if not able:
            return d
        j = max(able, key=lambda j: (worth(j, d[j]), -j))
        d[j] += step


def proposed(
    a: ArrayLike,
    cardinalities: ArrayLike,
    budget: int,
    *,
    lower: Sequence[int] | None = None,
    upper: Sequence[int] | None = None,
    step: int = 1,
) -> list[int]:
    """Algorithm 1, steps 3 and 4, written out."""
    a, n = np.asarray(a, float), np.asarray(cardinalities)
    lower = [1] * len(n) if lower is None else lower
    upper = [10**9] * len(n) if upper is None else upper
    target = budget * np.sqrt(a / n) / np.sqrt(a * n).sum()
    d = [
        int(min(max(np.floor(t / step + 1e-9 * max(t, 1) / step) * step, lo), up))
        for t, lo, up in zip(target, lower, upper, strict=True)
    ]

    def worth(j: int, dim: int) -> float:
        return float(a[j] / (n[j] * dim * (dim + step))) if dim else np.inf

    kept = give_back(d, lower, n, budget, worth, step)
    return spend(kept, upper, n.tolist(), budget, worth, step)


def best_by_listing(
    curves: Sequence[Sequence[float]],
    costs: ArrayLike,
    budget: int,
    ranges: Sequence[Sequence[int]],
) -> float:
    """Return the least total error over every allocation that the budget can pay."""
    best = np.inf
    for dims in itertools.product(*ranges):
        if np.dot(costs, dims) <= budget:
            best = min(best, sum(curve[d] for curve, d in zip(curves, dims, strict=True)))
    return best


def best_by_cost(errors: Sequence[ArrayLike], costs: Sequence[ArrayLike], budget: int) -> float:
    """Return the least total error over all combinations of one entry a field within the budget."""
    cost, error = np.zeros(1), np.zeros(1)
    for field_costs, field_errors in zip(costs, errors, strict=True):
        cost = np.add.outer(cost, np.asarray(field_costs)).ravel()
        error = np.add.outer(error, np.asarray(field_errors)).ravel()
    return float(error[cost <= budget].min())
