"""A plan: which fields have a table, which levels a row, which dimension, which effects.

Everything is paid from one budget: a table costs its rows times its dimension, a field's effect
one number per level and target column. Row 0 of a table is shared by the levels that are pooled
and those never seen.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from embedalloc.arrays import Floats, Ints
from embedalloc.data.case import Limits
from embedalloc.data.ordering import Codes
from embedalloc.data.table import UNSEEN, FieldData, PredictionTask
from embedalloc.from_cardinalities import allocate
from embedalloc.problem import BudgetError
from embedalloc.result import Allocation

#: Levels with so many rows of data are not pooled to save budget while a table can be dropped.
LARGEST_COMMON_COUNT = 64


@dataclass(frozen=True)
class FieldPlan:
    """What is planned for one field.

    Attributes
    ----------
    levels
        N_j, the unseen level included.
    kept
        Levels with a row of their own, the most frequent ones; the others share row 0.
    dimension
        Of its table; 0 if it has none.
    effect_columns
        Numeric inputs that hold the effect of its level: one, or one per class, or none.
    """

    levels: int
    kept: int
    dimension: int
    effect_columns: int = 0

    @property
    def rows(self) -> int:
        """Rows of the table, the shared one included."""
        return self.kept + 1

    @property
    def cost(self) -> int:
        """Numbers that the field takes of the budget."""
        return self.rows * self.dimension + self.levels * self.effect_columns


@dataclass(frozen=True)
class Plan:
    """What is planned for every field, within a budget.

    Attributes
    ----------
    label
        How the plan was made.
    fields
        By name.
    budget
        Never exceeded.
    """

    label: str
    fields: Mapping[str, FieldPlan]
    budget: int

    def __post_init__(self) -> None:
        if self.cost > self.budget:
            raise AssertionError(f"{self.label}: costs {self.cost}, the budget is {self.budget}")

    @property
    def cost(self) -> int:
        """Numbers spent on tables and effects."""
        return sum(field.cost for field in self.fields.values())

    @property
    def dimensions(self) -> dict[str, int]:
        """Dimension by field."""
        return {name: field.dimension for name, field in self.fields.items()}

    @property
    def tables(self) -> dict[str, dict[str, int]]:
        """Rows and dimension of every table, by field."""
        return {
            name: {"rows": field.rows, "dimension": field.dimension}
            for name, field in self.fields.items()
            if field.dimension
        }

    @property
    def effects(self) -> tuple[str, ...]:
        """Fields whose effect is an input."""
        return tuple(name for name, field in self.fields.items() if field.effect_columns)

    @property
    def dropped(self) -> tuple[str, ...]:
        """Fields with neither table nor effect."""
        return tuple(
            name
            for name, field in self.fields.items()
            if not field.dimension and not field.effect_columns
        )

    @property
    def pooled(self) -> tuple[str, ...]:
        """Fields of which some seen levels share row 0."""
        return tuple(
            name
            for name, field in self.fields.items()
            if field.dimension and field.rows < field.levels
        )

    def pool(self, name: str, codes: Codes) -> Codes:
        """Return a field's codes with 0 for the levels that have no row of their own."""
        field = self.fields[name]
        return codes if field.rows == field.levels else np.where(codes <= field.kept, codes, UNSEEN)

    def apply(self, data: FieldData, effects: Mapping[str, Floats]) -> FieldData:
        """Return rows as the planned network reads them: pooled codes, effects as numbers."""
        numbers = data.numbers
        if self.effects:
            ends = np.cumsum(
                [numbers.shape[1], *(self.fields[name].effect_columns for name in self.effects)]
            )
            numbers = np.empty((len(data), ends[-1]), np.float32)
            numbers[:, : ends[0]] = data.numbers
            for name, (begin, end) in zip(self.effects, pairwise(ends), strict=True):
                numbers[:, begin:end] = effects[name]
        return replace(
            data,
            cardinalities={name: field.rows for name, field in self.fields.items()},
            codes={name: self.pool(name, codes) for name, codes in data.codes.items()},
            numbers=numbers,
        )

    def to_allocation(self, rule: str, task: PredictionTask) -> Allocation:
        """Return the plan as an allocation: cardinalities are the tables' rows."""
        return Allocation(
            rule,
            self.dimensions,
            {name: field.rows for name, field in self.fields.items()},
            {name: field.cost for name, field in self.fields.items()},
            self.budget,
            effects={name: name_effects(name, task) for name in self.effects},
        )


def name_effects(name: str, task: PredictionTask) -> tuple[str, ...]:
    """Return the names of a field's effect columns: one, or one per class if there are several."""
    if task.kind != "multiclass":
        return (f"{name}__effect",)
    return tuple(f"{name}__effect_{each}" for each in task.classes)


def plan_allocation(label: str, found: Allocation) -> Plan:
    """Return the plan that gives these dimensions to all levels, without effects."""
    return Plan(
        label,
        {
            name: FieldPlan(levels, levels - 1, found.dimensions[name])
            for name, levels in found.cardinalities.items()
        },
        found.budget,
    )


@dataclass(frozen=True)
class Wish:
    """What a candidate would like; `make_plan` makes it fit the budget.

    Attributes
    ----------
    label
        Its name.
    without
        Fields that shall have no table.
    minimum_counts
        Rows that a level needs for a row of its own, by field; 1 if not named.
    effects
        Fields whose effect shall be an input, the most wanted first.
    """

    label: str
    without: frozenset[str] = frozenset()
    minimum_counts: Mapping[str, float] | None = None
    effects: Sequence[str] = ()


def make_plan(
    wish: Wish,
    counts: Mapping[str, Ints],
    limits: Limits,
    budget: int,
    *,
    worth: Mapping[str, float],
    effect_columns: int = 1,
) -> Plan | None:
    """Return equal dimensions for what a candidate keeps, or None if the budget cannot pay.

    First the effects are paid, as many as leave enough for the tables that must be; then, if the
    smallest dimensions of what is kept cost too much, rare levels are pooled, 2, 4, 8, … rows
    each, and tables dropped, the least worth first, where both are allowed.

    Parameters
    ----------
    wish
        What is wanted.
    counts
        Rows of every level by field, by code.
    limits
        Permitted dimensions; fixed fields keep all levels.
    budget
        Numbers that may be spent.
    worth
        By field; what is worth least is dropped first.
    effect_columns
        Columns per effect: one, or the number of classes.
    """
    chosen: list[str] = []
    left = budget - _least_cost(counts, limits)
    for name in wish.effects:
        price = len(counts[name]) * effect_columns
        if price <= left:
            chosen.append(name)
            left -= price
    for_effects = sum(len(counts[name]) * effect_columns for name in chosen)
    tables = _fit_tables(wish, counts, limits, budget - for_effects, worth)
    if tables is None:
        return None
    return Plan(
        wish.label,
        {
            name: FieldPlan(
                len(counts[name]),
                tables.cardinalities[name] - 1,
                dimension,
                effect_columns if name in chosen else 0,
            )
            for name, dimension in tables.dimensions.items()
        },
        budget,
    )


def _least_cost(counts: Mapping[str, Ints], limits: Limits) -> int:
    """Return what tables cost that cannot be dropped, pooled as far as possible."""
    total = 0
    for name, each in counts.items():
        if name in limits.fixed:
            total += len(each) * limits.fixed[name]
        elif name not in limits.droppable:
            rows = 1 if name in limits.poolable else len(each)
            total += rows * limits.smallest(name)
    return total


def _fit_tables(
    wish: Wish,
    counts: Mapping[str, Ints],
    limits: Limits,
    budget: int,
    worth: Mapping[str, float],
) -> Allocation | None:
    """Return equal dimensions of the kept tables, pooled and dropped until they fit."""
    wanted = wish.minimum_counts or {}
    without = wish.without & limits.droppable
    waiting = sorted(limits.droppable - without, key=lambda name: (worth[name], name))
    for more in range(len(waiting) + 1):
        dropped = without.union(waiting[:more])
        for common in _list_common_counts(counts, may_drop=more < len(waiting)):
            rows = {
                name: _count_rows(each, max(common, wanted.get(name, 1)))
                if name in limits.poolable
                else len(each)
                for name, each in counts.items()
            }
            empty = {name for name in limits.droppable if rows[name] == 1}
            try:
                constraints = limits.for_rows(rows, dropped | empty)
                return allocate(rows, budget, rule="equal", **constraints)
            except BudgetError:
                continue
    return None


def _list_common_counts(counts: Mapping[str, Ints], *, may_drop: bool) -> list[int]:
    """Return the minimum counts to try: 1, 2, 4, … , further where no table can be dropped."""
    largest = max((int(each.max(initial=0)) for each in counts.values()), default=0)
    most = LARGEST_COMMON_COUNT if may_drop else 2 * max(largest, 1)
    return [2**k for k in range(int(most).bit_length())]


def _count_rows(counts: Ints, minimum_count: float) -> int:
    """Return a table's rows: the levels with so many rows of data, and the shared one."""
    return 1 + int((counts[UNSEEN + 1 :] >= minimum_count).sum())
