"""Compute the excess of every rule over the oracle at one sample size of Experiment 3."""

from embedalloc.study.multiverse.regret import REGRET, simulate
from embedalloc.study.settings.exp3 import Exp3Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        cell = Exp3Cell.model_validate(snakemake.params.cell)
        write_table(
            snakemake.output.regret,
            simulate(cell),
            REGRET,
            settings=cell.plain(),
            seed=cell.seed,
        )
