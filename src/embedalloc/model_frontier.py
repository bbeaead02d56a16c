"""Spectra of a trained model's tables, and what smaller budgets would cost by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.arrays import Floats
from embedalloc.checks import real_number, whole_number
from embedalloc.from_cardinalities import allocate
from embedalloc.frontier import EQUAL, MARGIN, Frontier
from embedalloc.model_sources import find_tables
from embedalloc.spectra import spectral_tails
from embedalloc.text import cut_name, text_table

#: Budgets are the full one divided by 2, 4, …, so often at most.
MOST_HALVINGS = 8


def information_abundance(spectrum: ArrayLike) -> float:
    """Return the sum of the singular values over the largest one (Guo et al., 2024).

    It lies between 1 and the number of columns. A table that has collapsed, in which a few
    directions carry nearly all, has a small one however many columns it has.

    Examples
    --------
    >>> information_abundance([4.0, 3.0, 1.0])
    2.0
    """
    values = np.asarray(spectrum, dtype=np.float64)
    return float(values.sum() / values[0]) if values[0] > 0 else 0.0


@dataclass(frozen=True)
class TableSpectrum:
    """A table's singular values, largest first, and its size."""

    rows: int
    columns: int
    singular_values: Floats

    @property
    def information_abundance(self) -> float:
        """Sum of the singular values over the largest: near 1 where the table has collapsed."""
        return information_abundance(self.singular_values)


class ModelSpectra(dict[str, TableSpectrum]):
    """Spectra by the names of the tables; print it for a table of them."""

    def __str__(self) -> str:
        rows = []
        for name, each in self.items():
            squares = np.cumsum(each.singular_values**2)
            # Rounding must not ask for one direction more.
            needed = [int((squares < (s - 1e-12) * squares[-1]).sum()) + 1 for s in (0.9, 0.99)]
            cells = [f"{each.rows:,}", f"{each.columns}", f"{each.information_abundance:.2f}"]
            rows.append([cut_name(name), *cells, *map(str, needed)])
        head = ["table", "rows", "columns", "abundance", "90 % in", "99 % in"]
        return text_table(head, rows)


def model_spectra(
    model: Any,
    *,
    tables: Sequence[str] | None = None,
    frequencies: Mapping[str, ArrayLike] | None = None,
) -> ModelSpectra:
    """Return the singular values of a trained model's tables with their information abundance.

    Tables may be larger than memory: of files only a block of rows is read at a time.

    Parameters
    ----------
    model
        A trained model, as in `allocate_from_model`.
    tables, frequencies
        As there.

    Returns
    -------
    ModelSpectra
        By the names of the tables: rows, columns, singular values.

    Examples
    --------
    >>> table = np.diag([4.0, 3.0, 1.0])
    >>> found = model_spectra({"user": table})
    >>> found["user"].information_abundance
    2.0
    >>> print(found)
    table  rows  columns  abundance  90 % in  99 % in
    user      3        3       2.00        2        3
    """
    return ModelSpectra(
        {
            table.name: TableSpectrum(
                table.rows,
                table.columns,
                table.singular_values(None if frequencies is None else frequencies[table.name]),
            )
            for table in find_tables(model, tables)
        }
    )


def frontier_from_model(
    model: Any,
    budgets: Sequence[int] | None = None,
    *,
    tables: Sequence[str] | None = None,
    frequencies: Mapping[str, ArrayLike] | None = None,
    margin: float = MARGIN,
    spectra: ModelSpectra | None = None,
) -> Frontier:
    """Return surrogate curves: what tables lose that are cut to the dimensions of a budget.

    The error of a table is the root of the squared singular values that are cut off; its sum over
    tables, divided by that of tables without any column, is the surrogate. The curve ``optimal``
    has the dimensions that minimise it. No data are used, so this is no held-out loss.

    Parameters
    ----------
    model
        A trained model, as in `allocate_from_model`.
    tables, frequencies
        As there.
    budgets
        Numbers of parameters; by default the present number divided by 1, 2, 4, …, as long as
        every table has a column.
    margin
        Share of the whole that may be lost by a budget that counts as equivalent.
    spectra
        What `model_spectra` returned, where it is known already.

    Returns
    -------
    Frontier
        A surrogate with the curves ``optimal`` and ``equal``.

    Examples
    --------
    >>> tables = {"user": np.diag([4.0, 3.0, 1.0]), "item": np.eye(3)}
    >>> frontier_from_model(tables, [6, 9, 18]).losses["optimal"].round(2)
    array([[0.67, 0.35, 0.  ]])
    """
    known = spectra or model_spectra(model, tables=tables, frequencies=frequencies)
    sizes = {name: each.rows for name, each in known.items()}
    most = {name: len(each.singular_values) for name, each in known.items()}
    tails = {name: spectral_tails(each.singular_values) for name, each in known.items()}
    whole = sum(float(each[0]) for each in tails.values())
    if whole == 0:
        raise ValueError("all tables hold zeros only, so there is nothing to lose")
    amounts = _list_budgets(known) if budgets is None else _check_budgets(budgets)
    plans = {
        "optimal": [
            allocate(sizes, each, rule="optimal", curves=tails, maximum=most) for each in amounts
        ],
        EQUAL: [allocate(sizes, each, rule="equal", maximum=most) for each in amounts],
    }
    lost = {
        rule: [sum(float(tails[name][d]) for name, d in plan.dimensions.items()) for plan in every]
        for rule, every in plans.items()
    }
    return Frontier(
        tuple(amounts),
        {rule: np.array([each]) / whole for rule, each in lost.items()},
        {rule: np.array([float(each.cost) for each in every]) for rule, every in plans.items()},
        real_number(margin, "margin"),
    )


def _list_budgets(spectra: ModelSpectra) -> list[int]:
    full = sum(each.rows * len(each.singular_values) for each in spectra.values())
    least = sum(each.rows for each in spectra.values())
    halves = [full >> k for k in range(MOST_HALVINGS) if full >> k >= least]
    return sorted({*halves, least})


def _check_budgets(budgets: Sequence[int]) -> list[int]:
    amounts = sorted({whole_number(each, "budgets", least=1) for each in budgets})
    if not amounts:
        raise ValueError("budgets: there is none; give some or leave them out")
    return amounts
