"""When two runs agree: the one place that says how far numbers of two processors may differ.

On the same kind of processor a run gives the same bits. Libraries for linear algebra and for
exponentials have other code for other processors, which rounds differently; nothing else may
differ: counts, allocations, verdicts and words are the same.
"""

from typing import Any

import numpy as np
import pandas as pd

#: Largest difference of two numbers, as a share of their column's largest one (at least of 1).
TOLERANCE = 1e-10


#: Columns that a clock measured: no two runs have them alike.
CLOCKS = ("seconds_per_epoch",)


def without_clocks(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without what a clock measured."""
    return table.drop(columns=[name for name in CLOCKS if name in table])


def differing_columns(expected: pd.DataFrame, found: pd.DataFrame) -> list[str]:
    """Return the columns in which two tables do not agree; all of them if rows are missing."""
    if len(expected) != len(found):
        return list(expected.columns)
    names = dict.fromkeys([*expected.columns, *found.columns])
    return [
        name
        for name in names
        if name not in expected or name not in found or not _agree(expected[name], found[name])
    ]


def _agree(expected: "pd.Series[Any]", found: "pd.Series[Any]") -> bool:
    a, b = expected.to_numpy(), found.to_numpy()
    if any(isinstance(value, np.ndarray) for value in (*a, *b)):
        # A list per row: its entries are compared as one long column.
        if [np.shape(row) for row in a] != [np.shape(row) for row in b]:
            return False
        a, b = np.concatenate(list(a)), np.concatenate(list(b))
    if a.dtype == b.dtype == np.float64:
        scale = max(1.0, np.nanmax(np.abs(a), initial=0.0))
        return bool(np.allclose(a, b, rtol=0.0, atol=TOLERANCE * scale, equal_nan=True))
    return pd.Series(a).equals(pd.Series(b))
