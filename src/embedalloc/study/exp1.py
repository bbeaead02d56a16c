"""Experiment 1 (Section 3.1): whether the spectrum of Û tells the approximation error.

For every dimension at once, from one eigen-decomposition G = Û'Û = Q diag(λ) Q' per
replication; nothing is refitted or rebuilt per dimension.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.spectra import fit_coefficient, goodness_of_fit, spectral_tails
from embedalloc.study.latent import (
    LatentDraw,
    descending_eigh,
    draw_latents,
    response_weights,
    singular_value_law,
)
from embedalloc.study.profiles import simulate_profiles
from embedalloc.study.settings.exp1 import Exp1Cell, Exp1Design


def simulate(cell: Exp1Cell) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return profiles over d and fits for some replications of one design."""
    settings = cell.settings
    spectrum = singular_value_law(settings.spectrum, settings.latent_rank)
    profiles = simulate_profiles(
        cell,
        "exp1",
        ("design", cell.design),
        lambda rngs: error_profiles(*_draw(settings, spectrum, rngs), spectrum),
    )
    tails = profiles["empirical_tail"].to_numpy().reshape(-1, settings.latent_rank)
    # The fit wants tails from d = 0 on and does not look at that first entry.
    tails = np.pad(tails, ((0, 0), (1, 0)), mode="edge")
    coefficient = fit_coefficient(tails, method=settings.coefficient_fit)
    fits = pd.DataFrame(
        {
            "design": cell.design,
            "replication": np.arange(cell.first, cell.last),
            "coefficient": coefficient,
            "r_squared": goodness_of_fit(tails, coefficient),
        }
    )
    return profiles, fits


def _draw(
    settings: Exp1Design, spectrum: Floats, rngs: Sequence[np.random.Generator]
) -> tuple[LatentDraw, Floats]:
    """Draw one replication per generator and the noise of their category means of y."""
    draw = draw_latents(
        rngs,
        spectrum=spectrum,
        cardinality=settings.cardinality,
        observations=settings.observations,
        concentration=settings.concentration,
        noise=settings.noise,
    )
    errors = np.array([rng.standard_normal(settings.cardinality) for rng in rngs])
    return draw, errors * (settings.response_noise / np.sqrt(draw.counts))


def error_profiles(
    draw: LatentDraw, response_errors: Floats, spectrum: Floats
) -> dict[str, Floats]:
    """Return every error of Experiment 1 for d = 1 … r, shape (replications, r) each.

    Parameters
    ----------
    draw
        Stacked replications.
    response_errors
        Noise of the category means of y, shape (replications, N).
    spectrum
        Singular values of U.
    """
    eigenvalues, vectors = descending_eigh(draw.means.mT @ draw.means)
    # ‖U − Û_d‖² = ‖U‖² + Σ_{k≤d} (λ_k − 2 q_k'M q_k) with M = Û'U.
    cross = (vectors * (draw.means.mT @ draw.latent @ vectors)).sum(axis=-2)
    norm = (spectrum**2).sum()
    reconstruction = norm + np.cumsum(eigenvalues - 2.0 * cross, axis=-1)
    # NOTE[PAPER] exp1-error: both readings of the approximation error are kept.
    beta = (draw.right @ response_weights(len(spectrum)))[..., None]
    truth = (draw.latent @ beta)[..., 0]
    scores = draw.means @ vectors
    # What the rank-d means predict with the true beta.
    known = np.cumsum(scores * (vectors.mT @ beta).mT, axis=-1)
    return {
        "population_tail": np.broadcast_to(spectral_tails(spectrum)[1:], eigenvalues.shape),
        "empirical_tail": spectral_tails(np.sqrt(eigenvalues))[..., 1:],
        "reconstruction_error": np.sqrt(np.maximum(reconstruction, 0.0)),
        "predictive_error_refit": _refit_errors(draw, scores, truth, response_errors),
        "predictive_error_known": _root_risk(draw.probabilities, truth, known),
    }


def _refit_errors(
    draw: LatentDraw, scores: Floats, truth: Floats, response_errors: Floats
) -> Floats:
    """Return root excess risks of least squares with intercept on the leading d scores.

    The scores are orthonormalised in order, weighted by the counts, so that adding a dimension
    adds a term to the fit and changes none of the others.
    """
    # NOTE[PAPER] exp1-predictive: the paper does not define the predictive error of rank d.
    root_counts = np.sqrt(draw.counts)[..., None]
    weights = draw.counts / draw.counts.sum(axis=-1, keepdims=True)
    centred = scores - (weights[..., None] * scores).sum(axis=-2, keepdims=True)
    basis = np.linalg.qr(root_counts * centred)[0]
    response = truth + response_errors
    intercept = (weights * response).sum(axis=-1, keepdims=True)
    slopes = basis.mT @ (root_counts[..., 0] * (response - intercept))[..., None]
    fitted = intercept[..., None] + np.cumsum(basis / root_counts * slopes.mT, axis=-1)
    return _root_risk(draw.probabilities, truth, fitted)


def _root_risk(probabilities: Floats, truth: Floats, fitted: Floats) -> Floats:
    """Return the root of the mean squared error over categories, without the noise of y."""
    squares = (truth[..., None] - fitted) ** 2
    return np.sqrt((probabilities[..., None] * squares).sum(axis=-2))
