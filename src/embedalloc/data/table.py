"""A table of categorical fields and numbers as arrays, the same however it was written down.

Networks are started from random numbers, and the same data must give the same answer whether
or not its rows were shuffled, its columns moved or its levels renamed. So columns are taken in
the order of their names, and levels and rows in an order that only the data decide: see
`order_canonically`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.streams import stream

Hashes = NDArray[np.uint64]
Codes = NDArray[np.int32]
Rows = NDArray[np.intp]
TaskKind = Literal["binary", "multiclass", "regression"]

#: Code of a level that was not there when the levels were learnt.
UNSEEN = 0
#: A numeric target with more distinct values than this is a quantity, not a class.
MOST_NUMERIC_CLASSES = 20
#: Levels are told apart one by one as long as marks times rows stay below this.
MOST_MARKED_ROWS = 1_000_000
#: Standardised numbers beyond this, up or down, are set to it.
LARGEST_INPUT = 1e6


class DataError(ValueError):
    """Data that no allocation can be made for."""


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
    """

    cardinalities: Mapping[str, int]
    codes: Mapping[str, Codes]
    numbers: NDArray[np.float32]
    target: NDArray[Any]
    task: PredictionTask

    def __len__(self) -> int:
        return len(self.target)

    @property
    def names(self) -> tuple[str, ...]:
        """The fields, sorted by name."""
        return tuple(self.cardinalities)

    def take(self, rows: Rows) -> "FieldData":
        """Return these rows only."""
        return replace(
            self,
            codes={name: codes[rows] for name, codes in self.codes.items()},
            numbers=self.numbers[rows],
            target=self.target[rows],
        )


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
        return PredictionTask(
            "regression", centre=float(ordered.mean()), scale=float(ordered.std())
        )
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
        known = np.append(self.codes, UNSEEN).astype(np.int32)
        return np.where(column.isna().to_numpy(), self.missing, known[position]).astype(np.int32)


@dataclass(frozen=True)
class TableEncoder:
    """How a data frame becomes `FieldData`, learnt from training rows.

    Attributes
    ----------
    fields
        Levels by field, sorted by name.
    numeric
        Median, mean and standard deviation by numeric column, sorted by name.
    task
        What is predicted.
    """

    fields: Mapping[str, FieldLevels]
    numeric: Mapping[str, tuple[float, float, float]]
    task: PredictionTask

    def encode(self, frame: pd.DataFrame, target: NDArray[Any] | None = None) -> FieldData:
        """Return rows as arrays, in their own order."""
        return FieldData(
            {name: levels.cardinality for name, levels in self.fields.items()},
            {name: levels.encode(frame[name]) for name, levels in self.fields.items()},
            _standardise(frame, self.numeric),
            np.zeros(len(frame), np.float32) if target is None else self.task.encode(target),
            self.task,
        )


def learn_encoding(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    *,
    task: PredictionTask,
    min_frequency: int = 1,
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
    """
    found = {name: _find_levels(frame[name], name) for name in sorted(categorical)}
    numbers = {
        name: _read_numbers(frame[name], name) for name in sorted(set(frame.columns) - set(found))
    }
    pooled = [_pool_rare(raw, min_frequency) for raw, _ in found.values()]
    numbered, order = order_canonically(pooled, _hash_rows(list(numbers.values()), target))
    fields = {}
    for (name, (raw, levels)), codes in zip(found.items(), numbered, strict=True):
        code_of = np.full(len(levels) + 1, UNSEEN, dtype=np.int32)  # the last for a missing value
        code_of[raw] = codes
        cardinality = int(codes.max(initial=0)) + 1
        fields[name] = FieldLevels(levels, code_of[:-1], int(code_of[-1]), cardinality)
    scales = {name: _measure_scale(values) for name, values in numbers.items()}
    encoder = TableEncoder(fields, scales, task)
    return encoder, encoder.encode(frame, target).take(order)


def split_rows(
    target: NDArray[Any], task: PredictionTask, share: float, *, seed: int, label: str
) -> tuple[Rows, Rows]:
    """Split rows at random, every class by the same share; each part keeps its order.

    Returns
    -------
    tuple
        The rows that stay, and the share that is held out.
    """
    order = stream(seed, label).permutation(len(target))
    if task.kind != "regression":
        order = order[np.argsort(target[order], kind="stable")]
    # Of the sorted rows every k-th, at an even pace, is held out.
    position = np.floor(np.arange(len(target) + 1) * share + 0.5)
    held = np.diff(position) > 0
    return np.sort(order[~held]), np.sort(order[held])


def sample_rows(data: FieldData, most: int, *, seed: int) -> FieldData:
    """Return at most so many rows, drawn without replacement."""
    if len(data) <= most:
        return data
    chosen = stream(seed, "sample").choice(len(data), size=most, replace=False, shuffle=False)
    return data.take(np.sort(chosen))


def order_canonically(fields: Sequence[Codes], basis: Hashes) -> tuple[list[Codes], Rows]:
    """Give levels numbers from 1, and rows an order, that the data alone decide.

    A row's fingerprint starts from its numbers and target; a level's is the sum of its rows'
    fingerprints and its row count; rows then take in the fingerprints of their levels, and so on
    for some rounds. Levels are numbered by falling row count, then by fingerprint, rows ordered
    by fingerprint. Of levels that stay equal an arbitrary one is marked, and the mark spreads
    before the next is chosen: levels that swap only together with others go on together. So the
    choice is not visible, unless the levels form a contrived, perfectly regular pattern or are
    too many to be told apart one by one.

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
    rows = marked = _spread(fields, basis)
    numbered = []
    for position, codes in enumerate(fields):
        counts = np.bincount(codes).astype(np.int64)
        marked = _tell_levels_apart(fields, codes, marked)
        order = np.lexsort((_hash_levels(codes, marked), _hash_levels(codes, rows), -counts))
        number_of = np.empty(len(counts), dtype=np.int32)
        number_of[order] = np.arange(1, len(counts) + 1)
        new = number_of[codes]
        numbered.append(new)
        rows = _mix(rows ^ _salt(new.astype(np.uint64), position))
    return numbered, np.argsort(rows, kind="stable")


def _spread(fields: Sequence[Codes], rows: Hashes) -> Hashes:
    """Let rows take in the fingerprints of their levels, twice."""
    for _ in range(2):
        mixed = rows
        for position, codes in enumerate(fields):
            mixed = _mix(mixed ^ _salt(_hash_levels(codes, rows)[codes], position))
        rows = mixed
    return rows


def _tell_levels_apart(fields: Sequence[Codes], codes: Codes, rows: Hashes) -> Hashes:
    """Mark one of a field's equal levels after the other, each time with what follows from it."""
    for _ in range(MOST_MARKED_ROWS // max(len(rows), 1)):
        _, first, count = np.unique(
            _hash_levels(codes, rows), return_index=True, return_counts=True
        )
        equal = first[count > 1]
        if not equal.size:
            break
        rows = _spread(fields, np.where(codes == equal[0], ~rows, rows))
    return rows


def _hash_levels(codes: Codes, rows: Hashes) -> Hashes:
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


def _salt(values: Hashes, position: int) -> Hashes:
    """Scramble numbers differently for every position."""
    return _mix(values + _mix(np.array([position + 1], dtype=np.uint64)))


def _hash_rows(columns: Sequence[Floats], target: NDArray[Any]) -> Hashes:
    """Return a number per row from its numeric values and its target."""
    rows = np.zeros(len(target), dtype=np.uint64)
    target_codes = (
        np.asarray(target, dtype=np.float64)
        if np.asarray(target).dtype.kind in "biuf"
        else pd.factorize(pd.Series(target), sort=True)[0].astype(np.float64)
    )
    for position, column in enumerate([target_codes, *columns]):
        values = np.where(np.isnan(column), np.nan, column + 0.0)  # one missing value, one zero
        rows = _mix(rows ^ _salt(values.view(np.uint64), position))
    return rows


def is_categorical(column: pd.Series) -> bool:
    """Tell whether a column's type is text, category or boolean."""
    kind = column.dtype
    return (
        isinstance(kind, pd.CategoricalDtype)
        or pd.api.types.is_bool_dtype(kind)
        or pd.api.types.is_string_dtype(kind)  # objects too
    )


def _unwrap_categories(column: pd.Series) -> pd.Series:
    """Return a column whose values compare across dtypes: categories as what they stand for."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.astype(column.cat.categories.dtype if not column.hasnans else object)
    return column


def _find_levels(column: pd.Series, name: str) -> tuple[Codes, pd.Index]:
    """Return level numbers and levels; a missing value has the number after the last level."""
    try:
        codes, levels = pd.factorize(_unwrap_categories(column), use_na_sentinel=True)
    except TypeError as error:
        raise DataError(f"column {name!r}: values that cannot be levels ({error})") from None
    return np.where(codes < 0, len(levels), codes).astype(np.int32), pd.Index(levels)


def _pool_rare(codes: Codes, min_frequency: int) -> Codes:
    """Give levels with fewer rows than this one common number, after those of the others."""
    common = np.bincount(codes) >= min_frequency
    new = np.where(common, np.cumsum(common) - 1, common.sum())
    return new[codes].astype(np.int32)


def _read_numbers(column: pd.Series, name: str) -> Floats:
    """Return a numeric column, missing and infinite values as nan."""
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise DataError(
            f"column {name!r}: holds values that are not numbers; name it as categorical or drop it"
        ) from None
    return np.where(np.isfinite(values), values, np.nan)


def _measure_scale(values: Floats) -> tuple[float, float, float]:
    """Return median, mean and standard deviation after imputation, whatever the rows' order."""
    present = np.sort(values[~np.isnan(values)])
    if not present.size:
        return 0.0, 0.0, 1.0
    median = float(np.median(present))
    filled = np.sort(np.append(present, np.full(len(values) - len(present), median)))
    deviation = float(filled.std())
    return median, float(filled.mean()), deviation if deviation > 0 else 1.0


def _standardise(
    frame: pd.DataFrame, numeric: Mapping[str, tuple[float, float, float]]
) -> NDArray[np.float32]:
    numbers = np.empty((len(frame), len(numeric)), dtype=np.float32)
    for position, (name, (median, mean, deviation)) in enumerate(numeric.items()):
        values = _read_numbers(frame[name], name)
        centred = np.where(np.isnan(values), median, values) - mean
        # New rows may lie anywhere; what a network reads must stay finite.
        numbers[:, position] = np.clip(centred / deviation, -LARGEST_INPUT, LARGEST_INPUT)
    return numbers
