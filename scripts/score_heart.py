"""Compute every metric from the cached probabilities."""

from embedalloc.study.heart.metrics import LOSSES, SCORES, score
from embedalloc.study.heart.networks import SPLITS, TRAINED
from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, read_tables, write_table

if __name__ == "__main__":
    with job(snakemake):
        scored = score(
            read_tables(snakemake.input.trained, TRAINED),
            read_tables(snakemake.input.splits, SPLITS),
            read_table(snakemake.input.patients, PATIENTS),
        )
        for path, frame, contract in zip(snakemake.output, scored, (SCORES, LOSSES), strict=True):
            settings, seed = snakemake.params.settings, snakemake.params.seed
            write_table(path, frame, contract, settings=settings, seed=seed)
