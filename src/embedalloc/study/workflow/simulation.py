"""What a script does that simulates one cell: read it, simulate it and write its tables."""

from collections.abc import Callable
from typing import Any, TypeVar

import pandas as pd

from embedalloc.study.settings.common import Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import Contract, write_table

C = TypeVar("C", bound=Cell[Any])


def simulate_cell(
    snakemake: Any,
    kind: type[C],
    simulate: Callable[[C], pd.DataFrame | tuple[pd.DataFrame, ...]],
    **contracts: Contract,
) -> None:
    """Simulate the cell of a job and write each table to the output of the same name."""
    with job(snakemake):
        cell = kind.model_validate(snakemake.params.cell)
        result = simulate(cell)
        frames = (result,) if isinstance(result, pd.DataFrame) else result
        for (name, contract), frame in zip(contracts.items(), frames, strict=True):
            path = getattr(snakemake.output, name)
            write_table(path, frame, contract, settings=cell.plain(), seed=cell.seed)
