"""How numbers are standardised: the same whatever the rows' order, and without overflow."""

import numpy as np

from embedalloc.arrays import Floats


def measure_scale(values: Floats) -> tuple[float, float, float]:
    """Return median, mean and standard deviation after imputation, whatever the rows' order."""
    present = np.sort(values[~np.isnan(values)])
    if not present.size:
        return 0.0, 0.0, 1.0
    # The mean of the middle two; their sum could be infinite.
    low, high = present[(present.size - 1) // 2], present[present.size // 2]
    median = float(low if low == high else low / 2 + high / 2)
    filled = np.sort(np.append(present, np.full(len(values) - len(present), median)))
    mean, deviation = measure_spread(filled)
    return median, mean, deviation if deviation > 0 else 1.0


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
