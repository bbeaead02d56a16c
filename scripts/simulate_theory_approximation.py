"""Compute exact errors and bounds of Proposition 2 and write their table."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Approximation
from embedalloc.study.theory.proposition2 import ERRORS, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Cell[Approximation].model_validate(snakemake.params.cell)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.errors, simulate(cell), ERRORS, **about)
