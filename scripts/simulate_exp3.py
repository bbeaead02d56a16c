"""Simulate one cell of Experiment 3 and write its table."""

from embedalloc.study.exp3 import PERFORMANCE, simulate
from embedalloc.study.settings.exp3 import Exp3Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Exp3Cell.model_validate(snakemake.params.cell)
        frame = simulate(cell)
        path = snakemake.output.performance
        write_table(path, frame, PERFORMANCE, settings=cell.plain(), seed=cell.seed)
