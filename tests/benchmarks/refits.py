"""Experiment 3, one replication: all budgets, rules and leftovers, beside a refit for each.

The peer decomposes, builds the design matrix of all rows and solves anew for every allocation.
Both see the same draws and choose dimensions by the same rules.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from embedalloc.allocation import round_and_spend
from embedalloc.arrays import Floats
from embedalloc.problem import build_problem
from embedalloc.proportional import (
    proportional_dimensions,
    weigh_by_cardinality,
    weigh_by_spectral_mass,
    weigh_equally,
)
from embedalloc.spectra import fit_coefficient, singular_values, spectral_tails
from embedalloc.streams import stream
from embedalloc.study import exp3
from embedalloc.study.exp3_contracts import LEFTOVERS
from embedalloc.study.exp3_sample import Sample, draw_samples
from embedalloc.study.settings.exp3 import Exp3Cell, Exp3Model
from tests.benchmarks.cells import RefitsCell
from tests.benchmarks.measure import OURS, Case, Contestant, require_close
from tests.oracles.literal import exp3_errors_by_formula

#: Two ways to solve the same normal equations.
TOLERANCE = 1e-7
ERRORS = ("risk", "risk_known")
SEED = 1


def cases(cell: RefitsCell) -> list[Case]:
    """Return the comparison at one sample size."""
    observations, peers = cell.observations, cell.peer_replications
    return [
        Case(
            "exp3",
            observations,
            [
                Contestant(OURS, lambda: ours(cell), cell.replications),
                Contestant("refits", lambda: refits(cell), peers),
            ],
            agree,
        )
    ]


def ours(cell: RefitsCell) -> Floats:
    """Return all errors of the replications, as the study computes them."""
    performance = exp3.simulate(
        Exp3Cell(
            settings=cell.settings,
            seed=SEED,
            observations=cell.observations,
            budgets=cell.budgets,
            first=0,
            last=cell.replications,
        )
    )
    return performance[list(ERRORS)].to_numpy()


def refits(cell: RefitsCell) -> Floats:
    """Return the errors of the first few replications, with a fit per allocation."""
    observations = cell.observations
    rngs = [stream(SEED, "exp3", observations, r) for r in range(cell.peer_replications)]
    samples = draw_samples(cell.settings, observations, rngs)
    return np.array(
        [
            list(exp3_errors_by_formula(sample, dimensions, cell.settings.ridge).values())
            for sample in samples
            for dimensions in _chosen(sample, cell.settings, cell.budgets)
        ]
    )


def _chosen(
    sample: Sample, settings: Exp3Model, budgets: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Yield the dimensions for each budget, rule and leftover, in the order of the study."""
    sizes = settings.cardinalities
    caps = [predictor.latent_rank for predictor in settings.predictors]
    for budget in budgets:
        tails = [spectral_tails(singular_values(draw.means)) for draw in sample.draws]
        method = settings.coefficient_fit
        coefficients = [float(fit_coefficient(tail, method=method)) for tail in tails]
        masses = [float(tail[0] ** 2) for tail in tails]
        problem = build_problem(sizes, budget, maximum=caps)
        weights = (
            weigh_by_spectral_mass(problem, masses=masses),
            weigh_equally(problem),
            weigh_by_cardinality(problem),
        )
        found = [round_and_spend(problem, np.array(coefficients))]
        found += [
            proportional_dimensions(problem, each, leftover)
            for each in weights
            for leftover in LEFTOVERS
        ]
        yield from (tuple(dimensions.tolist()) for dimensions in found)


def agree(results: Mapping[str, Any]) -> None:
    """Refuse errors that differ."""
    peers = results["refits"]
    require_close(peers, results[OURS][: len(peers)], "refits", relative=TOLERANCE)
