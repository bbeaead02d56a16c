"""The rules that the paper's rule is compared with, all at the same budget.

A proportional rule wants real-valued dimensions in proportion to something. They are rounded
down to no less than the minimum, given back where that is too expensive (the largest surplus
first), and with ``leftover="spent"`` what remains goes to the largest deficit, step by step.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal, Unpack, get_args

import numpy as np

from embedalloc.allocation import (
    Allocation,
    allocation_of,
    integer_dimensions,
    whole_dimensions_below,
)
from embedalloc.arrays import Floats, Ints
from embedalloc.greedy import Deficit, Score, give_back, spend
from embedalloc.problem import (
    BudgetProblem,
    Cardinalities,
    Constraints,
    PerPredictor,
    build_problem,
)
from embedalloc.response import response_aware

Leftover = Literal["floored", "spent"]
AllocationRule = Callable[..., Allocation]

#: fastai's formula: 1.6 N^0.56 and no more than 600.
FASTAI_FACTOR, FASTAI_EXPONENT, FASTAI_MOST = 1.6, 0.56, 600.0
#: The default temperature of the public code of mixed-dimension embeddings.
POPULARITY_EXPONENT = 0.3


def equal(
    cardinalities: Cardinalities,
    budget: int,
    *,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give every predictor the same dimension: d_j = B / Σ N_k."""
    problem = build_problem(cardinalities, budget, **constraints)
    return _proportional(problem, np.ones(len(problem.names)), "equal", leftover)


def cardinality(
    cardinalities: Cardinalities,
    budget: int,
    *,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give dimensions in proportion to the number of categories: d_j = B N_j / Σ N_k²."""
    problem = build_problem(cardinalities, budget, **constraints)
    return _proportional(problem, problem.cardinalities.astype(np.float64), "cardinality", leftover)


def square_root(
    cardinalities: Cardinalities,
    budget: int,
    *,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give dimensions in proportion to the square root of the number of categories."""
    problem = build_problem(cardinalities, budget, **constraints)
    return _proportional(problem, np.sqrt(problem.cardinalities), "square_root", leftover)


def fastai(
    cardinalities: Cardinalities,
    budget: int,
    *,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give dimensions in proportion to fastai's formula, min(600, 1.6 N_j^0.56)."""
    problem = build_problem(cardinalities, budget, **constraints)
    formula = FASTAI_FACTOR * problem.cardinalities.astype(np.float64) ** FASTAI_EXPONENT
    return _proportional(problem, np.minimum(formula, FASTAI_MOST), "fastai", leftover)


def fourth_root(
    cardinalities: Cardinalities,
    budget: int,
    *,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give dimensions in proportion to the fourth root of the number of categories."""
    problem = build_problem(cardinalities, budget, **constraints)
    root = problem.cardinalities.astype(np.float64) ** 0.25
    return _proportional(problem, root, "fourth_root", leftover)


def popularity(
    cardinalities: Cardinalities,
    budget: int,
    *,
    frequencies: PerPredictor | None = None,
    alpha: float = POPULARITY_EXPONENT,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give dimensions in proportion to a power of the popularity of a table's average row.

    The popularity of predictor j is p_j = f_j/N_j, where f_j is how often a sample looks into
    its table: 1 by default, more for a bag of categories, less where most values are missing.
    The dimension is proportional to p_j^alpha (Ginart et al., 2019). With alpha = 0 it is
    equal for all; with alpha = 1/2 and f_j = 1 it is the paper's rule with equal coefficients.
    """
    problem = build_problem(cardinalities, budget, **constraints)
    if not (np.isfinite(alpha) and alpha >= 0):
        raise ValueError(f"alpha: {alpha} is not a finite number of 0 or more")
    looked_up = (
        np.ones(len(problem.names))
        if frequencies is None
        else problem.positive_vector(frequencies, "frequencies")
    )
    return _proportional(
        problem, (looked_up / problem.cardinalities) ** alpha, "popularity", leftover
    )


def spectral_mass(
    cardinalities: Cardinalities,
    budget: int,
    *,
    masses: PerPredictor,
    leftover: Leftover = "floored",
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Give dimensions in proportion to the spectral mass m_j: d_j = B m_j / Σ N_k m_k."""
    # NOTE[PAPER] spectral-mass: the paper does not define the mass; Experiment 3 passes the sum
    # of squared singular values.
    problem = build_problem(cardinalities, budget, **constraints)
    return _proportional(
        problem, problem.positive_vector(masses, "masses"), "spectral_mass", leftover
    )


def cardinality_priority(
    cardinalities: Cardinalities,
    budget: int,
    *,
    divide_by_dimension: bool = False,
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Start from the minimum and give each next dimension to the largest √max(N_j − 1, 1) / N_j.

    Section 3.4. The score does not change as dimensions are added, so taken literally one
    predictor takes everything it can; with `divide_by_dimension` the score is divided by the
    dimension reached and the budget spreads.
    """
    # NOTE[PAPER] cardinality-priority: literal reading by default, the other on request.
    problem = build_problem(cardinalities, budget, **constraints)
    n = problem.cardinalities.astype(np.float64)
    priority = Score(np.sqrt(np.maximum(n - 1.0, 1.0)) / n, per_dimension=divide_by_dimension)
    name = "cardinality_priority_per_dimension" if divide_by_dimension else "cardinality_priority"
    return allocation_of(problem, spend(problem.lower, problem, priority), name)


def cardinality_priority_per_dimension(
    cardinalities: Cardinalities, budget: int, **constraints: Unpack[Constraints]
) -> Allocation:
    """Like `cardinality_priority`, with the score divided by the dimension reached."""
    return cardinality_priority(cardinalities, budget, divide_by_dimension=True, **constraints)


def proposed(
    cardinalities: Cardinalities,
    budget: int,
    *,
    coefficients: PerPredictor,
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Minimise Σ a_j/d_j: Theorem 3 with Algorithm 1's integer step."""
    return integer_dimensions(coefficients, cardinalities, budget, **constraints)


def unit(
    cardinalities: Cardinalities, budget: int, **constraints: Unpack[Constraints]
) -> Allocation:
    """Minimise Σ 1/d_j: the paper's rule where nothing but the cardinalities is known."""
    names = build_problem(cardinalities, budget, **constraints).names
    found = integer_dimensions(np.ones(len(names)), cardinalities, budget, **constraints)
    return replace(found, allocation_rule="unit")


#: Every allocation rule by name: rule(cardinalities, budget, **what it needs, **constraints).
ALLOCATION_RULES: Mapping[str, AllocationRule] = {
    rule.__name__: rule
    for rule in (
        proposed,
        unit,
        equal,
        cardinality,
        spectral_mass,
        square_root,
        fourth_root,
        fastai,
        popularity,
        cardinality_priority,
        cardinality_priority_per_dimension,
        response_aware,
    )
}


def allocation_rule(name: str) -> AllocationRule:
    """Return the allocation rule of this name."""
    if name not in ALLOCATION_RULES:
        raise ValueError(
            f"unknown allocation rule {name!r}; there are {', '.join(ALLOCATION_RULES)}"
        )
    return ALLOCATION_RULES[name]


def proportional_dimensions(problem: BudgetProblem, weights: Floats, leftover: Leftover) -> Ints:
    """Round the dimensions proportional to the weights that would spend the whole budget."""
    if leftover not in get_args(Leftover):
        raise ValueError(f"leftover: {leftover!r} is not one of {', '.join(get_args(Leftover))}")
    free = ~problem.fixed
    targets = problem.lower.astype(np.float64)
    if free.any():
        share = weights[free] / weights[free].max()
        targets[free] = problem.shared_budget * share / (problem.costs[free] @ share)
    priority = Deficit(targets)
    dimensions = give_back(whole_dimensions_below(targets, problem), problem, priority)
    if leftover == "spent":
        # NOTE[PAPER] rivals-leftover: nothing is said of what the rivals do with the leftover.
        dimensions = spend(dimensions, problem, priority)
    return dimensions


def _proportional(
    problem: BudgetProblem, weights: Floats, name: str, leftover: Leftover
) -> Allocation:
    return allocation_of(problem, proportional_dimensions(problem, weights, leftover), name)
