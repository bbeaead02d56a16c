"""Singular values of an embedding table and the one-number summary a of their decay.

Section 2.5 of the paper estimates the approximation error of dimension d by the tail of the
singular values beyond d and summarises the whole profile as a/d.
"""

from collections.abc import Iterable
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats
from embedalloc.checks import LARGEST_WEIGHT

FitMethod = Literal["least_squares", "log", "mean"]

#: The smallest coefficient that Algorithm 1 lets through (its positivity constant eta).
COEFFICIENT_FLOOR = 1e-8


def singular_values(table: ArrayLike) -> Floats:
    """Return the singular values of a table, or of each table in a stack, largest first.

    Parameters
    ----------
    table
        Shape (..., categories, columns).

    Examples
    --------
    >>> singular_values([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
    array([4., 3.])
    """
    matrix = np.asarray(table, dtype=np.float64)
    if matrix.ndim < 2 or 0 in matrix.shape[-2:]:
        raise ValueError(f"a table needs at least one row and one column, got shape {matrix.shape}")
    if not np.isfinite(matrix).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise ValueError(
            f"the table holds {matrix[place]} at position {place}; remove or impute it"
        )
    return np.asarray(np.linalg.svd(matrix, compute_uv=False), dtype=np.float64)


def singular_values_by_rows(blocks: Iterable[ArrayLike]) -> Floats:
    """Return the singular values of a table that comes in blocks of rows, largest first.

    Only one block and the Gram matrix U'U, columns × columns, are held at a time, so the table
    may be larger than memory. Squaring costs accuracy: a value s is known to about
    1e-16 s_max²/s, and those below 1e-8 s_max are noise.

    Parameters
    ----------
    blocks
        Arrays of shape (rows, columns), all with the same columns.

    Examples
    --------
    >>> singular_values_by_rows([[[3.0, 0.0]], [[0.0, 4.0], [0.0, 0.0]]])
    array([4., 3.])
    """
    gram, rows = np.zeros((0, 0)), 0
    for block in blocks:
        matrix = np.asarray(block, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] == 0:
            raise ValueError(f"a block needs rows and columns, got shape {matrix.shape}")
        if not rows:
            gram = np.zeros((matrix.shape[1], matrix.shape[1]))
        if matrix.shape[1] != len(gram):
            raise ValueError(
                f"the block at row {rows} has {matrix.shape[1]} columns, those before {len(gram)}"
            )
        if not np.isfinite(matrix).all():
            row, column = (int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
            raise ValueError(
                f"the table holds {matrix[row, column]} in row {rows + row}, column {column}"
            )
        if (np.abs(matrix) > LARGEST_WEIGHT).any():
            raise ValueError(f"the table holds {np.abs(matrix).max()}, above {LARGEST_WEIGHT}")
        gram += matrix.T @ matrix
        rows += len(matrix)
    if not rows:
        raise ValueError("a table needs at least one row")
    squares = np.linalg.eigvalsh(gram)[::-1][: min(rows, len(gram))]
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)


def spectral_tails(spectrum: ArrayLike) -> Floats:
    """Return the Frobenius tails for every dimension at once, equation (1).

    Entry d of the result is the square root of the sum of the squared singular values beyond
    the d-th, for d = 0 (the norm of the table) to r (zero).

    Parameters
    ----------
    spectrum
        Singular values, largest first, shape (..., r).

    Examples
    --------
    >>> spectral_tails([4.0, 3.0])
    array([5., 3., 0.])
    """
    values = np.asarray(spectrum, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise ValueError("a spectrum needs at least one singular value")
    if not (values >= 0).all() or (np.diff(values, axis=-1) > 0).any():
        raise ValueError("singular values are not negative and come largest first")
    # Summed from the smallest value upwards, so that small tails keep their relative accuracy.
    squares = np.cumsum(values[..., ::-1] ** 2, axis=-1)[..., ::-1]
    return np.sqrt(np.concatenate([squares, np.zeros_like(squares[..., :1])], axis=-1))


def fit_coefficient(
    tails: ArrayLike,
    *,
    method: FitMethod = "least_squares",
    floor: float = COEFFICIENT_FLOOR,
) -> Floats:
    """Fit tail(d) = a / d over d = 1 … r − 1 and return a, never below the floor (Algorithm 1, 2).

    The end points say nothing about a: the model is infinite at d = 0 and every tail is zero at
    d = r. A table of rank one has no point left and gets the floor.

    Parameters
    ----------
    tails
        As returned by `spectral_tails`, shape (..., r + 1).
    method
        ``least_squares`` minimises the squared error in tail(d); ``log`` the squared error in
        log tail(d), over positive tails; ``mean`` averages d · tail(d).
    floor
        The positivity constant eta.
    """
    # NOTE[PAPER] fit-of-a: the paper fits a/d without naming the criterion.
    if method not in get_args(FitMethod):
        raise ValueError(f"unknown fit {method!r}; choose from {', '.join(get_args(FitMethod))}")
    if not floor > 0:
        raise ValueError(f"the floor must be positive, got {floor}")
    profile = _interior(tails)
    dimensions = np.arange(1, profile.shape[-1] + 1, dtype=np.float64)
    if profile.shape[-1] == 0:
        return np.full(profile.shape[:-1], floor)
    if method == "least_squares":
        fitted = (profile / dimensions).sum(axis=-1) / (1.0 / dimensions**2).sum()
    elif method == "mean":
        fitted = (profile * dimensions).mean(axis=-1)
    else:
        positive = profile > 0
        logs = np.log(np.where(positive, profile * dimensions, 1.0)).sum(axis=-1)
        count = positive.sum(axis=-1)
        fitted = np.where(count > 0, np.exp(logs / np.maximum(count, 1)), 0.0)
    return np.maximum(fitted, floor)


def goodness_of_fit(tails: ArrayLike, coefficient: ArrayLike) -> Floats:
    """Return R² of a/d as a description of tail(d) over d = 1 … r − 1.

    One minus the residual sum of squares over that around the mean: 1 is a perfect fit, and the
    value is negative where a constant would describe the tails better. Fewer than two points, or
    constant tails, give nan.
    """
    profile = _interior(tails)
    dimensions = np.arange(1, profile.shape[-1] + 1, dtype=np.float64)
    model = np.asarray(coefficient, dtype=np.float64)[..., None] / dimensions
    residual = ((profile - model) ** 2).sum(axis=-1)
    if profile.shape[-1] == 0:
        return np.full(residual.shape, np.nan)
    spread = ((profile - profile.mean(axis=-1, keepdims=True)) ** 2).sum(axis=-1)
    return np.where(spread > 0, 1.0 - residual / np.where(spread > 0, spread, 1.0), np.nan)


def _interior(tails: ArrayLike) -> Floats:
    """Return the tails at d = 1 … r − 1, after a check that they are tails."""
    values = np.asarray(tails, dtype=np.float64)
    if values.ndim == 0 or values.shape[-1] < 2:
        raise ValueError("tails run from d = 0 to d = r and so have at least two entries")
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("tails must be finite and not negative")
    return values[..., 1:-1]
