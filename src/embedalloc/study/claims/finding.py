"""What was found under one reading of a claim, with a bootstrap interval over replications."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.intervals import resample_means

#: Means by cell of an experiment; the last axis is the curve, axes before it are resamples.
Means = Mapping[Any, Floats]
#: By cell, one row per replication and one column per point of the curve.
Samples = Mapping[Any, Floats]
Statistic = Callable[[Means], Floats]
#: Numbers below it are rounding errors, other ones on every kind of processor.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Finding:
    """Estimate of the deciding statistic, its 95 % interval where there is one, and the words.

    A number is nan where there is none: an estimate where there is nothing to decide by.
    `resampled` has the statistic in resamples of the replications, where there are any.
    """

    estimate: float
    evidence: str
    low: float = math.nan
    high: float = math.nan
    resampled: Floats | None = field(default=None, compare=False, repr=False)

    def numbers(self) -> dict[str, float]:
        """Return the estimate and the ends of its interval as columns."""
        return {"estimate": self.estimate, "low": self.low, "high": self.high}


#: Stands for the rows of a cell that has none.
NOTHING: Floats = np.full((1, 1), np.nan)
#: By claim, then by reading.
Findings = dict[str, dict[str, Finding]]


def undecidable(lacks: str) -> Finding:
    """Return the finding of a configuration that lacks what a claim is about."""
    return Finding(math.nan, f"this configuration has {lacks}")


def decided_by(values: Iterable[float], estimate: float, evidence: str) -> Finding:
    """Return the finding of an estimate; without one of the values that it is made of, none."""
    known = all(map(math.isfinite, (*values, estimate)))
    return Finding(estimate if known else math.nan, evidence)


@dataclass(frozen=True)
class Bootstrap:
    """Resamples replications, each cell of an experiment on its own, a number of times."""

    rng: np.random.Generator
    draws: int

    def find(self, samples: Samples, statistic: Statistic, evidence: str) -> Finding:
        """Return a statistic of the cells' means with its 95 % interval, and the words.

        Missing rows, a single replication or a division by zero leave nothing to decide by.

        Parameters
        ----------
        samples
            For each cell one row per replication and one column per point of its curve. Columns
            stay together, so differences between them are paired.
        statistic
            Function of the means; it must work along the last axis.
        evidence
            What was found, with the numbers.
        """
        lacking = [
            str(cell)
            for cell, rows in samples.items()
            if len(rows) < 2 or not np.isfinite(rows).all()
        ]
        if lacking:
            return Finding(math.nan, f"rows are missing ({', '.join(lacking)}); {evidence}")
        estimate = statistic(mean_curves(samples))
        resampled = statistic(
            {cell: resample_means(rows, self.draws, self.rng) for cell, rows in samples.items()}
        )
        low, high = np.quantile(resampled, [0.025, 0.975], method="inverted_cdf")
        if not np.isfinite([estimate, low, high]).all():
            return Finding(math.nan, f"the statistic divides by zero; {evidence}")
        return Finding(float(estimate), evidence, float(low), float(high), resampled)


def every_dimension(frame: pd.DataFrame) -> list[int]:
    """Return d = 1 … r, whichever rows are missing."""
    return list(range(1, max(frame["dimension"], default=2) + 1))


def curves_by_cell(
    frame: pd.DataFrame,
    cell: str | list[str],
    column: str,
    *,
    cells: Iterable[Any],
    dimensions: Sequence[int],
) -> dict[Any, Floats]:
    """Return for each cell a matrix of one row per replication and one column per dimension.

    What is missing is nan: entries, and all of a cell that has no rows.
    """
    found = {
        name: rows.pivot(index="replication", columns="dimension", values=column)
        .reindex(columns=list(dimensions))
        .to_numpy()
        for name, rows in frame.groupby(cell)
    }
    nothing = np.repeat(NOTHING, len(dimensions), axis=1)
    return {name: found.get(name, nothing) for name in sorted(cells)}


def mean_curves(samples: Samples) -> dict[Any, Floats]:
    """Return each cell's means over its replications."""
    return {cell: rows.mean(axis=0) for cell, rows in samples.items()}


def share_of_falls(curve: Floats) -> Floats:
    """Return the share of the steps along the last axis at which a curve falls."""
    return np.asarray((np.diff(curve, axis=-1) < 0).mean(axis=-1))


def worst(of: Callable[[Floats], Floats], pick: Callable[..., Floats] = np.min) -> Statistic:
    """Return the statistic: the smallest (or `pick`) over the cells of a function of each."""
    return lambda means: np.asarray(pick(np.stack([of(m) for m in means.values()]), axis=0))


def without_rounding(value: float) -> float:
    """Return a number, or 0 where it is a rounding error."""
    return 0.0 if abs(value) < ROUNDING else value


def at_most(value: float) -> str:
    """Return 'at most' and a number, or the size of a rounding error that it stays below."""
    return f"at most {max(value, ROUNDING):.1e}"


def list_values(values: Mapping[Any, Any], format_spec: str = "") -> str:
    """Return 'cell value, cell value, …'."""
    return ", ".join(f"{cell} {value:{format_spec}}" for cell, value in values.items())
