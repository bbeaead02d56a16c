"""The rules that the paper's rule is compared with, all at the same budget.

A proportional rule is a function of the problem that weighs the fields: it wants real-valued
dimensions in proportion to its weights. They are rounded down to no less than the minimum, given
back where that is too expensive (the largest surplus first), and with ``leftover="spent"`` what
remains goes to the largest deficit, step by step.
"""

from typing import Literal, get_args

import numpy as np

from embedalloc.allocation import whole_dimensions_below
from embedalloc.arrays import Floats, Ints
from embedalloc.checks import real_number, show
from embedalloc.greedy import Worth, give_back, spend
from embedalloc.problem import BudgetProblem, PerField

Leftover = Literal["floored", "spent"]


def proportional_dimensions(problem: BudgetProblem, weights: Floats, leftover: Leftover) -> Ints:
    """Round the dimensions proportional to the weights that would spend the whole budget."""
    if leftover not in get_args(Leftover):
        raise ValueError(
            f"leftover: {show(leftover)} is not one of {', '.join(get_args(Leftover))}"
        )
    floored, deficit = _round_down(problem, weights)
    # NOTE[PAPER] rivals-leftover: nothing is said of what the rivals do with the leftover.
    return spend(floored, problem, deficit) if leftover == "spent" else floored


def dimensions_by_leftover(problem: BudgetProblem, weights: Floats) -> dict[Leftover, Ints]:
    """Return `proportional_dimensions` with the leftover floored and spent."""
    floored, deficit = _round_down(problem, weights)
    return {"floored": floored, "spent": spend(floored, problem, deficit)}


def _round_down(problem: BudgetProblem, weights: Floats) -> tuple[Ints, Worth]:
    """Return whole dimensions within the budget, and what each field still wants."""
    free = ~problem.fixed
    targets = problem.lower.astype(np.float64)
    if free.any():
        share = weights[free] / weights[free].max()
        targets[free] = problem.shared_budget * share / (problem.costs[free] @ share)
    deficit = Worth(lambda d, target: target - d, (targets,))
    return give_back(whole_dimensions_below(targets, problem), problem, deficit), deficit


def weigh_equally(problem: BudgetProblem) -> Floats:
    """Want the same dimension for every field: d_j = B / Σ N_k."""
    return np.ones(len(problem.names))


def weigh_by_cardinality(problem: BudgetProblem) -> Floats:
    """Want dimensions in proportion to the number of categories: d_j = B N_j / Σ N_k²."""
    return problem.cardinalities.astype(np.float64)


def weigh_by_square_root(problem: BudgetProblem) -> Floats:
    """Want dimensions in proportion to the square root of the number of categories."""
    return np.sqrt(problem.cardinalities)


def weigh_by_fourth_root(problem: BudgetProblem) -> Floats:
    """Want dimensions in proportion to the fourth root of the number of categories."""
    return problem.cardinalities.astype(np.float64) ** 0.25


def weigh_by_fastai(problem: BudgetProblem) -> Floats:
    """Want dimensions in proportion to fastai's formula, min(600, 1.6 N_j^0.56)."""
    return np.minimum(1.6 * problem.cardinalities.astype(np.float64) ** 0.56, 600.0)


def weigh_by_popularity(
    problem: BudgetProblem, *, frequencies: PerField | None = None, alpha: float = 0.3
) -> Floats:
    """Want dimensions in proportion to a power of the popularity of a table's average row.

    The popularity of field j is p_j = f_j/N_j, where f_j is how often a sample looks into its
    table: 1 by default, more for a bag of categories, less where most values are missing. The
    dimension is proportional to p_j^alpha (Ginart et al., 2019; 0.3 is the default of their
    code). With alpha = 0 it is equal for all; with alpha = 1/2 and f_j = 1 it is the paper's rule
    with equal coefficients.
    """
    if not 0 <= real_number(alpha, "alpha") <= 1:
        raise ValueError(f"alpha: {alpha} is not between 0 and 1")
    looked_up = (
        np.ones(len(problem.names))
        if frequencies is None
        else problem.positive_vector(frequencies, "frequencies")
    )
    return (looked_up / problem.cardinalities) ** alpha


def weigh_by_spectral_mass(problem: BudgetProblem, *, masses: PerField) -> Floats:
    """Want dimensions in proportion to the spectral mass m_j: d_j = B m_j / Σ N_k m_k."""
    # NOTE[PAPER] spectral-mass: the paper does not define the mass; Experiment 3 passes the sum
    # of squared singular values.
    return problem.positive_vector(masses, "masses")


def dimensions_by_priority(problem: BudgetProblem, *, divide_by_dimension: bool = False) -> Ints:
    """Start from the minimum and give each next dimension to the largest √max(N_j − 1, 1) / N_j.

    Section 3.4. The score does not change as dimensions are added, so taken literally one
    field takes everything it can; with `divide_by_dimension` the score is divided by the
    dimension reached and the budget spreads.
    """
    # NOTE[PAPER] cardinality-priority: literal reading by default, the other on request.
    n = problem.cardinalities.astype(np.float64)
    scores = np.sqrt(np.maximum(n - 1.0, 1.0)) / n
    if divide_by_dimension:
        return spend(problem.lower, problem, Worth(lambda d, score: score / d, (scores,)))
    dimensions = problem.lower.copy()
    leftover = problem.budget - problem.cost_of(dimensions)
    for j in np.argsort(-scores, kind="stable").tolist():
        room = int(problem.upper[j] - dimensions[j]) // problem.step
        steps = min(room, leftover // int(problem.step_prices[j]))
        dimensions[j] += steps * problem.step
        leftover -= steps * int(problem.costs[j]) * problem.step
    return dimensions
