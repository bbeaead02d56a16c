"""Checks of what an estimator is given, before any work."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, column_or_1d

from embedalloc.data.table import DataError, suggest_budget
from embedalloc.memory import parse_budget


def check_target(y: ArrayLike) -> NDArray[Any]:
    """Return the target as an array without missing values."""
    values = column_or_1d(y, warn=True)
    missing = int(pd.isna(values).sum())
    if missing:
        raise DataError(f"target: {missing:,} values are missing (NaN); drop or fill these rows")
    if values.dtype.kind == "O":
        return np.asarray(pd.Series(values).infer_objects())
    return check_array(values, ensure_2d=False, dtype=None, input_name="y")


def find_column(frame: pd.DataFrame, wanted: str | int, option: str) -> str:
    """Return a column's name from its name or its position."""
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if not -frame.shape[1] <= wanted < frame.shape[1]:
            raise DataError(f"{option}: there is no column {wanted} among {frame.shape[1]}")
        return str(frame.columns[wanted])
    if wanted not in frame.columns:
        raise DataError(f"{option}: {wanted!r} is not a column")
    return str(wanted)


def refuse_equal_names(names: NDArray[Any]) -> None:
    """Refuse a field that is called as another field's effect."""
    values, counts = np.unique(names.astype(str), return_counts=True)
    if (counts > 1).any():
        raise DataError(f"column {values[counts > 1][0]!r} has the name of an effect; rename it")


def count_trainings(progress: Callable[[int, int], None] | None) -> Callable[[int], None]:
    """Return what tells the user how many trainings are done and how many there are at most."""
    numbers = itertools.count(1)

    def tell(remaining: int) -> None:
        if progress is not None:
            done = next(numbers)
            progress(done, done + remaining)

    return tell


def find_amount(budget: int | str | None, cardinalities: Mapping[str, int]) -> int:
    """Return a budget as a number of parameters; without one what pays three dimensions."""
    return suggest_budget(cardinalities) if budget is None else parse_budget(budget)
