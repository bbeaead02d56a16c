"""Text with separators (CSV) as columns of text: no cell changes its meaning on the way."""

import codecs
import csv
import io
import itertools
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa

from embedalloc.data.table import DataError

#: The separators that are looked for in the header.
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Rows that are held as Python's own text at a time.
_ROWS_AT_ONCE = 10_000
#: Characters that are cut into lines at a time, and the rest of the last line.
_CHARACTERS_AT_ONCE = 1 << 20


class Delimited(NamedTuple):
    """Columns of text, what was guessed about the file, and with what it was read."""

    table: pa.Table
    notes: tuple[str, ...]
    separator: str
    encoding: str


def read_delimited(
    content: bytes, *, separator: str | None = None, encoding: str | None = None
) -> Delimited:
    """Read text with a header; blanks at both ends of a cell do not count.

    Rows that are longer or shorter than the header are refused, with their line.
    """
    text, notes, encoding = decode(content, encoding)
    if separator is None:
        separator = find_separator(text)
        if separator != ",":
            notes = (*notes, f"cells are separated by {SEPARATORS[separator]}")
    separator = separator.replace(r"\t", "\t")  # as a shell passes it on
    if len(separator) != 1 or separator in '"\r\n':
        raise DataError(f"--separator: {separator!r} is not one character between cells")
    first_end = re.search("\r?\n|\r", text)
    if first_end and first_end[0] != "\r":
        text = re.sub("\r(?!\n)", " ", text)  # lines end otherwise, so it is part of a cell
    rows = _read_rows(text, separator)
    names = name_columns(next(rows, []))
    batches = []
    while batch := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        columns = [pa.array(column, pa.string()) for column in zip(*batch, strict=True)]
        batches.append(pa.Table.from_arrays(columns, names))
    if not batches:
        raise DataError("no rows")
    return Delimited(pa.concat_tables(batches), notes, separator, encoding)


def decode(content: bytes, encoding: str | None) -> tuple[str, tuple[str, ...], str]:
    """Return text: UTF-8, or as a byte order mark says, or else Windows' extension of latin-1."""
    notes: tuple[str, ...] = ()
    guess = next((each for mark, each in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), "")
    used = encoding or guess or "utf-8"
    try:
        text = content.decode(used)
    except LookupError:
        raise DataError(f"--encoding: {encoding!r} is not an encoding that Python knows") from None
    except UnicodeDecodeError as error:
        if encoding or guess:
            raise DataError(
                f"byte {error.start:,} is not {encoding or guess}; name the encoding of the text "
                "with --encoding"
            ) from None
        used = "cp1252"
        text = content.decode(used, errors="replace")
        notes = ("not UTF-8, so read as Windows text (cp1252); --encoding names another",)
    if "\0" in text:
        place = text.index("\0")
        raise DataError(f"not a text table: character {place:,} is a null character")
    return text, notes, used


def find_separator(text: str) -> str:
    """Return the separator that the header holds most often, a comma where it holds none."""
    header = text.lstrip("\r\n").partition("\n")[0]
    outside = "".join(header.split('"')[::2])  # what stands in quotes separates nothing
    return max(SEPARATORS, key=outside.count)


def name_columns(header: Sequence[str]) -> list[str]:
    """Return the names of columns, which must differ; one without a name is called by its place."""
    if not header:
        raise DataError("the file is empty")
    names = [name or f"column {place}" for place, name in enumerate(header, start=1)]
    seen = set()
    for name in names:
        if name in seen:
            raise DataError(f"column {name!r} is there twice; rename one")
        seen.add(name)
    return names


def _read_rows(text: str, separator: str) -> Iterator[list[str]]:
    """Yield rows of trimmed cells, the header first; empty lines do not count."""
    reader = csv.reader(_cut_lines(text), delimiter=separator, strict=True, skipinitialspace=True)
    width = 0
    try:
        for row in reader:
            if not row:
                continue
            width = width or len(row)
            if len(row) != width:
                raise DataError(
                    f"line {reader.line_num} has {len(row)} cells, the header has {width}; mend "
                    "it, or name the right --separator"
                )
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise DataError(f"not a CSV file: line {reader.line_num}: {error}") from None


def _cut_lines(text: str) -> Iterator[str]:
    """Yield lines with their ends; StringIO takes four bytes for every character that it holds."""
    end = 0
    while end < len(text):
        begin, end = end, text.find("\n", end + _CHARACTERS_AT_ONCE) + 1 or len(text)
        yield from io.StringIO(text[begin:end], newline="")
