"""Experiment 2 (Section 3.2): more dimensions approximate better and estimate worse.

All dimensions come from one eigen-decomposition per replication; the training and the test
sample are drawn through their sufficient statistics (category means and within scatter).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats, Ints
from embedalloc.study.latent import (
    LatentDraw,
    descending_eigh,
    draw_counts,
    draw_latents,
    draw_within_scatter,
    mean_errors,
    singular_value_law,
)
from embedalloc.study.profiles import simulate_profiles
from embedalloc.study.settings.exp2 import Exp2Cell, Exp2Model


@dataclass(frozen=True)
class Samples:
    """What the training and the test sample contribute beyond the latent draw, stacked.

    Attributes
    ----------
    training_scatter, test_scatter
        Sums of squares within categories.
    test_counts, test_means
        Test observations per category and their means.
    """

    training_scatter: Floats
    test_scatter: Floats
    test_counts: Ints
    test_means: Floats


def simulate(cell: Exp2Cell) -> pd.DataFrame:
    """Return profiles over d for some replications of one sample size."""
    settings, observations = cell.settings, cell.observations
    spectrum = singular_value_law(settings.spectrum, settings.latent_rank)

    def compute(rngs: Sequence[np.random.Generator]) -> dict[str, Floats]:
        draw, samples = _draw(settings, spectrum, observations, rngs)
        return error_profiles(draw, samples, spectrum, settings.noise)

    return simulate_profiles(cell, "exp2", ("observations", observations), compute)


def _draw(
    settings: Exp2Model,
    spectrum: Floats,
    observations: int,
    rngs: Sequence[np.random.Generator],
) -> tuple[LatentDraw, Samples]:
    """Draw one replication per generator, with a training and a test sample."""
    noise, rank = settings.noise, len(spectrum)
    draw = draw_latents(
        rngs,
        spectrum=spectrum,
        cardinality=settings.cardinality,
        observations=observations,
        concentration=settings.concentration,
        noise=noise,
    )
    training_scatter, test_scatter = np.empty(len(rngs)), np.empty(len(rngs))
    counts, errors = np.empty_like(draw.counts), np.empty_like(draw.latent)
    for i, rng in enumerate(rngs):
        training_scatter[i] = draw_within_scatter(rng, draw.counts[i], rank, noise)
        # NOTE[PAPER] exp2-test: the test sample follows the law of the training sample, with the
        # same category probabilities.
        counts[i] = draw_counts(rng, draw.probabilities[i], settings.test_observations)
        rng.standard_normal(out=errors[i])
        test_scatter[i] = draw_within_scatter(rng, counts[i], rank, noise)
    test_means = draw.latent + mean_errors(errors, counts, noise)
    return draw, Samples(training_scatter, test_scatter, counts, test_means)


def error_profiles(
    draw: LatentDraw, samples: Samples, spectrum: Floats, noise: float
) -> dict[str, Floats]:
    """Return every error of Experiment 2 for d = 1 … r, shape (replications, r) each."""
    means, latent = draw.means, draw.latent
    eigenvalues, vectors = descending_eigh(means.mT @ means)
    scores, true_scores = means @ vectors, latent @ vectors
    errors = scores - true_scores
    rank = len(spectrum)
    # NOTE[PAPER] exp2-split: the exact split, and the literal one beside it.
    approximation = _sum_beyond((true_scores**2).sum(axis=-2))
    estimation = np.cumsum((errors**2).sum(axis=-2), axis=-1)
    training_squares = samples.training_scatter[..., None] + _sum_beyond(
        (draw.counts[..., None] * scores**2).sum(axis=-2)
    )
    test_squares = samples.test_scatter[..., None] + _squared_distance(
        samples.test_means @ vectors, scores, samples.test_counts
    )
    risk = noise**2 + _squared_distance(true_scores, scores, draw.probabilities) / rank
    return {
        "training_mse": training_squares / (rank * draw.counts.sum(axis=-1)[..., None]),
        "test_mse": test_squares / (rank * samples.test_counts.sum(axis=-1)[..., None]),
        "test_risk": risk,
        "total": approximation + estimation,
        "approximation": approximation,
        "estimation": estimation,
        "literal_approximation": np.broadcast_to(_sum_beyond(spectrum**2), eigenvalues.shape),
        "literal_estimation": _literal_estimation(draw, eigenvalues, vectors, spectrum),
    }


def _literal_estimation(
    draw: LatentDraw, eigenvalues: Floats, vectors: Floats, spectrum: Floats
) -> Floats:
    """Return ‖U_d − Û_d‖² = Σ_{k≤d} (s_k² + λ_k) − 2 Σ_{k,l≤d} H_kl, H = (V'M'Q) ∘ (V'Q)."""
    right = draw.right.mT
    products = (right @ (draw.latent.mT @ draw.means) @ vectors) * (right @ vectors)
    block_sums = np.cumsum(np.cumsum(products, axis=-1), axis=-2)
    inner = np.diagonal(block_sums, axis1=-2, axis2=-1)
    squares = np.cumsum(spectrum**2 + eigenvalues, axis=-1) - 2.0 * inner
    return np.maximum(squares, 0.0)


def _squared_distance(targets: Floats, scores: Floats, weights: Floats | Ints) -> Floats:
    """Return Σ_c w_c ‖target_c − (leading d scores of c)‖² for d = 1 … r.

    In the basis of the eigenvectors the reconstruction has the first d scores and zeros.
    """
    weighted = weights[..., None]
    inside = (weighted * (targets - scores) ** 2).sum(axis=-2)
    outside = (weighted * targets**2).sum(axis=-2)
    return np.cumsum(inside, axis=-1) + _sum_beyond(outside)


def _sum_beyond(values: Floats) -> Floats:
    """Return the sums over k > d for d = 1 … r along the last axis, summed from the far end."""
    sums = np.cumsum(values[..., ::-1], axis=-1)[..., ::-1]
    return np.concatenate([sums[..., 1:], np.zeros_like(sums[..., :1])], axis=-1)
