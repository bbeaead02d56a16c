"""Theorem 1: exact blocks, descent, stationarity."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, Ridge  # type: ignore[import-untyped]

from embedalloc.study.theory import alternating
from embedalloc.study.theory.alternating import fit_alternating, initial_parameters, rebalance
from embedalloc.study.theory.linear import Loss, Parameters, Penalties, Sample, gradient, objective
from tests.oracles.linear_cases import Case, random_case, random_point, with_vector

losses = st.sampled_from(["squared", "logistic"])
FAST = settings(max_examples=20, deadline=None)


def fit(case: Case, **options: Any) -> alternating.AlternatingFit:
    return fit_alternating(case.start, case.sample, case.penalties, case.loss, **options)


def one_block(case: Case, p: Parameters, which: str) -> Parameters:
    design = alternating.Design(p, case.sample, case.loss)
    if which == "weights":
        return alternating.minimise_weights(p, design, case.penalties, 1e-12)
    return alternating.minimise_tables(p, design, case.penalties, 1e-12, False)


# --- The blocks against independent witnesses --------------------------------------------------


def naive_tables(case: Case, p: Parameters) -> dict[str, Any]:
    """All entries of all tables as unknowns of one large linear system."""
    n, names = case.sample.target.size, list(p.tables)
    columns, ridge = [], []
    for k in names:
        rows = np.zeros((n, *p.tables[k].shape))
        rows[np.arange(n), case.sample.codes[k]] = p.weights[k]
        columns.append(rows.reshape(n, -1))
        ridge += [case.penalties.tables[k]] * p.tables[k].size
    x = np.hstack(columns)
    rest = case.sample.target - case.sample.numeric @ p.numeric_weights - p.intercept
    solution = np.linalg.solve(x.T @ x / n + np.diag(ridge), x.T @ rest / n)
    parts = np.split(solution, np.cumsum([p.tables[k].size for k in names])[:-1])
    return {k: v.reshape(p.tables[k].shape) for k, v in zip(names, parts, strict=True)}


@given(st.integers(0, 10_000), st.sampled_from([1e-3, 0.02, 1.0]))
@FAST
def test_table_block_equals_the_naive_linear_system(seed: int, penalty: float) -> None:
    case = random_case(seed, n=50, cardinalities=(4, 9, 60), dimensions=(1, 3, 2), penalty=penalty)
    p = random_point(case, seed)
    solved = one_block(case, p, "tables")
    for k, table in naive_tables(case, p).items():
        np.testing.assert_allclose(solved.tables[k], table, atol=1e-9)
        assert np.linalg.matrix_rank(solved.tables[k], tol=1e-9) <= 1


def features(case: Case, p: Parameters) -> Any:
    return np.hstack([p.tables[k][case.sample.codes[k]] for k in p.tables] + [case.sample.numeric])


def stacked_weights(p: Parameters) -> Any:
    return np.concatenate([*(p.weights[k] for k in p.tables), p.numeric_weights])


@given(st.integers(0, 10_000))
@FAST
def test_weight_block_equals_scikit_learn_ridge(seed: int) -> None:
    case = random_case(seed)
    p = random_point(case, seed)
    solved = one_block(case, p, "weights")
    witness = Ridge(alpha=case.penalties.weights * case.sample.target.size)
    witness.fit(features(case, p), case.sample.target)
    np.testing.assert_allclose(stacked_weights(solved), witness.coef_, atol=1e-9)
    assert solved.intercept == pytest.approx(witness.intercept_, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_weight_block_equals_scikit_learn_logistic(seed: int) -> None:
    case = random_case(seed, "logistic")
    p = random_point(case, seed)
    solved = one_block(case, p, "weights")
    strength = 1.0 / (2.0 * case.penalties.weights * case.sample.target.size)
    witness = LogisticRegression(C=strength, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    witness.fit(features(case, p), case.sample.target)
    np.testing.assert_allclose(stacked_weights(solved), witness.coef_[0], atol=1e-7)
    assert solved.intercept == pytest.approx(witness.intercept_[0], abs=1e-7)


@given(st.integers(0, 10_000), losses, st.sampled_from(["weights", "tables"]))
@FAST
def test_block_gradient_vanishes_after_its_solve(seed: int, loss: Loss, which: str) -> None:
    case = random_case(seed, loss)
    solved = one_block(case, random_point(case, seed), which)
    slope = gradient(solved, case.sample, case.penalties, loss)
    if which == "tables":
        parts = [t.ravel() for t in slope.tables.values()]
    else:
        parts = [stacked_weights(slope), np.array([slope.intercept])]
    assert np.linalg.norm(np.concatenate(parts)) < 1e-10


# --- Descent and stationarity ------------------------------------------------------------------


@given(st.integers(0, 10_000), losses, st.booleans(), st.sampled_from([0.005, 0.05, 0.5]))
@FAST
def test_objective_never_rises(seed: int, loss: Loss, accelerated: bool, penalty: float) -> None:
    case = random_case(seed, loss, n=60, penalty=penalty)
    result = fit(case, accelerated=accelerated, max_iterations=60)
    assert np.all(np.diff(result.objective) <= 1e-13 * np.abs(result.objective[:-1]))
    assert result.objective.size == result.gradient_norm.size
    last = objective(result.parameters, case.sample, case.penalties, loss)
    assert result.objective[-1] == last


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("accelerated", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_converged_point_is_stationary_and_a_local_minimum(
    seed: int, loss: Loss, accelerated: bool
) -> None:
    case = random_case(seed, loss, penalty=0.05)
    result = fit(case, accelerated=accelerated, tolerance=1e-9, max_iterations=3000)
    assert result.converged
    assert result.gradient_norm[-1] <= 1e-9
    p = result.parameters
    recomputed = np.linalg.norm(gradient(p, case.sample, case.penalties, loss).flatten())
    assert recomputed <= 1e-9

    def value(v: Any) -> Any:
        q = with_vector(p, v)
        slope = gradient(q, case.sample, case.penalties, loss).flatten()
        return objective(q, case.sample, case.penalties, loss), slope

    rng = np.random.default_rng(seed)
    for scale in (0.0, 1e-3, 0.1):
        nearby = p.flatten() + scale * rng.standard_normal(p.flatten().size)
        joint = minimize(value, nearby, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
        assert joint.fun >= result.objective[-1] - 1e-10


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", range(3))
def test_a_joint_optimiser_from_the_same_start_finds_nothing_lower(seed: int, loss: Loss) -> None:
    case = random_case(seed, loss)
    ours = fit(case, accelerated=True)

    def value(v: Any) -> Any:
        q = with_vector(case.start, v)
        slope = gradient(q, case.sample, case.penalties, loss).flatten()
        return objective(q, case.sample, case.penalties, loss), slope

    options = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    joint = minimize(value, case.start.flatten(), jac=True, method="L-BFGS-B", options=options)
    assert joint.fun == pytest.approx(ours.objective[-1], rel=1e-7)
    assert joint.fun >= ours.objective[-1] - 1e-10


def test_acceleration_finds_the_same_value_in_far_fewer_rounds() -> None:
    case = random_case(1, penalty=0.02)
    plain = fit(case, max_iterations=5000)
    fast = fit(case, accelerated=True)
    assert plain.converged
    assert fast.converged
    assert fast.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-12)
    assert 5 * fast.objective.size < plain.objective.size


@given(st.integers(0, 10_000))
@FAST
def test_rebalancing_keeps_scores_and_never_costs(seed: int) -> None:
    case = random_case(seed)
    p = random_point(case, seed)
    q = rebalance(p, case.penalties)
    inputs = case.sample.codes, case.sample.numeric
    np.testing.assert_allclose(q.predict(*inputs), p.predict(*inputs), atol=1e-10)
    args = case.sample, case.penalties
    assert objective(q, *args) <= objective(p, *args) * (1 + 1e-14)
    for k, table in q.tables.items():
        table_cost = case.penalties.tables[k] * np.sum(table**2)
        assert table_cost == pytest.approx(case.penalties.weights * np.sum(q.weights[k] ** 2))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_stationary_tables_have_rank_one_and_balanced_norms(loss: Loss) -> None:
    case = random_case(5, loss, penalty=0.005, dimensions=(4, 6))
    p = fit(case, accelerated=True, tolerance=1e-10).parameters
    for k, table in p.tables.items():
        spectrum = np.linalg.svd(table, compute_uv=False)
        assert spectrum[0] > 0.1
        assert spectrum[1] < 1e-12 * spectrum[0]
        table_cost = case.penalties.tables[k] * np.sum(table**2)
        assert table_cost == pytest.approx(case.penalties.weights * np.sum(p.weights[k] ** 2))


# --- Unusual but valid input -------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize(
    "shape",
    [
        {"cardinalities": (1, 6), "dimensions": (2, 2)},  # one category only
        {"cardinalities": (90, 4), "dimensions": (2, 2), "n": 40},  # categories without rows
        {"cardinalities": (3, 4), "dimensions": (9, 12)},  # more columns than rows
        {"cardinalities": (3, 4), "dimensions": (0, 2)},  # a predictor switched off
        {"cardinalities": (5,), "dimensions": (2,), "numeric": 0},
        {"cardinalities": (), "dimensions": ()},  # numeric covariates alone
        {"cardinalities": (5, 8), "dimensions": (2, 2), "penalty": 5.0},  # everything shrunk to 0
    ],
)
def test_degenerate_shapes_converge(loss: Loss, shape: dict[str, Any]) -> None:
    case = random_case(3, loss, **shape)
    result = fit(case, accelerated=True)
    assert result.converged
    assert np.all(np.diff(result.objective) <= 1e-13 * np.abs(result.objective[:-1]))
    for k, effect in result.parameters.effects.items():
        empty = np.bincount(case.sample.codes[k], minlength=effect.size) == 0
        np.testing.assert_array_equal(effect[empty], 0.0)


def test_large_level_of_the_target_does_not_spoil_the_fit() -> None:
    case = random_case(2)
    moved = replace(case, sample=replace(case.sample, target=case.sample.target + 1e6))
    near, far = fit(case, accelerated=True), fit(moved, accelerated=True, tolerance=1e-6)
    assert far.converged
    assert far.objective[-1] == pytest.approx(near.objective[-1], abs=1e-7)


def test_zero_tables_are_a_stationary_trap() -> None:
    case = random_case(0)
    zero = with_vector(case.start, np.zeros(case.start.flatten().size))
    trapped = fit_alternating(zero, case.sample, case.penalties)
    free = fit(case, accelerated=True)
    assert trapped.converged
    assert trapped.objective[-1] > free.objective[-1] + 0.1


def test_same_generator_same_bits() -> None:
    def build() -> Parameters:
        rng = np.random.default_rng(8)
        return initial_parameters({"a": 4}, {"a": 2}, numeric_count=1, rng=rng)

    np.testing.assert_array_equal(build().flatten(), build().flatten())


# --- Refusals ----------------------------------------------------------------------------------


def test_constant_logistic_target_is_refused() -> None:
    case = random_case(0, "logistic")
    constant = replace(case, sample=replace(case.sample, target=np.ones(120)))
    with pytest.raises(ValueError, match="every logistic target is 1"):
        fit(constant)


def test_too_many_categories_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(0)
    monkeypatch.setattr(alternating, "MAX_CATEGORIES", 12)
    with pytest.raises(ValueError, match="13 categories in all, at most 12"):
        fit(case)


def test_penalties_below_rounding_are_refused_by_name() -> None:
    sample = Sample({"a": np.zeros(4, int)}, np.zeros((4, 0)), np.arange(4.0))
    start = Parameters({"a": np.ones((1, 2))}, {"a": np.zeros(2)}, np.zeros(0), 0.0)
    with pytest.raises(ValueError, match="smallest penalty, 1e-30, is too small"):
        fit_alternating(start, sample, Penalties(1e-30, {"a": 1e-30}))


def test_running_out_of_rounds_is_reported_not_hidden() -> None:
    result = fit(random_case(0), max_iterations=1)
    assert not result.converged
    assert result.objective.size == 2
