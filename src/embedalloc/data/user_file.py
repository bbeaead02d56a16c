"""A user's file as rows to learn from: roles found, rows without target left out."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from embedalloc.checks import list_names
from embedalloc.data.codes import columns_of_target
from embedalloc.data.dates import find_dates
from embedalloc.data.numerals import read_numbers
from embedalloc.data.reading import read_table
from embedalloc.data.roles import Role, Roles, find_roles, refuse_nested
from embedalloc.data.table import DataError, PredictionTask, check_row_count, find_task
from embedalloc.input_file import read_content


class UserFile(NamedTuple):
    """What a file holds to learn from.

    Attributes
    ----------
    columns
        The columns as they were read, without the target.
    target, task
        Its values, and what is predicted.
    roles
        What each column is taken for.
    about
        Words of `EmbeddingAllocator.fit`: weights, groups and times of the rows.
    styles
        How numbers are written, by column, where there is something to say.
    notes
        What was guessed and left out, in sentences.
    separator, encoding
        With what CSV was read.
    """

    columns: pd.DataFrame
    target: NDArray[Any]
    task: PredictionTask
    roles: Roles
    about: Mapping[str, Any]
    styles: Mapping[str, str]
    notes: tuple[str, ...]
    separator: str | None
    encoding: str | None

    @property
    def frame(self) -> pd.DataFrame:
        """The columns that are used: tables and numbers, dates as parts."""
        return self.roles.prepare(self.columns)


def read_rows(
    path: str | Path, *, target: str, **words: Any
) -> tuple[pd.DataFrame, NDArray[Any], dict[str, Any]]:
    r"""Return the columns of a file that are used, its target, and what else is known of rows.

    The last are words of `EmbeddingAllocator.fit`: weights, groups and times, None where the
    words name no column of them.

    This is how the command `embedalloc plan` reads a file; the programs that it exports do so
    too. Rows without target are left out, dates are split into parts, and text that gets a table is
    categories.

    Parameters
    ----------
    path
        CSV, parquet, feather, JSON lines or Excel, compressed or not; ``"-"`` is the standard
        input.
    target
        The column to predict.
    **words
        As in `embedalloc plan`: the columns ``categorical``, ``numeric`` and ``ignore``;
        ``weight``, ``group`` and ``time``; ``task``, ``separator``, ``encoding`` and ``missing``.

    Returns
    -------
    data frame, array, dictionary
        What `EmbeddingAllocator.fit` takes: columns, target, and its words for weights, groups and
        times.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("town;price;bought\n" + "Bonn;3,5;yes\nUlm;4,5;no\n" * 20)
    >>> X, y, about = read_rows(path, target="bought")
    >>> X.iloc[0].to_dict(), str(y[0])
    ({'town': 'Bonn', 'price': 3.5}, 'yes')
    """
    found = read_user_file(read_content(path), Path(path).name, target=target, **words)
    return found.frame, found.target, dict(found.about)


def read_user_file(
    content: bytes,
    name: str,
    *,
    target: str,
    categorical: Sequence[str] = (),
    numeric: Sequence[str] = (),
    ignore: Sequence[str] = (),
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
    task: str = "auto",
    separator: str | None = None,
    encoding: str | None = None,
    missing: Collection[str] = (),
) -> UserFile:
    """Decide what the columns of a file are.

    Parameters
    ----------
    content, name, separator, encoding, missing
        As in `embedalloc.data.reading.read_table`.
    target
        The column to predict; rows without it are left out.
    categorical, numeric, ignore
        Columns whose roles the user names.
    weight, group, time
        Columns that say what rows count, which belong together, and when they were observed. The
        first two are no inputs, unless they are named as such.
    task
        As in `embedalloc.data.table.find_task`.
    """
    frame, notes, separator, encoding = read_table(
        content, name, separator=separator, encoding=encoding, missing=missing
    )
    about = {"--weight": weight, "--group": group, "--time": time}
    _check_names(
        frame,
        target,
        {"--categorical": categorical, "--numeric": numeric, "--ignore": ignore}
        | {option: [column] for option, column in about.items() if column is not None},
    )
    goal = _read_number_text(frame[target])[0]
    rows = goal.notna().to_numpy()
    lost = len(frame) - int(rows.sum())
    if lost:
        notes = (*notes, f"{lost:,} of {len(frame):,} rows have no {target!r} and are left out")
        frame, goal = frame[rows], goal[rows]
    values = _check_target(goal, frame[target])
    kind = find_task(values, task)
    check_row_count(len(frame))
    unused = dict.fromkeys(ignore, "named by you")
    for column, why in ((weight, "it says what rows count"), (group, "it groups the rows")):
        if column is not None and column not in (*categorical, *numeric):
            unused[column] = why
    facts = {
        "sample_weight": None if weight is None else _read_as_numbers(frame[weight], weight),
        "groups": None if group is None else frame[group],
        "times": None if time is None else _read_number_text(frame[time])[0],
    }
    columns, styles = {}, {}
    for each in frame.columns.drop([target, *unused]):
        columns[each] = frame.pop(each)  # large tables are all that takes memory here
        if each in numeric:
            columns[each] = _read_as_numbers(columns[each], each)
        elif each not in categorical:
            columns[each], styles[each] = _read_number_text(columns[each])
        pa.default_memory_pool().release_unused()  # pyarrow keeps it, and others cannot use it
    used = pd.DataFrame(columns, index=frame.index)
    del columns
    roles = find_roles(
        used,
        columns_of_target(kind.encode(values), kind),
        categorical=categorical,
        numeric=numeric,
    )
    for role in roles.columns:
        if role.taken_as == "table" and isinstance(used[role.column].dtype, pd.StringDtype):
            used[role.column] = used[role.column].astype("category")  # every level once
    pa.default_memory_pool().release_unused()
    everything = (*roles.columns, *(Role(each, "ignored", why) for each, why in unused.items()))
    return UserFile(
        used, values, kind, Roles(everything), facts, styles, notes, separator, encoding
    )


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
        codes, classes = pd.factorize(column)
        return np.asarray(classes, dtype=object)[codes]  # every class once, and not in every row
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
