"""Intervals and tests: Student's t, Nadeau and Bengio, Holm, Wilson and the bootstrap."""

import math
from typing import Any

import numpy as np

from embedalloc.arrays import Floats

#: Probability that an interval covers.
CONFIDENCE = 0.95


def t_interval(values: Floats, variance_share: Floats | float | None = None) -> tuple[Any, Any]:
    """Return the 95 % t interval of a mean.

    Parameters
    ----------
    values
        One row per replication or split; each further axis is a quantity of its own.
    variance_share
        Variance of the mean over that of the sample: by default 1/J for J independent rows, and
        `nadeau_bengio_share` for splits of the same data.
    """
    from scipy.special import stdtrit  # late: every start of the workflow imports this module

    share = 1 / len(values) if variance_share is None else variance_share
    quantile = stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)
    half = quantile * values.std(axis=0, ddof=1) * np.sqrt(share)
    return values.mean(axis=0) - half, values.mean(axis=0) + half


def normal_interval(mean: Any, deviation: Any, count: Any) -> tuple[Any, Any]:
    """Return the normal 95 % interval of a mean, or of each in a pandas column of means."""
    half = 1.96 * deviation / count**0.5
    return mean - half, mean + half


def nadeau_bengio_share(splits: int, judged_over_trained: Floats | float) -> Floats | float:
    """Return the variance of a mean over splits that overlap, over that of the sample.

    Nadeau and Bengio (2003) inflate 1/J to 1/J + n_test/n_train.
    """
    return 1 / splits + judged_over_trained


def corrected_p_value(values: Floats, variance_share: Floats | float) -> Floats:
    """Return two-sided p-values of t tests that a mean is 0; arguments as in `t_interval`."""
    from scipy.special import stdtr

    mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = mean / (spread * np.sqrt(variance_share))
    p = 2 * stdtr(len(values) - 1, -np.abs(t))
    return np.where(spread > 0, p, np.where(mean == 0, 1.0, 0.0))


def holm(p_values: Floats) -> Floats:
    """Return Holm's step-down adjusted p-values."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    Written out: `scipy.stats.binomtest` differs in the last bit and takes half a second to load.
    """
    z, share = 1.959963984540054, successes / trials
    middle = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = (
        z / (1 + z**2 / trials) * math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def resample_means(rows: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Return the columns' means in bootstrap resamples of the rows, one row per resample."""
    # How often each row was drawn, resample by resample: a multinomial count, but counting
    # drawn rows takes a fifth of the time of drawing the counts.
    count = len(rows)
    drawn = rng.integers(count, size=(draws, count))
    places = drawn + count * np.arange(draws)[:, None]
    weights = np.bincount(places.ravel(), minlength=places.size).reshape(draws, count)
    return weights @ rows / count
