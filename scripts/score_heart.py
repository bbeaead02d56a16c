"""Compute every metric from the cached probabilities."""

from embedalloc.study.heart import SPLITS, TRAINED
from embedalloc.study.heart_data import PATIENTS
from embedalloc.study.heart_metrics import LOSSES, SCORES, score
from embedalloc.study.job import job
from embedalloc.study.tables import read_table, read_tables, write_table

if __name__ == "__main__":
    with job(snakemake.log[0]):
        scored = score(
            read_tables(snakemake.input.trained, TRAINED),
            read_tables(snakemake.input.splits, SPLITS),
            read_table(snakemake.input.patients, PATIENTS),
        )
        for path, frame, contract in zip(snakemake.output, scored, (SCORES, LOSSES), strict=True):
            write_table(path, frame, contract, settings={}, seed=snakemake.params.seed)
