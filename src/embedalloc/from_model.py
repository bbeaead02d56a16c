"""Dimensions for the embedding tables of a trained torch model, from the spectra of its weights."""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats
from embedalloc.checks import LARGEST_WEIGHT, by_name, put_in_order, real_numbers, show
from embedalloc.extras import needed_for
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.problem import PerField
from embedalloc.result import Allocation
from embedalloc.rules import RULES, find_rule
from embedalloc.spectra import fit_coefficient, singular_values_by_rows, spectral_tails

if TYPE_CHECKING:
    import torch
    from torch import nn

#: Values that are copied from a table at a time (32 MB as float64).
VALUES_PER_BLOCK = 2**22
#: Rules that read the weights: those that need more than cardinalities.
SPECTRAL_RULES = [rule.name for rule in RULES.values() if rule.needs_input]


@dataclass(frozen=True, eq=False)
class TableInModel:
    """An embedding table of a model.

    Attributes
    ----------
    name
        Qualified name of the module, as in `named_modules`; the first one if it has several.
    aliases
        Further names of modules that use the same table.
    weight
        The table itself, shape (rows, columns); not a copy.
    padding_row
        Row that stands for padding and is never trained, if any.
    """

    name: str
    aliases: tuple[str, ...]
    weight: "torch.Tensor"
    padding_row: int | None

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
        weights = np.ones(self.rows) if frequencies is None else self._root_shares(frequencies)
        try:
            values = singular_values_by_rows(self._blocks(weights))
        except ValueError as error:
            raise ValueError(f"table {self.name!r}: {error}") from None
        return values[: min(self.rows - (self.padding_row is not None), self.columns)]

    def _blocks(self, weights: Floats) -> Iterator[Floats]:
        """Copy the table block by block, rows times weights, the padding row as zeros."""
        import torch  # heavy: only where it is used

        height = max(1, VALUES_PER_BLOCK // self.columns)
        for start in range(0, self.rows, height):
            part = self.weight[start : start + height].detach()
            # A copy even where the table is float64 on the CPU: it is written to.
            block = part.to(device="cpu", dtype=torch.float64, copy=True).numpy()
            if self.padding_row is not None and start <= self.padding_row < start + height:
                block[self.padding_row - start] = 0.0
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
    with needed_for("reading a model"):
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
            _check_weight(weight, name)
            # A parametrised weight is computed anew at each access; then the module is the key.
            # Tables may start at one address and still be different parts of it.
            key: Hashable = id(child)
            if isinstance(weight, nn.Parameter):
                key = (weight.data_ptr(), weight.dtype, weight.shape, weight.stride())
            found.setdefault(key, []).append((name, child, weight))
    if not found:
        raise ValueError(f"{type(module).__name__} has no nn.Embedding or nn.EmbeddingBag")
    return tuple(_table(owners) for owners in found.values())


def allocate_from_model(
    module: "nn.Module",
    budget: int | str,
    *,
    rule: str = "paper",
    frequencies: Mapping[str, ArrayLike] | None = None,
    fixed: Mapping[str, int] | None = None,
    minimum: int | PerField = 1,
    maximum: int | PerField | None = None,
    multiple_of: int = 1,
    dtype: str | None = None,
    optimizer: str | None = None,
) -> Allocation:
    """Return dimensions for the embedding tables of a trained model, never above the budget.

    Parameters
    ----------
    module
        Any module with nn.Embedding or nn.EmbeddingBag tables, on any device. Tables that share
        their weights count once, under the first name (`embedding_tables` lists the others).
        Weights that are still those of the initialisation say nothing about the data.
    budget
        Total number of embedding parameters, or memory such as "64 MB" (see `parse_budget`).
    rule
        ``paper`` fits a/d to the tails of each table's singular values (Algorithm 1);
        ``optimal`` minimises the sum of the tails themselves; ``spectral_mass`` goes by their
        squared sum. Rules that need only cardinalities work too and read no weights.
    frequencies
        How often each row is looked up, by table name and one number per row; the spectra are
        then those of ``diag(√π) U``. Give them for all tables that are not fixed, or for none.
    fixed, minimum, maximum, multiple_of
        As in `allocate`, except that no table grows by default: a spectrum says nothing about
        dimensions that the table does not have.
    dtype, optimizer
        For a budget in bytes: see `parse_budget`. By default the dtype of the tables.

    Returns
    -------
    Allocation
        By qualified name. A padding row has its price but no part in the spectrum.

    Examples
    --------
    >>> import torch
    >>> from torch import nn
    >>> _ = torch.manual_seed(0)
    >>> model = nn.ModuleDict({"user": nn.Embedding(50, 8), "item": nn.Embedding(200, 8)})
    >>> allocate_from_model(model, 1_000).dimensions
    {'user': 8, 'item': 3}
    """
    tables = embedding_tables(module)
    for what, words in (
        *(("fixed", fixed), ("frequencies", frequencies)),
        *(("minimum", minimum), ("maximum", maximum)),
    ):
        _refuse_aliases(tables, words, what)
    for what, named in (("fixed", fixed), ("frequencies", frequencies)):
        if named is not None and by_name(named, what) is None:
            raise ValueError(f"{what}: {show(named)} does not name its tables")
    settled = {} if fixed is None else fixed
    free = [table for table in tables if table.name not in settled]
    if frequencies is not None:
        needed = [name for name in frequencies if name not in settled]
        put_in_order(dict.fromkeys(needed), [table.name for table in free], "frequencies")
    ranks = {table.name: min(table.rows - 1, table.columns) for table in tables}
    present = useful_maximum(ranks, minimum=minimum, multiple_of=multiple_of)
    return allocate(
        {table.name: table.rows for table in tables},
        budget,
        rule=rule,
        **_spectral_inputs(rule, free, frequencies, present),
        fixed=fixed,
        minimum=minimum,
        maximum=useful_maximum(ranks, minimum=minimum, maximum=maximum, multiple_of=multiple_of),
        multiple_of=multiple_of,
        dtype=_common_dtype(tables, budget) if dtype is None else dtype,
        optimizer=optimizer,
    )


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


def _check_weight(weight: Any, name: str) -> None:
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


def _refuse_aliases(tables: tuple[TableInModel, ...], words: object, what: str) -> None:
    """Refuse the second name of a shared table, with the first one as the way out."""
    if not isinstance(words, Mapping):
        return
    for table in tables:
        alias = next((alias for alias in table.aliases if alias in words), None)
        if alias is not None:
            raise ValueError(f"{what}: {alias!r} shares the table of {table.name!r}; use that name")


def _spectral_inputs(
    rule: str,
    tables: list[TableInModel],
    frequencies: Mapping[str, ArrayLike] | None,
    present: Mapping[str, int],
) -> dict[str, Any]:
    """Return what the rule needs to know of the tables, under the name that `allocate` uses."""
    if find_rule(rule).name not in SPECTRAL_RULES:
        if frequencies is not None:
            raise ValueError(
                f"frequencies: the rule {rule!r} reads no spectra; leave them out or choose "
                f"{', '.join(SPECTRAL_RULES)}"
            )
        return {}
    spectra = {
        table.name: table.singular_values(None if frequencies is None else frequencies[table.name])
        for table in tables
    }
    if rule == "spectral_mass":
        return {"masses": {name: float((values**2).sum()) for name, values in spectra.items()}}
    tails = {name: spectral_tails(values) for name, values in spectra.items()}
    if rule == "paper":
        return {"coefficients": {name: float(fit_coefficient(t)) for name, t in tails.items()}}
    # Beyond the rank nothing is lost; multiple_of may ask for more than the table has.
    longer = {name: np.zeros(max(0, present[name] + 1 - len(t))) for name, t in tails.items()}
    return {"curves": {name: np.concatenate([t, longer[name]]) for name, t in tails.items()}}


def _common_dtype(tables: tuple[TableInModel, ...], budget: int | str) -> str:
    """Return the dtype of the tables, which matters for budgets in bytes only."""
    found = sorted({str(table.weight.dtype).removeprefix("torch.") for table in tables})
    if not isinstance(budget, str):
        return "float32"
    if len(found) > 1:
        raise ValueError(f"dtype: the tables hold {' and '.join(found)}; choose one for bytes")
    return found[0]
