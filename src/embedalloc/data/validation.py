"""Which rows validate: random ones, whole groups, or the last in time.

Random rows flatter a model: the user, the shop or the season of a validation row is then known
from the training rows. Who will meet new users or tomorrow's rows validates on such.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from embedalloc.arrays import Floats
from embedalloc.data.dates import find_dates
from embedalloc.data.ordering import Rows
from embedalloc.data.table import (
    DataError,
    FieldData,
    PredictionTask,
    RowNotes,
    find_task,
)
from embedalloc.streams import stream


def hold_out(data: FieldData, share: float, *, seed: int, label: str) -> tuple[Rows, Rows]:
    """Split rows into those that stay and about this share that is held out.

    With times the last rows are held out, and rows of one time stay together; with groups whole
    groups, drawn at random; otherwise random rows, every class by the same share.
    """
    about = RowNotes(data.weights, data.groups, data.times)
    order = data.shuffle(seed, label)
    return hold_out_rows(data.target, data.task, about, share, order, seed=seed, label=label)


def hold_out_rows(
    target: NDArray[Any],
    task: PredictionTask,
    about: RowNotes,
    share: float,
    order: Rows,
    *,
    seed: int,
    label: str,
) -> tuple[Rows, Rows]:
    """Split shuffled rows by their target, or what else is known of them: see `hold_out`."""
    if about.times is not None:
        return _split_where(_find_last(about.times, share), "time")
    if about.groups is not None:
        return _split_where(_draw_groups(about.groups, share, seed=seed, label=label), "group")
    return split_rows(target, task, share, order)


def hold_out_some(
    y: ArrayLike, *, groups: Any = None, times: Any = None, share: float = 0.2, seed: int = 0
) -> tuple[Rows, Rows]:
    """Return the rows to learn from and those that validate, as a plan splits them.

    Parameters
    ----------
    y
        The target.
    groups, times
        One of them at most, as in `EmbeddingAllocator.fit`: whole groups are held out, or the
        last rows; otherwise random rows, every class by the same share.
    share
        About so much is held out.
    seed
        Of the random numbers.

    Returns
    -------
    tuple of arrays
        Numbers of the rows that stay, and of those that validate.

    Examples
    --------
    >>> hold_out_some([1.5, 2.5, 3.5, 4.5, 5.5], times=[3, 2, 1, 0, 4])
    (array([0, 1, 2, 3]), array([4]))
    """
    target = np.asarray(y)
    about = read_notes(None, groups, times, len(target))
    task = find_task(target)
    order = stream(seed, "rows").permutation(len(target))
    return hold_out_rows(target, task, about, share, order, seed=seed, label="validation")


def split_rows(
    target: NDArray[Any], task: PredictionTask, share: float, order: Rows
) -> tuple[Rows, Rows]:
    """Split shuffled rows, every class by the same share; each part keeps its places.

    Returns
    -------
    tuple
        The rows that stay, and the share that is held out.
    """
    classes = np.zeros(len(order)) if task.kind == "regression" else target[order]
    order = order[np.argsort(classes, kind="stable")]
    counts = np.unique(classes, return_counts=True)[1]
    ends = np.cumsum(counts)
    many = np.diff(np.floor(share * np.append(0, ends) + 0.5)).astype(int)
    # Of every class the first ones are held out: one row more or less hardly moves another.
    held = np.zeros(len(order), dtype=np.bool_)
    for begin, rows in zip(ends - counts, many, strict=True):
        held[begin : begin + rows] = True
    return np.sort(order[~held]), np.sort(order[held])


def _split_where(held: NDArray[np.bool_], what: str) -> tuple[Rows, Rows]:
    if held.all() or not held.any():
        raise DataError(f"{what}: all rows have the same one, so no part of them can validate")
    return np.flatnonzero(~held), np.flatnonzero(held)


def _find_last(times: Floats, share: float) -> NDArray[np.bool_]:
    """Tell the rows after the time that is closest to holding out the share."""
    moments, counts = np.unique(times, return_counts=True)
    after = len(times) - np.cumsum(counts)  # rows that are later than each moment
    nearest = int(np.argmin(np.abs(after[:-1] - share * len(times)))) if len(moments) > 1 else 0
    return np.asarray(times > moments[nearest])


def _draw_groups(
    groups: NDArray[np.int64], share: float, *, seed: int, label: str
) -> NDArray[np.bool_]:
    """Tell the rows of groups that are drawn until they make up the share."""
    # Groups are numbered as they come: rows stand in an order that the data alone decide.
    numbers, names = pd.factorize(groups)
    order = stream(seed, label, "groups").permutation(len(names))
    sizes = np.bincount(numbers)[order]
    # At least one group is held out and one stays, whatever their sizes.
    many = int(np.searchsorted(np.cumsum(sizes), share * len(groups))) + 1
    drawn = np.zeros(len(names), dtype=np.bool_)
    drawn[order[: min(many, len(names) - 1)]] = True
    return np.asarray(drawn[numbers])


def read_notes(sample_weight: Any, groups: Any, times: Any, rows: int) -> RowNotes:
    """Return weights, groups and times of the rows, each checked."""
    if groups is not None and times is not None:
        raise DataError("groups and times both say which rows validate: give one of them")
    return RowNotes(
        None if sample_weight is None else read_weights(sample_weight, rows),
        None if groups is None else read_groups(groups, rows),
        None if times is None else read_times(times, rows),
    )


def read_weights(values: object, rows: int) -> Floats:
    """Return sample weights that are 1 on average."""
    weights = np.asarray(values, dtype=np.float64)
    if weights.ndim != 1 or len(weights) != rows:
        raise DataError(f"sample_weight: {weights.shape} is not one number per row, {rows:,}")
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"sample_weight: {weights[place]} in row {place + 1} is not a number of 0 or more"
        )
    if not weights.any():
        raise DataError("sample_weight: all weights are zero")
    return weights / weights.mean()


def read_groups(values: object, rows: int) -> NDArray[np.int64]:
    """Return groups as numbers; missing ones are a group."""
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != rows:
        raise DataError(f"groups: {len(column):,} values for {rows:,} rows")
    return np.asarray(pd.factorize(column, use_na_sentinel=False)[0], dtype=np.int64)


def read_times(values: object, rows: int) -> Floats:
    """Return times as numbers that grow; they may be dates, text of dates, or numbers."""
    column = pd.Series(values).reset_index(drop=True)
    if len(column) != rows:
        raise DataError(f"times: {len(column):,} values for {rows:,} rows")
    if column.isna().any():
        raise DataError(
            f"times: {int(column.isna().sum()):,} rows have none; fill or leave out these rows"
        )
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(np.float64)
    dates = find_dates(column)
    if dates is None:
        raise DataError(f"times: {str(column.iloc[0])!r} is neither a number nor a date")
    return dates.count_days(column).to_numpy(np.float64)
