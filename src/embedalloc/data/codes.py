"""Whether whole numbers are codes, such as a zip, or a quantity, such as an age.

What tells them apart is their order. The mean target over a quantity is a curve; that over codes
jumps from one to the next. So a number is taken for a code if its levels predict the target
clearly better than a curve does. All errors are those of rows that took no part in the fit,
in closed form, so the answer does not depend on the order of the rows.
"""

import numpy as np
import pandas as pd
from scipy import linalg

from embedalloc.arrays import Floats
from embedalloc.data.ordering import Codes
from embedalloc.data.table import PredictionTask

#: Least gain of levels over a curve, as a share of the target's variance.
SMALLEST_GAIN = 0.005
#: Least share of what the levels explain that no curve explains.
SMALLEST_SHARE = 2 / 3
#: Least gain in standard errors.
STANDARD_ERRORS = 3.0


def act_as_codes(values: Floats, target: Floats) -> bool:
    """Tell whether numbers predict the target as levels much better than as a curve.

    Parameters
    ----------
    values
        A number per row, none missing.
    target
        One row per value and one column per class, or one; see `columns_of_target`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(40, size=2000).astype(float)
    >>> jumps = rng.normal(size=40)[x.astype(int)]
    >>> act_as_codes(x, jumps[:, None]), act_as_codes(x, x[:, None] + rng.normal(size=(2000, 1)))
    (True, False)
    """
    levels = pd.factorize(values)[0].astype(np.int32)
    ranks: Floats = np.asarray(pd.Series(values).rank(), dtype=np.float64)
    curves = [curve_errors(_standardise(each), target) for each in (values, ranks)]
    flat = level_errors(np.zeros_like(levels), target)
    by_level = level_errors(levels, target)
    gains = (min(flat, *curves, key=np.sum) - by_level) / flat.mean()
    gain, explained = gains.mean(), 1 - by_level.mean() / flat.mean()
    return bool(
        gain >= SMALLEST_GAIN
        and gain > STANDARD_ERRORS * gains.std() / np.sqrt(len(gains))
        and gain >= SMALLEST_SHARE * explained
    )


def columns_of_target(target: Floats, task: PredictionTask) -> Floats:
    """Return an encoded target as numbers to fit: one column, or one per class."""
    if task.kind != "multiclass":
        return np.asarray(target, dtype=np.float64)[:, None]
    return (np.asarray(target)[:, None] == np.arange(len(task.classes))).astype(np.float64)


def level_errors(levels: Codes, target: Floats) -> Floats:
    """Return squared errors of shrunken level means, each without its own row."""
    counts = np.bincount(levels).astype(np.float64)
    errors = np.zeros(len(target))
    for y in target.T:
        sums = np.bincount(levels, weights=y).astype(np.float64)
        prior = _rows_of_prior(counts, sums, y, levels)
        mean = (y.sum() - y) / (len(y) - 1)
        others = (sums[levels] - y + prior * mean) / (counts[levels] - 1 + prior)
        errors += (y - others) ** 2
    return errors


def _rows_of_prior(counts: Floats, sums: Floats, y: Floats, levels: Codes) -> float:
    """Return how many rows the common mean weighs: variance within over variance between levels."""
    rows, number = len(y), len(counts)
    between = float((sums**2 / counts).sum() - rows * y.mean() ** 2)
    within = float(((y - (sums / counts)[levels]) ** 2).sum()) / max(rows - number, 1)
    effects = (between - (number - 1) * within) / max(rows - (counts**2).sum() / rows, 1)
    return min(max(within / effects, 1e-9), 1e9) if effects > 0 else 1e9


def curve_errors(values: Floats, target: Floats) -> Floats:
    """Return squared errors of cubic curves, each without its own row."""
    # All in its place: large tables are all that takes memory here.
    powers = np.asfortranarray(np.vander(values, 4))
    basis, _ = linalg.qr(powers, mode="economic", overwrite_a=True)
    errors = target - basis @ (basis.T @ target)
    basis *= basis
    errors /= np.maximum(1 - basis.sum(axis=1), 1e-9)[:, None]
    errors *= errors
    return errors.sum(axis=1)


def _standardise(values: Floats) -> Floats:
    return (values - values.mean()) / values.std()
