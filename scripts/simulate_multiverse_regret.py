"""Compute the excess of every rule over the oracle for random settings of Experiment 3."""

from embedalloc.study.multiverse.runs import DRAWN_REGRET, measure_regret
from embedalloc.study.multiverse.space import DrawsCell, read_spaces
from embedalloc.study.settings.exp3 import Exp3Choices
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        cell = DrawsCell[Exp3Choices].model_validate(snakemake.params.cell)
        frame = measure_regret(read_spaces(snakemake.input.choices)["exp3"], cell)
        write_table(
            snakemake.output.regret, frame, DRAWN_REGRET, settings=cell.plain(), seed=cell.seed
        )
