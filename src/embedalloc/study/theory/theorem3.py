"""Figure theory_allocation: Theorem 3, its integer projection and the optimum (Section 2.5)."""

from typing import Any

import numpy as np
import pandas as pd

from embedalloc.allocation import continuous_dimensions, solve_by_paper
from embedalloc.arrays import Floats, Ints
from embedalloc.optimum import solve_optimally
from embedalloc.problem import build_problem
from embedalloc.spectra import fit_coefficient, spectral_tails
from embedalloc.streams import stream
from embedalloc.study.latent import singular_value_law
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import AllocationProblems, Instances
from embedalloc.study.theory.contracts import OPTIMAL, SOLUTIONS


def simulate(cell: Cell[AllocationProblems]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the three solutions over budgets, and greedy beside optimum on random instances."""
    settings = cell.settings
    a = population_coefficients(settings)
    solved = [frame for budget in settings.budgets for frame in solve_budget(settings, a, budget)]
    instances = [
        row
        for predictors in settings.predictor_counts
        for instance in range(settings.instances)
        for row in instance_rows(settings, cell.seed, predictors, instance)
    ]
    return pd.concat(solved, ignore_index=True), pd.DataFrame(instances)


def population_coefficients(settings: AllocationProblems) -> Floats:
    """Return a_j fitted to the tails of the true spectra, without sampling noise."""
    spectra = [singular_value_law(p.spectrum, p.latent_rank) for p in settings.predictors]
    method = settings.coefficient_fit
    return np.array([fit_coefficient(spectral_tails(each), method=method) for each in spectra])


def solve_budget(settings: AllocationProblems, a: Floats, budget: int) -> list[pd.DataFrame]:
    """Return one frame per solution, with one row per predictor, for one budget.

    The closed form knows neither whole numbers nor ranks; projection and optimum keep
    1 ≤ d_j ≤ r_j as in Experiment 3.
    """
    # NOTE[PAPER] allocation-caps: Theorem 3 has no bounds on the dimensions.
    sizes = np.array([p.cardinality for p in settings.predictors])
    caps = [p.latent_rank for p in settings.predictors]
    problem = build_problem(sizes, budget, maximum=caps)
    projection, optimum = solve_by_paper(problem, a), solve_optimally(problem, coefficients=a)
    assert projection.lower_bound is not None
    assert optimum.objective is not None
    solutions = (
        continuous_dimensions(a, sizes, budget),
        projection.dimensions.astype(np.float64),
        optimum.dimensions.astype(np.float64),
    )
    return [
        pd.DataFrame(
            {
                "budget": budget,
                "solution": solution,
                "predictor": np.arange(1, len(a) + 1),
                "coefficient": a,
                "dimension": chosen,
                "objective": (a / chosen).sum(),
                "gap": (a / chosen).sum() / optimum.objective - 1.0,
                "bound_gap": projection.lower_bound / optimum.objective - 1.0,
                "proven": optimum.lower_bound == optimum.objective,
            }
        )
        for solution, chosen in zip(SOLUTIONS, solutions, strict=True)
    ]


def draw_instance(
    settings: Instances, predictors: int, rng: np.random.Generator
) -> tuple[Floats, Ints]:
    """Draw coefficients and cardinalities, both with uniform logarithms."""
    low, high = np.log(settings.coefficient_range)
    coefficients = np.exp(rng.uniform(low, high, predictors))
    low, high = np.log(settings.cardinality_range)
    return coefficients, np.exp(rng.uniform(low, high, predictors)).round().astype(np.int64)


def instance_rows(
    settings: Instances, seed: int, predictors: int, instance: int
) -> list[dict[str, Any]]:
    """Return one row per budget for one random instance; there is no maximum dimension."""
    rng = stream(seed, "theory", "allocation", predictors, instance)
    a, sizes = draw_instance(settings, predictors, rng)
    rows = []
    for ratio in settings.budget_ratios:
        budget = int(ratio * sizes.sum())
        problem = build_problem(sizes, budget)
        projection = solve_by_paper(problem, a).objective
        best = solve_optimally(problem, coefficients=a)
        assert projection is not None
        assert best.objective is not None
        gap = projection / best.objective - 1.0
        rows.append(
            {
                "predictors": predictors,
                "instance": instance,
                "budget_ratio": float(ratio),
                "budget": budget,
                "projection": projection,
                "optimum": best.objective,
                "gap": gap,
                "optimal": gap <= OPTIMAL,
                "proven": best.lower_bound == best.objective,
            }
        )
    return rows
