"""Checks of what a user gives: numbers, and one value per name."""

import math
import reprlib
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.visible import make_visible

#: No whole number may be larger: up to here floating point counts exactly.
LARGEST_NUMBER = 2**53
#: Errors and weights lie between this and its reciprocal, so that squares and sums stay finite.
LARGEST_WEIGHT = 1e100

_SHORT = reprlib.Repr()
_SHORT.maxstring, _SHORT.maxlong, _SHORT.maxother, _SHORT.fillvalue = 60, 39, 60, "…"


def whole_number(value: object, what: str, *, least: int) -> int:
    """Return a whole number of at least `least`, or say what was wrong with it."""
    number = real_number(value, what, kind="whole number")
    if not (isinstance(value, Integral) or number.is_integer()):  # inf and nan are not
        raise ValueError(f"{what}: {show(value)} is not a whole number")
    whole = int(value) if isinstance(value, Integral) else int(number)
    if not least <= whole <= LARGEST_NUMBER:
        raise ValueError(f"{what}: {show(whole)} is not between {least} and {LARGEST_NUMBER}")
    return whole


def real_number(value: object, what: str, *, kind: str = "number") -> float:
    """Return any kind of real number as floating point, infinite where it is too large."""
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, Real):
        raise ValueError(f"{what}: {show(value)} is not a {kind}")
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, -1 if value < 0 else 1)


def real_numbers(values: object, what: str) -> Floats:
    """Return an array of any shape as floating point, if it holds numbers."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "iufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{what}: {show(values)} does not hold numbers alone")


def show(value: object) -> str:
    """Return what a message says of a value: in one line, and not endless.

    Examples
    --------
    >>> show(10**400), show("user"), show(list(range(100)))
    ('100000000000000000…000000000000000000', "'user'", '[0, 1, 2, 3, 4, 5, …]')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int) and abs(value) >= 10**4000:
        return "a number of thousands of digits"  # Python refuses to write these
    return make_visible(" ".join(_SHORT.repr(value).split()))


def by_name(values: object, what: str) -> dict[str, Any] | None:
    """Return values that carry names (a mapping, a pandas Series) as a dictionary, else None."""
    if not (hasattr(values, "keys") and hasattr(values, "items")):
        return None
    return all_different(list(values.items()), what)


def all_different(pairs: Sequence[tuple[Any, Any]], what: str) -> dict[Any, Any]:
    """Return pairs of a name and a value as a dictionary, or say which name is there twice."""
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{what}: {show(repeated)} is named twice; all names must be different")
    return named


def check_list(values: object, what: str) -> None:
    """Refuse what is not a list of values."""
    if (
        isinstance(values, (str, bytes))
        or not isinstance(values, (Sequence, np.ndarray))
        or (isinstance(values, np.ndarray) and values.ndim != 1)
    ):
        raise ValueError(f"{what}: {show(values)} is neither a mapping nor a list")


def name_values(values: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """Return values by name; those without names come in the order of the names.

    A name may go without a value, but no value without a name that exists.
    """
    named = by_name(values, what)
    if named is None:
        return dict(zip(names, put_in_order(values, names, what), strict=True))
    known = set(names)
    unknown = [name for name in named if name not in known]
    if unknown:
        raise ValueError(
            f"{what}: {show(unknown[0])} is not a field; there are {list_names(names)}"
        )
    return named


def put_in_order(values: Any, names: Sequence[str], what: str) -> Any:
    """Return one value per name, in the order of the names, whatever form the user gave."""
    if by_name(values, what) is None:
        check_list(values, what)
        if len(values) != len(names):
            raise ValueError(f"{what}: expected {len(names)} values, got {len(values)}")
        return values
    named = name_values(values, names, what)
    missing = [name for name in names if name not in named]
    if missing:
        raise ValueError(f"{what}: no value for {missing[0]!r} ({len(missing)} missing)")
    return [named[name] for name in names]


def list_names(names: Iterable[str], most: int = 5) -> str:
    """Return names as a list, the first ones if there are many.

    Examples
    --------
    >>> print(list_names(["a", "b", "c"]), list_names("abcdef", most=2), sep="; ")
    'a', 'b', 'c'; 'a', 'b' and 4 more
    """
    every = [repr(name) for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more
