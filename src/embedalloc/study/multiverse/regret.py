"""Regret in Experiment 3: how far every rule is from the best allocation that the budget permits.

The oracle knows the true risk. With few predictors all allocations can be listed, so in every
replication the risk of all of them is computed at once and the oracle at a budget is the least
among those that it can pay. Rules look up their own allocation in the same list.
"""

import itertools
from collections.abc import Mapping

import numpy as np
import pandas as pd

from embedalloc.allocation import round_and_spend
from embedalloc.arrays import Floats, Ints
from embedalloc.optimum import solve_optimally
from embedalloc.problem import BudgetProblem
from embedalloc.response import curves_from_moments
from embedalloc.spectra import fit_coefficient, spectral_tails
from embedalloc.streams import stream
from embedalloc.study.exp3 import blind_allocations, budget_problem, informed_allocations, know
from embedalloc.study.exp3_sample import Replication, draw_replication
from embedalloc.study.settings.exp3 import Exp3Cell, Exp3Model
from embedalloc.study.workflow.tables import Column, Contract

#: The paper's four rules, its rivals with the leftover spent, then rules beyond the paper.
RULES = (
    "proposed",
    "equal",
    "cardinality",
    "spectral_mass",
    "equal_spent",
    "cardinality_spent",
    "spectral_mass_spent",
    "unit_coefficients",
    "exact_surrogate",
    "noise_corrected",
    "relevance_weighted",
    "response_aware",
)

REGRET = Contract(
    "exp3_regret",
    {
        "observations": Column("integer", "training sample size n", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "budget": Column("integer", "total embedding parameters B", low=1),
        "allocation_rule": Column("text", "who chose the dimensions", values=RULES),
        "dimensions": Column("integers", "of the predictors, in their order", low=1),
        "risk": Column("number", "expected squared error, read-out refitted", low=0),
        "oracle_dimensions": Column("integers", "those with the least risk at this budget", low=1),
        "oracle_risk": Column("number", "its expected squared error", low=0),
        "excess": Column("number", "risk over the oracle's, minus 1", low=0),
    },
    key=("observations", "replication", "budget", "allocation_rule"),
)


def simulate(cell: Exp3Cell) -> pd.DataFrame:
    """Return one row per replication, budget and rule, on the draws of Experiment 3 itself."""
    settings, observations = cell.settings, cell.observations
    problems = [budget_problem(settings, budget) for budget in cell.budgets]
    blind = [blind_allocations(problem) for problem in problems]
    frames = []
    for replication in range(cell.first, cell.last):
        rng = stream(cell.seed, "exp3", observations, replication)
        drawn = draw_replication(settings, observations, rng)
        allocations, risks = list_risks(drawn, settings.ridge)
        costs = allocations @ np.array([len(score) for score in drawn.scores])
        place = {tuple(row): i for i, row in enumerate(allocations.tolist())}
        rules = RuleBook(drawn, settings)
        for problem, choice in zip(problems, blind, strict=True):
            chosen = rules.allocations(problem, choice)
            oracle = int(np.where(costs <= problem.budget, risks, np.inf).argmin())
            at = [place[chosen[rule]] for rule in RULES]
            frames.append(
                pd.DataFrame(
                    {
                        "observations": observations,
                        "replication": replication,
                        "budget": problem.budget,
                        "allocation_rule": RULES,
                        "dimensions": [chosen[rule] for rule in RULES],
                        "risk": risks[at],
                        "oracle_dimensions": [tuple(allocations[oracle].tolist())] * len(RULES),
                        "oracle_risk": risks[oracle],
                        "excess": risks[at] / risks[oracle] - 1.0,
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def list_risks(drawn: Replication, ridge: float) -> tuple[Ints, Floats]:
    """Return every allocation with 1 ≤ d_j ≤ r_j and the exact risk of its read-out.

    As in `embedalloc.study.exp3.evaluate`, but with one ridge for all allocations: a share of the
    mean diagonal of the whole Gram matrix.

    For each allocation of all predictors but the last one system is solved; the last predictor's
    features then enter one after the other through the Cholesky factor of the Schur complement,
    which gives all its dimensions at once. Unused features keep their place as an identity block.
    """
    ranks = [score.shape[1] for score in drawn.scores]
    *others, last = ranks
    heads = np.array(list(itertools.product(*(range(1, r + 1) for r in others))), dtype=np.int64)
    tails = np.arange(1, last + 1)
    allocations = np.column_stack([np.repeat(heads, last, axis=0), np.tile(tails, len(heads))])
    used = np.concatenate(
        [np.arange(r) < heads[:, j : j + 1] for j, r in enumerate(others)], axis=1
    )
    size, split = len(drawn.gram), sum(others)
    gram = drawn.gram + np.eye(size) * (ridge * np.trace(drawn.gram) / size)
    block = np.where(used[:, :, None] & used[:, None, :], gram[:split, :split], np.eye(split))
    sides = np.column_stack([gram[:split, split:], drawn.moment[:split]])
    solved = np.linalg.solve(block, sides * used[..., None])
    cross, alone = solved[..., :-1], solved[..., -1]
    schur = gram[split:, split:] - gram[split:, :split] @ cross
    left = drawn.moment[split:] - alone @ gram[:split, split:]
    inverse = np.linalg.inv(np.linalg.cholesky(schur))
    # With S = LL' the solution of the leading d × d block is Σ_{k≤d} (row k of L⁻¹) (L⁻¹ m)_k.
    reached = np.cumsum(inverse * (inverse @ left[..., None]), axis=1)
    rest = alone[:, None, :] - reached @ cross.mT
    weights = np.concatenate([rest, reached], axis=-1).reshape(-1, size)
    return allocations, _find_risks(drawn, weights)


def _find_risks(drawn: Replication, weights: Floats) -> Floats:
    """Return the risk of each row of weights: a squared mean error and a sum of variances."""
    bias = np.full(len(weights), drawn.response_mean)
    bias -= weights @ drawn.feature_means
    variance = np.full(len(weights), drawn.response_noise**2)
    start = 0
    for score, effect, chance in zip(drawn.scores, drawn.effects, drawn.probabilities, strict=True):
        mine = weights[:, start : start + score.shape[1]]
        start += score.shape[1]
        mean, level = chance @ score, float(chance @ effect)
        centred, deviation = score - mean, effect - level
        spread = (centred.T * chance) @ centred
        bias += mine @ mean - level
        variance += ((mine @ spread) * mine).sum(axis=1)
        variance += float(chance @ deviation**2) - 2.0 * mine @ (centred.T @ (chance * deviation))
    return bias**2 + variance


class RuleBook:
    """What every rule knows of one replication, and what it chooses at a budget."""

    def __init__(self, drawn: Replication, settings: Exp3Model) -> None:
        self.sizes = [len(score) for score in drawn.scores]
        self.caps = [score.shape[1] for score in drawn.scores]
        method = settings.coefficient_fit
        self.known = know(drawn, method, settings.spectral_mass)
        signal = [
            np.maximum(-np.diff(tails**2) - settings.noise**2 * inverse, 0.0)
            for tails, inverse in zip(drawn.tails, drawn.inverse_counts, strict=True)
        ]
        self.corrected = [
            float(fit_coefficient(spectral_tails(np.sqrt(values)), method=method))
            for values in signal
        ]
        weights = np.linalg.solve(drawn.gram, drawn.moment)
        parts = np.split(weights, np.cumsum(self.caps)[:-1])
        # Σ_{k>d} for d = 0 … r, in the order of the features.
        self.relevance = [
            np.append(np.cumsum((part**2 * values)[::-1])[::-1], 0.0) / size
            for part, values, size in zip(parts, signal, self.sizes, strict=True)
        ]
        self.prediction = curves_from_moments(
            drawn.gram, drawn.moment, drawn.response_squares, drawn.observations, self.caps
        )

    def allocations(
        self, problem: BudgetProblem, blind: Mapping[tuple[str, str], tuple[int, ...]]
    ) -> dict[str, tuple[int, ...]]:
        """Return the dimensions of every rule."""
        informed = informed_allocations(problem, self.known)
        chosen = {
            rule if rule == "proposed" or leftover == "floored" else f"{rule}_spent": dimensions
            for (rule, leftover), dimensions in {**informed, **blind}.items()
        }
        beyond = {
            "unit_coefficients": round_and_spend(problem, np.ones(len(self.sizes))),
            "exact_surrogate": solve_optimally(
                problem, coefficients=self.known.coefficients
            ).dimensions,
            "noise_corrected": round_and_spend(problem, np.array(self.corrected)),
            "relevance_weighted": solve_optimally(problem, curves=self.relevance).dimensions,
            "response_aware": solve_optimally(problem, curves=self.prediction).dimensions,
        }
        return chosen | {rule: tuple(dimensions.tolist()) for rule, dimensions in beyond.items()}
