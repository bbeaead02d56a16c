"""The paper's allocation rule: Theorem 3 and the integer step of Algorithm 1."""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats, Ints
from embedalloc.greedy import Worth, give_back, spend
from embedalloc.problem import BudgetProblem, PerField

#: A target this close below a whole number, relatively, counts as that number: whether three
#: thirds of a budget make one must not depend on the last bit of a square root.
WHOLE_NUMBER_TOLERANCE = 1e-9


class Solution(NamedTuple):
    """What a rule chose: one dimension per field, and what it knows of the objective."""

    dimensions: Ints
    objective: float | None = None
    lower_bound: float | None = None


def continuous_dimensions(
    coefficients: ArrayLike, cardinalities: ArrayLike, budget: float
) -> Floats:
    """Return the real-valued minimiser of sum a_j/d_j subject to sum N_j d_j ≤ B (Theorem 3).

    d_j = B √(a_j/N_j) / Σ_k √(a_k N_k). The budget is spent in full.

    Examples
    --------
    >>> continuous_dimensions([4.0, 1.0], [1, 1], 6)
    array([4., 2.])
    """
    a = np.asarray(coefficients, dtype=np.float64)
    n = np.asarray(cardinalities, dtype=np.float64)
    if a.ndim != 1 or a.shape != n.shape or a.size == 0:
        raise ValueError(f"expected one coefficient per cardinality, got {a.shape} and {n.shape}")
    for what, values in (("coefficient", a), ("cardinality", n), ("budget", np.array([budget]))):
        bad = np.flatnonzero(~(np.isfinite(values) & (values > 0)))
        if bad.size:
            raise ValueError(f"{what} {bad[0] + 1} is {values[bad[0]]}; it must be above 0")
    return _theorem_3(a, n, budget)


def _theorem_3(a: Floats, n: Floats | Ints, budget: float) -> Floats:
    # Only ratios of the coefficients matter; dividing first keeps extreme ones in range.
    root, size_root = np.sqrt(a / a.max()), np.sqrt(n)
    return budget * (root / size_root) / (root * size_root).sum()


def whole_dimensions_below(targets: Floats, problem: BudgetProblem) -> Ints:
    """Round the targets down to permitted dimensions, to no less than the minimum."""
    forgiving = targets + WHOLE_NUMBER_TOLERANCE * np.maximum(targets, 1.0)
    steps = np.floor(forgiving / problem.step).astype(np.int64)
    return np.minimum(np.maximum(steps * problem.step, problem.lower), problem.upper)


def solve_by_paper(problem: BudgetProblem, coefficients: PerField) -> Solution:
    """Return whole dimensions for the paper's surrogate, never above the budget (Algorithm 1, 3–4).

    The real-valued solution is rounded down, to no less than the minimum. If raising to the
    minimum made it too expensive, the dimension that loses least per parameter freed is given
    back until the budget holds. What is left is spent greedily by reduction per parameter. The
    lower bound is the optimum over real dimensions within the same bounds.
    """
    a = problem.positive_vector(coefficients, "coefficients")
    served = _serve_first_dimensions(problem, a)
    dimensions = round_and_spend(served, a)
    return Solution(dimensions, reciprocal_objective(a, dimensions), _continuous_bound(served, a))


def reciprocal_objective(coefficients: Floats, dimensions: Floats | Ints) -> float:
    """Return Σ a_j/d_j; infinite where a field has no dimension."""
    with np.errstate(divide="ignore"):
        return float((coefficients / dimensions).sum())


def _serve_first_dimensions(problem: BudgetProblem, coefficients: Floats) -> BudgetProblem:
    """Turn a minimum of 0 into 1 for as many fields as the budget can pay.

    Served in the order of a_j/N_j, the limit of the reduction per parameter as d falls to 0.
    Fields that cannot be paid are held at 0.
    """
    waiting = np.flatnonzero((problem.lower == 0) & (problem.upper > 0))
    if not waiting.size:
        return problem
    lower, upper = problem.lower.copy(), problem.upper.copy()
    leftover = problem.budget - problem.cost_of(lower)
    order = np.argsort(-(coefficients / problem.costs)[waiting], kind="stable")
    for j in waiting[order].tolist():
        price = int(problem.costs[j]) * problem.step
        if price <= leftover:
            lower[j], leftover = problem.step, leftover - price
        else:
            upper[j] = 0
    return replace(problem, lower=lower, upper=upper, fixed=problem.fixed | (upper == 0))


def round_and_spend(problem: BudgetProblem, a: Floats) -> Ints:
    """Return Algorithm 1's whole dimensions for positive coefficients and minimums above 0."""
    free = ~problem.fixed
    targets = problem.lower.astype(np.float64)
    if free.any():
        targets[free] = _theorem_3(a[free], problem.costs[free], problem.shared_budget)
    step = problem.step

    def reduce_per_parameter(d: Any, a: Any, cost: Any) -> Any:
        return a / (cost * d * (d + step))  # (a/d − a/(d + s)) / (s N)

    worth = Worth(reduce_per_parameter, (a, problem.costs.astype(np.float64)))
    rounded = whole_dimensions_below(targets, problem)
    # NOTE[PAPER] integer-projection: Algorithm 1 projects onto the budget without saying how.
    return spend(give_back(rounded, problem, worth), problem, worth)


def _continuous_bound(problem: BudgetProblem, a: Floats) -> float:
    """Return the least Σ a_j/d_j over real dimensions within the bounds and the budget.

    Theorem 3 for the fields that no bound stops. Those stopped are pegged to their bound, in
    each turn only the side that moves more parameters, which is never undone (Bitran and Hax).
    """
    d = np.where(problem.upper == problem.lower, problem.lower, np.nan)
    while True:
        free = np.isnan(d)
        remaining = problem.budget - float(np.nansum(problem.costs * d))
        if not free.any() or remaining <= 0:
            break
        wanted = np.where(free, d, 0.0)
        wanted[free] = continuous_dimensions(a[free], problem.costs[free], remaining)
        low, high = free & (wanted < problem.lower), free & (wanted > problem.upper)
        if not (low.any() or high.any()):
            d = np.where(free, wanted, d)
            break
        missing = (problem.costs * (problem.lower - wanted))[low].sum()
        surplus = (problem.costs * (wanted - problem.upper))[high].sum()
        stopped, bound = (low, problem.lower) if missing >= surplus else (high, problem.upper)
        d = np.where(stopped, bound, d)
    d = np.where(np.isnan(d), problem.lower, d)
    return reciprocal_objective(a, d)
