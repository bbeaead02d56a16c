"""Two processors may round differently; nothing else of a table may differ."""

import numpy as np
import pandas as pd
import pytest

from embedalloc.study.workflow.agreement import TOLERANCE, differing_columns


def table(**columns):
    """Every kind of column that a table of the study has."""
    return pd.DataFrame(
        {
            "count": [1, 2],
            "flag": [True, False],
            "verdict": ["holds", None],
            "small": [1e-3, np.nan],
            "large": [1e6, 3.0],
            "dimensions": [np.array([1, 2]), np.array([], dtype=np.int64)],
            "probabilities": [np.array([0.5, 0.25]), np.array([0.125])],
        }
        | columns
    )


@pytest.mark.parametrize(
    "columns",
    [
        {},
        {"small": [1e-3 + 0.9 * TOLERANCE, np.nan]},
        {"large": [1e6, 3.0 + 0.9e6 * TOLERANCE]},
        {"probabilities": [np.array([0.5, 0.25 + 0.9 * TOLERANCE]), np.array([0.125])]},
    ],
)
def test_rounding_is_no_difference(columns):
    assert differing_columns(table(), table(**columns)) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("count", [1, 3]),
        ("count", [1.0, 2.0]),
        ("flag", [True, True]),
        ("verdict", ["holds", "fails"]),
        ("small", [1e-3 + 1.1 * TOLERANCE, np.nan]),
        ("small", [1e-3, 0.0]),
        ("small", [np.nan, np.nan]),
        ("large", [1e6 + 1.1e6 * TOLERANCE, 3.0]),
        ("dimensions", [np.array([1, 3]), np.array([], dtype=np.int64)]),
        ("dimensions", [np.array([1]), np.array([2])]),
        ("probabilities", [np.array([0.5, 0.25 + 1.1 * TOLERANCE]), np.array([0.125])]),
    ],
)
def test_anything_more_is_named(name, values):
    assert differing_columns(table(), table(**{name: values})) == [name]


def test_missing_rows_and_columns_are_named():
    assert differing_columns(table(), table().iloc[:1]) == list(table())
    assert differing_columns(table(), table().drop(columns="flag")) == ["flag"]
    assert differing_columns(table(), table().assign(other=1)) == ["other"]
