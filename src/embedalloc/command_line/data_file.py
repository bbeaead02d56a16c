"""A user's file as a table to choose dimensions for: roles shown, every mistake in one line."""

import re
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.checks import list_names, show
from embedalloc.command_line import InputError
from embedalloc.command_line.options import read_limits
from embedalloc.data.codes import columns_of_target
from embedalloc.data.dates import find_dates
from embedalloc.data.numerals import NO_NUMBER, read_numbers
from embedalloc.data.reading import read_table
from embedalloc.data.roles import Role, Roles, find_roles, refuse_nested
from embedalloc.data.table import (
    DIMENSIONS_BY_DEFAULT,
    DataError,
    PredictionTask,
    check_row_count,
    count_levels,
    find_task,
    suggest_budget,
)
from embedalloc.text import COLUMNS, cut_name, text_table
from embedalloc.visible import make_visible

#: Of more columns than this only the first are listed.
MOST_COLUMNS = 60


class DataFile(NamedTuple):
    """A table to choose dimensions for: what to predict from, and which ones are permitted."""

    frame: pd.DataFrame
    target: NDArray[Any]
    categorical: list[str]
    limits: dict[str, Any]

    def settle_budget(self, budget: Any) -> Any:
        """Return the budget, or state one on standard error where the user gave none."""
        if budget is not None:
            return budget
        amount = suggest_budget({name: count_levels(self.frame[name]) for name in self.categorical})
        click.echo(
            f"budget: {amount:,} parameters, {DIMENSIONS_BY_DEFAULT} dimensions of every field\n",
            err=True,
        )
        return amount


def read_data_file(
    content: bytes,
    path: Path,
    *,
    target: str,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    fixed: Sequence[str] = (),
    minimum: Sequence[str] = (),
    maximum: Sequence[str] = (),
    task: str = "auto",
    separator: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
) -> DataFile:
    """Decide what the columns of a file are, and tell it on standard error before any work.

    Parameters
    ----------
    content, path, separator, encoding, missing
        As in `embedalloc.data.reading.read_table`.
    target
        The column to predict; rows without it are left out.
    categorical, numeric, ignore
        Columns whose roles the user names.
    fixed, minimum, maximum
        Settled dimensions and permitted ones, as NAME=DIM, or DIM for all fields.
    task
        As in `embedalloc.data.table.find_task`.
    """
    frame, notes = read_table(
        content, path.name, separator=separator, encoding=encoding, missing=missing
    )
    named = {"--categorical": categorical, "--numeric": numeric, "--ignore": ignore}
    _check_names(frame, target, named)
    goal = _read_number_text(frame[target])[0]
    rows = goal.notna().to_numpy()
    lost = len(frame) - int(rows.sum())
    if lost:
        notes = (*notes, f"{lost:,} of {len(frame):,} rows have no {target!r} and are left out")
    frame, goal = frame[rows], goal[rows]
    values = _check_target(goal, frame[target])
    kind = find_task(values, task)
    check_row_count(len(frame))
    styles: dict[str, str] = {}
    columns = {}
    for name in frame.columns.drop([target, *ignore]):
        columns[name] = frame[name]
        if name in numeric:
            columns[name] = _read_as_numbers(frame[name], name)
        elif name not in categorical:
            columns[name], styles[name] = _read_number_text(frame[name])
    used = pd.DataFrame(columns, index=frame.index)
    roles = find_roles(
        used,
        columns_of_target(kind.encode(values), kind),
        categorical=categorical,
        numeric=numeric,
    )
    lines = [*notes, _describe_target(target, kind), *_list_roles(roles, used, styles, ignore)]
    click.echo("\n".join([f"{make_visible(str(path))}: {len(frame):,} rows", *lines, ""]), err=True)
    if not roles.tables:
        raise DataError("no categorical column; name columns of codes with --categorical")
    limits = {
        "fixed": _parse_fixed(fixed, roles.tables),
        "minimum": read_limits(minimum, roles.tables, "--minimum", otherwise=1),
        "maximum": read_limits(maximum, roles.tables, "--maximum", otherwise=None),
    }
    return DataFile(roles.prepare(used), values, roles.tables, limits)


def _check_names(frame: pd.DataFrame, target: str, named: Mapping[str, Sequence[str]]) -> None:
    """Refuse names that are no columns, and columns with two roles."""
    for option, names in {"--target": [target], **named}.items():
        for name in names:
            if name not in frame.columns:
                known = list_names(frame.columns, most=8)
                raise DataError(f"{option}: no column {name!r}; there are {known}")
            if name == target and option != "--target":
                raise DataError(
                    f"{option}: {name!r} is the target; --task says whether it is a number"
                )
    both = [name for name in named["--categorical"] if name in named["--numeric"]]
    if both:
        raise DataError(f"--categorical and --numeric both name {both[0]!r}: choose one")


def _check_target(column: pd.Series, original: pd.Series) -> NDArray[Any]:
    """Return the target's values, whose text in the file is the original."""
    name = str(original.name)
    if not len(column):
        raise DataError(f"target {name!r} is missing in every row")
    refuse_nested(column, name)
    if find_dates(column) is not None:
        raise DataError(f"target {name!r} holds dates, which are neither numbers nor classes")
    if column.nunique() < 2:
        raise DataError(
            f"target {name!r} is {str(original.iloc[0])!r} in all {len(column):,} rows; there is "
            "nothing to predict"
        )
    if not pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(object).to_numpy()
    if not np.isfinite(column.to_numpy(np.float64)).all():
        raise DataError(f"target {name!r} holds infinity; drop these rows")
    return column.to_numpy()


def _read_number_text(column: pd.Series) -> tuple[pd.Series, str]:
    """Return text as numbers where all of it are numbers, and how they are written."""
    found = read_numbers(column) if isinstance(column.dtype, pd.StringDtype) else None
    if found is None:
        return column, ""
    words = [found.style] if found.style else []
    words += [f"{', '.join(found.words)} taken as missing"] if found.words else []
    return found.values, "; ".join(words)


def _read_as_numbers(column: pd.Series, name: str) -> pd.Series:
    """Return a column that the user calls numeric as numbers, codes with leading zeros too."""
    found, _ = _read_number_text(column)
    if not isinstance(found.dtype, pd.StringDtype):
        return found
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna() & column.notna()
    if not wrong.any() or find_dates(column) is not None:
        return numbers if not wrong.any() else column
    row = int(np.flatnonzero(wrong.to_numpy())[0])
    raise DataError(
        f"--numeric: column {name!r} holds {str(column.iloc[row])!r} in row {row + 1}, which is "
        "not a number"
    )


def _parse_fixed(fixed: Sequence[str], names: Sequence[str]) -> dict[str, int]:
    """Return settled dimensions from NAME=DIM."""
    settled = {}
    for each in fixed:
        name, equals, dimension = each.rpartition("=")
        if not equals or not re.fullmatch(r"\s*[0-9]{1,16}\s*", dimension):
            raise InputError(f"--fixed: {show(each)} is not NAME=DIM with a whole number")
        if name not in names:
            raise InputError(f"--fixed: {name!r} is not a categorical column")
        settled[name] = int(dimension)
    return settled


def _describe_target(name: str, task: PredictionTask) -> str:
    what = "a number" if task.kind == "regression" else f"{len(task.classes):,} classes"
    return f"target {cut_name(name)}: {what}"


def _list_roles(
    roles: Roles, frame: pd.DataFrame, styles: Mapping[str, str], ignore: Sequence[str]
) -> Iterator[str]:
    """Yield what each column is taken for and why, and then how to say otherwise."""
    every = [*roles.columns, *(Role(name, "ignored", "named by you") for name in ignore)]
    doubtful: dict[str, None] = {}
    rows = []
    for role in every:
        words = _find_doubtful_levels(frame[role.column]) if role.taken_as == "table" else []
        doubtful |= dict.fromkeys(words)
        why = [role.why, styles.get(role.column, ""), *(f"{word} is a level" for word in words)]
        rows.append([f"  {cut_name(role.column)}", role.taken_as, "; ".join(filter(None, why))])
    lines = text_table(["  column", "taken as", "why"], rows[:MOST_COLUMNS], align="<<<").split(
        "\n"
    )
    indent = " " * lines[0].index("why")
    for line in lines:
        yield textwrap.fill(line, COLUMNS, subsequent_indent=indent, break_on_hyphens=False)
    if len(rows) > MOST_COLUMNS:
        yield f"  and {len(rows) - MOST_COLUMNS} more columns"
    if any(role.guessed for role in every):
        yield "If a guess is wrong: --categorical NAME, --numeric NAME or --ignore NAME."
    for word in doubtful:
        yield f"If {word} means that a value is missing: --missing {shlex.quote(word)}"


def _find_doubtful_levels(column: pd.Series) -> list[str]:
    """Return levels that often stand for a missing value."""
    if not isinstance(column.dtype, pd.StringDtype):
        return []
    return sorted(set(column.unique()) & set(NO_NUMBER))
