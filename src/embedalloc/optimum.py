"""The exact integer optimum of any separable error under the budget, with a certificate.

Choosing one dimension per field at least total error within the budget is a multiple-choice
knapsack problem. With a price λ per parameter every field decides alone, which gives a lower
bound (the Lagrangian bound) and, for every other choice, its *regret*: how much the bound rises
if that choice is forced. A choice whose regret exceeds the distance between the best known
allocation and the bound cannot be part of a better one. What remains is searched completely.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embedalloc.allocation import Solution, reciprocal_objective, round_and_spend
from embedalloc.arrays import Floats, Ints
from embedalloc.checks import (
    LARGEST_NUMBER,
    LARGEST_WEIGHT,
    by_name,
    put_in_order,
    real_number,
    real_numbers,
    whole_number,
)
from embedalloc.choice_search import Choices, ChoiceSearch
from embedalloc.problem import BudgetError, BudgetProblem, PerField

#: Dimensions that may be listed as choices before windows are cut and proof is given up.
LARGEST_LISTING = 2_000_000

#: Errors of one field: entry d is the error at dimension d, from d = 0 on; or by dimension.
Curve = ArrayLike | Mapping[int, float]


def solve_optimally(
    problem: BudgetProblem,
    *,
    coefficients: PerField | None = None,
    curves: Mapping[str, Curve] | Sequence[Curve] | None = None,
) -> Solution:
    """Return the least total error; the arguments are those of `optimal_dimensions`."""
    if (coefficients is None) == (curves is None):
        raise ValueError("give either coefficients or curves")
    if curves is not None:
        return _solve(problem, _choices_from_curves(problem, curves), np.inf)
    assert coefficients is not None
    a = problem.positive_vector(coefficients, "coefficients")
    return _solve(problem, *_choices_near_price(problem, a))


def _choices_from_curves(
    problem: BudgetProblem, curves: Mapping[str, Curve] | Sequence[Curve]
) -> Choices:
    """List the permitted points of the curves."""
    in_order = put_in_order(curves, problem.names, "curves")
    affordable = _most_affordable(problem)
    rows = []
    for j, name in enumerate(problem.names):
        dimensions, errors = _points(in_order[j], name)
        able = (dimensions >= problem.lower[j]) & (dimensions <= affordable[j])
        able &= (dimensions - problem.lower[j]) % problem.step == 0
        able &= np.isfinite(errors)
        dimensions, errors = dimensions[able], errors[able]
        if not dimensions.size:
            raise ValueError(
                f"curves: {name!r} has no finite error between dimension {problem.lower[j]} and "
                f"{affordable[j]}, the largest that the bounds and the budget permit"
            )
        rows.append((np.full(dimensions.size, j), dimensions, errors))
    least = sum(int(problem.costs[j]) * int(dims[0]) for j, (_, dims, _) in enumerate(rows))
    if least > problem.budget:
        raise BudgetError(
            f"budget {problem.budget} is below {least}, the cost of the smallest dimensions with "
            "a finite error; raise it or give errors for smaller dimensions"
        )
    owner, dimension, error = (np.concatenate(column) for column in zip(*rows, strict=True))
    return Choices(owner, dimension, problem.costs[owner] * dimension, error)


def _points(curve: Curve, name: str) -> tuple[Ints, Floats]:
    """Return the dimensions of a curve, smallest first, and their errors."""
    place = f"curves[{name!r}]"
    by_dimension = by_name(curve, place)
    if by_dimension is not None:
        tried = {
            whole_number(d, f"{place}, a dimension", least=0): real_number(error, f"{place}[{d!r}]")
            for d, error in by_dimension.items()
        }
        dimensions = np.array(sorted(tried), dtype=np.int64)
        errors = np.array([tried[d] for d in dimensions.tolist()], dtype=np.float64)
    else:
        errors = real_numbers(curve, place)
        dimensions = np.arange(errors.size)
    if not errors.size:
        raise ValueError(f"curves: {name!r} has no dimension")
    if errors.ndim != 1 or np.isnan(errors).any() or (errors == -np.inf).any():
        raise ValueError(f"curves: {name!r} must be a list of errors, none of them nan or -inf")
    if (np.abs(errors[np.isfinite(errors)]) > LARGEST_WEIGHT).any():
        raise ValueError(f"curves: {name!r} has an error above {LARGEST_WEIGHT}")
    return dimensions, errors


def _choices_near_price(problem: BudgetProblem, a: Floats) -> tuple[Choices, float]:
    """List the dimensions whose a/d can still matter: near where the price meets the reduction.

    Without a maximum there can be more dimensions than memory holds, so the bound and the best
    known allocation rule out all but a window around √(a/(λN)) before anything is listed. Where
    even that is too much, the window is cut; returned beside the choices is the error that no
    allocation with a dimension outside it can beat (infinite if nothing was cut).
    """
    if (problem.lower == 0).any():
        name = problem.names[int(np.flatnonzero(problem.lower == 0)[0])]
        raise ValueError(
            f"coefficients: a/d is infinite at d = 0, which {name!r} may take; set minimum=1 or "
            "give curves with the error without an embedding"
        )
    largest = _most_affordable(problem)

    def decide(price: float) -> Ints:
        return _best_reciprocal(a, problem, largest, price)

    price = _best_price(problem, decide, steepest=float((a / problem.lower).max()))
    alone = decide(price)
    best = a / alone + price * problem.costs * alone
    known = reciprocal_objective(a, round_and_spend(problem, a))
    bound = float(best.sum()) - price * problem.budget
    slack = max(0.0, known - bound) + 1e-9 * known  # a little wider than rounding can be wrong
    # a/d + λNd ≤ best + slack is a quadratic inequality in d; its roots bound the window.
    value, slope = best + slack, price * problem.costs
    root = np.sqrt(np.maximum(value**2 - 4.0 * slope * a, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(slope > 0, 2.0 * a / (value + root), alone)
        last = np.where(slope > 0, (value + root) / (2.0 * slope), largest)
    step = problem.step
    low = np.clip(np.floor(first / step).astype(np.int64) * step, problem.lower, alone)
    high = np.clip(
        np.ceil(np.minimum(last, largest) / step).astype(np.int64) * step, alone, largest
    )
    reach = min(step * max(1, LARGEST_LISTING // (2 * len(a))), LARGEST_NUMBER)
    cut_low, cut_high = np.maximum(low, alone - reach), np.minimum(high, alone + reach)
    # The value is convex in d: whatever lies outside is worse than the last one listed.
    outside = np.inf
    for edge, is_cut in ((cut_low, cut_low > low), (cut_high, cut_high < high)):
        regret = a / edge + slope * edge - best
        outside = min(outside, bound + float(regret[is_cut].min(initial=np.inf)))
    counts = (cut_high - cut_low) // step + 1
    owner = np.repeat(np.arange(len(a)), counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    dimension = cut_low[owner] + step * place
    choices = Choices(owner, dimension, problem.costs[owner] * dimension, a[owner] / dimension)
    return choices, outside


def _most_affordable(problem: BudgetProblem) -> Ints:
    """Return each field's largest dimension while all others keep their minimum."""
    leftover = problem.budget - problem.cost_of(problem.lower)
    return np.minimum(
        problem.upper, problem.lower + problem.step * (leftover // problem.step_prices)
    )


def _best_reciprocal(a: Floats, problem: BudgetProblem, largest: Ints, price: float) -> Ints:
    """Return each field's minimiser of a/d + λNd among its permitted dimensions."""
    if price == 0.0:
        return largest
    step = problem.step
    ideal = np.sqrt(a / (price * problem.costs))
    below = np.clip(
        np.floor(np.minimum(ideal, largest) / step).astype(np.int64) * step, problem.lower, largest
    )
    above = np.minimum(below + step, largest)
    slope = price * problem.costs
    return np.where(a / above + slope * above < a / below + slope * below, above, below)


def _best_price(
    problem: BudgetProblem, decide: Callable[[float], Ints], *, steepest: float
) -> float:
    """Return the lowest price found at which lone decisions keep the budget.

    That price gives the highest Lagrangian bound. A price of `steepest` or more per parameter
    makes the cheapest choice everyone's best one.
    """
    if problem.cost_of(decide(0.0)) <= problem.budget or steepest == 0.0:
        return 0.0
    low, high = steepest * 1e-40, steepest
    for _ in range(100):
        middle = float(np.sqrt(low) * np.sqrt(high))
        if middle in (low, high):
            break
        if problem.cost_of(decide(middle)) <= problem.budget:
            high = middle
        else:
            low = middle
    # Beside large costs the cheapest choice can lose its lead to rounding, even at the steepest.
    while problem.cost_of(decide(high)) > problem.budget:
        high *= 2.0
    return high


def _solve(problem: BudgetProblem, choices: Choices, outside: float) -> Solution:
    """Search the choices for the least total error within the budget.

    No allocation that uses other choices has an error below `outside`.
    """
    group, starts = choices.group, choices.starts

    def decide(price: float) -> NDArray[np.intp]:
        value = choices.error + price * choices.cost
        winners = np.flatnonzero(value == np.minimum.reduceat(value, starts)[group])
        return winners[np.searchsorted(group[winners], np.arange(len(starts)))]

    spread = np.maximum.reduceat(choices.error, starts) - np.minimum.reduceat(choices.error, starts)
    price = _best_price(
        problem, lambda price: choices.dimension[decide(price)], steepest=float(spread.max())
    )
    base = decide(price)
    value = choices.error + price * choices.cost
    regret = value - value[base][group]
    bound = float(value[base].sum()) - price * problem.budget
    search = ChoiceSearch(problem, choices, base, regret, bound)
    search.run()
    objective = float(choices.error[search.best].sum())
    lower_bound = min(objective, outside, bound + search.unexplored)
    return Solution(choices.dimension[search.best], objective, lower_bound)
