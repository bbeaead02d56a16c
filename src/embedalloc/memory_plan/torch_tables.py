"""The tables of a memory plan in torch: codes by frequency in, embeddings out."""

import torch
from torch import Tensor, nn

from embedalloc.exporters import module_key
from embedalloc.memory_plan.prices import NUMBER_FORMATS
from embedalloc.memory_plan.result import SPREAD, MemoryPlan, PlannedTable
from embedalloc.torch_inputs import Projections

#: Torch's functions that pack a table into whole numbers, and unpack rows of it.
_PACKING = {
    "int8": ("embedding_bag_byte_prepack", "embedding_bag_byte_unpack"),
    "int4": ("embedding_bag_4bit_prepack", "embedding_bag_4bit_unpack"),
}


class PlannedTables(nn.Module):
    """Tables in which frequent levels have rows of their own and the others share some.

    Called with a column of codes per table, it returns the embeddings side by side in float32, or
    with a common width one vector per row and field. A code is the rank of a level by
    frequency, from 0 on; any other number stands for a new level.

    Attributes
    ----------
    fields
        The fields with a table, in the order of the columns of codes.
    tables
        By the key of the field: see `embedalloc.exporters.module_key`.
    projections
        To the common width, or None.
    """

    def __init__(self, plan: MemoryPlan) -> None:
        super().__init__()
        planned = {name: table for name, table in plan.tables.items() if table.rows}
        self.fields = tuple(planned)
        self.tables = nn.ModuleDict(
            {module_key(name): _FrequencyTable(table) for name, table in planned.items()}
        )
        width = plan.prices.width
        dimensions = {name: table.dimension for name, table in planned.items()}
        self.projections = None if width is None else Projections(dimensions, width)

    def forward(self, codes: Tensor) -> Tensor:
        """Return the embeddings of every row of codes."""
        if codes.ndim != 2 or codes.shape[1] != len(self.fields):
            raise ValueError(
                f"codes of shape {tuple(codes.shape)}: expected a column for each of "
                f"{', '.join(self.fields)}"
            )
        parts = [table(codes[:, k]) for k, table in enumerate(self.tables.values())]
        if self.projections is None:
            return torch.cat(parts, dim=1)
        projected: Tensor = self.projections(parts)
        return projected

    def pack(self) -> None:
        """Store int8 and int4 tables so, once they are trained; they can then only serve."""
        for table in self.tables.values():
            assert isinstance(table, _FrequencyTable)
            table.pack()


class _FrequencyTable(nn.Module):
    """One table: codes below `levels` have a row, the others share `buckets` rows."""

    packed: Tensor

    def __init__(self, table: PlannedTable) -> None:
        super().__init__()
        self.levels, self.buckets = table.levels, table.buckets
        self.number_format = table.number_format
        floating = NUMBER_FORMATS[table.number_format].significand > 0
        kind = getattr(torch, table.number_format) if floating else torch.float32
        self.weight: nn.Parameter | None = nn.Parameter(
            torch.randn(table.rows, table.dimension).to(kind)
        )

    def forward(self, codes: Tensor) -> Tensor:
        rows = self.rows_of(codes.long())
        if self.weight is not None:
            return nn.functional.embedding(rows, self.weight).float()
        unpack = getattr(torch.ops.quantized, _PACKING[self.number_format][1])
        unpacked: Tensor = unpack(self.packed[rows])
        return unpacked

    def rows_of(self, codes: Tensor) -> Tensor:
        """Return what `PlannedTable.rows_of` does."""
        shared = self.levels + (((codes * SPREAD) >> 32) & 0xFFFFFFFF) % max(self.buckets, 1)
        return torch.where((codes >= 0) & (codes < self.levels), codes, shared)

    def pack(self) -> None:
        """Replace the weights by whole numbers with a scale and an offset per row."""
        if self.weight is None or self.number_format not in _PACKING:
            return
        prepack = getattr(torch.ops.quantized, _PACKING[self.number_format][0])
        self.register_buffer("packed", prepack(self.weight.detach()))
        self.weight = None
