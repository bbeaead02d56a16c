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

from embedalloc.checks import show
from embedalloc.command_line import InputError
from embedalloc.command_line.options import read_limits
from embedalloc.data.numerals import NO_NUMBER
from embedalloc.data.plan import Plan
from embedalloc.data.roles import Roles
from embedalloc.data.settled import write_down
from embedalloc.data.table import (
    DIMENSIONS_BY_DEFAULT,
    DataError,
    count_levels,
    suggest_budget,
)
from embedalloc.data.user_file import UserFile, read_user_file
from embedalloc.programs import FileRows
from embedalloc.text import cut_name, find_width, paragraph, text_table
from embedalloc.visible import make_visible

#: Options that an exported program reads its rows with.
_ROW_WORDS = ("target", "missing", "weight", "group", "time")
#: A target with more different whole numbers than this is hardly a class.
MOST_CLASSES = 100
#: Of more columns than this only the first are listed.
MOST_COLUMNS = 60


class DataFile(NamedTuple):
    """A table to choose dimensions for: what to predict from, and which ones are permitted."""

    path: Path
    words: dict[str, Any]
    rows: UserFile
    frame: pd.DataFrame
    limits: dict[str, Any]

    @property
    def categorical(self) -> list[str]:
        """The fields."""
        return self.rows.roles.tables

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

    def describe_rows(self, plan: Plan, words: Mapping[str, Any]) -> FileRows:
        """Return what an exported program must know of the file and the plan."""
        reading = {name: self.words[name] for name in _ROW_WORDS}
        reading |= self.list_guesses()
        return FileRows(
            path=str(self.path),
            words={
                name: list(each) if isinstance(each, tuple) else each
                for name, each in reading.items()
            },
            fields=self.categorical,
            plan=write_down(plan),
            regression=self.rows.task.kind == "regression",
            min_frequency=words["min_frequency"],
        )

    def list_guesses(self) -> dict[str, Any]:
        """Return the options that say what was guessed, so that another run need not guess."""
        named: dict[str, list[str]] = {"table": [], "number": [], "ignored": []}
        for role in self.rows.roles.columns:
            taken_as = "ignored" if role.taken_as == "identifier" else role.taken_as
            if taken_as in named:
                named[taken_as].append(role.column)
        return {
            "categorical": named["table"],
            "numeric": named["number"],
            "ignore": named["ignored"],
            "task": "regression" if self.rows.task.kind == "regression" else "classification",
            "separator": self.rows.separator,
            "encoding": self.rows.encoding,
        }


def read_data_file(
    content: bytes,
    path: Path,
    *,
    fixed: Sequence[str] = (),
    minimum: Sequence[str] = (),
    maximum: Sequence[str] = (),
    **words: Any,
) -> DataFile:
    """Decide what the columns of a file are, and tell it on standard error before any work.

    Parameters
    ----------
    content, path, **words
        As in `embedalloc.data.user_file.read_user_file`.
    fixed, minimum, maximum
        Settled dimensions and permitted ones, as NAME=DIM, or DIM for all fields.
    """
    found = read_user_file(content, path.name, **words)
    lines = [
        *map(paragraph, found.notes),
        paragraph(_describe_target(words["target"], found, guessed=words["task"] == "auto")),
        *_list_roles(found.roles, found.columns, found.styles),
    ]
    title = f"{make_visible(str(path))}: {len(found.target):,} rows"
    click.echo("\n".join([title, *lines, ""]), err=True)
    fields = found.roles.tables
    if not fields:
        raise DataError(
            "no categorical column, so there is nothing to embed; name columns of codes with "
            "--categorical"
        )
    limits = {
        "fixed": _parse_fixed(fixed, fields),
        "minimum": read_limits(minimum, fields, "--minimum", otherwise=1),
        "maximum": read_limits(maximum, fields, "--maximum", otherwise=None),
    }
    return DataFile(path, words, found, found.frame, limits)


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


def _describe_target(name: str, found: UserFile, *, guessed: bool) -> str:
    """Return what is predicted, and how to say otherwise where numbers could be either."""
    text, classes = f"target {cut_name(name)}: ", len(found.task.classes)
    whole = found.target.dtype.kind in "iu"
    if found.task.kind != "regression":
        hint = "few whole numbers; --task regression if they are a quantity"
        return f"{text}{classes:,} classes" + (
            f"; {hint}" if guessed and classes > 2 and whole else ""
        )
    different = len(np.unique(found.target))
    if not guessed or not whole or different > MOST_CLASSES:
        return f"{text}a number"
    hint = "--task classification if they are classes"
    return f"{text}a number, {different} different whole values; {hint}"


def _list_roles(roles: Roles, frame: pd.DataFrame, styles: Mapping[str, str]) -> Iterator[str]:
    """Yield what each column is taken for and why, and then how to say otherwise."""
    doubtful: dict[str, None] = {}
    rows = []
    for role in roles.columns:
        words = _find_doubtful_levels(frame[role.column]) if role.taken_as == "table" else []
        doubtful |= dict.fromkeys(words)
        why = [role.why, styles.get(role.column, ""), *(f"{word} is a level" for word in words)]
        rows.append([f"  {cut_name(role.column)}", role.taken_as, "; ".join(filter(None, why))])
    lines = text_table(["  column", "taken as", "why"], rows[:MOST_COLUMNS], align="<<<").split(
        "\n"
    )
    indent = " " * lines[0].index("why")
    for line in lines:
        yield textwrap.fill(line, find_width(), subsequent_indent=indent, break_on_hyphens=False)
    if len(rows) > MOST_COLUMNS:
        yield f"  and {len(rows) - MOST_COLUMNS} more columns"
    if any(role.guessed for role in roles.columns):
        yield "If a guess is wrong: --categorical NAME, --numeric NAME or --ignore NAME."
    for word in doubtful:
        yield f"If {word} means that a value is missing: --missing {shlex.quote(word)}"


def _find_doubtful_levels(column: pd.Series) -> list[str]:
    """Return levels that often stand for a missing value."""
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return []
    return sorted(set(column.cat.categories) & set(NO_NUMBER))
