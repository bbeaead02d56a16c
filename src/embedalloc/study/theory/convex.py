"""The convex problem behind Theorem 1: why dimensions above 1 change nothing in the linear model.

Only the effects ``t_j = U_j w_j`` reach the score. Among all factors with product t, the least
``λ_w ||w||² + λ_j ||U||_F²`` is ``2 √(λ_w λ_j) ||t||``: never less, because
``||t|| ≤ ||U||_F ||w||``, and attained by a table of rank one for every dimension d ≥ 1.

So the least value of the objective is the same for every choice of dimensions above zero. It is
that of a convex problem, the group lasso on the effects, and a stationary point is a global
minimum exactly when that problem's optimality conditions hold (`global_optimality_residual`).
"""

import numpy as np

from embedalloc.study.theory.linear import (
    Loss,
    Parameters,
    Penalties,
    Sample,
    effect_gradients,
    gradient,
)


def global_optimality_residual(
    p: Parameters, sample: Sample, penalties: Penalties, loss: Loss = "squared"
) -> float:
    """Return the distance from the optimality conditions of the convex problem.

    Zero at a global minimum and nowhere else. For each effect this is the length of one
    proximal step, which also tells at ``t_j = 0``, where a stationary point of Theorem 1's
    objective can be a mere saddle. Predictors of dimension zero are left out.
    """
    slopes = effect_gradients(p, sample, loss)
    full = gradient(p, sample, penalties, loss)
    parts = [full.numeric_weights, np.array([full.intercept])]
    for name, t in p.effects.items():
        if p.weights[name].size:
            moved = t - slopes[name]
            length = float(np.linalg.norm(moved))
            group = 2.0 * float(np.sqrt(penalties.weights * penalties.tables[name]))
            shrunk = moved * max(0.0, 1.0 - group / length) if length > 0 else moved
            parts.append(t - shrunk)
    return float(np.linalg.norm(np.concatenate(parts)))
