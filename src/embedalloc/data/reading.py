"""A user's file as a data frame: text stays text, and nothing is lost or moved on the way."""

import io
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.json
import pyarrow.parquet

from embedalloc.data.delimited import name_columns, read_delimited
from embedalloc.data.table import DataError
from embedalloc.data.unpacking import is_workbook, unpack

#: How parquet calls a pandas index that has no name.
_NAMELESS_INDEX = "__index_level_0__"
#: Text as pandas 3 holds it anyway; before that it would be objects, which may be anything.
_TEXT: pd.StringDtype | None = None
if int(pd.__version__.split(".")[0]) < 3:
    _TEXT = pd.StringDtype("pyarrow_numpy")  # type: ignore[call-overload]


class Reading(NamedTuple):
    """The columns of a file, what was guessed about it in sentences, and how CSV was read."""

    frame: pd.DataFrame
    notes: tuple[str, ...]
    separator: str | None = None
    encoding: str | None = None


def read_table(
    content: bytes,
    name: str,
    *,
    separator: str | None = None,
    encoding: str | None = None,
    missing: Collection[str] = (),
) -> Reading:
    """Read CSV, parquet, feather, JSON lines or Excel, compressed or not.

    The content decides the format. Columns of CSV are text, whatever is in them.

    Parameters
    ----------
    content, name
        The bytes of a file, and what it is called.
    separator, encoding
        Of CSV; by default they are guessed.
    missing
        Words that stand for a missing value in columns of text, beside the empty cell.
    """
    content, name = unpack(content, name)
    if not content.strip():
        raise DataError("the file is empty")
    notes: tuple[str, ...] = ()
    kind = _find_kind(content, name)
    try:
        if kind == "CSV":
            table, notes, separator, encoding = read_delimited(
                content, separator=separator, encoding=encoding
            )
        elif kind == "Excel":
            table = _read_workbook(content)
        else:
            table = _READERS[kind](pa.BufferReader(content))
            table.validate(full=True)  # or damaged offsets end the whole process
        names = name_columns([_name_index(each).strip() for each in table.column_names])
        table = pa.Table.from_arrays([_simplify(each, missing) for each in table.columns], names)
        frame = _make_frame(table)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"not a {kind} file, or damaged ({error})") from None
    if not len(frame):
        raise DataError("no rows")
    return Reading(frame, notes, separator, encoding)


def _find_kind(content: bytes, name: str) -> str:
    """Return the format that the first bytes tell; a name that promises another is refused."""
    ending = Path(name).suffix.lower()
    promised = _ENDINGS.get(ending)
    start = content[:100].lstrip(b"\xef\xbb\xbf \t\r\n")
    if content.startswith(b"PAR1"):
        found = "parquet"
    elif content.startswith((b"ARROW1", b"FEA1")):
        found = "feather"
    elif is_workbook(content):
        found = "Excel"
    else:
        found = "JSON lines" if start.startswith(b"{") else "CSV"
    if promised is not None and found != promised:
        raise DataError(f"not a {promised} file, though its name ends in {ending}")
    return found


_ENDINGS = {
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow"), "feather"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "JSON lines"),
    **dict.fromkeys((".xlsx", ".xlsm", ".xls"), "Excel"),
}
_READERS = {
    "parquet": pyarrow.parquet.read_table,
    "feather": pyarrow.feather.read_table,
    "JSON lines": pyarrow.json.read_json,
}


def _read_workbook(content: bytes) -> pa.Table:
    """Read the first sheet of an Excel file."""
    try:
        sheet = pd.read_excel(io.BytesIO(content), header=None, dtype=object)
    except ImportError:
        raise DataError(
            'Excel files need openpyxl: pip install "embedalloc[excel]"; or save it as CSV'
        ) from None
    except Exception as error:  # openpyxl lets many kinds through
        raise DataError(f"not an Excel file, or damaged ({error})") from None
    if not len(sheet):
        raise DataError("the file is empty")
    names = name_columns(["" if pd.isna(name) else str(name).strip() for name in sheet.iloc[0]])
    columns = [_make_uniform(sheet[column].iloc[1:]) for column in sheet]
    return pa.Table.from_arrays([pa.array(each, from_pandas=True) for each in columns], names)


def _make_uniform(cells: pd.Series) -> pd.Series:
    """Return cells of one type, as text where Excel holds text beside numbers."""
    kind = pd.api.types.infer_dtype(cells, skipna=True)
    if kind in ("mixed", "mixed-integer"):
        return cells.map(str, na_action="ignore").astype(_TEXT or "str")
    return cells.astype("Int64") if kind == "integer" else cells.infer_objects()


def _make_frame(table: pa.Table) -> pd.DataFrame:
    """Return a data frame in which whole numbers with gaps are whole numbers still."""
    frame = table.to_pandas(ignore_metadata=True, types_mapper=_text_type)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_integer(column.type) and column.null_count:
            frame[name] = column.to_pandas(types_mapper=lambda kind: pd.Int64Dtype())
    return frame


def _text_type(kind: pa.DataType) -> pd.StringDtype | None:
    """Return pandas' type for text; None leaves it to pyarrow."""
    return _TEXT if pa.types.is_string(kind) or pa.types.is_large_string(kind) else None


def _name_index(name: str) -> str:
    return "index" if name == _NAMELESS_INDEX else name


def _simplify(column: pa.ChunkedArray, missing: Collection[str]) -> pa.ChunkedArray:
    """Return a column as one of the few types that the rest of the program knows."""
    kind = column.type
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        column = column.cast(pa.string())
    if pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    if pa.types.is_date(kind):
        return column.cast(pa.timestamp("ms"))
    if pa.types.is_time(kind):
        return column.cast(pa.string())
    if pa.types.is_duration(kind):
        return column.cast(pa.int64()).cast(pa.float64(), safe=False)
    if pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type):
        column = column.cast(pa.string())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        gone = pc.is_in(column, pa.array(["", *missing], column.type))
        if pc.any(gone).as_py():
            return pc.if_else(gone, pa.scalar(None, column.type), column)
    return column
