"""Select the budget by Algorithm 2 (K folds, one standard error) on a block of splits."""

from embedalloc.study.heart.folds import select_by_folds
from embedalloc.study.heart.networks import FOLDS
from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.settings.heart import HeartFoldsCell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        cell = HeartFoldsCell.model_validate(snakemake.params.cell)
        frame = select_by_folds(read_table(snakemake.input.patients, PATIENTS), cell)
        write_table(snakemake.output.folds, frame, FOLDS, settings=cell.plain(), seed=cell.seed)
