"""Select the budget by Algorithm 2 (K folds, one standard error) on a block of splits."""

from typing import Any

from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.heart.splits import FOLDS, select_by_folds
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, write_table


def main(cell: dict[str, Any], patients: str, folds: str) -> None:
    """Run the selections that the cell describes."""
    frame = select_by_folds(read_table(patients, PATIENTS), **cell)
    write_table(folds, frame, FOLDS, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.params.cell, snakemake.input.patients, snakemake.output.folds)
