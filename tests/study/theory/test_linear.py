"""The linear embedding model: scores, objective, gradient, and Proposition 1."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ortho_group

from embedalloc.study.theory.linear import (
    Loss,
    Parameters,
    Penalties,
    Sample,
    effect_gradients,
    gradient,
    objective,
    transform,
)
from tests.oracles.linear_cases import random_case, random_point, with_vector

seeds = st.integers(0, 10_000)
losses = st.sampled_from(["squared", "logistic"])


def simple(**changes: Any) -> Parameters:
    values: dict[str, Any] = {
        "tables": {"a": np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])},
        "weights": {"a": np.array([3.0, 5.0])},
        "numeric_weights": np.array([0.5]),
        "intercept": 1.0,
    }
    return Parameters(**(values | changes))


def orthogonal(d: int, seed: int) -> np.ndarray[Any, Any]:
    if d == 1:
        return np.array([[-1.0]])
    return np.asarray(ortho_group.rvs(d, random_state=seed))


def test_predict_matches_a_calculation_by_hand() -> None:
    score = simple().predict({"a": np.array([0, 1, 2, 0])}, np.array([[0.0], [2.0], [0.0], [-2.0]]))
    np.testing.assert_allclose(score, [4.0, 12.0, 9.0, 3.0])


@given(seeds)
@settings(deadline=None)
def test_predict_matches_concatenated_features(seed: int) -> None:
    case = random_case(seed, n=20)
    p = random_point(case, seed)
    features = [p.tables[k][case.sample.codes[k]] for k in p.tables]
    phi = np.hstack([case.sample.numeric, *features])
    w = np.concatenate([p.numeric_weights, *(p.weights[k] for k in p.tables)])
    np.testing.assert_allclose(
        p.predict(case.sample.codes, case.sample.numeric), phi @ w + p.intercept, atol=1e-12
    )


def test_flatten_round_trip_and_counts() -> None:
    p = random_point(random_case(3), 4)
    np.testing.assert_array_equal(with_vector(p, p.flatten()).flatten(), p.flatten())
    assert p.flatten().size == 5 * 2 + 8 * 3 + 2 + 3 + p.numeric_weights.size + 1


@given(seeds, losses)
@settings(max_examples=25, deadline=None)
def test_gradient_agrees_with_central_differences(seed: int, loss: Loss) -> None:
    case = random_case(seed, loss, n=40)
    p = random_point(case, seed)
    vector, step = p.flatten(), 1e-5
    numeric = np.empty(vector.size)
    for i in range(vector.size):
        shift = np.zeros(vector.size)
        shift[i] = step
        up = objective(with_vector(p, vector + shift), case.sample, case.penalties, loss)
        down = objective(with_vector(p, vector - shift), case.sample, case.penalties, loss)
        numeric[i] = (up - down) / (2 * step)
    analytic = gradient(p, case.sample, case.penalties, loss).flatten()
    np.testing.assert_allclose(analytic, numeric, atol=1e-6, rtol=1e-6)


def test_intercept_is_not_penalised() -> None:
    p = simple(
        tables={"a": np.zeros((1, 1))}, weights={"a": np.zeros(1)}, numeric_weights=np.zeros(0)
    )
    sample = Sample({"a": np.zeros(2, int)}, np.zeros((2, 0)), np.array([1.0, 1.0]))
    assert objective(p, sample, Penalties(100.0, {"a": 100.0})) == 0.0


def test_logistic_loss_is_stable_at_extreme_scores() -> None:
    p = simple(numeric_weights=np.zeros(0), intercept=1e4)
    sample = Sample({"a": np.array([0, 1])}, np.zeros((2, 0)), np.array([0.0, 1.0]))
    value = objective(p, sample, Penalties(1e-9, {"a": 1e-9}), "logistic")
    assert value == pytest.approx((1e4 + 3.0) / 2, rel=1e-9)


def test_category_without_rows_has_no_data_gradient() -> None:
    case = random_case(1, n=3, cardinalities=(50,), dimensions=(2,))
    slope = effect_gradients(random_point(case, 0), case.sample, "squared")["x0"]
    empty = np.bincount(case.sample.codes["x0"], minlength=50) == 0
    assert empty.sum() >= 47
    assert not slope[empty].any()


# --- Proposition 1 ---------------------------------------------------------------------------


@given(seeds, losses)
@settings(max_examples=50, deadline=None)
def test_rotation_keeps_scores_norms_spectra_and_objective(seed: int, loss: Loss) -> None:
    case = random_case(seed, loss, n=30)
    p = random_point(case, seed)
    turned = transform(p, {k: orthogonal(w.size, seed) for k, w in p.weights.items()})
    inputs = case.sample.codes, case.sample.numeric
    np.testing.assert_allclose(turned.predict(*inputs), p.predict(*inputs), atol=1e-12)
    for k in p.tables:
        assert not np.allclose(turned.tables[k], p.tables[k])
        np.testing.assert_allclose(
            np.linalg.svd(turned.tables[k], compute_uv=False),
            np.linalg.svd(p.tables[k], compute_uv=False),
            atol=1e-12,
        )
        gram, turned_gram = p.tables[k] @ p.tables[k].T, turned.tables[k] @ turned.tables[k].T
        np.testing.assert_allclose(turned_gram, gram, atol=1e-12)
        assert np.linalg.norm(turned.weights[k]) == pytest.approx(np.linalg.norm(p.weights[k]))
    assert objective(turned, case.sample, case.penalties, loss) == pytest.approx(
        objective(p, case.sample, case.penalties, loss), rel=1e-12
    )


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_rotations_compose_and_invert(seed: int) -> None:
    p = random_point(random_case(seed, n=5), seed)
    q = {k: orthogonal(w.size, seed) for k, w in p.weights.items()}
    back = transform(transform(p, q), {k: m.T for k, m in q.items()})
    np.testing.assert_allclose(back.flatten(), p.flatten(), atol=1e-12)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_invertible_map_keeps_scores_but_not_spectra(seed: int) -> None:
    case = random_case(seed, n=30)
    p = random_point(case, seed)
    maps = {
        k: orthogonal(w.size, seed) * np.arange(2.0, 2.0 + w.size) for k, w in p.weights.items()
    }
    moved = transform(p, maps)
    inputs = case.sample.codes, case.sample.numeric
    np.testing.assert_allclose(moved.predict(*inputs), p.predict(*inputs), atol=1e-10)
    for k in p.tables:
        before = np.linalg.svd(p.tables[k], compute_uv=False)
        after = np.linalg.svd(moved.tables[k], compute_uv=False)
        assert np.all(after > 1.5 * before)
