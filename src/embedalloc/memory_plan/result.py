"""The result of a memory plan: tables by field, their bytes, and how good they can be."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from embedalloc.arrays import Ints
from embedalloc.exportable import without_dots
from embedalloc.extras import needed_for
from embedalloc.memory_plan.prices import Prices
from embedalloc.text import cut_name, text_table

if TYPE_CHECKING:
    from embedalloc.memory_plan.torch_tables import PlannedTables

#: Spreads codes over buckets: 2^64 divided by the golden ratio, as a signed number.
SPREAD = 0x9E3779B97F4A7C15 - 2**64
#: What torchrec calls the number formats.
_IN_TORCHREC = {"float32": "FP32", "float16": "FP16", "bfloat16": "BF16"}


@dataclass(frozen=True)
class PlannedTable:
    """The table of one field; without rows there is none.

    Attributes
    ----------
    cardinality
        Levels that the counts hold.
    levels
        How many of them, the most frequent, have a row of their own.
    buckets
        Rows that all others share, new levels included.
    dimension, number_format
        Columns, and how their numbers are stored.
    bytes
        With the optimiser's state, the keys and the projection.
    covered
        Share of the rows of data whose level has a row of its own.
    error
        Of the surrogate, or as measured.

    Examples
    --------
    >>> PlannedTable(3, 2, 1, 4, "float32", bytes=48, covered=0.875, error=0.5).rows
    3
    """

    cardinality: int
    levels: int
    buckets: int
    dimension: int
    number_format: str
    bytes: int
    covered: float
    error: float

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.levels + self.buckets

    def rows_of(self, codes: Ints) -> Ints:
        """Return the row of each code: 0 for the most frequent level, 1 for the next, and so on.

        Other levels, and codes of new ones (any number outside), are spread over the shared rows.

        Parameters
        ----------
        codes
            Ranks of levels by frequency, from 0 on.

        Returns
        -------
        array of int
            Of the same shape.

        Examples
        --------
        >>> table = PlannedTable(3, 2, 1, 4, "float32", bytes=48, covered=0.875, error=0.5)
        >>> table.rows_of([0, 1, 2, -1])  # the third level and new ones share row 2
        array([0, 1, 2, 2])
        """
        codes = np.asarray(codes, dtype=np.int64)
        with np.errstate(over="ignore"):
            spread = ((codes * np.int64(SPREAD)) >> 32) & 0xFFFFFFFF
        shared = self.levels + spread % max(self.buckets, 1)
        return np.where((codes >= 0) & (codes < self.levels), codes, shared)


@dataclass(frozen=True)
class MemoryPlan:
    """Tables by field, their bytes, and how far from the best possible plan they can be.

    Attributes
    ----------
    rule
        Who chose: ``exact``, or one of the peers.
    tables
        By field.
    budget
        Bytes that could be spent.
    prices
        The price list.
    lower_bound
        No plan from the same menus has a smaller error, if known.
    measured
        Fields whose errors were measured; the surrogate's are those of the others.

    Examples
    --------
    >>> table = PlannedTable(3, 2, 1, 4, "float32", bytes=48, covered=0.875, error=0.5)
    >>> plan = MemoryPlan("exact", {"town": table}, budget=100, prices=Prices())
    >>> plan.bytes, plan.error
    (48, 0.5)
    """

    rule: str
    tables: Mapping[str, PlannedTable]
    budget: int
    prices: Prices
    lower_bound: float | None = None
    measured: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        """Bytes spent; never more than the budget."""
        return sum(table.bytes for table in self.tables.values())

    @property
    def error(self) -> float:
        """Sum of the fields' errors."""
        return float(sum(table.error for table in self.tables.values()))

    @property
    def gap(self) -> float | None:
        """How much the error can be above the best possible one; 0 means proven optimal."""
        return None if self.lower_bound is None else max(0.0, self.error - self.lower_bound)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries, lists and numbers, ready for JSON.

        Returns
        -------
        dict
            What `from_dict` takes.

        Examples
        --------
        >>> from embedalloc import TableChoice, plan_memory
        >>> town = [TableChoice(2, 1, 4, "float32", error=0.5)]
        >>> plan = plan_memory({"town": [9, 5, 2]}, 100, measured={"town": town})
        >>> plan.to_dict()["tables"]["town"]["bytes"]
        48
        """
        return {
            "rule": self.rule,
            "budget_bytes": self.budget,
            "bytes": self.bytes,
            "error": self.error,
            "lower_bound": self.lower_bound,
            "gap": self.gap,
            **asdict(self.prices),
            "measured": list(self.measured),
            "tables": {
                name: asdict(table) | {"rows": table.rows} for name, table in self.tables.items()
            },
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "MemoryPlan":
        """Return the plan that `to_dict` wrote, if need be by way of JSON."""
        try:
            wanted = [each.name for each in fields(PlannedTable)]
            plan = cls(
                content["rule"],
                {
                    name: PlannedTable(**{key: table[key] for key in wanted})
                    for name, table in content["tables"].items()
                },
                content["budget_bytes"],
                Prices(**{each.name: content[each.name] for each in fields(Prices)}),
                content["lower_bound"],
                tuple(content["measured"]),
            )
            within = plan.bytes <= plan.budget
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"this does not hold a memory plan: {error!r}") from None
        if not within:
            raise ValueError(f"the plan takes {plan.bytes} bytes, more than its {plan.budget}")
        return plan

    def to_torch(self) -> "PlannedTables":
        """Return new, untrained tables as one torch module, which takes codes by frequency.

        Numbers that are stored as int8 or int4 are trained in float32; the module's `pack` stores
        them so.

        Returns
        -------
        torch.nn.Module
            Takes a column of codes per table, and returns the embeddings side by side.

        Examples
        --------
        >>> import torch
        >>> from embedalloc import TableChoice, plan_memory
        >>> town = [TableChoice(2, 1, 4, "float32", error=0.5)]
        >>> plan = plan_memory({"town": [9, 5, 2]}, 100, measured={"town": town})
        >>> plan.to_torch()(torch.tensor([[0], [2]])).shape  # two rows of data
        torch.Size([2, 4])
        """
        with needed_for("to_torch"):
            from embedalloc.memory_plan.torch_tables import PlannedTables

        return PlannedTables(self)

    def to_torchrec(self) -> list[dict[str, Any]]:
        """Return keywords for one `EmbeddingBagConfig` per table.

        `data_type` is the text of torchrec's `DataType`. Lookups are rows: map codes with
        `PlannedTable.rows_of` first. For a common width add the module's `projections`.

        Returns
        -------
        list of dict
            Keywords of each table.

        Examples
        --------
        >>> from embedalloc import TableChoice, plan_memory
        >>> town = [TableChoice(2, 1, 4, "float32", error=0.5)]
        >>> plan = plan_memory({"town": [9, 5, 2]}, 100, measured={"town": town})
        >>> [(each["name"], each["num_embeddings"]) for each in plan.to_torchrec()]
        [('t_town', 3)]
        """
        return [
            {
                "name": f"t_{without_dots(name)}",
                "num_embeddings": table.rows,
                "embedding_dim": table.dimension,
                "feature_names": [name],
                "data_type": _IN_TORCHREC.get(table.number_format, table.number_format.upper()),
            }
            for name, table in self.tables.items()
            if table.rows
        ]

    def __str__(self) -> str:
        head = ["field", "levels", "own rows", "shared", "columns", "numbers", "bytes", "covered"]
        rows = [
            [cut_name(name, 16), f"{table.cardinality:,}", *_describe(table)]
            for name, table in self.tables.items()
        ]
        return "\n".join([text_table(head, rows), self.sum_up()])

    def sum_up(self) -> str:
        """Return what was spent and what remains unexplained, in two lines.

        Returns
        -------
        str
            The end of the printed plan.

        Examples
        --------
        >>> from embedalloc import TableChoice, plan_memory
        >>> town = [TableChoice(2, 1, 4, "float32", error=0.5)]
        >>> plan = plan_memory({"town": [9, 5, 2]}, 100, measured={"town": town})
        >>> print(plan.sum_up())
        exact: 48 of 100 bytes spent, 52 left over
        error 0.5 measured, at most 0 above the optimum
        """
        left = self.budget - self.bytes
        gap = "" if self.gap is None else f", at most {self.gap:.4g} above the optimum"
        source = "measured" if len(self.measured) == len(self.tables) else "by the surrogate"
        return (
            f"{self.rule}: {self.bytes:,} of {self.budget:,} bytes spent, {left:,} left over\n"
            f"error {self.error:.6g} {source}{gap}"
        )


def _describe(table: PlannedTable) -> list[str]:
    if not table.rows:
        return ["none", "", "", "", "0", ""]
    sizes = [f"{table.levels:,}", f"{table.buckets:,}", f"{table.dimension:,}"]
    return [*sizes, table.number_format, f"{table.bytes:,}", f"{table.covered:.1%}"]
