"""Theorem 2 measured: the generalisation gap of the linear embedding model.

The theorem bounds the gap by a multiple of ``√(Σ N_j d_j / n)`` for tables and weights of bounded
norm. The bound holds, but its growth with d is not in the model: scores depend on the effects
``U_j w_j`` alone, so the class of functions under the theorem's norm constraints is the same for
every d ≥ 1, and so is its complexity (`rademacher_bound` contains neither N nor d). The gap of
fitted models is close to `expected_gap`: it grows like the number of categories over n, to the
power one, and not at all with d.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embedalloc.arrays import Floats
from embedalloc.study.settings.theory import MAX_COMBINATIONS
from embedalloc.study.theory.alternating import fit_alternating, initial_parameters
from embedalloc.study.theory.linear import Codes, Parameters, Penalties, Sample

#: ``squared`` is what is fitted; ``bounded``, 1 − exp(−(y − f)²/2), is what Theorem 2 asks for.
GapLoss = Literal["squared", "bounded"]


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
    inputs = Sample.of_inputs(codes, numeric)
    n = inputs.target.size
    total = 0.0
    for _ in range(draws):
        signs = 2.0 / n * rng.choice([-1.0, 1.0], size=n)
        square = float(np.sum((inputs.numeric.T @ signs) ** 2))
        for name, values in inputs.codes.items():
            square += bounds.tables[name] ** 2 * float(np.sum(np.bincount(values, signs) ** 2))
        total += bounds.weights * float(np.sqrt(square)) + bounds.intercept * abs(signs.sum())
    return total / draws


@dataclass(frozen=True, eq=False)
class GapProblem:
    """A training sample together with the truth behind it.

    Attributes
    ----------
    truth
        The additive model that generated the sample, one column per table.
    sample
        Rows with independent, equally likely categories.
    noise
        Standard deviation of the target around the truth.
    """

    truth: Parameters
    sample: Sample
    noise: float


def draw_gap_problem(
    cardinality: int,
    observations: int,
    *,
    predictors: int = 2,
    noise: float = 1.0,
    rng: np.random.Generator,
) -> GapProblem:
    """Draw predictors with standard normal effects and one sample, for Theorem 2 to be measured."""
    if predictors < 1 or cardinality**predictors > MAX_COMBINATIONS:
        raise ValueError(
            f"{predictors} predictors with {cardinality} categories: there must be one at least "
            f"and {MAX_COMBINATIONS:,} combinations of categories at most"
        )
    names = [f"x{j}" for j in range(1, predictors + 1)]
    tables = {k: rng.standard_normal((cardinality, 1)) for k in names}
    truth = Parameters(tables, dict.fromkeys(names, np.ones(1)), np.zeros(0), 0.0)
    codes = {k: rng.integers(0, cardinality, observations) for k in names}
    target = truth.predict(codes) + noise * rng.standard_normal(observations)
    return GapProblem(truth, Sample(codes, np.zeros((observations, 0)), target), noise)


def measure_gap(
    problem: GapProblem,
    dimension: int,
    *,
    penalty: float = 1e-3,
    tolerance: float = 1e-5,
    rng: np.random.Generator,
) -> dict[GapLoss, float]:
    """Fit the model with this many columns and return test risk minus training risk (Theorem 2).

    The test risk is exact. The same difference for the true function is subtracted: it has mean
    zero and most of the variance, of the kind that the last term of Theorem 2's bound is for.
    """
    if dimension < 1:
        raise ValueError(f"dimension is {dimension}, expected 1 or more")
    sizes = {k: len(table) for k, table in problem.truth.tables.items()}
    fit = fit_alternating(
        initial_parameters(sizes, dict.fromkeys(sizes, dimension), rng=rng),
        problem.sample,
        Penalties(penalty, dict.fromkeys(sizes, penalty)),
        tolerance=tolerance,
        accelerated=True,
    )
    if not fit.converged:
        raise RuntimeError(f"no convergence for cardinalities {sizes}, dimension {dimension}")
    return gap_of(fit.parameters, problem)


def gap_of(p: Parameters, problem: GapProblem) -> dict[GapLoss, float]:
    """Return the gap of one model, less that of the truth, for both losses."""
    truth, sample = problem.truth, problem.sample
    shift = [p.effects[k] - truth.effects[k] for k in truth.tables]
    errors = reduce(np.add.outer, shift) + p.intercept - truth.intercept
    true_residuals = sample.target - truth.predict(sample.codes)
    residuals = sample.target - p.predict(sample.codes)
    squared = np.mean(errors**2) - np.mean(residuals**2 - true_residuals**2)
    # E exp(-(e + noise g)² / 2) over a standard normal g, in closed form.
    spread = 1.0 + problem.noise**2
    test = np.mean(1.0 - np.exp(-(errors**2) / (2.0 * spread))) / np.sqrt(spread)
    train = np.mean(np.exp(-(true_residuals**2) / 2.0) - np.exp(-(residuals**2) / 2.0))
    return {"squared": float(squared), "bounded": float(test - train)}


def expected_gap(
    categories: ArrayLike, predictors: int, n: ArrayLike, noise: float, loss: GapLoss
) -> Floats:
    """Return the first-order gap of least squares: E[ε ℓ'(ε)] times free effects over n.

    There are Σ N_j − m + 1 free effects, whatever the dimensions. The factor is 2σ² for the
    squared loss and σ²/(1 + σ²)^(3/2) for the bounded one. For fixed categories it is what the
    gap of Theorem 2 tends to as n grows; the penalty must be small.
    """
    factor = 2.0 * noise**2 if loss == "squared" else noise**2 / (1.0 + noise**2) ** 1.5
    free = np.asarray(categories, dtype=np.float64) - predictors + 1.0
    return factor * free / np.asarray(n, dtype=np.float64)


@dataclass(frozen=True)
class GapFit:
    """How measured gaps scale beside the form of Theorem 2.

    Attributes
    ----------
    constant
        Least-squares C in gap = C √(Σ N_j d_j / n), the theorem's form.
    envelope
        Smallest C with which that form lies above every measured gap.
    looseness
        By what factor that envelope exceeds the gap where it is worst; 1 for the right shape.
    relative_error
        Root mean squared residual of the least-squares form over root mean squared gap.
    categories_exponent, dimension_exponent, size_exponent
        Free exponents of Σ N_j, d and n on the log scale; the bound has 1/2, 1/2 and −1/2.
    """

    constant: float
    envelope: float
    looseness: float
    relative_error: float
    categories_exponent: float
    dimension_exponent: float
    size_exponent: float


def fit_gap_scaling(
    gaps: ArrayLike, categories: ArrayLike, dimensions: ArrayLike, observations: ArrayLike
) -> GapFit:
    """Fit the form of Theorem 2's bound, and free exponents, to gaps measured on a grid.

    Parameters
    ----------
    gaps
        Mean gaps, all positive.
    categories, dimensions, observations
        Σ N_j, the common d and n of each gap.
    """
    gap = np.asarray(gaps, dtype=np.float64)
    k, d, n = (np.asarray(v, dtype=np.float64) for v in (categories, dimensions, observations))
    if gap.size < 4 or gap.min() <= 0:
        raise ValueError(f"need 4 positive gaps at least; got {gap.size}, smallest {gap.min()}")
    root = np.sqrt(k * d / n)
    constant = float(gap @ root / (root @ root))
    ratio = gap / root
    design = np.column_stack([np.ones(gap.size), np.log(k), np.log(d), np.log(n)])
    solution, _, rank, _ = np.linalg.lstsq(design, np.log(gap), rcond=None)
    if rank < 4:
        raise ValueError("categories, dimensions and observations must each take several values")
    return GapFit(
        constant,
        float(ratio.max()),
        float(ratio.max() / ratio.min()),
        float(np.linalg.norm(gap - constant * root) / np.linalg.norm(gap)),
        *(float(v) for v in solution[1:]),
    )
