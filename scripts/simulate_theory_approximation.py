"""Compute exact errors and bounds of Proposition 2 and write their table."""

from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Approximation
from embedalloc.study.theory.proposition2 import ERRORS, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: Cell[Approximation], errors: str) -> None:
    """Run the computation that the cell describes."""
    write_table(errors, simulate(cell), ERRORS, settings=cell.plain(), seed=cell.seed)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(Cell[Approximation].model_validate(snakemake.params.cell), **snakemake.output)
