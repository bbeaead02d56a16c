"""The response-aware rule: dimensions by an unbiased estimate of the prediction error.

The paper's rule looks at the fields' latent matrices alone and weighs every singular direction
by its size. This one also looks at the response y and asks what each further direction does for the
prediction. It assumes more and uses more:

- y is at hand when the dimensions are chosen (the paper's rule does without it);
- y is predicted by least squares with an intercept from the features of all fields;
- the features do not depend on the noise in y, for example because they were estimated from other
  data; then Mallows' Cp estimates the prediction error without bias;
- features of different fields are uncorrelated in the sample, or nearly so. Then the errors of
  the fields add up and each has a curve of its own; with correlated fields the sum of the
  curves is an approximation.

For field j let r_j be the partial residuals of y (what the other fields do not explain),
q_1, q_2, … its centred features made orthonormal in their order, and s² the residual variance with
all features. The curve is g_j(d) = −Σ_{k≤d} (q_k'r_j)² + 2 s² d, the change of Cp from d = 0 on.
`embedalloc.optimum.optimal_dimensions` minimises the sum of the curves. They may rise again, so
budget can be left over, and with a minimum of 0 a field whose first dimension does not pay goes
without one.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats


def response_aware_curves(features: Sequence[ArrayLike], response: ArrayLike) -> list[Floats]:
    """Return each field's estimated prediction error over its dimension, from d = 0 on.

    Parameters
    ----------
    features
        Per field one row per observation and one column per direction, the most important
        first (for a latent matrix: its scores in the order of the singular values).
    response
        y, one number per observation.

    Examples
    --------
    >>> x = [[[1.0], [1.0], [-1.0], [-1.0]], [[1.0], [-1.0], [1.0], [-1.0]]]
    >>> [curve.round(3).tolist() for curve in response_aware_curves(x, [3.0, 3.0, 1.0, 2.0])]
    [[0.0, -1.75], [0.0, 0.25]]
    """
    y = np.asarray(response, dtype=np.float64)
    blocks = [np.asarray(block, dtype=np.float64) for block in features]
    if y.ndim != 1 or not blocks:
        raise ValueError(f"expected features and one response per row, got shape {y.shape}")
    for number, block in enumerate(blocks, start=1):
        if block.ndim != 2 or len(block) != len(y) or not block.shape[1]:
            raise ValueError(
                f"features {number}: shape {block.shape}, expected {len(y)} rows and a column"
            )
    x = np.column_stack([block - block.mean(axis=0) for block in blocks])
    centred = y - y.mean()
    return curves_from_moments(
        x.T @ x,
        x.T @ centred,
        float(centred @ centred),
        len(y),
        [block.shape[1] for block in blocks],
    )


def curves_from_moments(
    gram: Floats, moment: Floats, response_squares: float, rows: int, columns: Sequence[int]
) -> list[Floats]:
    """Return the curves of `response_aware_curves` from centred sums of products.

    With ŵ the least-squares weights on all features, X_j'r_j = G_jj ŵ_j; with G_jj = LL' the
    orthonormal features are X_j L⁻ᵀ, and so the vector of all q_k'r_j is L'ŵ_j.

    Parameters
    ----------
    gram, moment, response_squares
        X'X, X'y and y'y of centred features and response.
    rows
        Number of observations, above the number of features plus one.
    columns
        Number of features of each field, in the order in which they stand in the Gram matrix.
    """
    freedom = rows - sum(columns) - 1
    if freedom < 1:
        raise ValueError(
            f"{rows} rows do not tell the residual variance with {sum(columns)} features and an "
            "intercept"
        )
    weights = np.linalg.solve(gram, moment)
    variance = max(response_squares - float(moment @ weights), 0.0) / freedom
    curves, start = [], 0
    for count in columns:
        mine = slice(start, start + count)
        projections = np.linalg.cholesky(gram[mine, mine]).T @ weights[mine]
        gains = np.cumsum(projections**2)
        steps = np.arange(1, count + 1)
        curves.append(np.concatenate([[0.0], 2.0 * variance * steps - gains]))
        start += count
    return curves
