"""What each column of a table is taken for, and why.

The rule, in this order, for a column that the user says nothing about:

1. one value only, or none: ignored;
2. a type of dates, or text of which every value is a date: a date, which is split into parts;
3. text, categories or booleans: a table, but an identifier (left out) if most rows have a level
   of their own;
4. numbers that are not all whole, or of a short floating type: a number;
5. whole numbers: an identifier if they count the rows, or if most differ and the name ends in id;
   a date if all are such as 20240229; a table if there are at most twelve, or if they act as codes
   (see `embedalloc.data.codes`); and else a number.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.data.codes import act_as_codes
from embedalloc.data.dates import TABLES, DateColumn, find_dates, find_packed_dates
from embedalloc.data.table import DataError, is_categorical

RoleName = Literal["table", "number", "date", "identifier", "ignored"]

#: So many different whole numbers, or fewer, are taken as categories.
FEW_VALUES = 12
#: Names of columns that number what they stand for, such as id, user_id, userId and PID.
IDENTIFIER_NAME = r"(?i:^(rownames|index|uuid)$|(^|[ _.-])(id|uuid)$)|[a-z]I[dD]$|^[A-Z]{0,2}ID$"
#: A column with fewer rows may have most of its values different without being an identifier.
FEWEST_ROWS_OF_AN_IDENTIFIER = 20


@dataclass(frozen=True)
class Role:
    """What a column is taken for.

    Attributes
    ----------
    column
        Its name.
    taken_as
        A table of embeddings, a number, a date, or nothing.
    why
        A phrase, where there is something to say.
    guessed
        Whether the column's values decided, and not its type or the user.
    date
        How its dates are read.
    """

    column: str
    taken_as: RoleName
    why: str
    guessed: bool = False
    date: DateColumn | None = None


@dataclass(frozen=True)
class Roles:
    """The roles of all columns of a table, in their order."""

    columns: tuple[Role, ...]

    @property
    def tables(self) -> list[str]:
        """The categorical fields of a prepared frame."""
        names = []
        for role in self.columns:
            if role.taken_as == "table":
                names.append(role.column)
            if role.date is not None:
                names += [name_part(role.column, p) for p in role.date.parts if p in TABLES]
        return names

    def prepare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns that are used: tables and numbers as they are, dates as parts."""
        columns: dict[str, pd.Series] = {}
        for role in self.columns:
            if role.date is not None:
                parts = role.date.split(frame[role.column])
                new = {name_part(role.column, part): values for part, values in parts.items()}
            else:
                used = role.taken_as in ("table", "number")
                new = {role.column: frame[role.column]} if used else {}
            for name in new:
                if name in columns or (name != role.column and name in frame.columns):
                    raise DataError(f"column {name!r} is there twice; rename one")
            columns |= new
        return pd.DataFrame(columns, index=frame.index, copy=False)


def name_part(column: str, part: str) -> str:
    """Return the name of a part of a date."""
    return f"{column} {part}"


def find_roles(
    frame: pd.DataFrame,
    target: Floats,
    *,
    categorical: Collection[str] = (),
    numeric: Collection[str] = (),
    ignore: Collection[str] = (),
    guess: bool = True,
) -> Roles:
    """Decide what each column is taken for.

    Parameters
    ----------
    frame
        The columns, without the target.
    target
        As `embedalloc.data.codes.columns_of_target` returns it.
    categorical, numeric, ignore
        Columns whose roles the user has named.
    guess
        Whether columns that are not named are guessed; else all but dates are numbers.
    """
    roles = []
    for name in frame.columns:
        column = frame[name]
        if name in ignore:
            roles.append(Role(name, "ignored", "named by you"))
        elif name in categorical:
            refuse_nested(column, name)
            roles.append(Role(name, "table", f"{column.nunique():,} levels, named by you"))
        elif name in numeric or not guess:
            roles.append(_name_number(column, name, "named by you" if name in numeric else ""))
        else:
            refuse_nested(column, name)
            roles.append(_guess_role(column, name, target))
    return Roles(tuple(roles))


def _guess_role(column: pd.Series, name: str, target: Floats) -> Role:
    different, present = column.nunique(), int(column.notna().sum())
    if different < 2:
        return Role(name, "ignored", "one value only" if different else "nothing in it")
    date = find_dates(column)
    if date is not None:
        return Role(name, "date", _describe_date(date), guessed=bool(date.layout), date=date)
    if is_categorical(column):
        most = 2 * different > present >= FEWEST_ROWS_OF_AN_IDENTIFIER
        if not most:
            return Role(name, "table", f"{different:,} levels")
        why = f"{different:,} different values in {present:,} rows"
        return Role(name, "identifier", why, guessed=True)
    if not pd.api.types.is_numeric_dtype(column.dtype):
        raise DataError(
            f"column {name!r} ({column.dtype}) holds neither categories nor numbers; leave it out"
        )
    return _guess_number(column, name, target)


def _guess_number(column: pd.Series, name: str, target: Floats) -> Role:
    values = column.to_numpy(np.float64, na_value=np.nan)
    known = np.isfinite(values)
    present = values[known]
    different = len(np.unique(present))
    if (
        column.dtype in (np.float16, np.float32)  # chosen by somebody who means numbers
        or not present.size
        or (present != np.floor(present)).any()
        or np.abs(present).max() > 2**53
    ):
        return Role(name, "number", "")
    why = f"{different:,} different whole numbers"
    if len(values) >= FEWEST_ROWS_OF_AN_IDENTIFIER:
        # Some numbers may be missing: rows without target are left out before.
        if different == len(values) > np.ptp(present) / 2:
            return Role(name, "identifier", "it counts the rows", guessed=True)
        if 2 * different > present.size and re.search(IDENTIFIER_NAME, name):
            why = f"{why} in {present.size:,} rows; an identifier by its name"
            return Role(name, "identifier", why, guessed=True)
    date = find_packed_dates(column)
    if date is not None:
        return Role(name, "date", _describe_date(date), guessed=True, date=date)
    if different <= FEW_VALUES:
        return Role(name, "table", f"only {why}", guessed=True)
    if 2 * different <= present.size and act_as_codes(present, target[known]):
        return Role(name, "table", f"{different:,} whole numbers that act as codes", guessed=True)
    return Role(name, "number", why, guessed=True)


def _name_number(column: pd.Series, name: str, why: str) -> Role:
    """Return the role of a column that is to be a number; of dates the days count."""
    date = find_dates(column)
    if date is None:
        return Role(name, "number", why)
    days = DateColumn(date.layout, date.first, ("days",), date.ambiguous)
    return Role(name, "date", _describe_date(days), date=days)


def _describe_date(date: DateColumn) -> str:
    first = date.first  # may lie outside the years that `strftime` knows
    words = {"days": f"days since {first.year}-{first.month:02}-{first.day:02}"}
    if date.layout.startswith(("%H", "%I")):
        words = {"days": "time of day as a number"}
    parts = ", ".join(words.get(part, part) for part in date.parts)
    if not date.ambiguous:
        return parts
    layout = date.layout.replace("%d", "day").replace("%m", "month").partition("%")[0]
    return f"{parts}; read as {layout}year, but day and month could be swapped"


def refuse_nested(column: pd.Series, name: str) -> None:
    """Refuse a column whose cells are tables of their own."""
    if column.dtype == object and any(
        isinstance(value, (list, dict, set, tuple, np.ndarray)) for value in column.dropna()
    ):
        raise DataError(f"column {name!r} holds lists or records, not values; leave it out")
