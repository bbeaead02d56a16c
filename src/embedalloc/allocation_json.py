"""An allocation as JSON text, and back."""

import json
import math

from embedalloc.checks import all_different, real_number, show, whole_number
from embedalloc.exportable import Exportable, find_allocation
from embedalloc.result import Allocation


def to_json(allocation: Exportable) -> str:
    """Return the whole allocation as JSON text, which `from_json` reads.

    Parameters
    ----------
    allocation
        What `find_allocation` takes.

    Returns
    -------
    str
        Indented; infinite objectives stand as text.

    Examples
    --------
    >>> from embedalloc import allocate
    >>> print(to_json(allocate({"user": 943}, 8000)))
    {
      "allocation_rule": "equal",
      "budget": 8000,
      "predictors": {
        "user": {
          "cardinality": 943,
          "dimension": 8,
          "parameters": 7544,
          "effects": [],
          "shared": []
        }
      },
      "width": null,
      "objective": null,
      "lower_bound": null
    }
    """
    allocation = find_allocation(allocation)
    content = {
        "allocation_rule": allocation.allocation_rule,
        "budget": allocation.budget,
        "predictors": {
            name: {
                "cardinality": allocation.cardinalities[name],
                "dimension": dimension,
                "parameters": allocation.parameters[name],
                "effects": list(allocation.effects.get(name, ())),
                "shared": list(allocation.shared.get(name, ())),
            }
            for name, dimension in allocation.dimensions.items()
        },
        "width": allocation.width,
        "objective": _finite_or_text(allocation.objective),
        "lower_bound": _finite_or_text(allocation.lower_bound),
    }
    return json.dumps(content, indent=2, allow_nan=False)


def from_json(text: str) -> Allocation:
    """Return the allocation that `to_json` wrote, after a look at its budget.

    Parameters
    ----------
    text
        JSON, also of `embedalloc solve --export json`.

    Returns
    -------
    Allocation
        Equal to the one that was written.

    Examples
    --------
    >>> from embedalloc import allocate
    >>> plan = allocate({"user": 943, "item": 1682}, 20_000)
    >>> from_json(to_json(plan)) == plan
    True
    """
    try:
        content = json.loads(text, object_pairs_hook=lambda pairs: all_different(pairs, "JSON"))
        rows = content["predictors"].items()

        def by_field(what: str, least: int = 0) -> dict[str, int]:
            return {
                name: whole_number(row[what], f"{name!r}, {what}", least=least)
                for name, row in rows
            }

        found = Allocation(
            allocation_rule=str(content["allocation_rule"]),
            dimensions=by_field("dimension"),
            cardinalities=by_field("cardinality", least=1),
            parameters=by_field("parameters"),
            budget=whole_number(content["budget"], "budget", least=0),
            objective=_number_or_none(content["objective"], "objective"),
            lower_bound=_number_or_none(content["lower_bound"], "lower_bound"),
            effects={
                # Files of earlier versions do not have the key.
                name: tuple(_column_names(row["effects"], f"{name!r}, effects"))
                for name, row in rows
                if row.get("effects")
            },
            shared={
                name: tuple(_column_names(row["shared"], f"{name!r}, shared"))
                for name, row in rows
                if row.get("shared")
            },
            width=_read_width(content.get("width")),
        )
        if not rows:
            raise ValueError("it has no field")
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"this JSON does not hold an allocation: {error!r}") from None
    except ValueError as error:
        raise ValueError(f"this JSON does not hold an allocation: {error}") from None
    for name, dimension in found.dimensions.items():
        spent = found.parameters[name]
        columns = len(found.effects.get(name, ()))
        if columns:
            # A number per level and column, which may be more levels than the table has rows.
            rest = spent - dimension * found.cardinalities[name]
            if rest <= 0 or rest % columns:
                raise ValueError(
                    f"{name!r}: {spent} parameters cannot be {dimension} dimensions and "
                    f"{columns} columns of effects"
                )
        elif (spent % dimension if dimension else spent) or (spent == 0) != (dimension == 0):
            raise ValueError(f"{name!r}: {spent} parameters cannot be {dimension} equal dimensions")
    if found.cost > found.budget:
        raise ValueError(f"the allocation costs {found.cost}, more than its budget {found.budget}")
    return found


def _read_width(value: object) -> int | None:
    return None if value is None else whole_number(value, "width", least=1)


def _column_names(value: object, what: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ValueError(f"{what}: {show(value)} is not a list of names")
    return value


def _number_or_none(value: object, what: str) -> float | None:
    """Return what `_finite_or_text` wrote."""
    if value is None:
        return None
    number = float(value) if value in ("inf", "-inf") else real_number(value, what)
    if math.isnan(number):
        raise ValueError(f"{what}: nan is not a number")
    return number


def _finite_or_text(value: float | None) -> float | str | None:
    """Return a number as JSON knows it; infinity, which it does not know, as text."""
    return value if value is None or math.isfinite(value) else str(value)
