"""Tables from files for the commands that read data: checked, and every mistake in one line."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from numpy.typing import NDArray

from embedalloc.checks import list_names
from embedalloc.command_line import InputError
from embedalloc.data.estimator import is_categorical

#: A column with fewer rows may have all its values different without being an identifier.
FEWEST_ROWS_OF_AN_IDENTIFIER = 20


@dataclass(frozen=True)
class DataFile:
    """A table to plan for.

    Attributes
    ----------
    frame
        The predictors.
    target
        One value per row.
    categorical
        The categorical columns, in the order of the file.
    """

    frame: pd.DataFrame
    target: NDArray[Any]
    categorical: list[str]


def read_data_file(
    path: Path,
    target: str,
    *,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> DataFile:
    """Read a CSV or parquet file and decide which columns are categorical.

    Parameters
    ----------
    path
        Parquet if it is named .parquet or .pq, otherwise text with commas and a header.
    target
        The column to predict.
    categorical, numeric
        Columns that are so whatever their type.
    ignore
        Columns to leave out.
    """
    frame = _read(path)
    if not len(frame):
        raise InputError(f"{path}: no rows")
    for option, names in (
        ("--target", [target]),
        ("--categorical", categorical),
        ("--numeric", numeric),
        ("--ignore", ignore),
    ):
        _check_names(path, frame, option, names)
    goal = _target(path, frame, target)
    frame = frame.drop(columns=[target, *ignore])
    for name in numeric:
        frame[name] = _as_numbers(path, frame[name], name)
    fields = [
        name
        for name in frame.columns
        if name in categorical or (name not in numeric and is_categorical(frame[name]))
    ]
    if not fields:
        raise InputError(
            f"{path}: no categorical column (text, category or boolean); name columns whose "
            "numbers are categories with --categorical"
        )
    for name in fields:
        _refuse_identifier(path, frame[name], name)
    for name in frame.columns.difference(fields):
        if not pd.api.types.is_numeric_dtype(frame[name].dtype):
            raise InputError(
                f"{path}: column {name!r} ({frame[name].dtype}) holds neither categories nor "
                f"numbers; leave it out with --ignore {name}"
            )
    return DataFile(frame, goal, fields)


def _read(path: Path) -> pd.DataFrame:
    parquet = path.suffix.lower() in (".parquet", ".pq")
    try:
        if parquet:
            frame = pd.read_parquet(path)
        else:
            header = pd.read_csv(path, header=None, nrows=1, dtype=str).iloc[0]
            _refuse_repeated(path, header)
            frame = pd.read_csv(path, skipinitialspace=True)
    except pd.errors.EmptyDataError:
        raise InputError(f"{path}: the file is empty") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8 text; convert it first") from None
    except (pd.errors.ParserError, pyarrow.ArrowException, ValueError) as error:
        kind = "a parquet file" if parquet else "a CSV file"
        raise InputError(f"{path}: not {kind} ({error})") from None
    _refuse_repeated(path, frame.columns)
    return frame.set_axis([str(name).strip() for name in frame.columns], axis="columns")


def _refuse_repeated(path: Path, names: Any) -> None:
    series = pd.Series([str(name).strip() for name in names])
    twice = series[series.duplicated()]
    if len(twice):
        raise InputError(f"{path}: column {twice.iloc[0]!r} is there twice; rename one")


def _check_names(path: Path, frame: pd.DataFrame, option: str, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            known = list_names(map(str, frame.columns), most=8)
            raise InputError(f"{path}: {option}: no column {name!r}; there are {known}")


def _target(path: Path, frame: pd.DataFrame, name: str) -> NDArray[Any]:
    column = frame[name]
    missing = int(column.isna().sum())
    if missing:
        raise InputError(
            f"{path}: target {name!r} is missing in {missing:,} of {len(frame):,} rows; drop "
            "these rows or fill them first"
        )
    if column.nunique() < 2:
        raise InputError(
            f"{path}: target {name!r} is {str(column.iloc[0])!r} in all {len(frame):,} rows; there "
            "is nothing to predict"
        )
    if (
        pd.api.types.is_numeric_dtype(column.dtype)
        and not np.isfinite(column.to_numpy(np.float64)).all()
    ):
        raise InputError(f"{path}: target {name!r} holds infinity; drop these rows")
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy()
    return column.astype(object).to_numpy()


def _as_numbers(path: Path, column: pd.Series, name: str) -> pd.Series:
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna() & column.notna()
    if wrong.any():
        row = int(np.flatnonzero(wrong.to_numpy())[0])
        raise InputError(
            f"{path}: --numeric: column {name!r} holds {str(column.iloc[row])!r} in row {row + 1}, "
            "which is not a number"
        )
    return numbers


def _refuse_identifier(path: Path, column: pd.Series, name: str) -> None:
    present = int(column.notna().sum())
    if present >= FEWEST_ROWS_OF_AN_IDENTIFIER and column.nunique() == present:
        raise InputError(
            f"{path}: column {name!r} has another value in every row, an identifier from which "
            f"nothing can be learnt; leave it out with --ignore {name}"
        )
