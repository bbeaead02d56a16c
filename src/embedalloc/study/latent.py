"""Latent category matrices and their estimates, as Section 3 of the paper generates them.

Category means are drawn from their own distribution instead of by averaging samples: the mean
of n_c samples around u_c with noise σ is exactly normal around u_c with noise σ/√n_c. The cost
therefore does not depend on the number of observations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from embedalloc.arrays import Floats, Ints
from embedalloc.study.settings.common import Spectrum


@dataclass(frozen=True)
class LatentDraw:
    """One predictor, one replication or a stack of replications along the first axis.

    Attributes
    ----------
    latent
        U, shape (..., N, r).
    right
        Right singular vectors of U as columns, shape (..., r, r).
    probabilities
        Category probabilities π, shape (..., N).
    counts
        Observations per category n_c, shape (..., N).
    means
        Category means Û, shape (..., N, r).
    """

    latent: Floats
    right: Floats
    probabilities: Floats
    counts: Ints
    means: Floats

    def __getitem__(self, replication: int) -> "LatentDraw":
        """Return one replication of a stack."""
        return LatentDraw(*(getattr(self, field.name)[replication] for field in fields(self)))


def singular_value_law(law: Spectrum, latent_rank: int) -> Floats:
    """Return σ_1 … σ_r of a decay law: scale k^-rate or scale e^(-rate (k - offset))."""
    k = np.arange(1, latent_rank + 1, dtype=np.float64)
    if law.decay == "polynomial":
        return law.scale * k**-law.rate
    return law.scale * np.exp(-law.rate * (k - law.offset))


def draw_counts(rng: np.random.Generator, probabilities: Floats, observations: int) -> Ints:
    """Return counts n_c = 1 + Multinomial(n − N, π), so that no category is empty."""
    # NOTE[PAPER] counts: the paper says Dirichlet-multinomial and does not treat empty categories.
    size = len(probabilities)
    return 1 + rng.multinomial(observations - size, probabilities)


def latent_matrices(left: Floats, right: Floats, spectrum: Floats) -> tuple[Floats, Floats]:
    """Return U = Q₁ diag(σ) Q₂', eq. (4), and Q₂, from normal draws for both factors.

    Parameters
    ----------
    left, right
        Standard normal, shapes (..., N, r) and (..., r, r); their orthonormal factors are Q₁ and
        Q₂.
    spectrum
        Singular values of U.
    """
    right = np.linalg.qr(right)[0]
    return (np.linalg.qr(left)[0] * spectrum) @ right.mT, right


def draw_matrix(rng: np.random.Generator, spectrum: Floats, cardinality: int) -> Floats:
    """Draw one U = Q₁ diag(σ) Q₂', eq. (4)."""
    rank = len(spectrum)
    left = rng.standard_normal((cardinality, rank))
    return latent_matrices(left, rng.standard_normal((rank, rank)), spectrum)[0]


def draw_latents(
    rngs: Sequence[np.random.Generator],
    *,
    spectrum: Floats,
    cardinality: int,
    observations: int,
    concentration: float,
    noise: float,
) -> LatentDraw:
    """Draw U = Q₁ diag(σ) Q₂', category counts and category means, eqs. (3) and (4).

    One replication per generator, stacked. Each takes from its own generator what it would take
    alone; only the linear algebra is done for all at once, matrix by matrix.
    """
    rank, size = len(spectrum), len(rngs)
    left, right = np.empty((size, cardinality, rank)), np.empty((size, rank, rank))
    probabilities = np.empty((size, cardinality))
    counts = np.empty((size, cardinality), dtype=np.int64)
    errors = np.empty((size, cardinality, rank))
    concentrations = np.full(cardinality, concentration)
    for i, rng in enumerate(rngs):
        rng.standard_normal(out=left[i])
        rng.standard_normal(out=right[i])
        probabilities[i] = rng.dirichlet(concentrations)
        counts[i] = draw_counts(rng, probabilities[i], observations)
        rng.standard_normal(out=errors[i])
    latent, right = latent_matrices(left, right, spectrum)
    means = latent + mean_errors(errors, counts, noise)
    return LatentDraw(latent, right, probabilities, counts, means)


def mean_errors(errors: Floats, counts: Ints, noise: float) -> Floats:
    """Scale standard normal errors, shape (..., N, r), to those of means of n_c samples."""
    return errors * (noise / np.sqrt(counts))[..., None]


def draw_within_scatter(rng: np.random.Generator, counts: Ints, rank: int, noise: float) -> float:
    """Draw the sum of squared deviations of all samples from their category means.

    It is independent of the means and follows σ² times a χ² law with r Σ (n_c − 1) degrees of
    freedom.
    """
    freedom = rank * int((counts - 1).sum())
    return float(noise**2 * rng.chisquare(freedom)) if freedom else 0.0


def descending_eigh(gram: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues (largest first, not below 0) and eigenvectors of Gram matrices."""
    values, vectors = np.linalg.eigh(gram)
    return np.maximum(values[..., ::-1], 0.0), vectors[..., ::-1]


def response_weights(latent_rank: int, *, support: float = 1.0, decay: float = 1.0) -> Floats:
    """Return w with w_k ∝ k^-decay and unit norm; β = V w leans on the leading directions of U.

    Only the leading directions get a weight: that share of them, rounded up.
    """
    # NOTE[PAPER] beta: the paper names the alignment of beta, not its weights.
    k = np.arange(1, latent_rank + 1)
    weights = np.where(k <= math.ceil(support * latent_rank), 1.0 / k**decay, 0.0)
    return weights / np.linalg.norm(weights)
