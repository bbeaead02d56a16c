"""What decides the claims about Experiment 1."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import (
    Bootstrap,
    Finding,
    Means,
    listed,
    share_of_falls,
    undecidable,
    worst,
)
from embedalloc.study.settings.common import Spectrum

_ERRORS = {"population": "population_tail", "estimated": "reconstruction_error"}
_PREDICTIONS = {"refit": "predictive_error_refit", "known": "predictive_error_known"}
Samples = Mapping[Any, Floats]


def exp1_findings(
    profiles: pd.DataFrame,
    fits: pd.DataFrame,
    *,
    designs: Mapping[str, Spectrum],
    bootstrap: Bootstrap,
) -> dict[str, dict[str, Finding]]:
    """Return the findings of every claim on Experiment 1, by claim and reading.

    Parameters
    ----------
    profiles, fits
        Results of all designs.
    designs
        Spectral designs by name, as configured.
    bootstrap
        Source of the intervals.
    """
    curves = {
        column: by_cell(profiles, "design", column)
        for column in (*_ERRORS.values(), *_PREDICTIONS.values(), "empirical_tail")
    }
    exponential = [name for name, law in designs.items() if law.decay == "exponential"]
    r_squared: Samples = {
        design: rows[["r_squared"]].to_numpy() for design, rows in fits.groupby("design")
    }
    return {
        "exp1-error-falls": {
            reading: _falls(curves[column], bootstrap) for reading, column in _ERRORS.items()
        },
        "exp1-exponential-faster": {
            reading: _faster(curves[column], exponential, bootstrap)
            for reading, column in _ERRORS.items()
        },
        "exp1-tail-follows": {
            reading: _follows(curves["empirical_tail"], curves[column], bootstrap)
            for reading, column in _ERRORS.items()
        },
        "exp1-gap-small": {
            "of_first": _gap_size(curves, "population_tail", bootstrap, same=False),
            "of_same": _gap_size(curves, "population_tail", bootstrap, same=True),
            "estimated": _gap_size(curves, "reconstruction_error", bootstrap, same=False),
        },
        "exp1-gap-vanishes": {
            reading: _gap_falls(curves["empirical_tail"], curves[column], bootstrap)
            for reading, column in _ERRORS.items()
        },
        "exp1-prediction-falls": {
            reading: _falls(curves[column], bootstrap) for reading, column in _PREDICTIONS.items()
        },
        "exp1-prediction-faster": {
            reading: _prediction_faster(curves[column], curves["population_tail"], bootstrap)
            for reading, column in _PREDICTIONS.items()
        },
        "exp1-a-over-d": {"as stated": _fit(r_squared, bootstrap)},
    }


def by_cell(frame: pd.DataFrame, cell: str, column: str) -> dict[Any, Floats]:
    """Return for each cell a matrix of one row per replication and one column per dimension."""
    return {
        name: rows.pivot(index="replication", columns="dimension", values=column).to_numpy()
        for name, rows in frame.groupby(cell, sort=True)
    }


def _falls(curves: Samples, bootstrap: Bootstrap) -> Finding:
    interval = bootstrap.interval(
        curves, lambda means: worst({cell: share_of_falls(m) for cell, m in means.items()})
    )
    parts = []
    for design, rows in curves.items():
        mean = rows.mean(axis=0)
        lowest = int(mean.argmin())
        parts.append(
            f"{design} {mean[0]:.3g} at d = 1, least {mean[lowest]:.3g} at d = {lowest + 1}, "
            f"{mean[-1]:.3g} at d = {len(mean)}"
        )
    return interval.finding("mean error: " + "; ".join(parts))


def _half_over_first(means: Floats) -> Floats:
    return np.asarray(means[..., means.shape[-1] // 2 - 1] / means[..., 0])


def _faster(curves: Samples, exponential: list[str], bootstrap: Bootstrap) -> Finding:
    if not 0 < len(set(curves) & set(exponential)) < len(curves):
        return undecidable("no exponential design or no other")

    def statistic(means: Means) -> Floats:
        left = {cell: _half_over_first(m) for cell, m in means.items()}
        quick = worst({cell: v for cell, v in left.items() if cell in exponential}, np.max)
        slow = worst({cell: v for cell, v in left.items() if cell not in exponential})
        return quick / slow

    left = {cell: float(_half_over_first(rows.mean(axis=0))) for cell, rows in curves.items()}
    interval = bootstrap.interval(curves, statistic)
    words = f"share of the error at d = 1 that is left at half the rank: {listed(left, '.3f')}"
    return interval.finding(words)


def _together(first: Samples, second: Samples) -> dict[Any, Floats]:
    """Return the two curves of each cell side by side, so that they are resampled together."""
    return {cell: np.hstack([first[cell], second[cell]]) for cell in first}


def _halves(means: Floats) -> tuple[Floats, Floats]:
    middle = means.shape[-1] // 2
    return means[..., :middle], means[..., middle:]


def _squared_correlation(means: Floats) -> Floats:
    first, second = (m - m.mean(axis=-1, keepdims=True) for m in _halves(means))
    product = (first * second).sum(axis=-1)
    return np.asarray(product**2 / ((first**2).sum(axis=-1) * (second**2).sum(axis=-1)))


def _follows(empirical: Samples, error: Samples, bootstrap: Bootstrap) -> Finding:
    both = _together(empirical, error)
    interval = bootstrap.interval(
        both, lambda means: worst({cell: _squared_correlation(m) for cell, m in means.items()})
    )
    each = {cell: float(_squared_correlation(rows.mean(axis=0))) for cell, rows in both.items()}
    return interval.finding(f"squared correlation: {listed(each, '.4f')}")


def _gap_size(
    curves: Mapping[str, Samples], against: str, bootstrap: Bootstrap, *, same: bool
) -> Finding:
    both = _together(curves["empirical_tail"], curves[against])

    def relative(means: Floats) -> Floats:
        tail, error = _halves(means)
        # At full rank the tails are zero by definition.
        gap = np.abs(tail - error)[..., :-1]
        return np.asarray((gap / (error[..., :-1] if same else error[..., :1])).max(axis=-1))

    interval = bootstrap.interval(
        both, lambda means: worst({cell: relative(m) for cell, m in means.items()}, np.max)
    )
    parts = []
    for design, rows in both.items():
        tail, error = _halves(rows.mean(axis=0))
        gap = tail - error
        at = int(np.abs(gap).argmax())
        share = float(relative(rows.mean(axis=0)))
        parts.append(f"{design} {gap[at]:+.3g} at d = {at + 1}, largest share {share:.3g}")
    return interval.finding("largest gap: " + "; ".join(parts))


def _gap_falls(empirical: Samples, error: Samples, bootstrap: Bootstrap) -> Finding:
    both = _together(empirical, error)

    def gaps(means: Floats) -> Floats:
        tail, other = _halves(means)
        return np.abs(tail - other)

    interval = bootstrap.interval(
        both, lambda means: worst({cell: share_of_falls(gaps(m)) for cell, m in means.items()})
    )
    parts = []
    for design, rows in both.items():
        gap = gaps(rows.mean(axis=0))
        at = int(gap.argmax())
        parts.append(
            f"{design} {gap[0]:.3g} at d = 1, largest {gap[at]:.3g} at d = {at + 1}, "
            f"{gap[-1]:.3g} at full rank"
        )
    return interval.finding("size of the gap: " + "; ".join(parts))


def _prediction_faster(prediction: Samples, tail: Samples, bootstrap: Bootstrap) -> Finding:
    both = _together(prediction, tail)

    def ratio(means: Floats) -> Floats:
        first, second = _halves(means)
        return _half_over_first(first) / _half_over_first(second)

    interval = bootstrap.interval(
        both, lambda means: worst({cell: ratio(m) for cell, m in means.items()})
    )
    each = {cell: float(ratio(rows.mean(axis=0))) for cell, rows in both.items()}
    words = f"ratio of what is left of the two at half the rank: {listed(each, '.3f')}"
    return interval.finding(words)


def _fit(r_squared: Samples, bootstrap: Bootstrap) -> Finding:
    interval = bootstrap.interval(
        r_squared, lambda means: worst({cell: m[..., 0] for cell, m in means.items()})
    )
    each = {cell: float(rows.mean()) for cell, rows in r_squared.items()}
    return interval.finding(f"mean R²: {listed(each, '.3f')}")
