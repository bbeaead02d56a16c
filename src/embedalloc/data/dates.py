"""Dates as parts that a model can use: month, weekday and hour, and the days since the first."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

_ISO = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_OTHER = r"\d{1,2}([./-])\d{1,2}([./-])(\d{4}|\d{2})( \d{1,2}:\d{2}(:\d{2})?)?"
#: Parts that become tables; the days are a number.
TABLES = ("month", "weekday", "hour")


@dataclass(frozen=True)
class DateColumn:
    """How a column of dates is read, and what it is split into.

    Attributes
    ----------
    layout
        Format of the text in the words of pandas; empty where the column's type is a date.
    first
        The earliest date, from which days are counted.
    parts
        Those of month, weekday, hour and days that differ between rows.
    ambiguous
        Whether day and month could be swapped.
    """

    layout: str
    first: pd.Timestamp
    parts: tuple[str, ...]
    ambiguous: bool = False

    def split(self, column: pd.Series) -> dict[str, pd.Series]:
        """Return a column by part; what is not such a date is missing in each."""
        every = _split(_read_times(column, self.layout), self.first)
        return {part: every[part] for part in self.parts}

    def count_days(self, column: pd.Series) -> pd.Series:
        """Return the days since the first date, whatever the parts."""
        return _split(_read_times(column, self.layout), self.first)["days"]


def find_dates(column: pd.Series) -> DateColumn | None:
    """Return how a column's dates are read, or None if one of its values is not a date.

    Examples
    --------
    >>> found = find_dates(pd.Series(["31.1.2020", "1.2.2020"]))
    >>> found.layout, found.parts
    ('%d.%m.%Y', ('month', 'weekday', 'days'))
    """
    kind = pd.api.types.infer_dtype(column, skipna=True)
    layouts = [""] if kind in ("date", "datetime", "datetime64") else _list_layouts(column, kind)
    fitting = []
    for layout in layouts:
        times = _read_times(column, layout)
        if times.notna().sum() == column.notna().sum() > 0:
            fitting.append((layout, times))
    if not fitting:
        return None
    layout, times = fitting[0]
    first = times.min()
    every: Mapping[str, pd.Series] = _split(times, first)
    parts = tuple(part for part, values in every.items() if values.nunique() > 1)
    return DateColumn(layout, first, parts, ambiguous=len(fitting) > 1)


def _list_layouts(column: pd.Series, kind: str) -> list[str]:
    """Return formats that the values of a column may have, the likeliest first."""
    values = column.dropna()
    if kind != "string" or not len(values):
        return []
    if values.str.fullmatch(_ISO).all():
        return ["ISO8601"]
    if not values.str.fullmatch(_OTHER).all():
        return []
    pieces = values.str.extract(_OTHER)
    if any(pieces[group].nunique() > 1 for group in (0, 1)) or pieces[2].str.len().nunique() > 1:
        return []
    sign = pieces.loc[values.index[0], 0]
    year = "%Y" if len(pieces.loc[values.index[0], 2]) == 4 else "%y"
    clock = values.str.count(":").max()
    time = {0: "", 1: " %H:%M", 2: " %H:%M:%S"}[clock]
    orders = [("%d", "%m"), ("%m", "%d")]
    if sign == "/":  # the American way
        orders.reverse()
    return [sign.join([*order, year]) + time for order in orders]


def _read_times(column: pd.Series, layout: str) -> pd.Series:
    """Return times without time zone; what is none is missing."""
    if not layout:
        times = pd.to_datetime(column, errors="coerce")
    else:
        texts = column.astype("str")
        offset = layout == "ISO8601" and texts.str.contains(r"Z$|[+-]\d{2}:?\d{2}$").any()
        times = pd.to_datetime(texts, format=layout, errors="coerce", utc=bool(offset))
    return times.dt.tz_localize(None) if times.dt.tz is not None else times


def _split(times: pd.Series, first: pd.Timestamp) -> dict[str, pd.Series]:
    return {
        "month": times.dt.month,
        "weekday": times.dt.day_of_week,
        "hour": times.dt.hour,
        "days": (times - first) / pd.Timedelta(days=1),
    }
