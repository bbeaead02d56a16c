"""Simulate one cell of Experiment 1 and write its tables."""

from embedalloc.study.exp1 import FITS, PROFILES, simulate
from embedalloc.study.settings.exp1 import Exp1Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Exp1Cell, profiles: str, fits: str) -> None:
    """Run the simulation that the cell describes."""
    profiles_frame, fits_frame = simulate(cell)
    write_table(profiles, profiles_frame, PROFILES, settings=cell.plain(), seed=cell.seed)
    write_table(fits, fits_frame, FITS, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Exp1Cell.model_validate(snakemake.params.cell), **snakemake.output)
