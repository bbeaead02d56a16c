"""What decides the claims about Experiment 2."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import (
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
from embedalloc.study.settings.exp2 import Exp2Sizes


def exp2_findings(profiles: pd.DataFrame, *, settings: Exp2Sizes, bootstrap: Bootstrap) -> Findings:
    """Return the findings of every claim on Experiment 2, by claim and reading.

    Parameters
    ----------
    profiles
        Results of all sample sizes.
    settings
        Sample sizes of the panels and of the curve of optimal dimensions.
    bootstrap
        Source of the intervals.
    """
    panels, sizes = settings.panel_observations, settings.curve_observations
    dimensions = every_dimension(profiles)

    def curves(column: str, at: Sequence[int] = panels) -> Samples:
        return curves_by_cell(profiles, "observations", column, cells=at, dimensions=dimensions)

    def find_steps(column: str, *, sign: int) -> Finding:
        """Return the share of steps that fall (sign 1) or rise (sign −1) at the worst size."""
        samples = curves(column)
        words = "; ".join(
            f"n = {n:,}: {m[0]:.4g} at d = 1, {m[-1]:.4g} at full rank"
            for n, m in mean_curves(samples).items()
        )
        return bootstrap.find(samples, worst(lambda m: share_of_falls(sign * m)), f"mean: {words}")

    def find_best(samples: Samples, of: Callable[[Floats], Floats], words: str) -> Finding:
        """Return a function of the best dimensions, one column per sample size."""
        best = zip(sorted(samples), _best_dimensions(mean_curves(samples)), strict=True)
        each = list_values({f"n = {n:,}: d =": int(d) for n, d in best})
        return bootstrap.find(samples, lambda m: of(_best_dimensions(m)), f"{words} {each}")

    def find_rise(samples: Samples, of: Callable[[Floats], Floats]) -> Finding:
        """Return a function of the rises, one column per sample size."""
        rises = zip(sorted(samples), _rises(mean_curves(samples)), strict=True)
        each = list_values({f"n = {n:,}:": rise for n, rise in rises}, ".4g")
        words = f"rise from the minimum to full rank: {each}"
        return bootstrap.find(samples, lambda means: of(_rises(means)), words)

    one_panel = undecidable("one panel only") if len(panels) < 2 else None
    one_size = undecidable("one sample size only") if len(sizes) < 2 else None
    test, total, rank = curves("test_mse"), curves("total"), dimensions[-1]
    return {
        "exp2-training-falls": {"as stated": find_steps("training_mse", sign=1)},
        "exp2-low-minimum": {"as stated": _low_minimum(test, rank, bootstrap)},
        "exp2-minimum-moves": {
            "as stated": one_panel
            or find_best(
                test,
                lambda best: np.diff(best, axis=-1).min(axis=-1),
                "least mean test error at",
            )
        },
        "exp2-flatter": {
            "as stated": one_panel
            or find_rise(test, lambda r: _ratio(r[..., 1:], r[..., :-1]).max(axis=-1))
        },
        "exp2-approximation-falls": {
            "exact": find_steps("approximation", sign=1),
            "literal": find_steps("literal_approximation", sign=1),
        },
        "exp2-estimation-rises": {
            "exact": find_steps("estimation", sign=-1),
            "literal": find_steps("literal_estimation", sign=-1),
        },
        "exp2-total-turns": {
            "as stated": find_best(
                total,
                lambda best: ((best > 1) & (best < rank)).mean(axis=-1),
                "the mean total is least at",
            )
        },
        "exp2-strongest-smallest": {
            "as stated": one_panel
            or find_rise(total, lambda r: _ratio(r[..., 0], r[..., 1:].max(axis=-1)))
        },
        "exp2-optimal-rises": {
            "as stated": one_size
            or find_best(curves("test_mse", sizes), _share_of_rises, "optimal dimension at")
        },
    }


def _best_dimensions(means: Means) -> Floats:
    """Return the dimension with the least mean, one column per sample size in rising order."""
    return np.stack([np.argmin(means[n], axis=-1) + 1 for n in sorted(means)], axis=-1)


def _rises(means: Means) -> Floats:
    """Return the rise from minimum to full rank, one column per sample size in rising order."""
    return np.stack([means[n][..., -1] - means[n].min(axis=-1) for n in sorted(means)], axis=-1)


def _ratio(rise: Floats, other: Floats) -> Floats:
    """Return how many times the other a rise is; below 1e-12 there is none, and two are equal."""
    return np.maximum(rise, 1e-12) / np.maximum(other, 1e-12)


def _share_of_rises(best: Floats) -> Floats:
    """Return the share of sample sizes at which the best dimension does not fall; 0 if no rise."""
    share = (np.diff(best, axis=-1) >= 0).mean(axis=-1)
    return np.where(best[..., -1] > best[..., 0], share, 0.0)


def _low_minimum(test: Samples, rank: int, bootstrap: Bootstrap) -> Finding:
    smallest = min(test)
    only = {smallest: test[smallest]}
    (best,) = _best_dimensions(mean_curves(only))
    return bootstrap.find(
        only,
        lambda means: _best_dimensions(means)[..., 0] / rank,
        f"the mean test error at n = {smallest:,} is least at d = {best} of {rank}",
    )
