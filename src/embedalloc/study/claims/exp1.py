"""What decides the claims about Experiment 1."""

from collections.abc import Callable

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import (
    NOTHING,
    Bootstrap,
    Finding,
    Findings,
    Means,
    Samples,
    curves_by_cell,
    every_dimension,
    list_values,
    mean_curves,
    share_of_falls,
    undecidable,
    worst,
)
from embedalloc.study.settings.exp1 import Exp1Designs

_ERRORS = {"population": "population_tail", "estimated": "reconstruction_error"}
_PREDICTIONS = {"refit": "predictive_error_refit", "known": "predictive_error_known"}


def exp1_findings(
    profiles: pd.DataFrame, fits: pd.DataFrame, *, settings: Exp1Designs, bootstrap: Bootstrap
) -> Findings:
    """Return the findings of every claim on Experiment 1, by claim and reading.

    Parameters
    ----------
    profiles, fits
        Results of all designs.
    settings
        The spectral designs.
    bootstrap
        Source of the intervals.
    """
    designs, dimensions = sorted(settings.designs), every_dimension(profiles)
    curves = {
        column: curves_by_cell(profiles, "design", column, cells=designs, dimensions=dimensions)
        for column in (*_ERRORS.values(), *_PREDICTIONS.values(), "empirical_tail")
    }
    tail = curves["empirical_tail"]
    gaps = {reading: _pair(tail, curves[column]) for reading, column in _ERRORS.items()}
    exponential = [name for name, law in settings.designs.items() if law.decay == "exponential"]
    fitted = {design: rows[["r_squared"]].to_numpy() for design, rows in fits.groupby("design")}
    r_squared: Samples = {design: fitted.get(design, NOTHING) for design in designs}
    return {
        "exp1-error-falls": {
            reading: _falls(curves[column], bootstrap) for reading, column in _ERRORS.items()
        },
        "exp1-exponential-faster": {
            reading: _faster(curves[column], exponential, bootstrap)
            for reading, column in _ERRORS.items()
        },
        "exp1-tail-follows": {
            reading: _smallest(both, _squared_correlation, "squared correlation", ".4f", bootstrap)
            for reading, both in gaps.items()
        },
        "exp1-gap-small": {
            "of_first": _gap_size(gaps["population"], bootstrap, same=False),
            "of_same": _gap_size(gaps["population"], bootstrap, same=True),
            "estimated": _gap_size(gaps["estimated"], bootstrap, same=False),
        },
        "exp1-gap-vanishes": {
            reading: _gap_falls(both, bootstrap) for reading, both in gaps.items()
        },
        "exp1-prediction-falls": {
            reading: _falls(curves[column], bootstrap) for reading, column in _PREDICTIONS.items()
        },
        "exp1-prediction-faster": {
            reading: _smallest(
                _pair(curves[column], curves["population_tail"]),
                _ratio_of_left,
                "ratio of what is left of the two at half the rank",
                ".3f",
                bootstrap,
            )
            for reading, column in _PREDICTIONS.items()
        },
        "exp1-a-over-d": {
            "as stated": _smallest(r_squared, lambda m: m[..., 0], "mean R²", ".3f", bootstrap)
        },
    }


def _smallest(
    samples: Samples,
    of: Callable[[Floats], Floats],
    words: str,
    format_spec: str,
    bootstrap: Bootstrap,
) -> Finding:
    """Return the smallest value of a function over the designs, and the value of each."""
    each = {cell: float(of(means)) for cell, means in mean_curves(samples).items()}
    return bootstrap.find(samples, worst(of), f"{words}: {list_values(each, format_spec)}")


def _falls(curves: Samples, bootstrap: Bootstrap) -> Finding:
    parts = []
    for design, mean in mean_curves(curves).items():
        lowest = int(mean.argmin())
        parts.append(
            f"{design} {mean[0]:.3g} at d = 1, least {mean[lowest]:.3g} at d = {lowest + 1}, "
            f"{mean[-1]:.3g} at d = {len(mean)}"
        )
    return bootstrap.find(curves, worst(share_of_falls), "mean error: " + "; ".join(parts))


def _half_over_first(means: Floats) -> Floats:
    return np.asarray(means[..., means.shape[-1] // 2 - 1] / means[..., 0])


def _faster(curves: Samples, exponential: list[str], bootstrap: Bootstrap) -> Finding:
    if not 0 < len(set(curves) & set(exponential)) < len(curves):
        return undecidable("no exponential design or no other")

    def statistic(means: Means) -> Floats:
        quick = {cell: m for cell, m in means.items() if cell in exponential}
        slow = {cell: m for cell, m in means.items() if cell not in exponential}
        return worst(_half_over_first, np.max)(quick) / worst(_half_over_first)(slow)

    left = {cell: float(_half_over_first(means)) for cell, means in mean_curves(curves).items()}
    words = f"share of the error at d = 1 that is left at half the rank: {list_values(left, '.3f')}"
    return bootstrap.find(curves, statistic, words)


def _pair(first: Samples, second: Samples) -> Samples:
    """Return the two curves of each cell side by side, so that they are resampled together."""
    return {cell: np.hstack([first[cell], second[cell]]) for cell in first}


def _halves(means: Floats) -> tuple[Floats, Floats]:
    middle = means.shape[-1] // 2
    return means[..., :middle], means[..., middle:]


def _squared_correlation(means: Floats) -> Floats:
    first, second = (m - m.mean(axis=-1, keepdims=True) for m in _halves(means))
    product = (first * second).sum(axis=-1)
    return np.asarray(product**2 / ((first**2).sum(axis=-1) * (second**2).sum(axis=-1)))


def _ratio_of_left(means: Floats) -> Floats:
    first, second = _halves(means)
    return _half_over_first(first) / _half_over_first(second)


def _gap_size(both: Samples, bootstrap: Bootstrap, *, same: bool) -> Finding:
    def relative(means: Floats) -> Floats:
        tail, error = _halves(means)
        # At full rank the tails are zero by definition.
        gap = np.abs(tail - error)[..., :-1]
        return np.asarray((gap / (error[..., :-1] if same else error[..., :1])).max(axis=-1))

    parts = []
    for design, means in mean_curves(both).items():
        gap = np.subtract(*_halves(means))
        at = int(np.abs(gap).argmax())
        share = float(relative(means))
        parts.append(f"{design} {gap[at]:+.3g} at d = {at + 1}, largest share {share:.3g}")
    return bootstrap.find(both, worst(relative, np.max), "largest gap: " + "; ".join(parts))


def _gap_falls(both: Samples, bootstrap: Bootstrap) -> Finding:
    def gaps(means: Floats) -> Floats:
        return np.abs(np.subtract(*_halves(means)))

    parts = []
    for design, means in mean_curves(both).items():
        gap = gaps(means)
        at = int(gap.argmax())
        parts.append(
            f"{design} {gap[0]:.3g} at d = 1, largest {gap[at]:.3g} at d = {at + 1}, "
            f"{gap[-1]:.3g} at full rank"
        )
    words = "size of the gap: " + "; ".join(parts)
    return bootstrap.find(both, worst(lambda means: share_of_falls(gaps(means))), words)
