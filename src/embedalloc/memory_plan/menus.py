"""What a field can have: every table in question, with its bytes and its error."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from embedalloc.arrays import Floats, Ints
from embedalloc.checks import LARGEST_WEIGHT, by_name, name_values, real_number, show, whole_number
from embedalloc.memory_plan.prices import (
    LARGEST_HEIGHT,
    LARGEST_WIDTH,
    NUMBER_FORMATS,
    Prices,
    at_most,
    find_format,
)
from embedalloc.memory_plan.surrogate import (
    GroupedCounts,
    full_rank,
    group_counts,
    share_of_columns,
    share_of_numbers,
    share_of_rows,
)
from embedalloc.multiple_choice import keep_efficient
from embedalloc.problem import PerField

#: Numbers of levels with a row of their own that are tried, evenly spread over the orders.
LEVELS_TRIED = 96
#: Dimensions that are tried.
DIMENSIONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
#: λ in rows of data, where nothing is known.
SMOOTHING = 20.0
#: a/s² where nothing is known: the first column holds half of the effects.
COEFFICIENT = 0.5


class TableChoice(NamedTuple):
    """One table that a field can have, and its error where that was measured.

    Attributes
    ----------
    levels
        How many of the most frequent levels have a row of their own.
    buckets
        Rows that all other levels share by hashing, new ones included; 1 is a common row. With
        neither levels nor buckets there is no table.
    dimension
        Columns.
    number_format
        A name of `NUMBER_FORMATS`.
    error
        Measured loss.

    Examples
    --------
    >>> TableChoice(levels=1000, buckets=24, dimension=8, number_format="int8", error=0.31).rows
    1024
    """

    levels: int
    buckets: int
    dimension: int
    number_format: str
    error: float = np.nan

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.levels + self.buckets


#: A field without a table.
NO_TABLE = TableChoice(0, 0, 0, "float32")


class Menu(NamedTuple):
    """Tables of one field, one per place; a format is its place among the problem's."""

    levels: Ints
    buckets: Ints
    dimension: Ints
    number_format: Ints
    cost: Ints
    error: Floats

    def take(self, places: Any) -> "Menu":
        """Return some of the places."""
        return Menu(*(column[places] for column in self))


@dataclass(frozen=True)
class Field:
    """What is known of one field: its counts, s², a, λ, or measured errors."""

    name: str
    counts: GroupedCounts
    signal: float = 1.0
    coefficient: float = COEFFICIENT
    smoothing: float = SMOOTHING
    measured: tuple[TableChoice, ...] = ()


@dataclass(frozen=True)
class MemoryProblem:
    """The fields, the price list, and which dimensions and number formats are permitted."""

    fields: tuple[Field, ...]
    prices: Prices
    dimensions: tuple[int, ...]
    formats: tuple[str, ...]
    hashing: bool

    def menu_of(self, field: Field) -> Menu:
        """Return the tables that no other table of the field beats, by bytes."""
        menu = self.list_measured(field) if field.measured else self.list_tables(field)
        return menu.take(keep_efficient(menu.cost, menu.error))

    def list_tables(self, field: Field) -> Menu:
        """Return every table in question, and none, with the errors of the surrogate."""
        nothing = self.price(field, NO_TABLE)
        if field.counts.cardinality < 2:
            return nothing  # a constant tells nothing
        levels, buckets = list_rows(field.counts.cardinality, self.hashing)
        dimensions, formats = np.array(self.dimensions), np.arange(len(self.formats))
        shape = (len(levels), len(dimensions), len(formats))
        place, column, kind = (each.ravel() for each in np.indices(shape))
        told = share_of_rows(field.counts, levels, buckets, field.smoothing)
        found = self._evaluate(
            field, told[place], levels[place], buckets[place], dimensions[column], kind
        )
        steps = np.array([NUMBER_FORMATS[name].step for name in self.formats])
        enough = np.searchsorted(dimensions, full_rank(found.levels + found.buckets))
        useful = column <= enough  # a column more than the rank tells nothing
        found = found.take(useful & (found.dimension % steps[found.number_format] == 0))
        return Menu(*(np.r_[none, some] for none, some in zip(nothing, found, strict=True)))

    def list_measured(self, field: Field) -> Menu:
        """Return the tables whose error was measured."""
        priced = [self.price(field, choice) for choice in field.measured]
        menu = Menu(*(np.concatenate(column) for column in zip(*priced, strict=True)))
        return menu._replace(error=np.array([choice.error for choice in field.measured]))

    def price(self, field: Field, choice: TableChoice) -> Menu:
        """Return one table with its bytes and the surrogate's error, as a menu of one."""
        levels, buckets, dimension = (np.array([each]) for each in choice[:3])
        kind = np.array([self.formats.index(choice.number_format) if choice.rows else 0])
        if not choice.rows:
            return Menu(
                levels, buckets, dimension, kind, np.zeros(1, np.int64), np.array([field.signal])
            )
        told = share_of_rows(field.counts, levels, buckets, field.smoothing)
        return self._evaluate(field, told, levels, buckets, dimension, kind)

    def _evaluate(
        self, field: Field, told: Floats, levels: Ints, buckets: Ints, dimension: Ints, kind: Ints
    ) -> Menu:
        """Return tables with their bytes and the surrogate's errors."""
        rank = full_rank(levels + buckets)
        held = share_of_columns(dimension, rank, field.coefficient / field.signal)
        cost, kept = np.zeros_like(dimension), np.ones(len(dimension))
        for number, name in enumerate(self.formats):
            mine = kind == number
            sizes, inverse = np.unique(dimension[mine], return_inverse=True)
            cost[mine] = self.prices.row_bytes(sizes, name)[inverse]
            kept[mine] = share_of_numbers(sizes, name)[inverse]
        cost = cost * (levels + buckets) + self.prices.key_bytes * levels
        cost += self.prices.projection_bytes(dimension)
        error = field.signal * (1.0 - told * held * kept)
        return Menu(levels, buckets, dimension, kind, cost, error)


def list_rows(cardinality: int, hashing: bool = True) -> tuple[Ints, Ints]:
    """Return pairs of levels with a row of their own and rows that the others share.

    Every table has at least one shared row, for levels that are new.

    Examples
    --------
    >>> levels, buckets = list_rows(40)
    >>> [(int(k), int(b)) for k, b in zip(levels, buckets) if k in (0, 3, 40)]
    [(0, 1), (0, 4), (0, 16), (3, 1), (3, 4), (3, 16), (40, 1)]
    """
    if cardinality <= LEVELS_TRIED:
        kept = np.arange(cardinality + 1)
    else:
        spread = np.geomspace(1.0, cardinality, LEVELS_TRIED)
        kept = np.unique(np.r_[0, np.rint(spread).astype(np.int64), cardinality])
    powers = 4 ** np.arange(1, 26) if hashing else np.zeros(0, np.int64)
    pairs = [
        (levels, buckets)
        for levels in kept.tolist()
        for buckets in [1, *powers[powers <= (cardinality - levels) // 2].tolist()]
    ]
    levels, buckets = np.array(pairs, dtype=np.int64).T
    return levels, buckets


def build_memory_problem(
    counts: Mapping[str, Ints],
    *,
    prices: Prices,
    formats: Sequence[str],
    dimensions: Iterable[int] = DIMENSIONS,
    hashing: bool = True,
    signals: PerField | None = None,
    coefficients: PerField | None = None,
    smoothing: float | PerField = SMOOTHING,
    measured: Mapping[str, Iterable[TableChoice]] | None = None,
) -> MemoryProblem:
    """Check the user's words; the arguments are those of `plan_memory`."""
    named = by_name(counts, "counts")
    if not named:
        raise ValueError(f"counts: {show(counts)} does not give counts by field")
    names = tuple(named)
    checked = {whole_number(d, "dimensions", least=1) for d in dimensions}
    sizes = tuple(sorted(at_most(d, "dimensions", LARGEST_WIDTH) for d in checked))
    if prices.width is not None:
        sizes = (*(d for d in sizes if d < prices.width), prices.width)
    if not sizes:
        raise ValueError("dimensions: there is none; give at least one, such as 8")
    for name in formats:
        find_format(name)
    if not formats:
        raise ValueError("formats: there is none; give at least one, such as float32")
    signal = _numbers(signals, names, "signals", 1.0)
    coefficient = _numbers(coefficients, names, "coefficients", None)
    shrunk = _numbers(smoothing, names, "smoothing", SMOOTHING)
    tried = {} if measured is None else name_values(measured, names, "measured")
    fields = []
    for name in names:
        own, a = signal[name], coefficient[name]
        assert own is not None
        fields.append(
            Field(
                name,
                group_counts(_check_counts(named[name], name)),
                own,
                COEFFICIENT * own if a is None else a,
                shrunk[name] or 0.0,
                tuple(_check_measured(tried.get(name, ()), name, formats)),
            )
        )
    return MemoryProblem(tuple(fields), prices, sizes, tuple(formats), hashing)


def _numbers(
    values: float | PerField | None, names: tuple[str, ...], what: str, default: float | None
) -> dict[str, float | None]:
    """Return a number of at least 0 by field; one number counts for all."""
    if isinstance(values, (int, float)):
        values = dict.fromkeys(names, values)
    given = {} if values is None else name_values(values, names, what)
    found: dict[str, float | None] = dict.fromkeys(names, default)
    for name, value in given.items():
        number = real_number(value, f"{what}[{name!r}]")
        if not 1 / LARGEST_WEIGHT <= number <= LARGEST_WEIGHT:
            raise ValueError(f"{what}: {name!r} is {show(value)}, must be above 0 and finite")
        found[name] = number
    return found


def _check_counts(counts: Any, name: str) -> Ints:
    """Return the counts of a field's levels, the largest first; those of 0 go."""
    array = np.asarray(counts)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"counts: {name!r} is {show(counts)}, not a list of whole numbers")
    if array.size and array.min() < 0:
        raise ValueError(f"counts: {name!r} has {array.min()}, which is below 0")
    return np.sort(array[array > 0].astype(np.int64))[::-1]


def _check_measured(
    choices: Iterable[Any], name: str, formats: Sequence[str]
) -> Iterable[TableChoice]:
    """Return what was measured of a field, checked."""
    place = f"measured[{name!r}]"
    for each in choices:
        if not isinstance(each, tuple) or len(each) != 5:
            raise ValueError(f"{place}: {show(each)} is not a TableChoice with its error")
        choice = TableChoice(*each)
        limits = (LARGEST_HEIGHT, LARGEST_HEIGHT, LARGEST_WIDTH)
        for what, value, largest in zip(choice._fields, choice, limits, strict=False):
            at_most(whole_number(value, f"{place}, {what}", least=0), f"{place}, {what}", largest)
        if (choice.rows == 0) != (choice.dimension == 0):
            raise ValueError(f"{place}: {show(each)} has rows without columns, or the reverse")
        if choice.rows and choice.number_format not in formats:
            raise ValueError(
                f"{place}: format {show(choice.number_format)} is not one of {', '.join(formats)}"
            )
        if not abs(real_number(choice.error, f"{place}, error")) <= LARGEST_WEIGHT:
            raise ValueError(f"{place}: the error {show(choice.error)} is not a finite number")
        yield choice
