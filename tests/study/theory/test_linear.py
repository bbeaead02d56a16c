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
    loss_slopes,
    loss_values,
    objective,
    rotate,
    transform,
)
from tests.oracles.linear_cases import random_case, random_point

seeds = st.integers(0, 10_000)
losses = st.sampled_from(["squared", "logistic"])


def simple(**changes: Any) -> Parameters:
    values: dict[str, Any] = {
        "tables": {"a": [[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]},
        "weights": {"a": [3.0, 5.0]},
        "numeric_weights": [0.5],
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
    np.testing.assert_array_equal(p.with_vector(p.flatten()).flatten(), p.flatten())
    assert p.embedding_parameter_count == 5 * 2 + 8 * 3
    with pytest.raises(ValueError, match="vector has shape"):
        p.with_vector(np.zeros(3))


def test_parameters_cannot_be_changed_in_place() -> None:
    source = np.ones((2, 1))
    p = Parameters({"a": source}, {"a": np.ones(1)}, np.zeros(0), 0.0)
    source[0, 0] = 7.0
    assert p.tables["a"][0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        p.tables["a"][0, 0] = 2.0
    with pytest.raises(TypeError):
        p.tables["b"] = source  # type: ignore[index]


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
        up = objective(p.with_vector(vector + shift), case.sample, case.penalties, loss)
        down = objective(p.with_vector(vector - shift), case.sample, case.penalties, loss)
        numeric[i] = (up - down) / (2 * step)
    analytic = gradient(p, case.sample, case.penalties, loss).flatten()
    np.testing.assert_allclose(analytic, numeric, atol=1e-6, rtol=1e-6)


def test_intercept_is_not_penalised() -> None:
    p = simple(tables={"a": np.zeros((1, 1))}, weights={"a": [0.0]}, numeric_weights=[])
    sample = Sample({"a": np.zeros(2, int)}, np.zeros((2, 0)), np.array([1.0, 1.0]))
    assert objective(p, sample, Penalties(100.0, {"a": 100.0})) == 0.0


def test_logistic_loss_is_stable_at_extreme_scores() -> None:
    p = simple(numeric_weights=[], intercept=1e4)
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
    turned = rotate(p, {k: orthogonal(w.size, seed) for k, w in p.weights.items()})
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
    back = rotate(rotate(p, q), {k: m.T for k, m in q.items()})
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


def test_maps_that_do_not_fit_are_refused() -> None:
    p = simple()
    with pytest.raises(ValueError, match="not orthogonal"):
        rotate(p, {"a": np.diag([1.0, 1.0 + 1e-6])})
    with pytest.raises(ValueError, match="not orthogonal"):
        rotate(p, {"a": np.eye(3)[:, :2]})
    with pytest.raises(ValueError, match="unknown predictor 'b'"):
        rotate(p, {"b": np.eye(2)})
    with pytest.raises(ValueError, match=r"shape \(3, 3\), expected \(2, 2\)"):
        rotate(p, {"a": np.eye(3)})
    with pytest.raises(ValueError, match="singular"):
        transform(p, {"a": np.ones((2, 2))})
    np.testing.assert_array_equal(rotate(p, {}).flatten(), p.flatten())


# --- Input that cannot be right --------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tables": {"a": [[1.0, np.nan]]}}, r"table of 'a' holds nan at index \(0, 1\)"),
        ({"weights": {"a": [1.0]}}, "2 columns but 1 weights"),
        ({"weights": {"b": [1.0]}}, r"weights are for \['b'\]"),
        ({"intercept": np.inf}, "intercept holds inf"),
        ({"tables": {"a": np.zeros((0, 2))}}, "no category"),
        ({"numeric_weights": [[1.0]]}, "must have 1 axes"),
    ],
)
def test_parameters_refuse(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simple(**changes)


@pytest.mark.parametrize(
    ("codes", "numeric", "message"),
    [
        ({"a": np.array([0, 3])}, np.zeros((2, 1)), "value 3 at row 1 is outside 0..2"),
        ({"a": np.array([-1, 0])}, np.zeros((2, 1)), "value -1 at row 0"),
        ({"a": np.array([0.0, 1.0])}, np.zeros((2, 1)), "vector of integers, got float64"),
        ({"b": np.array([0])}, np.zeros((1, 1)), r"codes are for \['b'\]"),
        ({"a": np.array([0, 1])}, np.zeros((3, 1)), "codes of 'a' have 2 rows, expected 3"),
        ({"a": np.array([0, 1])}, np.zeros((2, 2)), "have 2 columns, the model has 1"),
        ({"a": np.array([0, 1])}, np.array([[0.0], [np.nan]]), r"holds nan at index \(1, 0\)"),
        ({}, None, "neither codes nor numeric"),
        ({"a": np.zeros(0, int)}, np.zeros((0, 1)), "no rows"),
    ],
)
def test_predict_refuses(codes: Any, numeric: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simple().predict(codes, numeric)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_penalties_must_be_positive(value: float) -> None:
    with pytest.raises(ValueError, match="lambda_w is"):
        Penalties(value, {"a": 1.0})
    with pytest.raises(ValueError, match="lambda of 'a' is"):
        Penalties(1.0, {"a": value})


def test_targets_and_losses_are_checked() -> None:
    case = random_case(0)
    with pytest.raises(ValueError, match=r"logistic target is .* at row 0, expected 0 or 1"):
        objective(case.start, case.sample, case.penalties, "logistic")
    with pytest.raises(ValueError, match="unknown loss 'hinge'"):
        objective(case.start, case.sample, case.penalties, "hinge")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="table penalties are for"):
        objective(case.start, case.sample, Penalties(1.0, {"x0": 1.0}))
    with pytest.raises(ValueError, match=r"target holds inf at index \(0,\)"):
        Sample({}, np.zeros((1, 0)), np.array([np.inf]))


def test_an_unknown_loss_is_refused_everywhere():
    target, score = np.array([0.0, 1.0]), np.array([0.3, -0.2])
    for function in (loss_values, loss_slopes):
        with pytest.raises(ValueError, match="unknown loss 'hinge'"):
            function("hinge", target, score)
        with pytest.raises(ValueError, match=r"logistic target is 0\.5"):
            function("logistic", target + 0.5, score)
