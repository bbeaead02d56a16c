"""Simulate one cell of Experiment 2 and write its tables."""

from embedalloc.study.exp2 import PROFILES, simulate
from embedalloc.study.settings.exp2 import Exp2Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Exp2Cell.model_validate(snakemake.params.cell)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.profiles, simulate(cell), PROFILES, **about)
