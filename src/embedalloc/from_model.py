"""Dimensions for the embedding tables of a trained model, from the spectra of its weights."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.checks import by_name, put_in_order, show
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.model_sources import find_tables
from embedalloc.model_tables import TableInModel, looks_random
from embedalloc.problem import PerField
from embedalloc.result import Allocation
from embedalloc.rules import RULES, find_rule
from embedalloc.spectra import fit_coefficient, spectral_tails

#: Rules that read the weights: those that need more than cardinalities.
SPECTRAL_RULES = [rule.name for rule in RULES.values() if rule.needs_input]


def allocate_from_model(
    model: Any,
    budget: int | str,
    *,
    rule: str = "paper",
    tables: Sequence[str] | None = None,
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
    model
        A torch module with nn.Embedding or nn.EmbeddingBag tables, on any device; its state dict;
        the path of a safetensors or npy file, or of a folder of such files, whose tables may be
        larger than memory; a dictionary of arrays by name; a Keras model or layer.
        Tables that share their weights count once, under the first name; the plan names the
        others (`shared`). Weights that are still those of the initialisation say nothing about
        the data, and a warning says so.
    budget
        Total number of embedding parameters, or memory such as "64 MB" (see `parse_budget`).
    rule
        ``paper`` fits a/d to the tails of each table's singular values (Algorithm 1);
        ``optimal`` minimises the sum of the tails themselves; ``spectral_mass`` goes by their
        squared sum. Rules that need only cardinalities work too and read no weights.
    tables
        Names of the tables in a state dict or file; by default those with "emb" in their name.
    frequencies
        How often each row is looked up, by table name and one number per row; the spectra are
        then those of ``diag(√π) U``. Give them for all tables that are not fixed, or for none.
    fixed
        As in `allocate`.
    minimum, multiple_of
        As in `allocate`.
    maximum
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
    found = find_tables(model, tables)
    for what, words in (
        *(("fixed", fixed), ("frequencies", frequencies)),
        *(("minimum", minimum), ("maximum", maximum)),
    ):
        _refuse_aliases(found, words, what)
    for what, named in (("fixed", fixed), ("frequencies", frequencies)):
        if named is not None and by_name(named, what) is None:
            raise ValueError(f"{what}: {show(named)} does not name its tables")
    settled = {} if fixed is None else fixed
    free = [table for table in found if table.name not in settled]
    if frequencies is not None:
        needed = [name for name in frequencies if name not in settled]
        put_in_order(dict.fromkeys(needed), [table.name for table in free], "frequencies")
    ranks = {table.name: min(table.rows - 1, table.columns) for table in found}
    present = useful_maximum(ranks, minimum=minimum, multiple_of=multiple_of)
    chosen = allocate(
        {table.name: table.rows for table in found},
        budget,
        rule=rule,
        **_spectral_inputs(rule, free, frequencies, present),
        fixed=fixed,
        minimum=minimum,
        maximum=useful_maximum(ranks, minimum=minimum, maximum=maximum, multiple_of=multiple_of),
        multiple_of=multiple_of,
        dtype=_common_dtype(found, budget) if dtype is None else dtype,
        optimizer=optimizer,
    )
    shared = {table.name: table.aliases for table in found if table.aliases}
    return replace(chosen, shared=shared)


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
    if frequencies is None and tables and all(looks_random(t, spectra[t.name]) for t in tables):
        warnings.warn(
            "the tables look like the random numbers that they started from: train the model "
            "first, or the dimensions say nothing about the data",
            stacklevel=4,
        )
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
