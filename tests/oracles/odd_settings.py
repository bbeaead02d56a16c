"""Configurations as a hand, a program or an enemy may write them, for Hypothesis to draw."""

import copy
from typing import Any

from hypothesis import strategies as st

from tests.places import read_config

DEFAULT = read_config()


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside nested settings, blocks and lists included."""
    children = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, child in children:
        found.append((*path, key))
        if isinstance(child, dict | list):
            found += _places(child, (*path, key))
    return found


PLACES = _places(DEFAULT)


def _itself() -> dict[str, Any]:
    block: dict[str, Any] = {"decay": "polynomial"}
    block["scale"] = [block]
    return block


def _laughs(depth: int) -> list[Any]:
    value: Any = "ha"
    for _ in range(depth):
        value = [value] * 9
    return list(value)


#: Whole numbers of every length: most computations differ by orders of magnitude.
lengths = st.integers(0, 400).flatmap(lambda digits: st.integers(0, 10 ** min(digits, 20)).map(
    lambda number: number * 10 ** max(digits - 20, 0)
))  # fmt: skip
numbers = st.one_of(
    lengths, lengths.map(lambda number: -number), st.floats(), st.floats(1e-15, 1e15), st.booleans()
)
scalars = st.one_of(numbers, st.none(), st.text(max_size=20), st.binary(max_size=3), st.dates())
values = st.one_of(
    numbers,
    scalars,
    st.recursive(
        scalars,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=9), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    st.lists(lengths, min_size=1, max_size=8),
    st.integers(1, 3000).map(lambda size: list(range(200, 200 + size))),
    st.builds(_itself),
    st.integers(1, 12).map(_laughs),
    st.sampled_from([".", "./", "..", "../x", "/", "\x1b[31m", "x" * 100_000, 10**5000]),
)


@st.composite
def odd_settings(draw: st.DrawFn) -> dict[str, Any]:
    """Return the default configuration with one to four places changed, removed or added."""
    config = copy.deepcopy(DEFAULT)
    for path in draw(st.lists(st.sampled_from(PLACES), min_size=1, max_size=4, unique=True)):
        holder: Any = config
        try:
            for step in path[:-1]:
                holder = holder[step]
            way = draw(st.sampled_from(["put", "put", "put", "scale", "remove", "add"]))
            if way == "remove":
                del holder[path[-1]]
            elif way == "scale":
                factor = draw(st.sampled_from([-1, 0, 10, 1000, 10**6]))
                if isinstance(holder[path[-1]], int | float):
                    holder[path[-1]] *= factor
            elif way == "add":
                holder[draw(scalars)] = draw(values)
            else:
                holder[path[-1]] = draw(values)
        except (KeyError, IndexError, TypeError, OverflowError, ValueError):
            continue  # an earlier change took the place away
    return config
