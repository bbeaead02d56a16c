"""The additive linear embedding model of Section 2, its penalised objective, and Proposition 1.

The model scores a row by ``w_z'z + Σ_j w_j'u_j(c_j) + b``, where ``u_j(c)`` is row c of the table
``U_j`` of predictor j. `alternating` minimises the objective; what the minimum can and
cannot be stands in `convex`.

Scores depend on a table only through its *effects* ``t_j = U_j w_j``, one number per category.
Trained jointly, dimensions above 1 therefore add no expressive power to this model: whatever a
table with d columns and its weights predict, a table with one column predicts too. Dimension
matters where the latent vectors are estimated on their own or the read-out is not linear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from embedalloc.arrays import Floats, Ints

Codes = Mapping[str, NDArray[np.integer[Any]]]
Loss = Literal["squared", "logistic"]


def finite_array(values: ArrayLike, what: str, axes: int) -> Floats:
    """Return a read-only float copy with that many axes, or say which entry is not finite."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != axes:
        raise ValueError(f"{what} must have {axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{what} holds {array[place]} at index {place}")
    array.setflags(write=False)
    return array


def _code_array(values: object, name: str) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"codes of {name!r} must be a vector of integers, "
            f"got {array.dtype} with shape {array.shape}"
        )
    return array.astype(np.int64)


def _check_range(codes: Ints, cardinality: int, name: str) -> None:
    if codes.size and (codes.min() < 0 or codes.max() >= cardinality):
        row = np.flatnonzero((codes < 0) | (codes >= cardinality))[0]
        raise ValueError(
            f"codes of {name!r}: value {codes[row]} at row {row} is outside 0..{cardinality - 1}"
        )


def check_same_names(given: Mapping[str, object], wanted: Mapping[str, object], what: str) -> None:
    """Refuse values by name that are not for exactly the predictors of the tables."""
    if set(given) != set(wanted):
        raise ValueError(f"{what} are for {sorted(given)}, but the tables are for {sorted(wanted)}")


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of the linear embedding model of Section 2, by predictor name.

    Attributes
    ----------
    tables
        ``U_j``, shape (N_j, d_j), one row per category. No column switches the predictor off.
    weights
        ``w_j``, the read-out weights of each table, shape (d_j,).
    numeric_weights
        ``w_z``, the read-out weights of the numeric covariates, shape (p,).
    intercept
        ``b``.
    """

    tables: Mapping[str, Floats]
    weights: Mapping[str, Floats]
    numeric_weights: Floats
    intercept: float

    def __post_init__(self) -> None:
        check_same_names(self.weights, self.tables, "weights")
        tables = {k: finite_array(v, f"table of {k!r}", 2) for k, v in self.tables.items()}
        weights = {k: finite_array(self.weights[k], f"weights of {k!r}", 1) for k in tables}
        for name, table in tables.items():
            if table.shape[0] < 1:
                raise ValueError(f"table of {name!r} has no category")
            if table.shape[1] != weights[name].size:
                raise ValueError(
                    f"table of {name!r} has {table.shape[1]} columns "
                    f"but {weights[name].size} weights"
                )
        numeric = finite_array(self.numeric_weights, "numeric weights", 1)
        object.__setattr__(self, "tables", MappingProxyType(tables))
        object.__setattr__(self, "weights", MappingProxyType(weights))
        object.__setattr__(self, "numeric_weights", numeric)
        object.__setattr__(self, "intercept", float(finite_array(self.intercept, "intercept", 0)))

    @property
    def effects(self) -> dict[str, Floats]:
        """Contribution ``t_j = U_j w_j`` of every category to the score."""
        return {name: table @ self.weights[name] for name, table in self.tables.items()}

    def predict(self, codes: Codes, numeric: NDArray[Any] | None = None) -> Floats:
        """Score rows given their category codes and numeric covariates."""
        return self.score_sample(Sample.of_inputs(codes, numeric))

    def score_sample(self, sample: Sample) -> Floats:
        """Return the score of every row."""
        check_same_names(sample.codes, self.tables, "codes")
        if sample.numeric.shape[1] != self.numeric_weights.size:
            raise ValueError(
                f"numeric covariates have {sample.numeric.shape[1]} columns, "
                f"the model has {self.numeric_weights.size}"
            )
        score = sample.numeric @ self.numeric_weights + self.intercept
        for name, effect in self.effects.items():
            _check_range(sample.codes[name], effect.size, name)
            score = score + effect[sample.codes[name]]
        return score

    def flatten(self) -> Floats:
        """All parameters as one vector: tables, their weights, numeric weights, intercept."""
        parts = [table.ravel() for table in self.tables.values()]
        parts += [self.weights[name] for name in self.tables]
        return np.concatenate([*parts, self.numeric_weights, [self.intercept]])

    def with_vector(self, vector: Floats) -> Parameters:
        """Parameters of the same shapes with the values of a `flatten` vector."""
        shapes = [table.shape for table in self.tables.values()]
        sizes = [a * b for a, b in shapes] + [b for _, b in shapes] + [self.numeric_weights.size, 1]
        if vector.shape != (sum(sizes),):
            raise ValueError(f"vector has shape {vector.shape}, expected ({sum(sizes)},)")
        parts = np.split(vector, np.cumsum(sizes)[:-1])
        m = len(shapes)
        tables = {k: parts[i].reshape(shapes[i]) for i, k in enumerate(self.tables)}
        weights = {k: parts[m + i] for i, k in enumerate(self.tables)}
        return Parameters(tables, weights, parts[-2], float(parts[-1][0]))


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of training data: codes by predictor name, numeric covariates (n, p), target (n,)."""

    codes: Mapping[str, Ints]
    numeric: Floats
    target: Floats

    def __post_init__(self) -> None:
        codes = {name: _code_array(values, name) for name, values in self.codes.items()}
        target = finite_array(self.target, "target", 1)
        numeric = finite_array(self.numeric, "numeric covariates", 2)
        if target.size == 0:
            raise ValueError("the sample has no rows")
        for what, size in [
            ("numeric covariates", numeric.shape[0]),
            *((f"codes of {name!r}", values.size) for name, values in codes.items()),
        ]:
            if size != target.size:
                raise ValueError(f"{what} have {size} rows, expected {target.size}")
        object.__setattr__(self, "codes", MappingProxyType(codes))
        object.__setattr__(self, "numeric", numeric)
        object.__setattr__(self, "target", target)

    @classmethod
    def of_inputs(cls, codes: Codes, numeric: NDArray[Any] | None = None) -> Sample:
        """Wrap inputs alone; the target is filled with zeros."""
        if numeric is None and not codes:
            raise ValueError("neither codes nor numeric covariates were given")
        rows = len(numeric) if numeric is not None else np.asarray(next(iter(codes.values()))).size
        table = np.zeros((rows, 0)) if numeric is None else numeric
        return cls({k: _code_array(v, k) for k, v in codes.items()}, table, np.zeros(rows))


@dataclass(frozen=True)
class Penalties:
    """Ridge penalties of Theorem 1: λ_w on all read-out weights, λ_j on each table.

    Zero is refused: without both penalties the blocks need not have a minimiser, and the scale of
    ``U_j`` against ``w_j`` can drift for ever.
    """

    weights: float
    tables: Mapping[str, float]

    def __post_init__(self) -> None:
        named = {"lambda_w": self.weights} | {f"lambda of {k!r}": v for k, v in self.tables.items()}
        for what, value in named.items():
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{what} is {value}; Theorem 1 needs a finite positive penalty")


def loss_values(loss: Loss, target: Floats, score: Floats) -> Floats:
    """Squared error, or the negative Bernoulli log-likelihood of the logit ``score``."""
    check_target(loss, target)
    if loss == "squared":
        return (target - score) ** 2
    return np.logaddexp(0.0, score) - target * score


def loss_slopes(loss: Loss, target: Floats, score: Floats) -> Floats:
    """First derivative of the loss in the score."""
    check_target(loss, target)
    return 2.0 * (score - target) if loss == "squared" else special.expit(score) - target


def loss_curvatures(loss: Loss, score: Floats) -> Floats:
    """Second derivative of the loss in the score (it does not depend on the target)."""
    if loss == "squared":
        return np.full(score.shape, 2.0)
    probability = special.expit(score)
    return probability * (1.0 - probability)


def check_target(loss: Loss, target: Floats) -> None:
    """Refuse an unknown loss, and logistic targets other than zero and one."""
    if loss not in ("squared", "logistic"):
        raise ValueError(f"unknown loss {loss!r}; use 'squared' or 'logistic'")
    bad = np.flatnonzero((target != 0) & (target != 1)) if loss == "logistic" else np.empty(0, int)
    if bad.size:
        raise ValueError(f"logistic target is {target[bad[0]]} at row {bad[0]}, expected 0 or 1")


def objective(p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared") -> float:
    """Return Theorem 1's objective: mean loss plus ridge penalties, the intercept left free."""
    check_target(loss, sample.target)
    check_same_names(penalties.tables, p.tables, "table penalties")
    weight_norm = float(p.numeric_weights @ p.numeric_weights)
    weight_norm += sum(float(w @ w) for w in p.weights.values())
    tables = sum(penalties.tables[k] * float(np.sum(u * u)) for k, u in p.tables.items())
    data = float(np.mean(loss_values(loss, sample.target, p.score_sample(sample))))
    return data + penalties.weights * weight_norm + tables


def effect_gradients(p: Parameters, sample: Sample, loss: Loss) -> dict[str, Floats]:
    """Return the gradient of the mean loss in each ``t_j``; zero for a category without rows."""
    return _sums_by_category(p, sample, _row_slopes(p, sample, loss))


def _row_slopes(p: Parameters, sample: Sample, loss: Loss) -> Floats:
    return loss_slopes(loss, sample.target, p.score_sample(sample)) / sample.target.size


def _sums_by_category(p: Parameters, sample: Sample, slopes: Floats) -> dict[str, Floats]:
    return {
        name: np.asarray(
            np.bincount(sample.codes[name], weights=slopes, minlength=table.shape[0]), np.float64
        )
        for name, table in p.tables.items()
    }


def gradient(
    p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared"
) -> Parameters:
    """Return the gradient of Theorem 1's `objective`, in the shapes of the parameters."""
    check_target(loss, sample.target)
    check_same_names(penalties.tables, p.tables, "table penalties")
    slopes = _row_slopes(p, sample, loss)
    effect = _sums_by_category(p, sample, slopes)
    ridge = 2.0 * penalties.weights
    tables = {
        k: np.outer(effect[k], p.weights[k]) + 2.0 * penalties.tables[k] * u
        for k, u in p.tables.items()
    }
    weights = {k: u.T @ effect[k] + ridge * p.weights[k] for k, u in p.tables.items()}
    numeric = sample.numeric.T @ slopes + ridge * p.numeric_weights
    return Parameters(tables, weights, numeric, float(slopes.sum()))


def transform(p: Parameters, maps: Mapping[str, NDArray[Any]]) -> Parameters:
    """Change the coordinates of tables by invertible maps, ``U A`` and ``A⁻¹ w`` (Proposition 1).

    This is its wider form: scores stay the same for any invertible A, but norms and singular
    values of the tables in general do not. Predictors without a map are left alone.
    """
    tables, weights = dict(p.tables), dict(p.weights)
    for name, values in maps.items():
        if name not in tables:
            raise ValueError(f"map for unknown predictor {name!r}")
        matrix = finite_array(values, f"map of {name!r}", 2)
        size = weights[name].size
        if matrix.shape != (size, size):
            raise ValueError(f"map of {name!r} has shape {matrix.shape}, expected {(size, size)}")
        condition = float(np.linalg.cond(matrix)) if size else 1.0
        if not condition < 1e12:
            raise ValueError(f"map of {name!r} is singular (condition number {condition:.3g})")
        weights[name] = np.asarray(np.linalg.solve(matrix, weights[name]), np.float64)
        tables[name] = tables[name] @ matrix
    return replace(p, tables=tables, weights=weights)


def rotate(p: Parameters, rotations: Mapping[str, NDArray[Any]]) -> Parameters:
    """Rotate or reflect tables and turn their weights with them (Proposition 1).

    Scores, Frobenius norms, singular values and therefore the whole objective stay the same. A
    matrix that is not orthogonal is refused; `transform` takes those.
    """
    for name, matrix in rotations.items():
        q = finite_array(matrix, f"rotation of {name!r}", 2)
        error = float(np.abs(q.T @ q - np.eye(q.shape[1])).max(initial=0.0))
        if q.shape[0] != q.shape[1] or error > 1e-8:
            raise ValueError(
                f"rotation of {name!r} is not orthogonal (largest error {error:.3g}); see transform"
            )
    return transform(p, rotations)
