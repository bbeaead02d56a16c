"""Pilots on halves of the rows, and their contributions by rank, against explicit versions."""

import numpy as np
import pytest

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.pilots import split_by_rank, train_half_pilots
from embedalloc.data.table import find_task, learn_encoding
from embedalloc.data.validation import split_rows
from tests.oracles.simulated_tables import make_table

FIELDS = ["noise0", "signal0", "signal1"]


def table(kind="binary", rows=600, seed=0):
    frame, y = make_table(seed, rows=rows, signal=(4, 15), noise=(60,), kind=kind)
    _, data = learn_encoding(frame, y, FIELDS, task=find_task(y))
    return data


@pytest.fixture(scope="module")
def pilots():
    data = table()
    limits = set_limits(data.cardinalities)
    case = make_case(data, limits, seed=0, epochs=6)
    return train_half_pilots(case, later=0)


def test_pilots_are_judged_on_rows_they_did_not_see(pilots):
    first, second = pilots
    assert abs(len(first.judged_on) - len(second.judged_on)) <= 1
    assert {name: t.shape[1] for name, t in first.model.tables.items()} == {
        "noise0": 12, "signal0": 5, "signal1": 12,
    }  # fmt: skip
    counts = first.model.frequencies["noise0"] * len(second.judged_on)
    seen = np.bincount(second.judged_on.codes["noise0"], minlength=len(counts))
    np.testing.assert_allclose(counts, seen, atol=1e-3)


@pytest.mark.parametrize("name", FIELDS)
def test_directions_are_those_of_an_explicit_svd(pilots, name):
    """The first k parts are the best approximation of rank k for the rows' levels."""
    model = pilots[0].model
    table, share = model.tables[name].astype(float), model.frequencies[name].astype(float)
    whole = (table - share @ table) @ model.blocks[name]
    root = np.sqrt(share)[:, None]
    left, values, right = np.linalg.svd(root * whole, full_matrices=False)
    parts = split_by_rank(model, name)
    for rank in (1, 2, table.shape[1]):
        best = (left[:, :rank] * values[:rank]) @ right[:rank]
        found = sum(np.outer(scores, direction) for scores, direction in parts[:rank])
        np.testing.assert_allclose(root * found, best, atol=1e-5)


def test_splits_keep_the_shares_of_classes():
    data = table("multiclass", rows=500)
    kept, held_out = split_rows(data.target, data.task, 0.2, data.shuffle(3, "x"))
    assert np.array_equal(np.sort(np.r_[kept, held_out]), np.arange(500))
    for k in range(3):
        of_class = data.target == k
        assert abs(of_class[held_out].sum() - 0.2 * of_class.sum()) <= 1
