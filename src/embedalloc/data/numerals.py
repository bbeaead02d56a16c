"""Numbers as people write them in text: 5452.66, ($5,452.66), 12.3 %, 1.234,5, 1 234,5."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

#: Words that mean "no number" in a column of numbers.
NO_NUMBER = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "?", "-")

_SIGN = r"[+-]?\s*"
_MONEY = r"[$€£¥]?\s*"
_UNIT = r"\s*[%$€£¥]?"
#: Between thousands; the last two do not break.
_BLANK = "[ \u00a0\u202f]"
#: A number as programs write it. Digits after a leading zero make a code, not a number.
_PLAIN = r"(0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+"


class _Style(NamedTuple):
    """How numbers are written: a pattern, the sign of thousands and that of decimals."""

    digits: str
    thousands: str
    decimal: str


#: The first style that fits every value of a column is taken.
_STYLES: Mapping[str, _Style] = {
    "": _Style(_PLAIN, "", "."),
    "with commas for thousands": _Style(
        rf"[1-9][0-9]{{0,2}}(,[0-9]{{3}})+(\.[0-9]+)?|{_PLAIN}", ",", "."
    ),
    "with a decimal comma": _Style(
        r"([1-9][0-9]{0,2}(\.[0-9]{3})+|0|[1-9][0-9]*)(,[0-9]+)?", ".", ","
    ),
    "with blanks for thousands": _Style(
        rf"[1-9][0-9]{{0,2}}({_BLANK}[0-9]{{3}})+(\.[0-9]+)?|{_PLAIN}", "", "."
    ),
    "with blanks for thousands and a decimal comma": _Style(
        rf"([1-9][0-9]{{0,2}}({_BLANK}[0-9]{{3}})+|0|[1-9][0-9]*)(,[0-9]+)?", "", ","
    ),
}


class Numbers(NamedTuple):
    """A column of text as numbers, how they were written, and the words that were no numbers."""

    values: pd.Series
    style: str
    words: tuple[str, ...]


def read_numbers(column: pd.Series) -> Numbers | None:
    """Return a column of text as numbers of one unit, or None if one of its values is none.

    Words such as NA count as missing in a column whose other values are all numbers.
    """
    texts = pa.array(column, pa.string(), from_pandas=True)
    # Accounts write what is owed in brackets.
    texts = pc.replace_substring_regex(texts, r"^\(([^()+-]*)\)$", r"-\1")
    distinct = pc.unique(texts.drop_null())
    none = pc.is_in(distinct, pa.array(NO_NUMBER, pa.string()))
    words = sorted(distinct.filter(none).to_pylist(), key=NO_NUMBER.index)
    distinct = distinct.filter(pc.invert(none))
    units = pc.unique(pc.replace_substring_regex(distinct, r"[^%$€£¥]", ""))
    if len(units) != 1:  # nothing at all, or per cent beside dollars
        return None
    if pc.any(pc.match_substring_regex(distinct, r"^[0-9]{16,}$")).as_py():
        return None  # floating point cannot tell such codes apart
    for style, (digits, thousands, decimal) in _STYLES.items():
        pattern = rf"^{_SIGN}{_MONEY}({digits})([eE][+-]?[0-9]+)?{_UNIT}$"
        if not pc.all(pc.match_substring_regex(distinct, pattern)).as_py():
            continue
        plain = pc.replace_substring_regex(texts, r"[$€£¥%+\s\x{a0}\x{202f}]", "")
        if thousands:
            plain = pc.replace_substring(plain, thousands, "")
        if decimal != ".":
            plain = pc.replace_substring(plain, decimal, ".")
        if words:
            lost = pc.is_in(texts, pa.array(words, pa.string()))
            plain = pc.if_else(lost, pa.scalar(None, pa.string()), plain)
        return Numbers(_make_numbers(plain, column.index), style, tuple(words))
    return None


def _make_numbers(texts: pa.Array, index: pd.Index) -> pd.Series:
    values = texts.cast(pa.float64()).to_numpy(zero_copy_only=False).astype(np.float64)
    return keep_whole(pd.Series(values, index=index))


def keep_whole(column: pd.Series) -> pd.Series:
    """Return whole numbers of a file as such, not as floats: gaps alone made them so.

    Only text files do not tell the two apart; pandas itself writes 4.0 where a column has gaps.

    Examples
    --------
    >>> keep_whole(pd.Series([4.0, np.nan])).dtype, keep_whole(pd.Series([4.5, np.nan])).dtype
    (Int64Dtype(), dtype('float64'))
    """
    present = column.dropna()
    whole = len(present) and (present.abs() < 2**53).all() and (present == np.floor(present)).all()
    if not whole:
        return column
    return column.astype("int64" if len(present) == len(column) else "Int64")
