"""The experiments written out literally: every sample generated, one decomposition per d."""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.study.exp3_sample import Sample as Exp3Sample

Categories = NDArray[np.intp]


class Factors(NamedTuple):
    """A thin singular value decomposition."""

    left: Floats
    values: Floats
    right: Floats


Decompose = Callable[[Floats], Factors]


def decompose(matrix: Floats) -> Factors:
    """Decompose anew at every call."""
    return Factors(*np.linalg.svd(matrix, full_matrices=False))


def decompose_once() -> Decompose:
    """Return a `decompose` that keeps what it has decomposed."""
    known: dict[int, tuple[Floats, Factors]] = {}

    def remembered(matrix: Floats) -> Factors:
        if id(matrix) not in known:
            known[id(matrix)] = matrix, decompose(matrix)
        return known[id(matrix)][1]

    return remembered


def truncated(factors: Factors, d: int) -> Floats:
    """Return the rank-d approximation."""
    return (factors.left[:, :d] * factors.values[:d]) @ factors.right[:d]


class Sample(NamedTuple):
    """Every observation X_{c,t} with its category."""

    rows: Categories
    values: Floats


def noisy_samples(rng: np.random.Generator, latent: Floats, counts: Ints, noise: float) -> Sample:
    """Draw every X_{c,t}."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return Sample(rows, latent[rows] + noise * rng.standard_normal((len(rows), latent.shape[1])))


def category_means(sample: Sample, cardinality: int) -> Floats:
    """Average the observations of each category."""
    sums = np.zeros((cardinality, sample.values.shape[1]))
    np.add.at(sums, sample.rows, sample.values)
    return sums / np.bincount(sample.rows, minlength=cardinality)[:, None]


def weighted_least_squares(features: Floats, response: Floats, weights: Floats | Ints) -> Floats:
    """Return the fitted values of least squares with an intercept."""
    design = np.column_stack([np.ones(len(response)), features])
    root = np.sqrt(weights)
    solution, *_ = np.linalg.lstsq(design * root[:, None], response * root, rcond=None)
    return design @ solution


def unit_beta(right: Floats) -> Floats:
    """Return β = V w with w_k ∝ 1/k and unit norm."""
    w = np.array([1 / k for k in range(1, len(right) + 1)])
    return right @ (w / np.sqrt((w**2).sum()))


def exp1_profile(
    latent: Floats,
    means: Floats,
    right: Floats,
    probabilities: Floats,
    counts: Ints,
    response_errors: Floats,
    d: int,
    decompose: Decompose = decompose,
) -> dict[str, float]:
    """Return the errors of Experiment 1 at one dimension."""
    beta = unit_beta(right)
    truth = latent @ beta
    factors = decompose(means)
    low_rank = truncated(factors, d)
    scores = means @ factors.right[:d].T
    fitted = weighted_least_squares(scores, truth + response_errors, counts)

    def root_risk(prediction: Floats) -> float:
        return float(np.sqrt((probabilities * (truth - prediction) ** 2).sum()))

    return {
        "population_tail": float(np.linalg.norm(latent - truncated(decompose(latent), d))),
        "empirical_tail": float(np.linalg.norm(means - low_rank)),
        "reconstruction_error": float(np.linalg.norm(latent - low_rank)),
        "predictive_error_refit": root_risk(fitted),
        "predictive_error_known": root_risk(low_rank @ beta),
    }


def exp2_profile(
    latent: Floats,
    means: Floats,
    train: Sample,
    test: Sample,
    probabilities: Floats,
    noise: float,
    d: int,
    decompose: Decompose = decompose,
) -> dict[str, float]:
    """Return the errors of Experiment 2 at one dimension."""
    factors = decompose(means)
    low_rank, best = truncated(factors, d), truncated(decompose(latent), d)
    rank = latent.shape[1]
    projector = factors.right[:d].T @ factors.right[:d]
    risk = (probabilities[:, None] * (latent - low_rank) ** 2).sum() / rank
    return {
        "training_mse": float(((train.values - low_rank[train.rows]) ** 2).mean()),
        "test_mse": float(((test.values - low_rank[test.rows]) ** 2).mean()),
        "test_risk": float(noise**2 + risk),
        "total": float(np.linalg.norm(latent - low_rank) ** 2),
        "approximation": float(np.linalg.norm(latent @ (np.eye(rank) - projector)) ** 2),
        "estimation": float(np.linalg.norm((means - latent) @ projector) ** 2),
        "literal_approximation": float(np.linalg.norm(latent - best) ** 2),
        "literal_estimation": float(np.linalg.norm(best - low_rank) ** 2),
    }


class Exp3Fit(NamedTuple):
    """Contributions of every category, predictor by predictor: true, fitted and with beta known."""

    effects: list[Floats]
    predicted: list[Floats]
    known: list[Floats]
    intercept: float


def exp3_fit(sample: Exp3Sample, dimensions: Sequence[int], ridge: float) -> Exp3Fit:
    """Decompose and fit for one allocation, with a design matrix of all rows."""
    betas = [unit_beta(draw.right) for draw in sample.draws]
    effects = [draw.latent @ beta for draw, beta in zip(sample.draws, betas, strict=True)]
    factors = [decompose(draw.means) for draw in sample.draws]
    scores = [
        draw.means @ f.right[:d].T
        for draw, f, d in zip(sample.draws, factors, dimensions, strict=True)
    ]
    y = _summed(effects, sample.categories) + sample.errors
    x = np.column_stack([z[c] for z, c in zip(scores, sample.categories, strict=True)])
    centred = x - x.mean(axis=0)
    gram = centred.T @ centred
    gram = gram + np.eye(len(gram)) * ridge * np.diag(gram).mean()
    weights = np.linalg.solve(gram, centred.T @ (y - y.mean()))
    intercept = float(y.mean() - x.mean(axis=0) @ weights)
    parts = np.split(weights, np.cumsum(dimensions)[:-1])
    predicted = [z @ w for z, w in zip(scores, parts, strict=True)]
    low_rank = [truncated(f, d) for f, d in zip(factors, dimensions, strict=True)]
    known = [table @ beta for table, beta in zip(low_rank, betas, strict=True)]
    return Exp3Fit(effects, predicted, known, intercept)


def exp3_test_error(
    sample: Exp3Sample,
    dimensions: Sequence[int],
    ridge: float,
    rows: int,
    rng: np.random.Generator,
) -> float:
    """Return the mean squared error on test rows drawn by the same law."""
    fit = exp3_fit(sample, dimensions, ridge)
    categories = [
        rng.choice(len(draw.counts), size=rows, p=draw.probabilities) for draw in sample.draws
    ]
    y = _summed(fit.effects, categories) + sample.response_noise * rng.standard_normal(rows)
    return float(((y - fit.intercept - _summed(fit.predicted, categories)) ** 2).mean())


def _summed(tables: Sequence[Floats], categories: Sequence[Categories]) -> Floats:
    return np.sum([t[c] for t, c in zip(tables, categories, strict=True)], axis=0)


def exp3_errors(sample: Exp3Sample, dimensions: Sequence[int], ridge: float) -> dict[str, float]:
    """Return the errors of Experiment 3 for one allocation, the risks cell by cell."""
    fit = exp3_fit(sample, dimensions, ridge)
    risk = risk_known = sample.response_noise**2
    probabilities = [draw.probabilities for draw in sample.draws]
    for cell in itertools.product(*(range(len(p)) for p in probabilities)):
        chance = np.prod([p[c] for p, c in zip(probabilities, cell, strict=True)])
        truth = sum(t[c] for t, c in zip(fit.effects, cell, strict=True))
        guess = fit.intercept + sum(p[c] for p, c in zip(fit.predicted, cell, strict=True))
        risk += float(chance * (guess - truth) ** 2)
        guess = sum(p[c] for p, c in zip(fit.known, cell, strict=True))
        risk_known += float(chance * (guess - truth) ** 2)
    return {"risk": risk, "risk_known": risk_known}


def exp3_errors_by_formula(
    sample: Exp3Sample, dimensions: Sequence[int], ridge: float
) -> dict[str, float]:
    """Return the same errors without listing the cells: independence adds the variances."""
    fit = exp3_fit(sample, dimensions, ridge)
    probabilities = [draw.probabilities for draw in sample.draws]
    risks = {}
    for name, guess, bias in (
        ("risk", fit.predicted, fit.intercept),
        ("risk_known", fit.known, 0.0),
    ):
        deviations = [g - t for g, t in zip(guess, fit.effects, strict=True)]
        means = [p @ v for p, v in zip(probabilities, deviations, strict=True)]
        variances = [
            p @ (v - m) ** 2 for p, v, m in zip(probabilities, deviations, means, strict=True)
        ]
        risks[name] = float((bias + sum(means)) ** 2 + sum(variances) + sample.response_noise**2)
    return risks
