"""A table of categorical fields and numbers as arrays, the same however it was written down.

Networks are started from random numbers, and the same data must give the same answer whether
or not its rows were shuffled, its columns moved or its levels renamed. So columns are taken in
the order of their names, and levels and rows in an order that only the data decide: see
`ordering`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.data.ordering import (
    Codes,
    Hashes,
    Rows,
    cut,
    hash_rows,
    identify_rows,
    look_up,
    order_canonically,
    scramble,
    smallest_type,
    sort_places,
)
from embedalloc.data.scaling import NumberScale, measure_scale, measure_spread, standardise

TaskKind = Literal["binary", "multiclass", "regression"]

#: Code of a level that was not there when the levels were learnt.
UNSEEN = 0
#: A numeric target with more distinct values than this is a quantity, not a class.
MOST_NUMERIC_CLASSES = 20
#: With fewer rows there is nothing to validate on.
FEWEST_ROWS = 10
#: Where no budget is given, it pays so many dimensions of every field.
DIMENSIONS_BY_DEFAULT = 3


class DataError(ValueError):
    """Data that no allocation can be made for."""


def suggest_budget(cardinalities: Mapping[str, int]) -> int:
    """Return the budget where the user names none: three dimensions of every field."""
    return DIMENSIONS_BY_DEFAULT * sum(cardinalities.values())


def check_row_count(rows: int, fewest: int = FEWEST_ROWS) -> None:
    """Refuse a table that is too small, by default to train and to validate on."""
    if rows < fewest:
        raise DataError(f"{rows} sample(s), while a minimum of {fewest} rows is required")


@dataclass(frozen=True)
class PredictionTask:
    """What is predicted.

    Attributes
    ----------
    kind
        Decides the loss: logloss, cross entropy, or squared error of the standardised target.
    classes
        The labels in order, empty for regression.
    centre, scale
        What standardises the target of a regression.
    """

    kind: TaskKind
    classes: tuple[Any, ...] = ()
    centre: float = 0.0
    scale: float = 1.0

    @property
    def outputs(self) -> int:
        """Number of outputs of a network for this task."""
        return len(self.classes) if self.kind == "multiclass" else 1

    def encode(self, target: NDArray[Any]) -> NDArray[Any]:
        """Return the target as a network needs it: 0 and 1, class numbers, or standardised."""
        if self.kind == "regression":
            values = np.asarray(target, dtype=np.float64)
            return standardise(values, self.centre, self.scale).astype(np.float32)
        codes = pd.Index(self.classes).get_indexer(pd.Index(target))
        if (codes < 0).any():
            unknown = np.asarray(target)[codes < 0][0]
            raise DataError(f"target: the class {str(unknown)!r} was not there in training")
        return codes.astype(np.float32 if self.kind == "binary" else np.int64)


class RowNotes(NamedTuple):
    """What is known of rows beside their columns: see `FieldData` for the three."""

    weights: Floats | None = None
    groups: NDArray[np.int64] | None = None
    times: Floats | None = None

    def take(self, rows: Rows) -> "RowNotes":
        """Return what is known of these rows."""
        parts: list[Any] = [None if each is None else each[rows] for each in self]
        return RowNotes(*parts)


@dataclass(frozen=True)
class FieldData:
    """Rows as arrays, ready for training.

    Attributes
    ----------
    cardinalities
        Number of levels N_j by field, the unseen level included.
    codes
        Level numbers by field, one per row of the data.
    numbers
        Standardised numeric columns, one row per row of the data.
    target
        As `PredictionTask.encode` returns it.
    task
        What is predicted.
    weights
        What each row counts in losses, 1 on average; None if all count the same.
    groups
        Numbers of groups of rows of which each validates as a whole or not at all.
    times
        When each row was observed: the last ones validate.
    keys
        A number per row by which rows are shuffled, so that one row more or less hardly changes
        the order of the others; None to go by their places.
    """

    cardinalities: Mapping[str, int]
    codes: Mapping[str, Codes]
    numbers: NDArray[np.float32]
    target: NDArray[Any]
    task: PredictionTask
    weights: Floats | None = None
    groups: NDArray[np.int64] | None = None
    times: Floats | None = None
    keys: Hashes | None = None

    def __len__(self) -> int:
        return len(self.target)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields, sorted by name."""
        return tuple(self.cardinalities)

    def take(self, rows: Rows | slice) -> "FieldData":
        """Return these rows only, with weights that are 1 on average over them."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(
            self,
            codes={name: codes[rows] for name, codes in self.codes.items()},
            numbers=self.numbers[rows],
            target=self.target[rows],
            weights=None if weights is None else weights / (weights.mean() or 1.0),
            groups=None if self.groups is None else self.groups[rows],
            times=None if self.times is None else self.times[rows],
            keys=None if self.keys is None else self.keys[rows],
        )

    def shuffle(self, seed: int, *parts: str | int) -> Rows:
        """Return an order of the rows that looks random and has this name."""
        return sort_places(self.scramble(seed, *parts))

    def scramble(self, seed: int, *parts: str | int) -> Hashes:
        """Return a number per row that looks random and has this name."""
        keys = np.arange(len(self), dtype=np.uint64) if self.keys is None else self.keys
        return scramble(keys, seed, *parts)

    def weigh(self, losses: Floats) -> Floats:
        """Return the rows' losses times their weights, so that the plain mean is the weighted."""
        return losses if self.weights is None else losses * self.weights


def find_task(target: NDArray[Any], wanted: str = "auto") -> PredictionTask:
    """Decide what is predicted from the target's values.

    Parameters
    ----------
    target
        One value per row, none missing.
    wanted
        ``classification``, ``regression``, or ``auto``: text, booleans and numbers with at most
        20 distinct whole values are classes, other numbers are quantities.
    """
    if wanted not in ("auto", "classification", "regression"):
        raise ValueError(f"task: {wanted!r} is not auto, classification or regression")
    target = np.asarray(target)
    values = np.unique(target) if target.dtype.kind in "biuf" else pd.unique(pd.Series(target))
    if len(values) < 2:
        raise DataError(
            f"target: all {len(target):,} values are {str(values[0])!r}, nothing to predict"
        )
    is_number = target.dtype.kind in "iuf"
    if wanted == "auto":
        whole = is_number and bool((values == np.floor(values)).all())
        few = whole and len(values) <= MOST_NUMERIC_CLASSES
        wanted = "regression" if is_number and not few else "classification"
    if wanted == "regression":
        if not is_number and target.dtype.kind != "b":
            raise DataError(f"target: {str(values[0])!r} is not a number, so this is no regression")
        ordered = np.sort(target.astype(np.float64))  # sums must not depend on the rows' order
        centre, scale = measure_spread(ordered)
        smallest = float(np.nextafter(0, 1))  # for values that are hardly more than this apart
        return PredictionTask("regression", centre=centre, scale=scale or smallest)
    classes = tuple(sorted(values.tolist(), key=lambda value: (str(type(value)), value)))
    return PredictionTask("binary" if len(classes) == 2 else "multiclass", classes)


@dataclass(frozen=True)
class FieldLevels:
    """The levels of one field and their codes.

    Attributes
    ----------
    levels
        The values that were there, without the missing one.
    codes
        The code of each; levels that are pooled share one.
    missing
        The code of a missing value; `UNSEEN` if none was missing.
    cardinality
        Number of codes, the unseen one included.
    """

    levels: pd.Index
    codes: Codes
    missing: int
    cardinality: int

    def encode(self, column: pd.Series) -> Codes:
        """Return the codes of a column's values."""
        position = self.levels.get_indexer(pd.Index(_unwrap_categories(column)))
        codes = np.append(self.codes, UNSEEN).astype(smallest_type(self.cardinality))[position]
        codes[column.isna().to_numpy()] = self.missing
        return codes


@dataclass(frozen=True)
class TableEncoder:
    """How a data frame becomes `FieldData`, learnt from training rows.

    Attributes
    ----------
    fields
        Levels by field, sorted by name.
    numeric
        How every numeric column is read, sorted by name.
    task
        What is predicted.
    """

    fields: Mapping[str, FieldLevels]
    numeric: Mapping[str, NumberScale]
    task: PredictionTask

    def encode(
        self,
        frame: pd.DataFrame,
        target: NDArray[Any] | None = None,
        about: RowNotes | None = None,
    ) -> FieldData:
        """Return rows as arrays, in their own order."""
        return FieldData(
            {name: levels.cardinality for name, levels in self.fields.items()},
            {name: levels.encode(frame[name]) for name, levels in self.fields.items()},
            _scale_columns(
                (_read_numbers(frame[name], name) for name in self.numeric),
                self.numeric,
                len(frame),
            ),
            np.zeros(len(frame), np.float32) if target is None else self.task.encode(target),
            self.task,
            *(about or ()),
        )


def learn_encoding(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    *,
    task: PredictionTask,
    min_frequency: int = 1,
    about: RowNotes | None = None,
) -> tuple[TableEncoder, FieldData]:
    """Learn levels, medians and scales, and return the rows in canonical order.

    Parameters
    ----------
    frame, target
        The training rows.
    categorical
        Names of the categorical fields; all other columns must be numbers.
    task
        What is predicted.
    min_frequency
        Levels with fewer rows share one code.
    about
        Weights, groups and times of the rows.
    """
    found = {name: _find_levels(frame[name], name) for name in sorted(categorical)}
    numeric = sorted(set(frame.columns) - set(found))
    # Numbers are read whenever they are needed: large tables are all that takes memory here.
    scales = {name: measure_scale(_read_numbers(frame[name], name)) for name in numeric}
    pooled = [_pool_rare(raw, min_frequency) for raw, _ in found.values()]
    basis = hash_rows((_read_numbers(frame[name], name) for name in numeric), target)
    numbered, order = order_canonically(pooled, basis)
    fields = {}
    for (name, (raw, levels)), codes in zip(found.items(), numbered, strict=True):
        code_of = np.full(len(levels) + 1, UNSEEN, dtype=np.int32)  # the last for a missing value
        code_of[raw] = codes
        cardinality = int(codes.max(initial=0)) + 1
        fields[name] = FieldLevels(levels, code_of[:-1], int(code_of[-1]), cardinality)
    del found, pooled, raw, codes
    keys = identify_rows(numbered, basis, order)
    del basis
    # What the encoder would make of the same rows, without looking their values up again.
    data = FieldData(
        {name: levels.cardinality for name, levels in fields.items()},
        {name: numbered.pop(0)[order] for name in fields},
        _scale_columns((_read_numbers(frame[name], name) for name in numeric), scales, len(frame))[
            order
        ],
        task.encode(target)[order],
        task,
        *(about or RowNotes()).take(order),
        keys=keys[order],
    )
    return TableEncoder(fields, scales, task), data


def sample_rows(data: FieldData, most: int, *, seed: int) -> FieldData:
    """Return at most so many rows, drawn without replacement."""
    if len(data) <= most:
        return data
    numbers = data.scramble(seed, "sample")
    return data.take(np.flatnonzero(numbers <= np.partition(numbers, most - 1)[most - 1]))


def is_categorical(column: pd.Series) -> bool:
    """Tell whether a column's type is text, category or boolean."""
    kind = column.dtype
    return (
        isinstance(kind, pd.CategoricalDtype)
        or pd.api.types.is_bool_dtype(kind)
        or pd.api.types.is_string_dtype(kind)  # objects too
    )


def count_levels(column: pd.Series) -> int:
    """Return the levels N of a field: those there, a missing value, and the unseen one."""
    return int(column.nunique()) + bool(column.isna().any()) + 1


def _unwrap_categories(column: pd.Series) -> pd.Series:
    """Return a column whose values compare across dtypes: categories as what they stand for."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype if not column.hasnans else object)
    return column


def _find_levels(column: pd.Series, name: str) -> tuple[Codes, pd.Index]:
    """Return level numbers and levels; a missing value has the number after the last level."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _find_categories(column)
    try:
        codes, levels = pd.factorize(column, use_na_sentinel=True)
    except TypeError as error:
        raise DataError(f"column {name!r}: values that cannot be levels ({error})") from None
    codes[codes < 0] = len(levels)
    return codes.astype(_type_of_levels(levels)), pd.Index(levels)


def _find_categories(column: pd.Series) -> tuple[Codes, pd.Index]:
    """Return the same as `_find_levels` does of what the categories stand for."""
    codes, categories = column.array.codes, column.cat.categories
    first = np.full(len(categories) + 1, len(codes))  # the row of each; missing ones' is the last
    for piece in reversed(list(cut(codes))):
        some = codes[piece][::-1]  # of equal ones the last assignment stays
        first[some] = np.arange(piece.start + len(some), piece.start, -1) - 1
    there = np.argsort(first[:-1])[: np.count_nonzero(first[:-1] < len(codes))]
    levels = categories.take(there).rename(None)
    number_of = np.full(len(first), len(there), dtype=_type_of_levels(levels))
    number_of[there] = np.arange(len(there))
    missing = first[-1] < len(codes)
    return look_up(number_of, codes), levels.astype(object) if missing else levels


def _type_of_levels(levels: pd.Index) -> np.dtype[np.unsignedinteger[Any]]:
    """Return a type for levels, a missing value and the unseen one."""
    return smallest_type(len(levels) + 1)


def _pool_rare(codes: Codes, min_frequency: int) -> Codes:
    """Give levels with fewer rows than this one common number, after those of the others."""
    if min_frequency == 1:
        return codes  # numbered without gaps already
    common = np.bincount(codes) >= min_frequency
    new = np.where(common, np.cumsum(common) - 1, common.sum())
    return look_up(new.astype(codes.dtype), codes)


def _read_numbers(column: pd.Series, name: str) -> Floats:
    """Return a numeric column, missing and infinite values as nan."""
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(
            f"column {name!r}: holds values that are not numbers; name it as categorical or drop it"
        ) from None
    return values if np.isfinite(values).all() else np.where(np.isfinite(values), values, np.nan)


def _scale_columns(
    columns: Iterable[Floats], scales: Mapping[str, NumberScale], rows: int
) -> NDArray[np.float32]:
    numbers = np.empty((rows, len(scales)), dtype=np.float32)
    for position, (values, scale) in enumerate(zip(columns, scales.values(), strict=True)):
        for piece in cut(values):
            numbers[piece, position] = scale.read(values[piece])
    return numbers
