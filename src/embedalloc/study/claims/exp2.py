"""What decides the claims about Experiment 2."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import (
    Bootstrap,
    Finding,
    Means,
    Samples,
    curves_by_cell,
    list_values,
    mean_curves,
    share_of_falls,
    undecidable,
    worst,
)


def exp2_findings(
    profiles: pd.DataFrame,
    *,
    panels: Sequence[int],
    sizes: Sequence[int],
    bootstrap: Bootstrap,
) -> dict[str, dict[str, Finding]]:
    """Return the findings of every claim on Experiment 2, by claim and reading.

    Parameters
    ----------
    profiles
        Results of all sample sizes.
    panels, sizes
        Sample sizes of the panels and of the curve of optimal dimensions.
    bootstrap
        Source of the intervals.
    """

    def curves(column: str, at: Sequence[int]) -> dict[Any, Floats]:
        return curves_by_cell(profiles[profiles["observations"].isin(at)], "observations", column)

    one_panel = undecidable("one panel only") if len(panels) < 2 else None
    one_size = undecidable("one sample size only") if len(sizes) < 2 else None
    training, test, total = (curves(c, panels) for c in ("training_mse", "test_mse", "total"))
    return {
        "exp2-training-falls": {"as stated": _steps(training, bootstrap, sign=1)},
        "exp2-low-minimum": {"as stated": _low_minimum(test, bootstrap)},
        "exp2-minimum-moves": {"as stated": one_panel or _moves(test, bootstrap)},
        "exp2-flatter": {"as stated": one_panel or _flatter(test, bootstrap)},
        "exp2-approximation-falls": {
            "exact": _steps(curves("approximation", panels), bootstrap, sign=1),
            "literal": _steps(curves("literal_approximation", panels), bootstrap, sign=1),
        },
        "exp2-estimation-rises": {
            "exact": _steps(curves("estimation", panels), bootstrap, sign=-1),
            "literal": _steps(curves("literal_estimation", panels), bootstrap, sign=-1),
        },
        "exp2-total-turns": {"as stated": _turns(total, bootstrap)},
        "exp2-strongest-smallest": {"as stated": one_panel or _strongest(total, bootstrap)},
        "exp2-optimal-rises": {
            "as stated": one_size or _optimal_rises(curves("test_mse", sizes), bootstrap)
        },
    }


def _steps(curves: Samples, bootstrap: Bootstrap, *, sign: int) -> Finding:
    """Return the share of steps that fall (sign 1) or rise (sign −1) at the worst sample size."""
    words = "; ".join(
        f"n = {n:,}: {m[0]:.4g} at d = 1, {m[-1]:.4g} at full rank"
        for n, m in mean_curves(curves).items()
    )
    return bootstrap.find(curves, worst(lambda m: share_of_falls(sign * m)), f"mean: {words}")


def _best_dimensions(means: Means) -> Floats:
    """Return the dimension with the least mean, one column per sample size in rising order."""
    return np.stack([np.argmin(means[n], axis=-1) + 1 for n in sorted(means)], axis=-1)


def _best_words(curves: Samples) -> str:
    best = _best_dimensions(mean_curves(curves))
    each = {f"n = {n:,}: d =": int(d) for n, d in zip(sorted(curves), best, strict=True)}
    return list_values(each)


def _low_minimum(test: Samples, bootstrap: Bootstrap) -> Finding:
    smallest = min(test)
    only = {smallest: test[smallest]}
    rank = test[smallest].shape[-1]
    (best,) = _best_dimensions(mean_curves(only))
    return bootstrap.find(
        only,
        lambda means: _best_dimensions(means)[..., 0] / rank,
        f"the mean test error at n = {smallest:,} is least at d = {best} of {rank}",
    )


def _moves(test: Samples, bootstrap: Bootstrap) -> Finding:
    return bootstrap.find(
        test,
        lambda means: np.diff(_best_dimensions(means), axis=-1).min(axis=-1),
        f"least mean test error at {_best_words(test)}",
    )


def _rises(means: Means) -> Floats:
    """Return the rise from minimum to full rank, one column per sample size in rising order."""
    return np.stack([means[n][..., -1] - means[n].min(axis=-1) for n in sorted(means)], axis=-1)


def _ratio(rise: Floats, other: Floats) -> Floats:
    """Return how many times the other a rise is; below 1e-12 there is none, and two are equal."""
    return np.maximum(rise, 1e-12) / np.maximum(other, 1e-12)


def _rise_words(curves: Samples) -> str:
    rises = _rises(mean_curves(curves))
    each = {f"n = {n:,}:": r for n, r in zip(sorted(curves), rises, strict=True)}
    return f"rise from the minimum to full rank: {list_values(each, '.4g')}"


def _flatter(test: Samples, bootstrap: Bootstrap) -> Finding:
    def statistic(means: Means) -> Floats:
        rises = _rises(means)
        return np.asarray(_ratio(rises[..., 1:], rises[..., :-1]).max(axis=-1))

    return bootstrap.find(test, statistic, _rise_words(test))


def _turns(total: Samples, bootstrap: Bootstrap) -> Finding:
    rank = next(iter(total.values())).shape[-1]

    def statistic(means: Means) -> Floats:
        best = _best_dimensions(means)
        return np.asarray(((best > 1) & (best < rank)).mean(axis=-1))

    return bootstrap.find(total, statistic, f"the mean total is least at {_best_words(total)}")


def _strongest(total: Samples, bootstrap: Bootstrap) -> Finding:
    def statistic(means: Means) -> Floats:
        rises = _rises(means)
        return _ratio(rises[..., 0], rises[..., 1:].max(axis=-1))

    return bootstrap.find(total, statistic, _rise_words(total))


def _optimal_rises(test: Samples, bootstrap: Bootstrap) -> Finding:
    def statistic(means: Means) -> Floats:
        best = _best_dimensions(means)
        share = (np.diff(best, axis=-1) >= 0).mean(axis=-1)
        return np.where(best[..., -1] > best[..., 0], share, 0.0)

    return bootstrap.find(test, statistic, f"optimal dimension at {_best_words(test)}")
