"""Embedding tables of a torch model, and their singular values, a block of rows at a time."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embedalloc.arrays import Floats
from embedalloc.checks import LARGEST_WEIGHT, real_numbers, show
from embedalloc.spectra import singular_values_by_rows
from embedalloc.weight_files import TableOnDisk

if TYPE_CHECKING:
    import torch
    from torch import nn

#: Values that are copied from a table at a time (32 MB as float64).
VALUES_PER_BLOCK = 2**22
#: Of a table with fewer rows nobody can tell whether it is random.
FEWEST_ROWS_TO_TELL = 20
#: How far beyond the edges of a random spectrum its ends may lie, as a share.
EDGE = 0.1


@dataclass(frozen=True, eq=False)
class TableInModel:
    """An embedding table of a model.

    Attributes
    ----------
    name
        Qualified name of the module, as in `named_modules`, or the key in a dictionary; the first
        one if it has several.
    aliases
        Further names of modules that use the same table.
    weight
        The table itself, shape (rows, columns); not a copy.
    padding_row
        Row that stands for padding and is never trained, if any.
    """

    name: str
    aliases: tuple[str, ...]
    weight: "torch.Tensor | NDArray[Any] | TableOnDisk"
    padding_row: int | None = None

    @property
    def rows(self) -> int:
        """Number of rows, the padding row included."""
        return int(self.weight.shape[0])

    @property
    def columns(self) -> int:
        """Present dimension."""
        return int(self.weight.shape[1])

    def singular_values(self, frequencies: ArrayLike | None = None) -> Floats:
        """Return the singular values of the table, largest first.

        The padding row is left out. With frequencies (one count or probability per row) those of
        ``diag(√π) U``, whose tails are the exact errors of Proposition 2.
        """
        weights = None if frequencies is None else self._root_shares(frequencies)
        try:
            values = singular_values_by_rows(self._blocks(weights))
        except ValueError as error:
            raise ValueError(f"table {self.name!r}: {error}") from None
        return values[: min(self.rows - (self.padding_row is not None), self.columns)]

    def _blocks(self, weights: Floats | None) -> Iterator[Floats]:
        """Copy the table block by block, rows times weights, the padding row as zeros."""
        height = max(1, VALUES_PER_BLOCK // self.columns)
        for start in range(0, self.rows, height):
            # A copy even where the table is float64 on the CPU: it is written to.
            block = _copy_rows(self.weight[start : start + height])
            if self.padding_row is not None and start <= self.padding_row < start + height:
                block[self.padding_row - start] = 0.0
            if weights is not None:
                block *= weights[start : start + height, None]
            yield block

    def _root_shares(self, frequencies: ArrayLike) -> Floats:
        counts = real_numbers(frequencies, f"frequencies[{self.name!r}]")
        if counts.shape != (self.rows,):
            raise ValueError(
                f"frequencies: {self.name!r} has {self.rows} rows, got shape {counts.shape}"
            )
        if self.padding_row is not None:
            counts[self.padding_row] = 0.0
        if not ((counts >= 0) & (counts <= LARGEST_WEIGHT)).all() or counts.sum() == 0:
            raise ValueError(
                f"frequencies: those of {self.name!r} must be finite, not negative and not all 0, "
                f"and at most {LARGEST_WEIGHT}"
            )
        return np.asarray(np.sqrt(counts / counts.sum()))


def looks_random(table: TableInModel, values: Floats) -> bool:
    """Tell whether singular values are those of independent numbers of one variance.

    The largest of a random table is about s (√N + √d) and the smallest s (√N − √d), where s is
    the numbers' deviation; learning makes some directions larger than the others.
    """
    rows, columns = table.rows - (table.padding_row is not None), table.columns
    if columns < 2 or rows < FEWEST_ROWS_TO_TELL or not values.any():
        return False
    deviation = np.sqrt((values**2).sum() / (rows * columns))
    edges = deviation * np.abs(np.sqrt(rows) + np.array([1, -1]) * np.sqrt(columns))
    return bool(values[0] < (1 + EDGE) * edges[0] and values[-1] > (1 - EDGE) * edges[1] - 1e-9)


def _copy_rows(part: "torch.Tensor | NDArray[Any]") -> Floats:
    if isinstance(part, np.ndarray):
        return part.astype(np.float64)
    import torch  # heavy: only where it is used

    copied: Floats = part.detach().to(device="cpu", dtype=torch.float64, copy=True).numpy()
    return copied


def embedding_tables(module: "nn.Module") -> tuple[TableInModel, ...]:
    """Return every nn.Embedding and nn.EmbeddingBag table of a model, shared ones once.

    Examples
    --------
    >>> from torch import nn
    >>> model = nn.ModuleDict({"query": nn.Embedding(9, 4, padding_idx=0), "rank": nn.Linear(4, 1)})
    >>> model["document"] = nn.Embedding(9, 4, _weight=model["query"].weight)
    >>> [(table.name, table.aliases, table.rows) for table in embedding_tables(model)]
    [('query', ('document',), 9)]
    """
    import torch
    from torch import nn

    if not isinstance(module, nn.Module):
        raise TypeError(f"expected a torch module, got {show(module)}")
    found: dict[Hashable, list[tuple[str, nn.Module, torch.Tensor]]] = {}
    children = list(module.named_modules(remove_duplicate=False))
    root = "embedding"  # the name of a model that is itself a table
    while any(name == root for name, _ in children):
        root += "_"
    for path, child in children:
        name = path or root
        if isinstance(child, torch.jit.ScriptModule):
            raise ValueError(f"module {name!r} is scripted or traced; take the model from before")
        if type(child).__module__.startswith("torch.ao.nn.quantized.modules.embedding"):
            raise ValueError(
                f"table {name!r} is quantised; take the model from before the quantisation"
            )
        if isinstance(child, (nn.Embedding, nn.EmbeddingBag)):
            weight = child.weight
            check_tensor(weight, name)
            # A parametrised weight is computed anew at each access; then the module is the key.
            # Tables may start at one address and still be different parts of it.
            key: Hashable = id(child)
            if isinstance(weight, nn.Parameter):
                key = (weight.data_ptr(), weight.dtype, weight.shape, weight.stride())
            found.setdefault(key, []).append((name, child, weight))
    if not found:
        raise ValueError(f"{type(module).__name__} has no nn.Embedding or nn.EmbeddingBag")
    return tuple(_table(owners) for owners in found.values())


def _table(owners: "list[tuple[str, nn.Module, torch.Tensor]]") -> TableInModel:
    """Return the table of modules that share it."""
    name, _, weight = owners[0]
    padding = {getattr(module, "padding_idx", None) for _, module, _ in owners}
    return TableInModel(
        name=name,
        aliases=tuple(alias for alias, _, _ in owners[1:]),
        weight=weight,
        padding_row=padding.pop() if len(padding) == 1 else None,
    )


def check_tensor(weight: Any, name: str) -> None:
    """Refuse a table whose numbers cannot be read."""
    import torch
    from torch.nn.parameter import is_lazy

    if not isinstance(weight, torch.Tensor) or is_lazy(weight):
        raise ValueError(f"table {name!r} has no weights yet; load or initialise the model")
    if weight.is_meta:
        raise ValueError(f"table {name!r} is on the meta device and holds no numbers; load it")
    if weight.layout != torch.strided:
        raise ValueError(f"table {name!r} is stored as {weight.layout}; make it dense: to_dense()")
    if weight.is_quantized or not weight.dtype.is_floating_point:
        raise ValueError(
            f"table {name!r} holds {weight.dtype}; take the model from before the quantisation"
        )
    if weight.ndim != 2 or 0 in weight.shape:
        raise ValueError(f"table {name!r} has shape {tuple(weight.shape)}, not rows and columns")
