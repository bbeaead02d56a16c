"""Dates as parts that a model can use: month, weekday and hour, and the days since the first."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

_ISO = r"\d{4}-\d{2}-\d{2}([ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
_CLOCK = r"(?P<clock>\d{1,2}:\d{2}(?::\d{2})?)(?P<half> ?[AaPp][Mm])?"
_NAME = r"(?P<name>[A-Za-z]{3,9})"
#: A date by the order of its parts; d, m and n are day, month and its name, y and Y the year.
_ORDERS = {
    "dm": r"(?P<d>\d{1,2})(?P<sign>[./-])\d{1,2}(?P=sign)(?P<year>\d{4}|\d{2})",
    "ym": r"(?P<year>\d{4})(?P<sign>[./-])\d{1,2}(?P=sign)(?P<d>\d{1,2})",
    "dn": rf"(?P<d>\d{{1,2}})(?P<sign>[ -]){_NAME}(?P=sign)(?P<year>\d{{4}}|\d{{2}})",
    "nd": rf"{_NAME}(?P<sign> )(?P<d>\d{{1,2}}), (?P<year>\d{{4}})",
}
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july", "august"),
    *("september", "october", "november", "december"),
)
#: Whole numbers between these may be dates such as 20240229.
_PACKED = (1900_01_01, 2099_12_31)
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
    typed = kind in ("date", "datetime", "datetime64")
    return _choose(column, [""] if typed else _list_layouts(column, kind))


def _choose(column: pd.Series, layouts: Sequence[str]) -> DateColumn | None:
    """Return the first format that fits every value, or None."""
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


def find_packed_dates(column: pd.Series) -> DateColumn | None:
    """Return how whole numbers such as 20240229 are read as dates, or None if one of them is none.

    Examples
    --------
    >>> find_packed_dates(pd.Series([20240229, 20240301])).parts
    ('month', 'weekday', 'days')
    >>> find_packed_dates(pd.Series([20230229, 20240301]))
    """
    present = column.dropna()
    if not len(present) or not present.between(*_PACKED).all():
        return None
    return _choose(column, ["%Y%m%d"])


def _list_layouts(column: pd.Series, kind: str) -> list[str]:
    """Return formats that the values of a column may have, the likeliest first."""
    values = column.dropna()
    if kind != "string" or not len(values):
        return []
    example = str(values.iloc[0])
    if re.fullmatch(_ISO, example) and _fit(values, _ISO):
        return ["ISO8601"]
    for order, pattern in {**_ORDERS, "": ""}.items():
        whole = rf"{pattern}([ T]{_CLOCK})?" if order else _CLOCK
        found = re.fullmatch(whole, example)
        if found is not None and _fit(values, whole):
            return _write_layouts(order, found.groupdict())
    return []


def _fit(values: pd.Series, pattern: str) -> bool:
    """Tell whether all of a text is as a pattern says; Arrow's patterns know no (?P=sign)."""
    return bool(values.astype(object).str.fullmatch(pattern).all())


def _write_layouts(order: str, parts: dict[str, str | None]) -> list[str]:
    """Return the formats of values that look like an example with these parts."""
    sign, year = parts.get("sign") or "", "%Y" if len(parts.get("year") or "") == 4 else "%y"
    name = (parts.get("name") or "").lower()
    if name and not any(month == name or month[:3] == name for month in _MONTHS):
        return []
    named = "%b" if len(name) == 3 else "%B"
    clock = ""
    if parts["clock"]:
        hour = "%I" if parts["half"] else "%H"
        clock = hour + ":%M" + (":%S" if parts["clock"].count(":") == 2 else "")
        clock += (" " if (parts["half"] or "").startswith(" ") else "") + "%p" * bool(parts["half"])
    days = {
        "": [""],
        "ym": [sign.join(["%Y", "%m", "%d"])],
        "dn": [sign.join(["%d", named, year])],
        "nd": [f"{named} %d, %Y"],
        "dm": [sign.join(["%d", "%m", year]), sign.join(["%m", "%d", year])],
    }[order]
    if sign == "/":  # the American way
        days.reverse()
    return [" ".join(filter(None, [day, clock])) for day in days]


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
    # In the unit of the times, because dates far off do not fit into a smaller one.
    day = pd.Timedelta(days=1).as_unit(times.dt.unit)
    return {
        "month": times.dt.month,
        "weekday": times.dt.day_of_week,
        "hour": times.dt.hour,
        "days": (times - first) / day,
    }
