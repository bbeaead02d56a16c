"""A table of categorical fields and numbers as arrays, the same however it was written down.

Networks are started from random numbers, and the same data must give the same answer whether
or not its rows were shuffled, its columns moved or its levels renamed. So columns are taken in
the order of their names, and levels and rows in an order that only the data decide: see
`canonical_codes`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints

Hashes = NDArray[np.uint64]
Codes = NDArray[np.int32]
Rows = NDArray[np.intp]
TaskKind = Literal["binary", "multiclass", "regression"]

#: Code of a level that was not there when the levels were learnt.
UNSEEN = 0
#: A numeric target with more distinct values than this is a quantity, not a class.
MOST_NUMERIC_CLASSES = 20
#: Standardised numbers beyond this, up or down, are set to it.
LARGEST_INPUT = 1e6


class DataError(ValueError):
    """Data that no allocation can be made for."""


@dataclass(frozen=True)
class Task:
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
            values = (np.asarray(target, dtype=np.float64) - self.centre) / self.scale
            return values.astype(np.float32)
        codes = pd.Index(self.classes).get_indexer(pd.Index(target))
        if (codes < 0).any():
            unknown = np.asarray(target)[codes < 0][0]
            raise DataError(f"target: the class {str(unknown)!r} was not there in training")
        return codes.astype(np.float32 if self.kind == "binary" else np.int64)


@dataclass(frozen=True)
class FieldData:
    """Rows as arrays, ready for training.

    Attributes
    ----------
    names
        The categorical fields.
    cardinalities
        Their numbers of levels N_j, the unseen level included.
    codes
        Level numbers, one row per field.
    numbers
        Standardised numeric columns, one row per row of the data.
    target
        As `Task.encode` returns it.
    task
        What is predicted.
    """

    names: tuple[str, ...]
    cardinalities: Ints
    codes: Codes
    numbers: NDArray[np.float32]
    target: NDArray[Any]
    task: Task

    def __len__(self) -> int:
        return len(self.target)

    def take(self, rows: Rows) -> "FieldData":
        """Return these rows only."""
        return FieldData(
            self.names,
            self.cardinalities,
            self.codes[:, rows],
            self.numbers[rows],
            self.target[rows],
            self.task,
        )

    def cardinality(self) -> dict[str, int]:
        """Return the number of levels by field."""
        return dict(zip(self.names, self.cardinalities.tolist(), strict=True))


def find_task(target: NDArray[Any], wanted: str = "auto") -> Task:
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
        return Task("regression", centre=float(ordered.mean()), scale=float(ordered.std()))
    classes = tuple(sorted(values.tolist(), key=lambda value: (str(type(value)), value)))
    return Task("binary" if len(classes) == 2 else "multiclass", classes)


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
        position = self.levels.get_indexer(pd.Index(_plain(column)))
        known = np.append(self.codes, UNSEEN).astype(np.int32)
        return np.where(column.isna().to_numpy(), self.missing, known[position]).astype(np.int32)


@dataclass(frozen=True)
class TableEncoder:
    """How a data frame becomes `FieldData`, learnt from training rows.

    Attributes
    ----------
    fields
        Levels by categorical column, sorted by name.
    numeric
        Median, mean and standard deviation by numeric column, sorted by name.
    task
        What is predicted.
    """

    fields: Mapping[str, FieldLevels]
    numeric: Mapping[str, tuple[float, float, float]]
    task: Task

    def encode(self, frame: pd.DataFrame, target: NDArray[Any] | None = None) -> FieldData:
        """Return rows as arrays, in their own order."""
        empty = np.empty((0, len(frame)), dtype=np.int32)
        codes = [levels.encode(frame[name]) for name, levels in self.fields.items()]
        return FieldData(
            tuple(self.fields),
            np.array([levels.cardinality for levels in self.fields.values()], dtype=np.int64),
            np.stack(codes) if codes else empty,
            _standardised(frame, self.numeric),
            np.zeros(len(frame), np.float32) if target is None else self.task.encode(target),
            self.task,
        )


def learn_encoding(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    *,
    task: Task,
    min_frequency: int = 1,
) -> tuple[TableEncoder, FieldData]:
    """Learn levels, medians and scales, and return the rows in canonical order.

    Parameters
    ----------
    frame, target
        The training rows.
    categorical
        Names of the categorical columns; all others must be numbers.
    task
        What is predicted.
    min_frequency
        Levels with fewer rows share one code.
    """
    names = sorted(categorical)
    numeric_names = sorted(set(frame.columns) - set(names))
    raw, found = [], []
    for name in names:
        codes, levels = _factorised(frame[name], name)
        raw.append(codes)
        found.append(levels)
    pooled = [_pool_rare(codes, min_frequency) for codes in raw]
    basis = _row_hashes([_as_float(frame[name], name) for name in numeric_names], target)
    ordered, rows = canonical_codes([codes for codes, _ in pooled], basis)
    fields = {}
    for name, levels, first, (grouped, group_of), codes in zip(
        names, found, raw, pooled, ordered, strict=True
    ):
        code_of_group = np.zeros(int(grouped.max(initial=0)) + 1, dtype=np.int32)
        code_of_group[grouped] = codes
        code_of = code_of_group[group_of]
        has_missing = bool((first == len(levels)).any())
        fields[name] = FieldLevels(
            levels,
            code_of[: len(levels)],
            int(code_of[len(levels)]) if has_missing else UNSEEN,
            int(codes.max(initial=0)) + 1,
        )
    numeric = {name: _location_and_scale(_as_float(frame[name], name)) for name in numeric_names}
    encoder = TableEncoder(fields, numeric, task)
    data = FieldData(
        tuple(names),
        np.array([fields[name].cardinality for name in names], dtype=np.int64),
        np.stack([codes[rows] for codes in ordered])
        if names
        else np.empty((0, len(rows)), np.int32),
        _standardised(frame, numeric)[rows],
        task.encode(target)[rows],
        task,
    )
    return encoder, data


def canonical_codes(fields: Sequence[Codes], basis: Hashes) -> tuple[list[Codes], Rows]:
    """Give levels numbers from 1, and rows an order, that the data alone decide.

    A row's fingerprint starts from its numbers and target; a level's is the sum of its rows'
    fingerprints and its row count; rows then take in the fingerprints of their levels, and so on
    for some rounds. Levels are numbered by falling row count, then by fingerprint, rows ordered
    by fingerprint. What stays equal is told apart field by field, arbitrarily. Rows and levels
    that swap without changing the data give the same arrays either way; only a contrived,
    perfectly regular pattern of levels could make the arbitrary choice visible.

    Parameters
    ----------
    fields
        For every field its levels as numbers from 0, in any order.
    basis
        A number per row that stands for everything else in it.

    Returns
    -------
    tuple
        The new level numbers, in the given order of rows, and the order of the rows.
    """
    rows = basis
    rounds = 2
    for _ in range(rounds):
        mixed = rows
        for position, codes in enumerate(fields):
            mixed = _mix(mixed ^ _salted(_level_hashes(codes, rows)[codes], position))
        rows = mixed
    numbered = []
    for position, codes in enumerate(fields):
        counts = np.bincount(codes).astype(np.int64)
        order = np.lexsort((_level_hashes(codes, rows), -counts))
        number_of = np.empty(len(counts), dtype=np.int32)
        number_of[order] = np.arange(1, len(counts) + 1)
        new = number_of[codes]
        numbered.append(new)
        rows = _mix(rows ^ _salted(new.astype(np.uint64), position))
    return numbered, np.argsort(rows, kind="stable")


def _level_hashes(codes: Codes, rows: Hashes) -> Hashes:
    """Return a number per level that the multiset of its rows decides."""
    totals = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(totals, codes, _mix(rows))
    return totals


def _mix(values: Hashes) -> Hashes:
    """Scramble 64-bit numbers (the finaliser of SplitMix64, Steele and others 2014)."""
    mixed = values + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _salted(values: Hashes, position: int) -> Hashes:
    """Scramble numbers differently for every position."""
    return _mix(values + _mix(np.array([position + 1], dtype=np.uint64)))


def _row_hashes(columns: Sequence[Floats], target: NDArray[Any]) -> Hashes:
    """Return a number per row from its numeric values and its target."""
    rows = np.zeros(len(target), dtype=np.uint64)
    target_codes = (
        np.asarray(target, dtype=np.float64)
        if np.asarray(target).dtype.kind in "biuf"
        else pd.factorize(pd.Series(target), sort=True)[0].astype(np.float64)
    )
    for position, column in enumerate([target_codes, *columns]):
        values = np.where(np.isnan(column), np.nan, column + 0.0)  # one missing value, one zero
        rows = _mix(rows ^ _salted(values.view(np.uint64), position))
    return rows


def _plain(column: pd.Series) -> pd.Series:
    """Return a column whose values compare across dtypes: categories as what they stand for."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype if not column.hasnans else object)
    return column


def _factorised(column: pd.Series, name: str) -> tuple[Codes, pd.Index]:
    """Return level numbers and levels; a missing value has the number after the last level."""
    try:
        codes, levels = pd.factorize(_plain(column), use_na_sentinel=True)
    except TypeError as error:
        raise DataError(f"column {name!r}: values that cannot be levels ({error})") from None
    return np.where(codes < 0, len(levels), codes).astype(np.int32), pd.Index(levels)


def _pool_rare(codes: Codes, min_frequency: int) -> tuple[Codes, NDArray[np.intp]]:
    """Give levels with fewer rows than this one common number; drop numbers nobody has.

    Returns
    -------
    tuple
        New numbers per row, and the new number of every old one (the last for absent ones).
    """
    counts = np.bincount(codes, minlength=int(codes.max(initial=-1)) + 2)
    rare = (counts < min_frequency) & (counts > 0)
    common = (counts > 0) & ~rare
    new = np.cumsum(common) - 1
    new[~common] = int(common.sum()) if rare.any() else 0
    return new[codes].astype(np.int32), new.astype(np.intp)


def _as_float(column: pd.Series, name: str) -> Floats:
    """Return a numeric column, missing and infinite values as nan."""
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(
            f"column {name!r}: holds values that are not numbers; name it as categorical or drop it"
        ) from None
    return np.where(np.isfinite(values), values, np.nan)


def _location_and_scale(values: Floats) -> tuple[float, float, float]:
    """Return median, mean and standard deviation after imputation, whatever the rows' order."""
    present = np.sort(values[~np.isnan(values)])
    if not present.size:
        return 0.0, 0.0, 1.0
    median = float(np.median(present))
    filled = np.sort(np.append(present, np.full(len(values) - len(present), median)))
    deviation = float(filled.std())
    return median, float(filled.mean()), deviation if deviation > 0 else 1.0


def _standardised(
    frame: pd.DataFrame, numeric: Mapping[str, tuple[float, float, float]]
) -> NDArray[np.float32]:
    numbers = np.empty((len(frame), len(numeric)), dtype=np.float32)
    for position, (name, (median, mean, deviation)) in enumerate(numeric.items()):
        values = _as_float(frame[name], name)
        centred = np.where(np.isnan(values), median, values) - mean
        # New rows may lie anywhere; what a network reads must stay finite.
        numbers[:, position] = np.clip(centred / deviation, -LARGEST_INPUT, LARGEST_INPUT)
    return numbers
