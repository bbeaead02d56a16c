"""What was found under one reading of a claim, with a bootstrap interval over replications."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.intervals import resample_means

#: Means by cell of an experiment; the last axis is the curve, axes before it are resamples.
Means = Mapping[Any, Floats]
Statistic = Callable[[Means], Floats]


@dataclass(frozen=True)
class Finding:
    """Estimate of the deciding statistic, its 95 % interval where there is one, and the words.

    The estimate is nan where there is nothing to decide by. `resampled` has the statistic in
    resamples of the replications, where there are any.
    """

    estimate: float
    evidence: str
    low: float | None = None
    high: float | None = None
    resampled: Floats | None = field(default=None, compare=False, repr=False)


def undecidable(lacks: str) -> Finding:
    """Return the finding of a configuration that lacks what a claim is about."""
    return Finding(math.nan, f"this configuration has {lacks}")


@dataclass(frozen=True)
class Interval:
    """A statistic, the ends of its 95 % interval and its values in the resamples behind them."""

    estimate: float
    low: float
    high: float
    resampled: Floats

    def finding(self, evidence: str) -> Finding:
        """Return the finding that these numbers and words make."""
        return Finding(self.estimate, evidence, self.low, self.high, self.resampled)


@dataclass(frozen=True)
class Bootstrap:
    """Resamples replications, each cell of an experiment on its own.

    Attributes
    ----------
    rng
        Source of the resamples.
    draws
        Number of resamples.
    """

    rng: np.random.Generator
    draws: int

    def interval(self, samples: Mapping[Any, Floats], statistic: Statistic) -> Interval:
        """Return a statistic of the cells' means with its 95 % interval.

        Parameters
        ----------
        samples
            For each cell one row per replication and one column per point of its curve. Columns
            stay together, so differences between them are paired.
        statistic
            Function of the means; it must work along the last axis.
        """
        estimate = statistic({cell: rows.mean(axis=0) for cell, rows in samples.items()})
        resampled = statistic(
            {cell: resample_means(rows, self.draws, self.rng) for cell, rows in samples.items()}
        )
        low, high = np.quantile(resampled, [0.025, 0.975], method="inverted_cdf")
        return Interval(float(estimate), float(low), float(high), resampled)


def share_of_falls(curve: Floats) -> Floats:
    """Return the share of the steps along the last axis at which a curve falls."""
    return np.asarray((np.diff(curve, axis=-1) < 0).mean(axis=-1))


def worst(values: Mapping[Any, Floats], pick: Callable[..., Floats] = np.min) -> Floats:
    """Return the smallest (or `pick`) of the cells' values, resample by resample."""
    return np.asarray(pick(np.stack(list(values.values())), axis=0))


def listed(values: Mapping[Any, Any], format_spec: str = "") -> str:
    """Return 'cell value, cell value, …'."""
    return ", ".join(f"{cell} {value:{format_spec}}" for cell, value in values.items())
