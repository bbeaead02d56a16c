"""Simulate one cell of Experiment 2 and write its tables."""

from embedalloc.study.exp2 import PROFILES, simulate
from embedalloc.study.settings.exp2 import Exp2Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Exp2Cell, profiles: str) -> None:
    """Run the simulation that the cell describes."""
    write_table(profiles, simulate(cell), PROFILES, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Exp2Cell.model_validate(snakemake.params.cell), **snakemake.output)
