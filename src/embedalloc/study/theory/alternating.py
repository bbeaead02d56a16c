"""Theorem 1: alternating exact minimisation of the linear embedding model.

Each round minimises the objective over all read-out weights and the intercept with the tables
held, then over all tables with the weights held. Both are strictly convex problems with ridge
penalties, except for the intercept, which the data determine.

Why the table block is small
    With ``w`` held, row ``c`` of ``U_j`` enters the loss only through ``u_j(c)'w_j``, and its ridge
    penalty charges every direction. Any part of the row orthogonal to ``w_j`` costs and buys
    nothing, so at the minimum ``U_j = v_j w_j'/||w_j||`` for some vector ``v_j`` with ``N_j``
    entries; then ``t_j = ||w_j|| v_j`` and ``||U_j||_F = ||v_j||``. The block is a ridge
    regression with ``sum_j N_j`` unknowns, not ``sum_j N_j d_j``. Writing it in ``v_j`` and not
    in ``t_j`` keeps the system well conditioned as ``w_j`` approaches zero, and right at zero.

Consequence
    After a single round every table has rank one at most, whatever its number of columns.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg, sparse

from embedalloc.arrays import Floats
from embedalloc.study.settings.theory import MAX_CATEGORIES
from embedalloc.study.theory.linear import (
    Loss,
    Parameters,
    Penalties,
    Sample,
    gradient,
    loss_curvatures,
    loss_slopes,
    loss_values,
    objective,
)

_NEWTON_STEPS = 100
_HALVINGS = 40


@dataclass(frozen=True, eq=False)
class AlternatingFit:
    """Where the alternating scheme of Theorem 1 ended, and its way there.

    Attributes
    ----------
    parameters
        The last point.
    objective, gradient_norm
        Values at the start and after every round; the norm is that of the full gradient.
    converged
        Whether the last gradient norm is within the tolerance.
    """

    parameters: Parameters
    objective: Floats
    gradient_norm: Floats
    converged: bool


def initial_parameters(
    cardinalities: Mapping[str, int],
    dimensions: Mapping[str, int],
    *,
    numeric_count: int = 0,
    scale: float = 1.0,
    rng: np.random.Generator,
) -> Parameters:
    """Return Gaussian tables with zero weights: a start from which Theorem 1's scheme can move.

    Tables of zeros, of scale 0, are none: with them the weights stay zero, and with zero weights
    the tables stay zero, which is a stationary point but seldom a minimum.
    """
    # NOTE[PAPER] alternating-start: the theorem says nothing of the starting point.
    tables = {k: scale * rng.standard_normal((n, dimensions[k])) for k, n in cardinalities.items()}
    weights = {k: np.zeros(dimensions[k]) for k in cardinalities}
    return Parameters(tables, weights, np.zeros(numeric_count), 0.0)


class Design:
    """The sample as one sparse matrix acting on ``theta = (t_1, ..., t_m, w_z, b)``."""

    def __init__(self, p: Parameters, sample: Sample, loss: Loss) -> None:
        sizes = [table.shape[0] for table in p.tables.values()]
        self.categories = sum(sizes)
        if self.categories > MAX_CATEGORIES:
            raise ValueError(f"{self.categories} categories in all, at most {MAX_CATEGORIES}")
        n, p_numeric = sample.numeric.shape
        offsets = np.cumsum([0, *sizes])
        self.slices = {k: slice(offsets[i], offsets[i + 1]) for i, k in enumerate(p.tables)}
        # Every row has one entry per predictor, all numeric covariates, and a one for b.
        columns = [sample.codes[k] + self.slices[k].start for k in p.tables]
        columns += [np.full(n, self.categories + i) for i in range(p_numeric + 1)]
        ones = np.ones((n, len(sizes)))
        values = np.hstack([ones, sample.numeric, np.ones((n, 1))])
        pointers = np.arange(n + 1) * len(columns)
        self.matrix = sparse.csr_array(
            (values.ravel(), np.column_stack(columns).ravel(), pointers),
            shape=(n, self.categories + p_numeric + 1),
        )
        self.transpose = self.matrix.T
        self.target, self.loss, self.n, self._row_length = sample.target, loss, n, len(columns)
        self._constant_hessian = self._hessian(np.zeros(n)) if loss == "squared" else None

    def mean_loss(self, theta: Floats) -> float:
        """Return the mean loss over the rows."""
        return float(np.mean(loss_values(self.loss, self.target, self.matrix @ theta)))

    def slope(self, theta: Floats) -> Floats:
        """Return the gradient of the mean loss."""
        slopes = loss_slopes(self.loss, self.target, self.matrix @ theta)
        return np.asarray(self.transpose @ slopes / self.n, np.float64)

    def hessian(self, theta: Floats) -> Floats:
        """Return the second derivatives of the mean loss; constant for squared loss."""
        if self._constant_hessian is not None:
            return self._constant_hessian
        return self._hessian(self.matrix @ theta)

    def _hessian(self, score: Floats) -> Floats:
        weighted = self.matrix.copy()
        weighted.data *= np.repeat(loss_curvatures(self.loss, score) / self.n, self._row_length)
        return np.asarray((self.transpose @ weighted).toarray())


@dataclass(frozen=True, eq=False)
class _Block:
    """A ridge problem in ``phi``, with ``theta`` an affine function of ``phi``."""

    lift: Callable[[Floats], Floats]
    pull_vector: Callable[[Floats], Floats]
    pull_matrix: Callable[[Floats], Floats]
    ridge: Floats

    def value(self, design: Design, phi: Floats) -> float:
        return design.mean_loss(self.lift(phi)) + float(self.ridge @ phi**2)


def _minimise(block: _Block, design: Design, phi: Floats, tolerance: float) -> Floats:
    """Newton's method with backtracking; for squared loss the closed form.

    On a quadratic the first Newton step solves the normal equations. Starting it from the current
    point makes the solution a small correction, so rounding shrinks with the gradient.
    """
    value = np.inf if design.loss == "squared" else block.value(design, phi)
    for _ in range(_NEWTON_STEPS):
        theta = block.lift(phi)
        slope = block.pull_vector(design.slope(theta)) + 2.0 * block.ridge * phi
        if np.linalg.norm(slope) <= tolerance:
            break
        hessian = block.pull_matrix(design.hessian(theta)) + np.diag(2.0 * block.ridge)
        try:
            step = linalg.cho_solve(linalg.cho_factor(hessian, lower=True), slope)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"a block is singular to rounding: the smallest penalty, "
                f"{block.ridge[block.ridge > 0].min(initial=np.inf):.3g}, is too small"
            ) from error
        if design.loss == "squared":
            return phi - step
        length, decrease = 1.0, float(slope @ step)
        rounding = 4.0 * np.finfo(float).eps * abs(value)
        for _ in range(_HALVINGS):
            candidate = phi - length * step
            new = block.value(design, candidate)
            if new <= value - 1e-4 * length * decrease + rounding:
                break
            length /= 2.0
        else:
            break  # no step descends any more: this is the floor that rounding sets
        phi, value = candidate, new
    return phi


def minimise_weights(
    p: Parameters, design: Design, penalties: Penalties, tolerance: float
) -> Parameters:
    """Best ``(w, b)`` for the tables held: ridge regression on the embedded features."""
    width = sum(w.size for w in p.weights.values())
    rest = p.numeric_weights.size + 1
    basis = np.zeros((design.categories + rest, width + rest))
    edges = np.cumsum([0, *(w.size for w in p.weights.values())])
    for i, (name, table) in enumerate(p.tables.items()):
        basis[design.slices[name], edges[i] : edges[i + 1]] = table
    basis[design.categories :, width:] = np.eye(rest)
    ridge = np.full(width + rest, penalties.weights)
    ridge[-1] = 0.0
    block = _Block(
        lambda phi: basis @ phi, lambda g: basis.T @ g, lambda h: basis.T @ (h @ basis), ridge
    )
    start = np.concatenate([*p.weights.values(), p.numeric_weights, [p.intercept]])
    phi = _minimise(block, design, start, tolerance)
    weights = {k: phi[edges[i] : edges[i + 1]] for i, k in enumerate(p.tables)}
    return Parameters(p.tables, weights, phi[width:-1], float(phi[-1]))


def minimise_tables(
    p: Parameters, design: Design, penalties: Penalties, tolerance: float, free_intercept: bool
) -> Parameters:
    """Best tables for ``w`` held, in the coordinates ``v_j`` of the module docstring."""
    count, free = design.categories, design.categories + int(free_intercept)
    norms = {k: float(np.linalg.norm(w)) for k, w in p.weights.items()}
    directions = {k: w / norms[k] if norms[k] > 0 else w for k, w in p.weights.items()}
    scale, ridge, start = np.ones(free), np.zeros(free), np.full(free, p.intercept)
    for name, where in design.slices.items():
        scale[where], ridge[where] = norms[name], penalties.tables[name]
        start[where] = p.tables[name] @ directions[name]
    # The intercept is the last entry of theta; numeric weights stand between it and the tables.
    moving = np.r_[np.arange(count), [-1] * int(free_intercept)].astype(int)
    template = np.concatenate([np.zeros(count), p.numeric_weights, [p.intercept]])

    def lift(v: Floats) -> Floats:
        theta = template.copy()
        theta[moving] = scale * v
        return theta

    block = _Block(
        lift,
        lambda g: scale * g[moving],
        lambda h: scale[:, None] * h[np.ix_(moving, moving)] * scale,
        ridge,
    )
    v = _minimise(block, design, start, tolerance)
    tables = {k: np.outer(v[s], directions[k]) for k, s in design.slices.items()}
    return replace(p, tables=tables, intercept=float(v[-1]) if free_intercept else p.intercept)


def rebalance(p: Parameters, penalties: Penalties) -> Parameters:
    """Rescale each ``(U_j, w_j)`` to ``(s U_j, w_j / s)`` with the smallest penalty.

    Scores do not change (Proposition 1 with the map ``s I``), and both penalties of a predictor
    become equal, as they are at every stationary point.
    """
    tables, weights = dict(p.tables), dict(p.weights)
    for name, table in p.tables.items():
        table_cost = penalties.tables[name] * float(np.sum(table**2))
        weight_cost = penalties.weights * float(np.sum(p.weights[name] ** 2))
        if table_cost > 0 and weight_cost > 0:
            s = (weight_cost / table_cost) ** 0.25
            tables[name], weights[name] = s * table, p.weights[name] / s
    return replace(p, tables=tables, weights=weights)


def fit_alternating(
    start: Parameters,
    sample: Sample,
    penalties: Penalties,
    loss: Loss = "squared",
    *,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    accelerated: bool = False,
) -> AlternatingFit:
    """Minimise Theorem 1's objective, in turn over (w, b) and over all tables, each exactly.

    The objective never rises (beyond rounding) and what is reached is a stationary point, which
    need not be a minimum: see `embedalloc.study.theory.convex.global_optimality_residual`.

    Parameters
    ----------
    start
        Usually from `initial_parameters`; its shapes set cardinalities and dimensions.
    sample, penalties, loss
        As in `embedalloc.study.theory.linear.objective`.
    tolerance
        Stop when the Euclidean norm of the full gradient is no larger.
    max_iterations
        Largest number of rounds; reaching it leaves ``converged`` false.
    accelerated
        Let the intercept move in the table block too, and apply `rebalance` after each
        round. Neither is part of the paper's scheme. Both can only lower the objective, and
        they save nearly all rounds when penalties are small, where the plain scheme moves the
        level between intercept and effects, and the scale between tables and weights, slowly.
        Where a penalty shrinks a whole effect to zero they do not help and can cost rounds.

    Notes
    -----
    Logistic targets of one class are refused: the objective is then bounded below, as the theorem
    asks, but the intercept runs away and the first block has no minimiser.
    """
    if loss == "logistic" and np.ptp(sample.target) == 0:
        raise ValueError(
            f"every logistic target is {sample.target[0]:g}: the free intercept has no minimiser"
        )
    p = start
    objectives = [objective(p, sample, penalties, loss)]
    norms = [float(np.linalg.norm(gradient(p, sample, penalties, loss).flatten()))]
    design = Design(p, sample, loss)
    for _ in range(max_iterations):
        if norms[-1] <= tolerance:
            break
        p = minimise_weights(p, design, penalties, tolerance / 10)
        p = minimise_tables(p, design, penalties, tolerance / 10, accelerated)
        # NOTE[PAPER] alternating-acceleration: not part of the paper's scheme.
        if accelerated:
            p = rebalance(p, penalties)
        objectives.append(objective(p, sample, penalties, loss))
        norms.append(float(np.linalg.norm(gradient(p, sample, penalties, loss).flatten())))
    return AlternatingFit(p, np.array(objectives), np.array(norms), norms[-1] <= tolerance)
