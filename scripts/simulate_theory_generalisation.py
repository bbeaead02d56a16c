"""Measure Theorem 2's gap over the grid and write its tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Generalisation
from embedalloc.study.theory.theorem2 import GAPS, SCALING, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Cell[Generalisation].model_validate(snakemake.params.cell)
        gaps, scaling = simulate(cell)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.gaps, gaps, GAPS, **about)
        write_table(snakemake.output.scaling, scaling, SCALING, **about)
