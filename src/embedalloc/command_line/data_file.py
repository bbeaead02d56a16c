"""Tables from files for the commands that read data: checked, and every mistake in one line."""

from collections.abc import Sequence
from functools import partial, wraps
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.checks import list_names
from embedalloc.command_line import InputError
from embedalloc.command_line.options import (
    Command,
    Option,
    add_options,
    count_parameters,
    list_budget_options,
)
from embedalloc.data.numerals import read_numbers
from embedalloc.data.reading import read_file
from embedalloc.data.rules import data_rule
from embedalloc.data.table import DataError, is_categorical
from embedalloc.text import make_visible

#: Parameters where neither --budget nor --bytes is given.
DEFAULT_BUDGET = "4096"
#: Options that say what `read_data_file` makes of the columns.
COLUMN_OPTIONS = (
    *("target", "categorical", "numeric", "ignore", "fixed"),
    *("separator", "encoding", "missing"),
)
#: A column with fewer rows may have all its values different without being an identifier.
FEWEST_ROWS_OF_AN_IDENTIFIER = 20


class DataFile(NamedTuple):
    """A table to choose dimensions for: what to predict from, and settled dimensions by field."""

    frame: pd.DataFrame
    target: NDArray[Any]
    categorical: list[str]
    fixed: dict[str, int]


def data_options(command: Command) -> Command:
    """Add the options that say what is in the file and which dimensions are permitted.

    The command is called with the `budget` (a number or "auto") and with `read`, which returns
    the `DataFile` when it is called; the other options are words of `EmbeddingAllocator`.
    """
    repeatable = partial(click.option, multiple=True, metavar="NAME")
    options: list[Option] = [
        click.argument("data", type=click.Path(path_type=Path)),
        click.option("--target", required=True, help="Column to predict."),
        *list_budget_options(f"  [default: {DEFAULT_BUDGET}]"),
        repeatable("--categorical", help="Column of numbers that are categories; may be repeated."),
        repeatable(
            "--numeric", help="Column of numbers that the file holds as text; may be repeated."
        ),
        repeatable("--ignore", help="Column to leave out; may be repeated."),
        repeatable(
            "--missing",
            metavar="WORD",
            help="Word for a missing value, beside the empty cell; may be repeated.",
        ),
        click.option("--separator", metavar="SIGN", help="Between cells.  [default: guessed]"),
        click.option("--encoding", help="Of the text.  [default: UTF-8, or else guessed]"),
        repeatable(
            "--fixed", metavar="NAME=DIM", help="Settled dimension of a field; may be repeated."
        ),
        click.option(
            "--drop-allowed/--keep-all",
            default=True,
            help="Whether fields without signal may go without embedding.  [default: allowed]",
        ),
        click.option(
            "--multiple-of", type=click.IntRange(1), default=1, help="Round dimensions to this."
        ),
        click.option(
            "--min-frequency",
            type=click.IntRange(1),
            default=1,
            help="Pool levels with fewer rows into one.",
        ),
        click.option(
            "--task",
            type=click.Choice(["auto", "classification", "regression"]),
            default="auto",
            help="By default text and few whole numbers are classes.",
        ),
        click.option("--seed", type=click.IntRange(0), default=0, help="Seed of all randomness."),
    ]

    @wraps(command)
    def run(
        *,
        data: Path,
        budget: str | None,
        memory: str | None,
        dtype: str | None,
        optimizer: str | None,
        **words: Any,
    ) -> None:
        columns = {name: words.pop(name) for name in COLUMN_OPTIONS}
        amount: int | str = "auto"
        if budget != "auto":
            amount = count_parameters(budget, memory, dtype, optimizer, default=DEFAULT_BUDGET)
        try:
            command(budget=amount, read=partial(read_data_file, data, **columns), **words)
        except ValueError as error:
            raise InputError(f"{data}: {error}") from None

    return add_options(run, options)


def check_rule(name: str) -> None:
    """Refuse a rule that does not exist."""
    try:
        data_rule(name)
    except ValueError as error:
        raise InputError(str(error)) from None


def read_data_file(
    path: Path,
    target: str,
    categorical: Sequence[str],
    numeric: Sequence[str],
    ignore: Sequence[str],
    fixed: Sequence[str],
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> DataFile:
    """Read a file and decide which columns are categorical.

    Parameters
    ----------
    path, separator, encoding, missing
        As in `embedalloc.data.reading.read_file`.
    target
        The column to predict.
    categorical, numeric
        Columns that are so whatever their type.
    ignore
        Columns to leave out.
    fixed
        Settled dimensions, as NAME=DIM.
    """
    frame, notes = read_file(path, separator=separator, encoding=encoding, missing=missing)
    for note in notes:
        click.echo(f"{make_visible(str(path))}: {note}", err=True)
    for option, names in (
        ("--target", [target]),
        ("--categorical", categorical),
        ("--numeric", numeric),
        ("--ignore", ignore),
    ):
        for name in names:
            if name not in frame.columns:
                known = list_names(frame.columns, most=8)
                raise DataError(f"{option}: no column {name!r}; there are {known}")
            if name == target and option != "--target":
                raise DataError(
                    f"{option}: {name!r} is the target; --task says whether it is a number"
                )
    both = [name for name in categorical if name in numeric]
    if both:
        raise DataError(f"--categorical and --numeric both name {both[0]!r}: choose one")
    goal = _check_target(frame[target], target)
    frame = frame.drop(columns=[target, *ignore])
    for name in frame.columns.difference(list(categorical)):
        if name in numeric:
            frame[name] = _read_as_numbers(frame[name], name)
        else:
            frame[name] = _read_text(frame[name])
    fields = [
        name
        for name in frame.columns
        if name in categorical or (name not in numeric and is_categorical(frame[name]))
    ]
    if not fields:
        raise DataError(
            "no categorical column (text, category or boolean); name columns whose numbers are "
            "categories with --categorical"
        )
    for name in fields:
        _refuse_identifier(frame[name], name)
    for name in frame.columns.difference(fields):
        if not pd.api.types.is_numeric_dtype(frame[name].dtype):
            raise DataError(
                f"column {name!r} ({frame[name].dtype}) holds neither categories nor numbers; "
                f"leave it out with --ignore {name}"
            )
    return DataFile(frame, goal, fields, _parse_fixed(fixed, fields))


def _read_text(column: pd.Series) -> pd.Series:
    """Return a column of text as numbers where all of it are numbers."""
    if not isinstance(column.dtype, pd.StringDtype):
        return column
    found = read_numbers(column)
    return column if found is None else found.values


def _parse_fixed(fixed: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return settled dimensions from NAME=DIM."""
    settled = {}
    for each in fixed:
        name, equals, dimension = each.rpartition("=")
        if not equals or not dimension.strip().isdecimal():
            raise InputError(f"--fixed: {each!r} is not NAME=DIM with a whole number")
        if name not in names:
            raise InputError(f"--fixed: {name!r} is not a categorical column")
        settled[name] = int(dimension)
    return settled


def _check_target(column: pd.Series, name: str) -> NDArray[Any]:
    missing = int(column.isna().sum())
    if missing:
        raise DataError(
            f"target {name!r} is missing in {missing:,} of {len(column):,} rows; drop these rows "
            "or fill them first"
        )
    if column.nunique() < 2:
        raise DataError(
            f"target {name!r} is {str(column.iloc[0])!r} in all {len(column):,} rows; there is "
            "nothing to predict"
        )
    column = _read_text(column)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(object).to_numpy()
    if not np.isfinite(column.to_numpy(np.float64)).all():
        raise DataError(f"target {name!r} holds infinity; drop these rows")
    return column.to_numpy()


def _read_as_numbers(column: pd.Series, name: str) -> pd.Series:
    """Return a column that the user calls numeric as numbers, codes with leading zeros too."""
    found = _read_text(column)
    if pd.api.types.is_numeric_dtype(found.dtype):
        return found
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna() & column.notna()
    if wrong.any():
        row = int(np.flatnonzero(wrong.to_numpy())[0])
        raise DataError(
            f"--numeric: column {name!r} holds {str(column.iloc[row])!r} in row {row + 1}, which "
            "is not a number"
        )
    return numbers


def _refuse_identifier(column: pd.Series, name: str) -> None:
    present = int(column.notna().sum())
    if any(isinstance(value, (list, dict, np.ndarray)) for value in column.dropna().head(100)):
        raise DataError(
            f"column {name!r} holds lists or records, not values; leave it out with --ignore {name}"
        )
    if present >= FEWEST_ROWS_OF_AN_IDENTIFIER and column.nunique() == present:
        raise DataError(
            f"column {name!r} has another value in every row, an identifier from which nothing "
            f"can be learnt; leave it out with --ignore {name}"
        )
