"""Facts of Section 2 that the tests hold the study to: best tables, complexities, group lasso."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.study.theory.linear import (
    Codes,
    Loss,
    Parameters,
    Penalties,
    Sample,
    loss_values,
)
from embedalloc.study.theory.proposition2 import approximation_errors


@dataclass(frozen=True, eq=False)
class ApproximationError:
    """Three values of `approximation_errors` at one d, and a table that attains the first."""

    exact: float
    weighted_bound: float
    bound: float
    minimiser: Floats


def approximation_error(table: Floats, probabilities: Floats, dimension: int) -> ApproximationError:
    """Return the errors of Proposition 2 at one dimension, with a table that attains the exact one.

    With P the projector on the leading right singular vectors of ``diag(√π) U``, the minimiser
    is U P. Nothing is divided by √π, so a category of probability zero, whose row is free,
    gets the natural value and does not raise the rank. Beyond full rank nothing is left to gain.
    """
    errors = approximation_errors(table, probabilities)
    d = min(dimension, *table.shape)
    weighted = np.sqrt(probabilities)[:, None] * table
    right = np.linalg.svd(weighted, full_matrices=False)[2][:d]
    return ApproximationError(
        exact=float(errors["exact"][d]),
        weighted_bound=float(errors["weighted_bound"][d]),
        bound=float(errors["bound"][d]),
        minimiser=(table @ right.T) @ right,
    )


@dataclass(frozen=True)
class NormBounds:
    """The norm constraints of Theorem 2: on w, on each table, on b and on the covariates."""

    weights: float
    tables: Mapping[str, float]
    intercept: float = 0.0
    numeric: float = 0.0


def rademacher_bound(bounds: NormBounds, n: int) -> float:
    """Return a bound on the complexity in Theorem 2's proof that contains neither N nor d.

    For signs s, let ``g_j`` hold the sums of ``2 s_i / n`` over the rows of each category. The
    best table for ``g_j`` is ``B_j`` times a matrix of rank one, so the supremum over the class is
    ``B_w √(Σ B_j² ||g_j||² + ||g_z||²) + B_b |g_b|`` for every d ≥ 1, and the mean of ``||g_j||²``
    is 4/n however many categories there are. Cardinality enters only through the norms: effects
    of a fixed size need ``B_w B_j`` of order √N_j, which gives back ``√(Σ N_j / n)``.
    """
    if n < 1:
        raise ValueError(f"n is {n}, expected 1 or more")
    tables = sum(b**2 for b in bounds.tables.values())
    root = float(np.sqrt(tables + bounds.numeric**2))
    return 2.0 * (bounds.weights * root + bounds.intercept) / float(np.sqrt(n))


def rademacher_complexity(
    codes: Codes,
    bounds: NormBounds,
    *,
    numeric: NDArray[np.float64] | None = None,
    draws: int = 200,
    rng: np.random.Generator,
) -> float:
    """Return the empirical Rademacher complexity of Theorem 2's class, with the proof's factor 2.

    The supremum is exact, the mean is over random signs. The dimension is not an argument because
    the supremum does not depend on it.
    """
    n = next(iter(codes.values())).size
    z = np.zeros((n, 0)) if numeric is None else numeric
    total = 0.0
    for _ in range(draws):
        signs = 2.0 / n * rng.choice([-1.0, 1.0], size=n)
        square = float(np.sum((z.T @ signs) ** 2))
        for name, values in codes.items():
            square += bounds.tables[name] ** 2 * float(np.sum(np.bincount(values, signs) ** 2))
        total += bounds.weights * float(np.sqrt(square)) + bounds.intercept * abs(signs.sum())
    return total / draws


def cheapest_factors(
    effect: Floats, dimension: int, weight_penalty: float, table_penalty: float
) -> tuple[Floats, Floats]:
    """Return the table and weights with product `effect` and the least joint ridge penalty.

    The penalty is ``2 √(weight_penalty · table_penalty) ||effect||`` for every dimension.
    """
    if dimension < 1:
        raise ValueError(f"dimension is {dimension}; a non-zero effect needs at least 1")
    length = float(np.linalg.norm(effect))
    weights, table = np.zeros(dimension), np.zeros((effect.size, dimension))
    if length > 0:
        weights[0] = np.sqrt(length) * (table_penalty / weight_penalty) ** 0.25
        table[:, 0] = effect / weights[0]
    return table, weights


def convex_objective(
    p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared"
) -> float:
    """Return Theorem 1's objective after the cheapest refactoring of every effect.

    That is the mean loss plus a group lasso: never above `linear.objective`, and equal
    to it at every stationary point.
    """
    group = {k: 2.0 * float(np.sqrt(penalties.weights * v)) for k, v in penalties.tables.items()}
    score = p.predict(sample.codes, sample.numeric)
    value = float(np.mean(loss_values(loss, sample.target, score)))
    value += penalties.weights * float(p.numeric_weights @ p.numeric_weights)
    return value + sum(group[k] * float(np.linalg.norm(t)) for k, t in p.effects.items())
