"""Experiment 3 (Section 3.3): four allocation rules under the same budget and the same data.

Each replication is reduced to one Gram matrix of all features (`exp3_sample`); an allocation only
selects which leading features the read-out may use.
"""

from collections.abc import Sequence
from operator import mul
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.allocation import round_and_spend
from embedalloc.arrays import Floats, Ints
from embedalloc.problem import BudgetProblem, build_problem
from embedalloc.proportional import (
    dimensions_by_leftover,
    weigh_by_cardinality,
    weigh_by_spectral_mass,
    weigh_equally,
)
from embedalloc.spectra import FitMethod, fit_coefficient
from embedalloc.streams import stream
from embedalloc.study.exp3_sample import Replication, draw_samples, summarise
from embedalloc.study.settings.exp3 import Exp3Cell, Exp3Model, SpectralMass

#: Replications whose read-outs are solved together; more would only take more memory.
STACK = 25

#: Dimensions by (allocation rule, leftover).
Choice = dict[tuple[str, str], tuple[int, ...]]


class Knowledge(NamedTuple):
    """What the informed rules know of the predictors: fitted coefficients and spectral masses."""

    coefficients: Floats
    masses: Floats


def simulate(cell: Exp3Cell) -> pd.DataFrame:
    """Return performance for some replications of one sample size.

    Neither budget nor rule is part of the random stream: all rules at all budgets face the same
    data.
    """
    problems = [budget_problem(cell.settings, budget) for budget in cell.budgets]
    blind = [(problem, blind_allocations(problem)) for problem in problems]
    frames = [
        _simulate_some(cell, blind, range(start, min(start + STACK, cell.last)))
        for start in range(cell.first, cell.last, STACK)
    ]
    return pd.concat(frames, ignore_index=True)


def _simulate_some(
    cell: Exp3Cell, blind: Sequence[tuple[BudgetProblem, Choice]], replications: range
) -> pd.DataFrame:
    """Return the rows of a few replications, whose read-outs are solved together."""
    settings, observations = cell.settings, cell.observations
    rngs = [stream(cell.seed, "exp3", observations, replication) for replication in replications]
    drawn = [summarise(sample, settings) for sample in draw_samples(settings, observations, rngs)]
    chosen = []
    for one in drawn:
        known = know(one, settings.coefficient_fit, settings.spectral_mass)
        chosen.append(
            {
                (problem.budget, *key): dimensions
                for problem, choice in blind
                for key, dimensions in (informed_allocations(problem, known) | choice).items()
            }
        )
    # Equal allocations are evaluated once.
    different = [sorted(set(choices.values())) for choices in chosen]
    evaluated = evaluate(drawn, different, settings.ridge)
    sizes = settings.cardinalities
    rows = [
        {
            "observations": observations,
            "replication": replication,
            "budget": budget,
            "allocation_rule": rule,
            "leftover": leftover,
            "dimensions": dimensions,
            "cost": sum(map(mul, sizes, dimensions)),
            **errors[dimensions],
        }
        for replication, choices, errors in zip(replications, chosen, evaluated, strict=True)
        for (budget, rule, leftover), dimensions in choices.items()
    ]
    return pd.DataFrame(rows)


def know(drawn: Replication, method: FitMethod, mass: SpectralMass) -> Knowledge:
    """Return what the spectra of one replication tell the informed rules."""
    sized = zip(drawn.tails, drawn.scores, strict=True)
    return Knowledge(
        np.array([float(fit_coefficient(tails, method=method)) for tails in drawn.tails]),
        np.array([mass_of(tails, len(score), mass) for tails, score in sized]),
    )


def mass_of(tails: Floats, cardinality: int, mass: SpectralMass) -> float:
    """Return a predictor's spectral mass from its tails, by one of its definitions.

    The sum of the squared singular values, the sum of the singular values, or the squares per
    category, which makes parameters instead of dimensions proportional to the mass.
    """
    if mass == "values":
        return float(np.sqrt(np.maximum(-np.diff(tails**2), 0.0)).sum())
    squares = float(tails[0] ** 2)
    return squares / cardinality if mass == "squares_per_category" else squares


def budget_problem(settings: Exp3Model, budget: int) -> BudgetProblem:
    """Return the problem that all rules solve at one budget; d_j ≤ r_j."""
    # NOTE[PAPER] rank-cap-exp3: no rule may use more dimensions than Û_j has.
    caps = [predictor.latent_rank for predictor in settings.predictors]
    return build_problem(settings.cardinalities, budget, maximum=caps)


def blind_allocations(problem: BudgetProblem) -> Choice:
    """Return the dimensions of the rules that do not look at data, by (rule, leftover)."""
    weights = {"equal": weigh_equally(problem), "cardinality": weigh_by_cardinality(problem)}
    return {
        (rule, leftover): _as_tuple(dimensions)
        for rule in weights
        for leftover, dimensions in dimensions_by_leftover(problem, weights[rule]).items()
    }


def informed_allocations(problem: BudgetProblem, known: Knowledge) -> Choice:
    """Return the dimensions of the rules that look at the spectra, by (rule, leftover).

    Algorithm 1 spends the leftover; for its rivals both readings are computed.
    """
    proposed = round_and_spend(problem, known.coefficients)
    choice = {("proposed", "spent"): _as_tuple(proposed)}
    weights = weigh_by_spectral_mass(problem, masses=known.masses)
    for leftover, rival in dimensions_by_leftover(problem, weights).items():
        choice["spectral_mass", leftover] = _as_tuple(rival)
    return choice


def _as_tuple(dimensions: Ints) -> tuple[int, ...]:
    return tuple(dimensions.tolist())


def evaluate(
    drawn: Sequence[Replication], chosen: Sequence[Sequence[tuple[int, ...]]], ridge: float
) -> list[dict[tuple[int, ...], dict[str, float]]]:
    """Return the errors of read-outs that see only the leading d_j features of each predictor.

    For each replication with its own allocations, by allocation: the expected squared error
    (risk), and what it would be if beta were known.
    """
    used = [_selected(one, allocations) for one, allocations in zip(drawn, chosen, strict=True)]
    weights = _readout_weights(drawn, used, ridge)
    errors = [_errors(*each) for each in zip(drawn, used, weights, strict=True)]
    return [dict(zip(*each, strict=True)) for each in zip(chosen, errors, strict=True)]


def _errors(drawn: Replication, used: NDArray[np.bool_], weights: Floats) -> list[dict[str, float]]:
    intercepts = drawn.response_mean - (weights * drawn.feature_means).sum(axis=1)
    risk = _risk(drawn, weights, intercepts)
    known = _risk(drawn, np.where(used, drawn.known_weights, 0.0), np.zeros(len(used)))
    columns = zip(risk.tolist(), known.tolist(), strict=True)
    return [{"risk": one, "risk_known": other} for one, other in columns]


def _selected(drawn: Replication, chosen: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Return which features each allocation uses, shape (allocations, features)."""
    ranks = [score.shape[1] for score in drawn.scores]
    owner = np.repeat(np.arange(len(ranks)), ranks)
    place = np.concatenate([np.arange(rank) for rank in ranks])
    return place < np.asarray(chosen)[:, owner]


def _readout_weights(
    drawn: Sequence[Replication], used: Sequence[NDArray[np.bool_]], ridge: float
) -> list[Floats]:
    """Return least-squares weights, zero for unused features; the intercept is free.

    The ridge is a share of the mean diagonal of the Gram matrix of the features in use. Systems
    of the same size are solved in one call, each by itself.
    """
    # NOTE[PAPER] exp3-readout: the paper does not say how y is predicted.
    grams = np.stack([one.gram for one in drawn])
    moments = np.stack([one.moment for one in drawn])
    owner = np.repeat(np.arange(len(drawn)), [len(mine) for mine in used])
    selected = np.concatenate(used)
    weights, sizes = np.zeros(selected.shape), selected.sum(axis=1)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        whose, features = owner[rows], np.nonzero(selected[rows])[1].reshape(len(rows), size)
        blocks = grams[whose[:, None, None], features[:, :, None], features[:, None, :]]
        diagonals = np.einsum("...ii->...i", blocks)  # a view
        diagonals += ridge * diagonals.sum(axis=-1, keepdims=True) / size
        solved = np.linalg.solve(blocks, moments[whose[:, None], features][..., None])
        weights[rows[:, None], features] = solved[..., 0]
    return np.split(weights, np.cumsum([len(mine) for mine in used])[:-1])


def _deviations(drawn: Replication, weights: Floats) -> list[Floats]:
    """Return per predictor prediction minus truth, shape (allocations, categories)."""
    ends = np.cumsum([score.shape[1] for score in drawn.scores])
    parts = np.split(weights, ends[:-1], axis=1)
    # A matrix-vector product per allocation: its bits do not depend on the other allocations.
    return [
        (score @ part[..., None])[..., 0] - effect
        for score, part, effect in zip(drawn.scores, parts, drawn.effects, strict=True)
    ]


def _risk(drawn: Replication, weights: Floats, intercepts: Floats) -> Floats:
    """Return the expected squared error for categories drawn independently by their π.

    Independence leaves the square of the mean deviation and the sum of the variances.
    """
    bias, variance = intercepts, np.full(len(intercepts), drawn.response_noise**2)
    for deviation, probability in zip(
        _deviations(drawn, weights), drawn.probabilities, strict=True
    ):
        mean = (deviation * probability).sum(axis=1)
        bias = bias + mean
        variance = variance + ((deviation - mean[:, None]) ** 2 * probability).sum(axis=1)
    return bias**2 + variance
