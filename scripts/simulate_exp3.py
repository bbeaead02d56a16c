"""Simulate one cell of Experiment 3 and write its tables."""

from typing import Any

from embedalloc.study.exp3 import PERFORMANCE, PREDICTORS, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: dict[str, Any], performance: str, predictors: str) -> None:
    """Run the simulation that the cell describes."""
    performance_frame, predictors_frame = simulate(**cell)
    write_table(performance, performance_frame, PERFORMANCE, settings=cell, seed=cell["seed"])
    write_table(predictors, predictors_frame, PREDICTORS, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.params.cell, **snakemake.output)
