"""Algorithm 2 and the holdout variant, with stand-in models whose losses are known."""

import numpy as np
import pytest

from embedalloc.budgets import select_budget, select_budget_by_holdout
from embedalloc.from_cardinalities import integer_dimensions
from embedalloc.result import Allocation

BUDGETS = [40, 10, 20, 30]


def allocate(rows, budget):
    return ("dimensions at", budget, len(rows))


def train(rows, dimensions):
    return dimensions[1], frozenset(rows.tolist())


def noisy_loss(model, rows):
    """Loss falls to budget 30 and rises again; rows add a fold effect shared by all budgets."""
    budget, _ = model
    return {10: 2.0, 20: 1.02, 30: 1.0, 40: 1.3}[budget] + 0.01 * (rows.sum() % 7)


def test_one_standard_error_rule_by_hand():
    selection = select_budget(
        50, BUDGETS, allocate, train, noisy_loss, rng=np.random.default_rng(0), folds=5,
        repetitions=3,
    )  # fmt: skip
    assert selection.budgets == (10, 20, 30, 40)
    assert selection.losses.shape == (4, 15)
    means = selection.losses.mean(axis=1)
    error = selection.losses[2].std(ddof=1) / np.sqrt(15)
    assert selection.threshold == pytest.approx(means[2] + error)
    np.testing.assert_allclose(selection.mean_losses, means)
    assert selection.standard_errors[2] == pytest.approx(error)
    expected = 20 if means[1] <= means[2] + error else 30
    assert selection.budget == expected
    assert selection.dimensions == ("dimensions at", expected, 50)


@pytest.mark.parametrize(("gap", "expected"), [(0.001, 20), (0.5, 30)])
def test_the_smaller_budget_wins_only_within_one_standard_error(gap, expected):
    def loss(model, rows):
        return {10: 9.0, 20: 1.0 + gap, 30: 1.0, 40: 1.2}[model[0]] + 0.02 * (rows[0] % 3)

    selection = select_budget(
        30, BUDGETS, allocate, train, loss, rng=np.random.default_rng(1), folds=3, repetitions=4
    )
    assert 0.001 < selection.standard_errors[2] < 0.5
    assert selection.budget == expected


def test_folds_partition_the_rows_and_are_shared_by_all_budgets():
    seen = {}

    def recording_loss(model, rows):
        budget, training = model
        assert training.isdisjoint(rows.tolist())
        assert training | set(rows.tolist()) == set(range(23))
        seen.setdefault(budget, []).append(tuple(rows))
        return 1.0

    select_budget(
        23, BUDGETS, allocate, train, recording_loss, rng=np.random.default_rng(2), folds=4,
        repetitions=2,
    )  # fmt: skip
    assert seen[10] == seen[20] == seen[30] == seen[40]
    for repetition in (seen[10][:4], seen[10][4:]):
        assert sorted(row for fold in repetition for row in fold) == list(range(23))
    assert seen[10][:4] != seen[10][4:]


def test_stratified_folds_keep_the_shares():
    labels = np.r_[np.zeros(40), np.ones(10)]

    def loss(model, rows):
        assert labels[rows].sum() == 2
        return 1.0

    select_budget(
        50, [5], allocate, train, loss, rng=np.random.default_rng(0), folds=5, strata=labels
    )


def test_holdout_takes_the_smallest_budget_within_the_tolerance():
    def loss(model, rows):
        return {10: 0.52, 20: 0.409, 30: 0.41, 40: 0.4}[model[0]]

    def choose(tolerance):
        return select_budget_by_holdout(
            np.arange(8), np.arange(8, 10), BUDGETS, allocate, train, loss, tolerance=tolerance
        )

    assert choose(0.01).budget == 20
    assert choose(0.005).budget == 40
    assert choose(0.0).budget == 40
    assert choose(1.0).budget == 10
    assert choose(0.01).dimensions == ("dimensions at", 20, 8)
    assert choose(0.01).threshold == pytest.approx(0.41)


def test_works_with_a_real_allocation_and_a_real_model():
    """Ridge on one-hot features whose number grows with the budget: Algorithm 2 end to end."""
    rng = np.random.default_rng(7)
    x, noise = rng.normal(size=(120, 12)), rng.normal(size=120)
    y = x[:, :3] @ [3.0, 2.0, 1.0] + noise

    def allocate(rows, budget):
        return integer_dimensions([1.0], [1], budget)

    def train(rows, allocation):
        columns = x[rows, : allocation.dimensions["x1"]]
        return np.linalg.lstsq(columns, y[rows], rcond=None)[0]

    def loss(weights, rows):
        return float(((y[rows] - x[rows, : len(weights)] @ weights) ** 2).mean())

    selection = select_budget(
        120, range(1, 13), allocate, train, loss, rng=np.random.default_rng(0), repetitions=4
    )
    assert isinstance(selection.dimensions, Allocation)
    assert selection.budget == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"budgets": []}, "no candidate"),
        ({"budgets": [5, 5]}, "5 stands there twice"),
        ({"budgets": [0, 5]}, "budgets: 0 is not between 1"),
        ({"budgets": [5.7]}, "budgets: 5.7 is not a whole number"),
        ({"folds": 1}, "folds: 1 is not between 2"),
        ({"folds": 2.5}, "folds: 2.5 is not a whole number"),
        ({"folds": 10}, "folds: 10"),
        ({"repetitions": 0}, "repetitions: 0"),
        ({"strata": [1, 2]}, "expected 9 labels"),
        ({"loss": lambda model, rows: np.nan}, "validation loss at budget 5 is nan"),
    ],
)
def test_bad_input_is_refused(changes, message):
    arguments = {
        "row_count": 9,
        "budgets": [5],
        "allocate": allocate,
        "train": train,
        "loss": lambda model, rows: 1.0,
        "rng": np.random.default_rng(0),
        "folds": 3,
    } | changes
    with pytest.raises(ValueError, match=message):
        select_budget(**arguments)


def test_holdout_refuses_shared_rows_and_negative_tolerance():
    with pytest.raises(ValueError, match="row 3 is in both"):
        select_budget_by_holdout(
            [1, 3], [3, 4], [5], allocate, train, lambda m, r: 1.0, tolerance=0.1
        )
    for rows in ([], [1.5], [True, False], 3):
        with pytest.raises(ValueError, match="training_rows: expected a list of row numbers"):
            select_budget_by_holdout(
                rows, [3], [5], allocate, train, lambda m, r: 1.0, tolerance=0.1
            )
    with pytest.raises(ValueError, match="tolerance: -1"):
        select_budget_by_holdout([1], [3], [5], allocate, train, lambda m, r: 1.0, tolerance=-1)
