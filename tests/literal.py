"""The experiments written out literally: every sample generated, one decomposition per d."""

import itertools
from dataclasses import dataclass

import numpy as np


def truncated(matrix, d):
    """Rank-d approximation, decomposed anew."""
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return (left[:, :d] * values[:d]) @ right[:d]


def noisy_samples(rng, latent, counts, noise):
    """Every X_{c,t} with its category."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, latent[rows] + noise * rng.standard_normal((len(rows), latent.shape[1]))


def category_means(rows, samples, cardinality):
    return np.array([samples[rows == c].mean(axis=0) for c in range(cardinality)])


def weighted_least_squares(features, response, weights):
    """Fitted values of least squares with an intercept."""
    design = np.column_stack([np.ones(len(response)), features])
    root = np.sqrt(weights)
    solution, *_ = np.linalg.lstsq(design * root[:, None], response * root, rcond=None)
    return design @ solution


def exp1_profile(latent, means, right, probabilities, counts, response_errors, d):
    """Errors of Experiment 1 at one dimension."""
    rank = latent.shape[1]
    w = np.array([1 / k for k in range(1, rank + 1)])
    beta = right @ (w / np.sqrt((w**2).sum()))
    truth = latent @ beta
    low_rank = truncated(means, d)
    # The leading scores span what the truncated matrix spans, so any basis of it will do.
    scores = low_rank @ np.linalg.svd(low_rank)[2][:d].T
    fitted = weighted_least_squares(scores, truth + response_errors, counts)

    def root_risk(prediction):
        return np.sqrt((probabilities * (truth - prediction) ** 2).sum())

    return {
        "population_tail": np.linalg.norm(latent - truncated(latent, d)),
        "empirical_tail": np.linalg.norm(means - low_rank),
        "reconstruction_error": np.linalg.norm(latent - low_rank),
        "predictive_error_refit": root_risk(fitted),
        "predictive_error_known": root_risk(low_rank @ beta),
    }


def exp2_profile(latent, means, train, test, probabilities, noise, d):
    """Errors of Experiment 2 at one dimension; train and test are (rows, samples)."""
    low_rank, best = truncated(means, d), truncated(latent, d)
    rank = latent.shape[1]
    right = np.linalg.svd(means)[2][:d].T
    projector = right @ right.T
    (train_rows, train_x), (test_rows, test_x) = train, test
    return {
        "training_mse": ((train_x - low_rank[train_rows]) ** 2).mean(),
        "test_mse": ((test_x - low_rank[test_rows]) ** 2).mean(),
        "test_risk": noise**2 + (probabilities[:, None] * (latent - low_rank) ** 2).sum() / rank,
        "total": np.linalg.norm(latent - low_rank) ** 2,
        "approximation": np.linalg.norm(latent @ (np.eye(rank) - projector)) ** 2,
        "estimation": np.linalg.norm((means - latent) @ projector) ** 2,
        "literal_approximation": np.linalg.norm(latent - best) ** 2,
        "literal_estimation": np.linalg.norm(best - low_rank) ** 2,
    }


@dataclass
class Exp3Sample:
    latents: list
    rights: list
    means: list
    probabilities: list
    categories: list
    errors: np.ndarray
    test_categories: list
    test_noise: np.ndarray
    response_noise: float


def exp3_errors(sample, dimensions, ridge):
    """Errors of Experiment 3 for one allocation: design matrix row by row, risk by enumeration."""
    betas = []
    for latent, right in zip(sample.latents, sample.rights, strict=True):
        w = np.array([1 / k for k in range(1, latent.shape[1] + 1)])
        betas.append(right @ (w / np.linalg.norm(w)))
    effects = [u @ b for u, b in zip(sample.latents, betas, strict=True)]
    low_rank = [truncated(m, d) for m, d in zip(sample.means, dimensions, strict=True)]
    scores = [
        means @ np.linalg.svd(means)[2][:d].T
        for means, d in zip(sample.means, dimensions, strict=True)
    ]
    y = sum(t[c] for t, c in zip(effects, sample.categories, strict=True)) + sample.errors
    x = np.column_stack([z[c] for z, c in zip(scores, sample.categories, strict=True)])
    centred = x - x.mean(axis=0)
    gram = centred.T @ centred
    gram = gram + np.eye(len(gram)) * ridge * np.diag(gram).mean()
    weights = np.linalg.solve(gram, centred.T @ (y - y.mean()))
    intercept = y.mean() - x.mean(axis=0) @ weights
    parts = np.split(weights, np.cumsum(dimensions)[:-1])
    predicted = [z @ w for z, w in zip(scores, parts, strict=True)]
    known = [m @ b for m, b in zip(low_rank, betas, strict=True)]
    risk = risk_known = sample.response_noise**2
    for cell in itertools.product(*(range(len(p)) for p in sample.probabilities)):
        chance = np.prod([p[c] for p, c in zip(sample.probabilities, cell, strict=True)])
        truth = sum(t[c] for t, c in zip(effects, cell, strict=True))
        guess = intercept + sum(p[c] for p, c in zip(predicted, cell, strict=True))
        risk += chance * (guess - truth) ** 2
        guess = sum(p[c] for p, c in zip(known, cell, strict=True))
        risk_known += chance * (guess - truth) ** 2
    test_y = (
        sum(t[c] for t, c in zip(effects, sample.test_categories, strict=True)) + sample.test_noise
    )
    test_guess = intercept + sum(
        p[c] for p, c in zip(predicted, sample.test_categories, strict=True)
    )
    return {
        "risk": risk,
        "test_mse": ((test_y - test_guess) ** 2).mean(),
        "risk_known": risk_known,
    }
