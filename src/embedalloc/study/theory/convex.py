"""The convex problem behind Theorem 1: why dimensions above 1 change nothing in the linear model.

Only the effects ``t_j = U_j w_j`` reach the score. Among all factors with product t, the least
``λ_w ||w||² + λ_j ||U||_F²`` is ``2 √(λ_w λ_j) ||t||``: never less, because
``||t|| ≤ ||U||_F ||w||``, and attained by a table of rank one for every dimension d ≥ 1.

So the least value of the objective is the same for every choice of dimensions above zero. It is
that of a convex problem, the group lasso on the effects, and a stationary point is a global
minimum exactly when that problem's optimality conditions hold (`global_optimality_residual`).
"""

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats
from embedalloc.study.theory.linear import (
    Loss,
    Parameters,
    Penalties,
    Sample,
    check_same_names,
    effect_gradients,
    finite_array,
    gradient,
    loss_values,
)


def cheapest_factors(
    effect: ArrayLike, dimension: int, weight_penalty: float, table_penalty: float
) -> tuple[Floats, Floats]:
    """Return the table and weights with product `effect` and the least joint ridge penalty.

    The penalty is ``2 √(weight_penalty · table_penalty) ||effect||`` for every dimension.
    """
    t = finite_array(effect, "effect", 1)
    Penalties(weight_penalty, {"effect": table_penalty})  # for its check
    if dimension < 1:
        raise ValueError(f"dimension is {dimension}; a non-zero effect needs at least 1")
    length = float(np.linalg.norm(t))
    weights, table = np.zeros(dimension), np.zeros((t.size, dimension))
    if length > 0:
        weights[0] = np.sqrt(length) * (table_penalty / weight_penalty) ** 0.25
        table[:, 0] = t / weights[0]
    return table, weights


def convex_objective(
    p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared"
) -> float:
    """Return Theorem 1's objective after the cheapest refactoring of every effect.

    That is the mean loss plus a group lasso: never above `linear.objective`, and equal
    to it at every stationary point.
    """
    check_same_names(penalties.tables, p.tables, "table penalties")
    group = _group_penalties(penalties)
    score = p.predict(sample.codes, sample.numeric)
    value = float(np.mean(loss_values(loss, sample.target, score)))
    value += penalties.weights * float(p.numeric_weights @ p.numeric_weights)
    return value + sum(group[k] * float(np.linalg.norm(t)) for k, t in p.effects.items())


def global_optimality_residual(
    p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared"
) -> float:
    """Return the distance from the optimality conditions of the convex problem.

    Zero at a global minimum and nowhere else. For each effect this is the length of one
    proximal step, which also tells at ``t_j = 0``, where a stationary point of Theorem 1's
    objective can be a mere saddle. Predictors of dimension zero are left out.
    """
    group, slopes = _group_penalties(penalties), effect_gradients(p, sample, loss)
    full = gradient(p, sample, penalties, loss)
    parts = [full.numeric_weights, np.array([full.intercept])]
    for name, t in p.effects.items():
        if p.weights[name].size:
            moved = t - slopes[name]
            length = float(np.linalg.norm(moved))
            shrunk = moved * max(0.0, 1.0 - group[name] / length) if length > 0 else moved
            parts.append(t - shrunk)
    return float(np.linalg.norm(np.concatenate(parts)))


def _group_penalties(penalties: Penalties) -> dict[str, float]:
    return {k: 2.0 * float(np.sqrt(penalties.weights * v)) for k, v in penalties.tables.items()}
