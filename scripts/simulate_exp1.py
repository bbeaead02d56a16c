"""Simulate one cell of Experiment 1 and write its tables."""

from embedalloc.study.exp1 import FITS, PROFILES, simulate
from embedalloc.study.settings.exp1 import Exp1Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Exp1Cell.model_validate(snakemake.params.cell)
        profiles, fits = simulate(cell)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.profiles, profiles, PROFILES, **about)
        write_table(snakemake.output.fits, fits, FITS, **about)
