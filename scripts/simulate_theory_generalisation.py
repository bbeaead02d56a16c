"""Measure Theorem 2's gap over the grid and write its tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Generalisation
from embedalloc.study.theory.theorem2 import GAPS, SCALING, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Cell[Generalisation], gaps: str, scaling: str) -> None:
    """Run the computation that the cell describes."""
    gaps_frame, scaling_frame = simulate(cell)
    write_table(gaps, gaps_frame, GAPS, settings=cell.plain(), seed=cell.seed)
    write_table(scaling, scaling_frame, SCALING, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Cell[Generalisation].model_validate(snakemake.params.cell), **snakemake.output)
