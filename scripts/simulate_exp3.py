"""Simulate one cell of Experiment 3 and write its tables."""

from embedalloc.study.exp3 import PERFORMANCE, PREDICTORS, simulate
from embedalloc.study.settings.exp3 import Exp3Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Exp3Cell, performance: str, predictors: str) -> None:
    """Run the simulation that the cell describes."""
    performance_frame, predictors_frame = simulate(cell)
    write_table(performance, performance_frame, PERFORMANCE, settings=cell.plain(), seed=cell.seed)
    write_table(predictors, predictors_frame, PREDICTORS, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Exp3Cell.model_validate(snakemake.params.cell), **snakemake.output)
