"""Experiment 3 (Section 3.3): four allocation rules under the same budget and the same data.

Each replication is reduced to one Gram matrix of all features (`exp3_sample`); an allocation only
selects which leading features the read-out may use.
"""

from collections.abc import Mapping, Sequence
from operator import mul
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.allocation import round_and_spend
from embedalloc.arrays import Floats, Ints
from embedalloc.problem import BudgetProblem, build_problem
from embedalloc.proportional import (
    Leftover,
    proportional_dimensions,
    weigh_by_cardinality,
    weigh_by_spectral_mass,
    weigh_equally,
)
from embedalloc.spectra import FitMethod, fit_coefficient, goodness_of_fit
from embedalloc.streams import stream
from embedalloc.study.exp3_sample import Replication, draw_samples, summarised
from embedalloc.study.workflow.tables import Column, Contract

#: The paper's four rules, proposed first.
ALLOCATION_RULES = ("proposed", "equal", "cardinality", "spectral_mass")
#: Replications whose read-outs are solved together; more would only take more memory.
STACK = 25
LEFTOVERS: tuple[Leftover, ...] = ("floored", "spent")

#: Dimensions by (allocation rule, leftover).
Choice = dict[tuple[str, str], tuple[int, ...]]

PERFORMANCE = Contract(
    "exp3_performance",
    {
        "observations": Column("integer", "training sample size n", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "budget": Column("integer", "total embedding parameters B", low=1),
        "allocation_rule": Column("text", "who chose the dimensions", values=ALLOCATION_RULES),
        "leftover": Column("text", "what became of the leftover budget", values=LEFTOVERS),
        "dimensions": Column("text", "d_1-d_2-…, in the order of the predictors"),
        "cost": Column("integer", "parameters spent", low=1),
        "risk": Column("number", "expected squared error, read-out refitted", low=0),
        "test_mse": Column("number", "squared error on the test sample, refitted", low=0),
        "risk_known": Column("number", "expected squared error, beta known", low=0),
    },
    key=("observations", "replication", "budget", "allocation_rule", "leftover"),
)
PREDICTORS = Contract(
    "exp3_predictors",
    {
        "observations": Column("integer", "training sample size n", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "predictor": Column("integer", "number of the predictor, from 1", low=1),
        "coefficient": Column("number", "a fitted to the empirical tails", low=0),
        "r_squared": Column("number", "goodness of that fit", high=1, may_be_missing=True),
        "mass": Column("number", "spectral mass", low=0),
    },
    key=("observations", "replication", "predictor"),
)


def simulate(
    settings: Mapping[str, Any],
    *,
    seed: int,
    observations: int,
    budgets: Sequence[int],
    first: int,
    last: int,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return performance and predictor rows for replications first … last − 1 of one n.

    Neither budget nor rule is part of the random stream: all rules at all budgets face the same
    data.
    """
    problems = [budget_problem(settings, budget) for budget in budgets]
    blind = [(problem, blind_allocations(problem)) for problem in problems]
    frames = [
        _simulate_some(settings, seed, observations, blind, range(start, min(start + STACK, last)))
        for start in range(first, last, STACK)
    ]
    performance, predictors = zip(*frames, strict=True)
    return pd.concat(performance, ignore_index=True), pd.concat(predictors, ignore_index=True)


def _simulate_some(
    settings: Mapping[str, Any],
    seed: int,
    observations: int,
    blind: Sequence[tuple[BudgetProblem, Choice]],
    replications: range,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of a few replications, whose read-outs are solved together."""
    rngs = [stream(seed, "exp3", observations, replication) for replication in replications]
    drawn = [summarised(sample, settings) for sample in draw_samples(settings, observations, rngs)]
    about = [
        predictor_rows(one, settings["coefficient_fit"], settings["spectral_mass"]) for one in drawn
    ]
    chosen = [
        {
            (problem.budget, *key): dimensions
            for problem, choice in blind
            for key, dimensions in (informed_allocations(problem, known) | choice).items()
        }
        for known in about
    ]
    # Equal allocations are evaluated once.
    different = [sorted(set(choices.values())) for choices in chosen]
    errors = evaluate_each(drawn, different, settings["ridge"])
    sizes = [predictor["cardinality"] for predictor in settings["predictors"]]
    performance = [
        _performance_rows(*each, sizes) for each in zip(chosen, different, errors, strict=True)
    ]
    return (
        _framed(performance, observations, replications),
        _framed(about, observations, replications),
    )


def predictor_rows(drawn: Replication, method: FitMethod, mass: str) -> list[dict[str, Any]]:
    """Return what the informed rules know of each predictor: fitted coefficient and mass."""
    rows = []
    for j, (tails, score) in enumerate(zip(drawn.tails, drawn.scores, strict=True), start=1):
        coefficient = fit_coefficient(tails, method=method)
        rows.append(
            {
                "predictor": j,
                "coefficient": float(coefficient),
                "r_squared": float(goodness_of_fit(tails, coefficient)),
                "mass": mass_of(tails, len(score), mass),
            }
        )
    return rows


def mass_of(tails: Floats, cardinality: int, mass: str) -> float:
    """Return a predictor's spectral mass from its tails, by one of its definitions.

    The sum of the squared singular values, the sum of the singular values, or the squares per
    category, which makes parameters instead of dimensions proportional to the mass.
    """
    if mass == "values":
        return float(np.sqrt(np.maximum(-np.diff(tails**2), 0.0)).sum())
    squares = float(tails[0] ** 2)
    return squares / cardinality if mass == "squares_per_category" else squares


def budget_problem(settings: Mapping[str, Any], budget: int) -> BudgetProblem:
    """Return the problem that all rules solve at one budget; d_j ≤ r_j."""
    # NOTE[PAPER] rank-cap-exp3: no rule may use more dimensions than Û_j has.
    predictors = settings["predictors"]
    sizes = [predictor["cardinality"] for predictor in predictors]
    caps = [predictor["latent_rank"] for predictor in predictors]
    return build_problem(sizes, budget, maximum=caps)


def blind_allocations(problem: BudgetProblem) -> Choice:
    """Return the dimensions of the rules that do not look at data, by (rule, leftover)."""
    weights = {"equal": weigh_equally(problem), "cardinality": weigh_by_cardinality(problem)}
    return {
        (rule, leftover): _as_tuple(proportional_dimensions(problem, weights[rule], leftover))
        for rule in weights
        for leftover in LEFTOVERS
    }


def informed_allocations(problem: BudgetProblem, about: Sequence[Mapping[str, Any]]) -> Choice:
    """Return the dimensions of the rules that look at the spectra, by (rule, leftover).

    Algorithm 1 spends the leftover; for its rivals both readings are computed.
    """
    coefficients, masses = (
        np.array([row[key] for row in about]) for key in ("coefficient", "mass")
    )
    choice = {("proposed", "spent"): _as_tuple(round_and_spend(problem, coefficients))}
    weights = weigh_by_spectral_mass(problem, masses=masses)
    for leftover in LEFTOVERS:
        rival = proportional_dimensions(problem, weights, leftover)
        choice["spectral_mass", leftover] = _as_tuple(rival)
    return choice


def _as_tuple(dimensions: Ints) -> tuple[int, ...]:
    return tuple(dimensions.tolist())


def evaluate(
    drawn: Replication, chosen: Sequence[Sequence[int]], ridge: float
) -> dict[str, Floats]:
    """Return the errors of read-outs that see only the leading d_j features of each predictor.

    One entry per allocation: the expected squared error (risk), that on the test sample, and
    the expected squared error if beta were known.
    """
    (errors,) = evaluate_each([drawn], [chosen], ridge)
    return errors


def evaluate_each(
    drawn: Sequence[Replication], chosen: Sequence[Sequence[Sequence[int]]], ridge: float
) -> list[dict[str, Floats]]:
    """Return what `evaluate` does, for each replication with its own allocations."""
    used = [_selected(one, allocations) for one, allocations in zip(drawn, chosen, strict=True)]
    weights = _readout_weights(drawn, used, ridge)
    return [_errors(*each) for each in zip(drawn, used, weights, strict=True)]


def _errors(drawn: Replication, used: NDArray[np.bool_], weights: Floats) -> dict[str, Floats]:
    intercepts = drawn.response_mean - (weights * drawn.feature_means).sum(axis=1)
    deviations = _deviations(drawn, weights)
    residuals = intercepts - drawn.test_noise[:, None]
    part = np.empty_like(residuals)
    for deviation, cells in zip(deviations, drawn.test_categories, strict=True):
        # A row per category, so that a test row picks neighbours in memory.
        by_category = np.ascontiguousarray(deviation.T)
        residuals += np.take(by_category, cells, axis=0, out=part, mode="clip")
    known = _deviations(drawn, np.where(used, drawn.known_weights, 0.0))
    return {
        "risk": _risk(drawn, deviations, intercepts),
        "test_mse": np.square(residuals, out=residuals).mean(axis=0),
        "risk_known": _risk(drawn, known, np.zeros(len(used))),
    }


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


def _risk(drawn: Replication, deviations: Sequence[Floats], intercepts: Floats) -> Floats:
    """Return the expected squared error for categories drawn independently by their π.

    Independence leaves the square of the mean deviation and the sum of the variances.
    """
    bias, variance = intercepts, np.full(len(intercepts), drawn.response_noise**2)
    for deviation, probability in zip(deviations, drawn.probabilities, strict=True):
        mean = (deviation * probability).sum(axis=1)
        bias = bias + mean
        variance = variance + ((deviation - mean[:, None]) ** 2 * probability).sum(axis=1)
    return bias**2 + variance


def _performance_rows(
    chosen: Mapping[tuple[int, str, str], tuple[int, ...]],
    different: Sequence[tuple[int, ...]],
    errors: Mapping[str, Floats],
    sizes: Sequence[int],
) -> list[dict[str, Any]]:
    """Return one row per budget, rule and leftover, from the errors of different allocations."""
    found = {name: values.tolist() for name, values in errors.items()}
    evaluated = {
        dimensions: {
            "dimensions": "-".join(map(str, dimensions)),
            "cost": sum(map(mul, sizes, dimensions)),
            **{name: values[i] for name, values in found.items()},
        }
        for i, dimensions in enumerate(different)
    }
    return [
        {"budget": budget, "allocation_rule": rule, "leftover": leftover, **evaluated[dimensions]}
        for (budget, rule, leftover), dimensions in chosen.items()
    ]


def _framed(
    rows: Sequence[Sequence[dict[str, Any]]], observations: int, replications: range
) -> pd.DataFrame:
    """Put the replications' rows together, each with its place in front."""
    frame = pd.DataFrame([row for mine in rows for row in mine])
    frame.insert(0, "observations", observations)
    frame.insert(1, "replication", np.repeat(replications, [len(mine) for mine in rows]))
    return frame
