"""The additive linear embedding model of Section 2, its penalised objective, and Proposition 1.

The model scores a row by ``w_z'z + Σ_j w_j'u_j(c_j) + b``, where ``u_j(c)`` is row c of the table
``U_j`` of predictor j. `alternating` minimises the objective; what the minimum can and
cannot be stands in `convex`.

Scores depend on a table only through its *effects* ``t_j = U_j w_j``, one number per category.
Trained jointly, dimensions above 1 therefore add no expressive power to this model: whatever a
table with d columns and its weights predict, a table with one column predicts too. Dimension
matters where the latent vectors are estimated on their own or the read-out is not linear.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import special

from embedalloc.arrays import Floats, Ints

Codes = Mapping[str, Ints]
Loss = Literal["squared", "logistic"]


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of the linear embedding model of Section 2, by predictor name.

    Attributes
    ----------
    tables
        ``U_j``, shape (N_j, d_j), one row per category. No column switches the predictor off.
    weights
        ``w_j``, the read-out weights of each table, shape (d_j,), in the order of the tables.
    numeric_weights
        ``w_z``, the read-out weights of the numeric covariates, shape (p,).
    intercept
        ``b``.
    """

    tables: Mapping[str, Floats]
    weights: Mapping[str, Floats]
    numeric_weights: Floats
    intercept: float

    @property
    def effects(self) -> dict[str, Floats]:
        """Contribution ``t_j = U_j w_j`` of every category to the score."""
        return {name: table @ self.weights[name] for name, table in self.tables.items()}

    def predict(self, codes: Codes, numeric: Floats | None = None) -> Floats:
        """Score rows given their category codes and numeric covariates."""
        score = self.intercept + (0.0 if numeric is None else numeric @ self.numeric_weights)
        for name, effect in self.effects.items():
            score = score + effect[codes[name]]
        return np.asarray(score)

    def flatten(self) -> Floats:
        """All parameters as one vector: tables, their weights, numeric weights, intercept."""
        parts = [table.ravel() for table in self.tables.values()]
        parts += [self.weights[name] for name in self.tables]
        return np.concatenate([*parts, self.numeric_weights, [self.intercept]])


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of training data: codes by predictor name, numeric covariates (n, p), target (n,)."""

    codes: Codes
    numeric: Floats
    target: Floats


@dataclass(frozen=True)
class Penalties:
    """Ridge penalties of Theorem 1: λ_w on all read-out weights, λ_j on each table.

    All are positive: without both penalties the blocks need not have a minimiser, and the scale of
    ``U_j`` against ``w_j`` can drift for ever.
    """

    weights: float
    tables: Mapping[str, float]


def loss_values(loss: Loss, target: Floats, score: Floats) -> Floats:
    """Squared error, or the negative Bernoulli log-likelihood of the logit ``score``."""
    if loss == "squared":
        return (target - score) ** 2
    return np.logaddexp(0.0, score) - target * score


def loss_slopes(loss: Loss, target: Floats, score: Floats) -> Floats:
    """First derivative of the loss in the score."""
    return 2.0 * (score - target) if loss == "squared" else special.expit(score) - target


def loss_curvatures(loss: Loss, score: Floats) -> Floats:
    """Second derivative of the loss in the score (it does not depend on the target)."""
    if loss == "squared":
        return np.full(score.shape, 2.0)
    probability = special.expit(score)
    return probability * (1.0 - probability)


def objective(p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared") -> float:
    """Return Theorem 1's objective: mean loss plus ridge penalties, the intercept left free."""
    weight_norm = float(p.numeric_weights @ p.numeric_weights)
    weight_norm += sum(float(w @ w) for w in p.weights.values())
    tables = sum(penalties.tables[k] * float(np.sum(u * u)) for k, u in p.tables.items())
    score = p.predict(sample.codes, sample.numeric)
    data = float(np.mean(loss_values(loss, sample.target, score)))
    return data + penalties.weights * weight_norm + tables


def effect_gradients(p: Parameters, sample: Sample, loss: Loss) -> dict[str, Floats]:
    """Return the gradient of the mean loss in each ``t_j``; zero for a category without rows."""
    return _sums_by_category(p, sample, _row_slopes(p, sample, loss))


def _row_slopes(p: Parameters, sample: Sample, loss: Loss) -> Floats:
    score = p.predict(sample.codes, sample.numeric)
    return loss_slopes(loss, sample.target, score) / sample.target.size


def _sums_by_category(p: Parameters, sample: Sample, slopes: Floats) -> dict[str, Floats]:
    return {
        name: np.bincount(sample.codes[name], slopes, len(table)).astype(np.float64, copy=False)
        for name, table in p.tables.items()
    }


def gradient(
    p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared"
) -> Parameters:
    """Return the gradient of Theorem 1's `objective`, in the shapes of the parameters."""
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


def transform(p: Parameters, maps: Mapping[str, Floats]) -> Parameters:
    """Change the coordinates of all tables by invertible maps, ``U A`` and ``A⁻¹ w``.

    Scores stay the same. For rotations and reflections (Proposition 1) so do Frobenius norms,
    singular values and therefore the whole objective; for other maps in general they do not.
    """
    weights = {k: np.asarray(np.linalg.solve(maps[k], w)) for k, w in p.weights.items()}
    tables = {k: table @ maps[k] for k, table in p.tables.items()}
    return replace(p, tables=tables, weights=weights)
