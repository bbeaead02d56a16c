"""The response-aware rule: unbiased estimate, exact minimiser, never over budget."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedalloc.from_cardinalities import optimal_dimensions
from embedalloc.response import response_aware_curves


def literal_curves(features, response):
    """Partial residuals and orthonormal features written out, row by row."""
    y = response - response.mean()
    blocks = [block - block.mean(axis=0) for block in features]
    x = np.column_stack(blocks)
    weights = np.linalg.lstsq(x, y, rcond=None)[0]
    ends = np.cumsum([block.shape[1] for block in blocks])
    parts = np.split(weights, ends[:-1])
    variance = ((y - x @ weights) ** 2).sum() / (len(y) - x.shape[1] - 1)
    curves = []
    for j, block in enumerate(blocks):
        others = sum(b @ w for k, (b, w) in enumerate(zip(blocks, parts, strict=True)) if k != j)
        residuals, basis = y - others, np.linalg.qr(block)[0]
        curves.append(
            [
                2 * variance * d - ((basis[:, :d].T @ residuals) ** 2).sum()
                for d in range(block.shape[1] + 1)
            ]
        )
    return curves


def test_curves_equal_the_literal_ones():
    rng = np.random.default_rng(1)
    for _ in range(20):
        features = [rng.normal(size=(40, k)) @ np.diag(rng.lognormal(size=k)) for k in (3, 1, 5)]
        response = features[0][:, 0] + rng.normal(size=40) + 3.0
        found = response_aware_curves(features, response)
        for curve, expected in zip(found, literal_curves(features, response), strict=True):
            np.testing.assert_allclose(curve, expected, atol=1e-9)


def test_the_estimate_of_the_risk_is_unbiased():
    """Mallows' Cp: with uncorrelated fields Σ g_j(d_j) has the mean of the true change."""
    rng = np.random.default_rng(2)
    rows, noise, draws = 60, 0.7, 4000
    basis = np.linalg.qr(np.column_stack([np.ones(rows), rng.normal(size=(rows, 8))]))[0][:, 1:]
    # Two fields whose features are uncorrelated between them and not within them.
    features = [basis[:, :5] @ rng.normal(size=(5, 5)), basis[:, 5:] @ rng.normal(size=(3, 3))]
    truth = np.column_stack(features) @ rng.normal(size=8) * 0.3
    dimensions = list(itertools.product(range(6), range(4)))
    responses = truth + noise * rng.normal(size=(draws, rows))
    estimates, changes = np.zeros((2, draws, len(dimensions)))
    for i, y in enumerate(responses):
        g = response_aware_curves(features, y)
        estimates[i] = [g[0][a] + g[1][b] for a, b in dimensions]
    for k, (a, b) in enumerate(dimensions):
        used = [np.ones((rows, 1)), features[0][:, :a], features[1][:, :b]]
        q = np.linalg.qr(np.column_stack(used))[0]
        changes[:, k] = ((responses @ q @ q.T - truth) ** 2).sum(axis=1)
    difference = estimates - (changes - changes[:, :1])
    standard = difference.std(axis=0) / np.sqrt(draws)
    assert (np.abs(difference.mean(axis=0)) <= 4.5 * standard).all()
    # Negative control: without the 2 s² for each dimension the bias must be noticed.
    assert (np.abs((difference - 2 * noise**2).mean(axis=0)) > 4.5 * standard).all()


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 60), st.lists(st.floats(-50, 50), min_size=1, max_size=5)
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 400),
    st.sampled_from([0, 1]),
)  # fmt: skip
def test_it_equals_the_brute_force_minimiser_and_keeps_the_budget(fields, extra, minimum):
    n = [size for size, _ in fields]
    curves = [[0.0, *steps] for _, steps in fields]
    budget = minimum * sum(n) + extra
    found = optimal_dimensions(n, budget, curves=curves, minimum=minimum)
    assert found.cost == sum(a * b for a, b in zip(n, found.dimensions.values(), strict=True))
    assert found.cost <= budget
    ranges = [range(minimum, len(curve)) for curve in curves]
    least = min(
        sum(curve[d] for curve, d in zip(curves, chosen, strict=True))
        for chosen in itertools.product(*ranges)
        if np.dot(n, chosen) <= budget
    )
    assert found.objective == pytest.approx(least, abs=1e-9)


def test_a_field_whose_first_dimension_does_not_pay_goes_without_one():
    chosen = optimal_dimensions([30, 90], 300, curves=[[0, -9, -9.5], [0, 1, 2]], minimum=0)
    assert chosen.dimensions == {"x1": 2, "x2": 0}


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"features 2: shape \(3, 1\), expected 4 rows"):
        response_aware_curves([np.ones((4, 1)), np.ones((3, 1))], np.ones(4))
    with pytest.raises(ValueError, match="4 rows do not tell the residual variance with 3"):
        response_aware_curves([np.eye(4)[:, :3]], np.ones(4))
