"""Numbers as a network reads them: none missing, standardised, skewed ones as logarithms."""

from typing import NamedTuple

import numpy as np

from embedalloc.arrays import Floats

#: Standardised numbers beyond this, up or down, are set to it.
LARGEST_INPUT = 10.0
#: A number that is never negative and more skewed than this is read as log(1 + x).
LARGEST_SKEWNESS = 2.0


class NumberScale(NamedTuple):
    """How one numeric column is read.

    Attributes
    ----------
    median
        Stands for a missing value.
    mean, deviation
        What standardises it.
    logarithm
        Whether it is log(1 + x) that is standardised; a negative x then counts as 0.
    """

    median: float
    mean: float
    deviation: float
    logarithm: bool

    def read(self, values: Floats) -> Floats:
        """Return values as a network reads them; nan is a missing one."""
        filled = np.where(np.isnan(values), self.median, values)
        if self.logarithm:
            filled = np.log1p(np.maximum(filled, 0.0))
        # New rows may lie anywhere; what a network reads must stay finite.
        distances = standardise(filled, self.mean, self.deviation)
        return np.clip(distances, -LARGEST_INPUT, LARGEST_INPUT)


def measure_scale(values: Floats) -> NumberScale:
    """Return how a column with these values is read, whatever the rows' order; nan is missing."""
    present = values[~np.isnan(values)]
    present.sort()
    if not present.size:
        return NumberScale(0.0, 0.0, 1.0, logarithm=False)
    # The mean of the middle two; their sum could be infinite.
    low, high = present[(present.size - 1) // 2], present[present.size // 2]
    median = float(low if low == high else low / 2 + high / 2)
    missing = len(values) - len(present)
    filled = np.sort(np.append(present, np.full(missing, median))) if missing else present
    logarithm = bool(filled[0] >= 0) and _measure_skewness(filled) > LARGEST_SKEWNESS
    mean, deviation = measure_spread(np.log1p(filled) if logarithm else filled)
    return NumberScale(median, mean, deviation if deviation > 0 else 1.0, logarithm)


def measure_spread(values: Floats) -> tuple[float, float]:
    """Return mean and standard deviation, of numbers near the ends of floating point too.

    Sums and squares are taken of the numbers over a power of two near the largest of them, which
    changes no bit where they do neither overflow nor underflow.
    """
    _, exponent = np.frexp(np.abs(values).max())
    scaled = np.ldexp(values, -exponent)
    mean, deviation = np.ldexp([scaled.mean(), scaled.std()], exponent).tolist()
    return mean, deviation


def standardise(values: Floats, mean: float, deviation: float) -> Floats:
    """Return distances from the mean in standard deviations; of new rows they may be infinite."""
    half = 0.5 if deviation > 1 else 1.0  # of large numbers, so that no difference overflows
    with np.errstate(over="ignore"):
        return (values * half - mean * half) / (deviation * half)


def _measure_skewness(values: Floats) -> float:
    """Return the third standardised moment; 0 if all values are the same."""
    mean, deviation = measure_spread(values)
    if deviation == 0:
        return 0.0
    with np.errstate(under="ignore"):
        return float((standardise(values, mean, deviation) ** 3).mean())
