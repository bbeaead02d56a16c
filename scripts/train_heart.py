"""Train every network of a block of splits and cache its probabilities."""

from embedalloc.study.heart.networks import COEFFICIENTS, SPLITS, TRAINED
from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.heart.splits import run_splits
from embedalloc.study.settings.heart import HeartCell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, write_table

if __name__ == "__main__":
    with job(snakemake):
        cell = HeartCell.model_validate(snakemake.params.cell)
        frames = run_splits(read_table(snakemake.input.patients, PATIENTS), cell)
        contracts = (TRAINED, SPLITS, COEFFICIENTS)
        for path, frame, contract in zip(snakemake.output, frames, contracts, strict=True):
            write_table(path, frame, contract, settings=cell.plain(), seed=cell.seed)
