"""Run Theorem 1's scheme from several starts and write its tables."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Alternating
from embedalloc.study.theory.theorem1 import PATHS, RUNS, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Cell[Alternating].model_validate(snakemake.params.cell)
        paths, runs = simulate(cell)
        about = {"settings": cell.plain(), "seed": cell.seed}
        write_table(snakemake.output.paths, paths, PATHS, **about)
        write_table(snakemake.output.runs, runs, RUNS, **about)
