"""Checks of what an estimator is given, before any work."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, column_or_1d

from embedalloc.arrays import Floats
from embedalloc.data.roles import Roles, find_roles
from embedalloc.data.table import DataError


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


def find_input_roles(
    frame: pd.DataFrame,
    target: Floats,
    *,
    columns: Sequence[str | int] | None,
    numeric: Sequence[str | int],
    ignore: Sequence[str | int],
    is_array: bool,
) -> Roles:
    """Return the roles of columns, guessed where none of a data frame is named categorical."""
    options = {"numeric": numeric, "ignore": ignore, "columns": columns}
    numbers, unused, named = (
        [find_column(frame, each, option) for each in wanted or ()]
        for option, wanted in options.items()
    )
    both = {*named} & {*numbers, *unused} or {*numbers} & {*unused}
    if both:
        raise DataError(f"column {min(both)!r} is named twice, with different roles")
    guess = columns is None
    if guess and is_array:  # it has one type for everything
        named, guess = [each for each in frame.columns if each not in {*numbers, *unused}], False
    return find_roles(frame, target, categorical=named, numeric=numbers, ignore=unused, guess=guess)


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
