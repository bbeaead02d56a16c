"""Curves over budgets, beside comparisons at each of them."""

import numpy as np
import pytest

from embedalloc import BudgetError, measure_frontier
from embedalloc.data.comparison import compare_rules
from embedalloc.data.table import DataError
from tests.oracles.simulated_tables import make_table

WORDS = {"splits": 2, "epochs": 2, "seed": 3}


@pytest.fixture(scope="module")
def data():
    frame, target = make_table(1, rows=300, signal=(8, 20))
    return frame, target, ["signal0", "signal1"]


def test_every_point_is_that_of_a_comparison_at_its_budget(data):
    told = []
    found = measure_frontier(
        *data, [120, 45], rule="unit", done=lambda *each: told.append(each), **WORDS
    )
    assert found.budgets == (45, 120)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert not found.is_surrogate
    for place, budget in enumerate(found.budgets):
        expected = compare_rules(*data, budget, ["unit"], **WORDS)
        for rule in ("unit", "equal"):
            assert found.losses[rule][:, place].tolist() == expected.losses[rule].tolist()
            assert found.parameters[rule][place] == expected.parameters[rule].mean()
        assert found.test_ratio == expected.test_ratio
        difference = expected.difference("unit")
        band = found.against_equal("unit", budget)
        scale = expected.losses["equal"].mean()
        assert np.multiply(band, scale) == pytest.approx((difference.mean, *difference.corrected))


def test_several_jobs_give_the_same_numbers(data):
    one, two = (
        measure_frontier(*data, [45, 60], rule="unit", jobs=jobs, **WORDS) for jobs in (1, 2)
    )
    assert one.to_dict() == two.to_dict()


def test_a_budget_below_one_dimension_each_is_for_rules_that_drop_and_pool(data):
    found = measure_frontier(*data, [12, 90], splits=1, epochs=1)
    assert np.isfinite(found.losses["screened"]).all()
    assert np.isnan(found.losses["equal"][0, 0])
    assert found.parameters["screened"][0] <= 12
    assert "equal" not in str(found).splitlines()[1]
    with pytest.raises(BudgetError):
        measure_frontier(*data, [12, 90], rule="unit", splits=1)


def test_budgets_by_default_double_the_dimensions(data):
    found = measure_frontier(*data, rule="equal", splits=1, epochs=1)
    assert found.budgets == tuple(9 * min(d, 8) + 21 * min(d, 20) for d in (1, 2, 4, 8, 16, 32))
    assert list(found.losses) == ["equal"]


def test_one_budget_is_no_curve(data):
    with pytest.raises(DataError, match="budgets: 1 is too few for a curve; give two or more"):
        measure_frontier(*data, [50, 50])
    with pytest.raises(ValueError, match="budgets: 0 is not between 1 and"):
        measure_frontier(*data, [0, 50])


def test_the_time_ends_after_whole_splits(data):
    found = measure_frontier(*data, [45, 60], rule="equal", splits=9, epochs=1, minutes=1e-9)
    assert found.losses["equal"].shape == (1, 2)
