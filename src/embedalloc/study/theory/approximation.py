"""Proposition 2: what a table of rank d loses, exactly and by the paper's bound.

The error weighs every category by its probability, ``||diag(√π) (U − V)||_F``. That is an
unweighted problem for ``diag(√π) U``, which the Eckart-Young theorem solves without loss: the
exact value is the singular-value tail of that matrix. The paper's bound is the tail of U itself;
it leaves the probabilities out and with equal ones is too large by the factor √N.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats
from embedalloc.spectra import singular_values, spectral_tails
from embedalloc.study.theory.linear import finite_array


@dataclass(frozen=True, eq=False)
class ApproximationErrors:
    """Weighted errors of the best table of rank d, for d = 0 … min(N, r).

    Attributes
    ----------
    exact
        The error that Proposition 2 bounds: the singular-value tail of ``diag(√π) U``.
    weighted_bound
        √(max π) times the tail of U; equal to the exact value if all π are equal.
    bound
        The paper's bound, equation (1): the tail of U.
    """

    exact: Floats
    weighted_bound: Floats
    bound: Floats


def approximation_errors(table: ArrayLike, probabilities: ArrayLike) -> ApproximationErrors:
    """Return the exact error of Proposition 2 and the bounds on it, for all dimensions at once.

    Parameters
    ----------
    table
        U, shape (categories, columns).
    probabilities
        π, one per category; zeros are allowed.

    Examples
    --------
    >>> errors = approximation_errors([[3.0, 0.0], [0.0, 4.0]], [0.5, 0.5])
    >>> errors.bound
    array([5., 3., 0.])
    >>> errors.exact.round(3)
    array([3.536, 2.121, 0.   ])
    """
    u, pi = _checked(table, probabilities)
    tail = spectral_tails(singular_values(u))
    exact = spectral_tails(singular_values(np.sqrt(pi)[:, None] * u))
    return ApproximationErrors(exact, np.sqrt(pi.max()) * tail, tail)


def _checked(table: ArrayLike, probabilities: ArrayLike) -> tuple[Floats, Floats]:
    u = finite_array(table, "table", 2)
    pi = finite_array(probabilities, "probabilities", 1)
    if u.shape[0] != pi.size or pi.size == 0:
        raise ValueError(f"table has {u.shape[0]} rows and there are {pi.size} probabilities")
    if pi.min() < 0:
        raise ValueError(f"probability {pi.min()} of category {int(pi.argmin())} is negative")
    if abs(pi.sum() - 1.0) > 1e-8:
        raise ValueError(f"probabilities sum to {pi.sum()}, not 1")
    return u, pi
