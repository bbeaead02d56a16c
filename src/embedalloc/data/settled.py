"""A plan that is settled already: written down, and followed without a search."""

from collections.abc import Mapping
from typing import Any

from embedalloc.checks import list_names, show, whole_number
from embedalloc.data.decision import Decision
from embedalloc.data.plan import FieldPlan, Plan
from embedalloc.data.table import DataError, FieldData

_KEYS = ("rows", "dimension", "effect")


def write_down(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return a plan as `EmbeddingAllocator(tables=…)` takes it; what it drops is not there.

    By field: the `rows` of its table, its `dimension`, and whether its `effect` is an input.
    """
    return {
        name: {
            "rows": field.rows if field.dimension else 0,
            "dimension": field.dimension,
            "effect": field.effect_columns > 0,
        }
        for name, field in plan.fields.items()
        if field.dimension or field.effect_columns
    }


def settle(
    data: FieldData, tables: Mapping[str, Mapping[str, Any]], budget: int | None
) -> Decision:
    """Return the decision that is written down; without a budget it is what the plan costs."""
    unknown = [name for name in tables if name not in data.cardinalities]
    if unknown:
        known = list_names(data.names)
        raise DataError(f"tables: {unknown[0]!r} is not a categorical column; there are {known}")
    columns = len(data.task.classes) if data.task.kind == "multiclass" else 1
    fields = {
        name: _read_field(name, tables.get(name, {}), levels, columns)
        for name, levels in data.cardinalities.items()
    }
    cost = sum(field.cost for field in fields.values())
    if budget is not None and cost > budget:
        raise DataError(f"tables: they cost {cost:,} parameters, and the budget is {budget:,}")
    plan = Plan("settled", fields, cost if budget is None else budget)
    return Decision(plan.to_allocation("settled", data.task), planned=plan)


def _read_field(name: str, entry: Mapping[str, Any], levels: int, columns: int) -> FieldPlan:
    wrong = [key for key in entry if key not in _KEYS]
    if wrong:
        raise DataError(f"tables[{name!r}]: {show(wrong[0])} is not one of {', '.join(_KEYS)}")
    dimension = whole_number(entry.get("dimension", 0), f"tables[{name!r}], dimension", least=0)
    rows = whole_number(entry.get("rows", levels), f"tables[{name!r}], rows", least=0)
    effects = columns if entry.get("effect", False) else 0
    return FieldPlan(levels, max(rows - 1, 0), dimension, effects)
