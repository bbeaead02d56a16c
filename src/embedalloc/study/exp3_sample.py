"""The data of Experiment 3: what a replication draws, and what is left of it for the rules.

All predictors are decomposed once and all features enter one Gram matrix.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.spectra import spectral_tails
from embedalloc.study.latent import (
    LatentDraw,
    descending_eigh,
    draw_latents,
    response_weights,
    singular_value_law,
)
from embedalloc.study.settings.exp3 import Exp3Model


@dataclass(frozen=True)
class Sample:
    """What one replication draws.

    Attributes
    ----------
    draws
        Per predictor the latent matrix and its estimate.
    categories, errors
        The training rows: categories per predictor, and the noise of y.
    response_noise
        Standard deviation of y given the categories.
    """

    draws: Sequence[LatentDraw]
    categories: Sequence[NDArray[np.intp]]
    errors: Floats
    response_noise: float


@dataclass(frozen=True)
class Replication:
    """All that allocation and evaluation need of one replication.

    Features of all predictors stand side by side: first predictor's leading score first.

    Attributes
    ----------
    observations
        Number of training rows n.
    gram, moment, response_squares
        Centred Gram matrix of the features, their centred products with y, and the centred sum
        of squares of y.
    feature_means, response_mean
        Training means, which the free intercept absorbs.
    inverse_counts
        Per predictor Σ_c 1/n_c: the noise in every eigenvalue of Û'Û, over σ².
    scores
        Per predictor the score of every category, shape (N_j, r_j).
    effects
        Per predictor the true contribution of every category to y.
    known_weights
        Read-out weights if beta were known.
    probabilities
        Per predictor the category probabilities.
    tails
        Per predictor the empirical tails from d = 0 on.
    response_noise
        Standard deviation of y given the categories.
    """

    observations: int
    gram: Floats
    moment: Floats
    response_squares: float
    feature_means: Floats
    response_mean: float
    inverse_counts: tuple[float, ...]
    scores: tuple[Floats, ...]
    effects: tuple[Floats, ...]
    known_weights: Floats
    probabilities: tuple[Floats, ...]
    tails: tuple[Floats, ...]
    response_noise: float


def draw_replication(
    settings: Exp3Model, observations: int, rng: np.random.Generator
) -> Replication:
    """Draw one replication and reduce it to what allocation and evaluation need."""
    (sample,) = draw_samples(settings, observations, [rng])
    return summarise(sample, settings)


def draw_samples(
    settings: Exp3Model, observations: int, rngs: Sequence[np.random.Generator]
) -> Iterator[Sample]:
    """Draw for each generator the predictors, and one training sample of y."""
    stacks = [
        draw_latents(
            rngs,
            spectrum=singular_value_law(predictor.spectrum, predictor.latent_rank),
            cardinality=predictor.cardinality,
            observations=observations,
            concentration=settings.concentration,
            noise=settings.noise,
        )
        for predictor in settings.predictors
    ]
    noise = settings.response_noise
    for i, rng in enumerate(rngs):
        draws = [stack[i] for stack in stacks]
        # NOTE[PAPER] exp3-sample: each predictor's counts are dealt out to the rows in random
        # order, independently of the other predictors.
        categories = [
            rng.permutation(np.repeat(np.arange(len(draw.counts)), draw.counts)) for draw in draws
        ]
        yield Sample(draws, categories, noise * rng.standard_normal(observations), noise)


def summarise(sample: Sample, settings: Exp3Model) -> Replication:
    """Decompose the predictors and reduce the training sample to its Gram matrix.

    Products of features are formed from the table of counts of each pair of categories, so the
    number of rows matters only for counting them.
    """
    draws, categories, errors = sample.draws, sample.categories, sample.errors
    spectra = [descending_eigh(draw.means.T @ draw.means) for draw in draws]
    scores = tuple(draw.means @ vectors for draw, (_, vectors) in zip(draws, spectra, strict=True))
    betas = [
        draw.right
        @ response_weights(
            draw.right.shape[0], support=settings.response_support, decay=settings.response_decay
        )
        for draw in draws
    ]
    effects = tuple(draw.latent @ beta for draw, beta in zip(draws, betas, strict=True))
    size = len(errors)
    sizes = [len(effect) for effect in effects]
    pairs = {
        (j, k): np.bincount(categories[j] * sizes[k] + categories[k], minlength=sizes[j] * sizes[k])
        .reshape(sizes[j], sizes[k])
        .astype(np.float64)
        for j in range(len(draws))
        for k in range(j + 1, len(draws))
    }
    counts = [draw.counts.astype(np.float64) for draw in draws]

    def summed(j: int, k: int, values: Floats) -> Floats:
        """Sum the values of predictor k's categories over the rows of predictor j's."""
        if j == k:
            return (counts[j] * values.T).T
        return (pairs[j, k] if j < k else pairs[k, j].T) @ values

    everyone = range(len(draws))
    raw = np.block([[scores[j].T @ summed(j, k, scores[k]) for k in everyone] for j in everyone])
    response_sums = [
        np.bincount(categories[j], weights=errors, minlength=sizes[j])
        + sum(summed(j, k, effects[k]) for k in everyone)
        for j in everyone
    ]
    means = np.concatenate([counts[j] @ scores[j] for j in everyone]) / size
    response_mean = float(response_sums[0].sum()) / size
    moment = np.concatenate([scores[j].T @ response_sums[j] for j in everyone])
    response = errors + sum(effects[j][categories[j]] for j in everyone)
    return Replication(
        observations=size,
        gram=raw - size * np.outer(means, means),
        moment=moment - size * means * response_mean,
        response_squares=float(((response - response_mean) ** 2).sum()),
        feature_means=means,
        response_mean=response_mean,
        inverse_counts=tuple(float((1.0 / count).sum()) for count in counts),
        scores=scores,
        effects=effects,
        known_weights=np.concatenate(
            [vectors.T @ beta for (_, vectors), beta in zip(spectra, betas, strict=True)]
        ),
        probabilities=tuple(draw.probabilities for draw in draws),
        tails=tuple(spectral_tails(np.sqrt(values)) for values, _ in spectra),
        response_noise=sample.response_noise,
    )
