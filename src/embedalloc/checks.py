"""Checks of what a user gives: whole numbers, and one value per name."""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

#: No number may be larger: up to here floating point counts exactly and 64-bit sums are safe.
LARGEST_NUMBER = 2**53


def whole_number(value: object, what: str, *, least: int) -> int:
    """Return a whole number of at least `least`, or say what was wrong with it."""
    if (
        isinstance(value, bool)
        or not isinstance(value, Real)
        or not (isinstance(value, Integral) or float(value).is_integer())  # inf and nan are not
    ):
        raise ValueError(f"{what}: {value!r} is not a whole number")
    number = int(value) if isinstance(value, Integral) else int(float(value))
    if not least <= number <= LARGEST_NUMBER:
        raise ValueError(f"{what}: {number} is not between {least} and {LARGEST_NUMBER}")
    return number


def by_name(values: object) -> dict[str, Any] | None:
    """Return values that carry names (a mapping, a pandas Series) as a dictionary, else None."""
    if hasattr(values, "keys") and hasattr(values, "items"):
        return dict(values.items())
    return None


def check_list(values: object, what: str) -> None:
    """Refuse what is not a list of values."""
    if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
        raise ValueError(f"{what}: {values!r} is neither a mapping nor a list")


def name_values(values: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """Return values by name; those without names come in the order of the names.

    A name may go without a value, but no value without a name that exists.
    """
    named = by_name(values)
    if named is None:
        return dict(zip(names, put_in_order(values, names, what), strict=True))
    known = set(names)
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{what}: {unknown!r} is not a field; there are {list_names(names)}")
    return named


def put_in_order(values: Any, names: Sequence[str], what: str) -> Any:
    """Return one value per name, in the order of the names, whatever form the user gave."""
    if by_name(values) is None:
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
