"""Which rows validate, and that a plan is judged on them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from embedalloc import EmbeddingAllocator
from embedalloc.data.case import make_case, set_limits
from embedalloc.data.effects import cross_fit_effects, fit_effects
from embedalloc.data.table import DataError, find_task, learn_encoding
from embedalloc.data.validation import (
    hold_out,
    hold_out_some,
    read_groups,
    read_times,
    read_weights,
)
from tests.oracles.simulated_tables import make_table


@pytest.fixture(scope="module")
def data():
    frame, y = make_table(2, rows=400, signal=(6, 15), noise=(20,))
    return learn_encoding(frame, y, ["signal0", "signal1", "noise0"], task=find_task(y))[1]


def test_the_last_rows_in_time_validate(data):
    times = np.random.default_rng(0).integers(30, size=len(data)).astype(float)
    kept, held = hold_out(replace(data, times=times), 0.2, seed=0, label="v")
    assert times[kept].max() < times[held].min()
    assert 0.15 < len(held) / len(data) < 0.25
    assert sorted([*kept, *held]) == list(range(len(data)))


def test_whole_groups_validate(data):
    groups = np.random.default_rng(1).integers(40, size=len(data))
    kept, held = hold_out(replace(data, groups=groups), 0.2, seed=0, label="v")
    assert not set(groups[kept]) & set(groups[held])
    assert 0.15 < len(held) / len(data) < 0.3
    renamed = (groups * 7 + 3) % 41  # other names for the same groups
    again = hold_out(replace(data, groups=renamed), 0.2, seed=0, label="v")
    np.testing.assert_array_equal(again[1], held)


def test_the_split_of_a_program_is_that_of_a_plan():
    rng = np.random.default_rng(0)
    y, groups, days = rng.choice(["a", "b"], 400, p=[0.9, 0.1]), rng.integers(40, size=400), 400
    kept, held = hold_out_some(y)
    assert sorted([*kept, *held]) == list(range(400))
    assert (y[held] == "b").sum() == pytest.approx(0.2 * (y == "b").sum(), abs=1)
    kept, held = hold_out_some(y, groups=groups)
    assert not set(groups[kept]) & set(groups[held])
    dates = pd.Series(pd.date_range("2020-01-01", periods=days)).sample(frac=1, random_state=0)
    kept, held = hold_out_some(y, times=dates)
    assert len(held) == 80
    assert dates.iloc[kept].max() < dates.iloc[held].min()


def test_one_group_or_one_time_cannot_validate(data):
    same = np.zeros(len(data))
    with pytest.raises(DataError, match="group: all rows have the same one"):
        hold_out(replace(data, groups=same.astype(int)), 0.2, seed=0, label="v")
    with pytest.raises(DataError, match="time: all rows have the same one"):
        hold_out(replace(data, times=same), 0.2, seed=0, label="v")


def test_effects_of_a_training_row_come_from_other_groups(data):
    """A field that is the group itself then says nothing of new groups, and its inputs are 0."""
    grouped = replace(data, groups=data.codes["signal1"].astype(np.int64))
    case = make_case(grouped, set_limits(data.cardinalities), seed=0, epochs=1)
    assert not set(case.training.groups) & set(case.validation.groups)
    inputs = cross_fit_effects(grouped, fit_effects(grouped), ["signal0", "signal1"], seed=0)
    assert not inputs["signal1"].any()
    assert inputs["signal0"].any()
    assert not case.validation_effects["signal1"].any()  # nothing is known of a new group


def first_loss(fit):
    return fit.report_.candidates[0].validation_loss


def test_the_estimator_takes_weights_groups_and_times():
    frame, y = make_table(2, rows=400, signal=(6, 15), noise=(20,))
    days = pd.Series(pd.date_range("2020-01-01", periods=400)).astype("str")
    plain = EmbeddingAllocator(200, epochs=2, random_state=0).fit(frame, y)
    for words in (
        {"sample_weight": np.arange(400)},
        {"groups": frame["signal1"]},
        {"times": days},
    ):
        fit = EmbeddingAllocator(200, epochs=2, random_state=0)
        assert len(fit.fit_transform(frame, y, **words)) == 400
        assert (
            fit.report_.candidates[0].validation_loss != plain.report_.candidates[0].validation_loss
        )
    equal = EmbeddingAllocator(200, epochs=2, random_state=0).fit(frame, y, np.full(400, 3.0))
    assert first_loss(equal) == pytest.approx(first_loss(plain))
    with pytest.raises(DataError, match="groups and times both say which rows validate"):
        EmbeddingAllocator(200).fit(frame, y, groups=y, times=y)


def test_what_cannot_be_weights_groups_or_times_is_refused():
    with pytest.raises(DataError, match=r"sample_weight: -1\.0 in row 2 is not a number of 0 or"):
        read_weights([1, -1], 2)
    with pytest.raises(DataError, match="all weights are zero"):
        read_weights([0, 0], 2)
    with pytest.raises(DataError, match="groups: 3 values for 2 rows"):
        read_groups(["a", "b", "c"], 2)
    with pytest.raises(DataError, match="times: 'soon' is neither a number nor a date"):
        read_times(["soon", "later"], 2)
    with pytest.raises(DataError, match="times: 1 rows have none"):
        read_times([1.0, None], 2)
    np.testing.assert_array_equal(read_times(["2020-01-03", "2020-01-01"], 2), [2.0, 0.0])
