"""The exact integer optimum of any separable error under the budget, with a certificate.

Here the dimensions that can matter are listed; `multiple_choice` finds the best of them.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

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
from embedalloc.choice_search import Choices
from embedalloc.multiple_choice import find_price, solve_choices
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
        return _solve(problem, *_choices_from_curves(problem, curves), np.inf)
    assert coefficients is not None
    a = problem.positive_vector(coefficients, "coefficients")
    return _solve(problem, *_choices_near_price(problem, a))


def _choices_from_curves(
    problem: BudgetProblem, curves: Mapping[str, Curve] | Sequence[Curve]
) -> tuple[Choices, Ints]:
    """List the permitted points of the curves, and the dimension of each."""
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
    return Choices(owner, problem.costs[owner] * dimension, error), dimension


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


def _choices_near_price(problem: BudgetProblem, a: Floats) -> tuple[Choices, Ints, float]:
    """List the dimensions whose a/d can still matter: near where the price meets the reduction.

    Without a maximum there can be more dimensions than memory holds, so the bound and the best
    known allocation rule out all but a window around √(a/(λN)) before anything is listed. Where
    even that is too much, the window is cut; returned beside the choices and their dimensions is
    the error that no allocation with a dimension outside it can beat (infinite if nothing was cut).
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

    steepest = float((a / problem.lower).max())
    price = find_price(lambda p: problem.cost_of(decide(p)), problem.budget, steepest=steepest)
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
    choices = Choices(owner, problem.costs[owner] * dimension, a[owner] / dimension)
    return choices, dimension, outside


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


def _solve(problem: BudgetProblem, choices: Choices, dimensions: Ints, outside: float) -> Solution:
    """Search the choices; no allocation with other dimensions has an error below `outside`."""
    found = solve_choices(choices, problem.budget, outside)
    return Solution(dimensions[found.rows], found.objective, found.lower_bound)
