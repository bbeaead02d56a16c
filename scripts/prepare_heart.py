"""Check, parse and join the heart-disease files."""

import os

from embedalloc.study.heart.patients import PATIENTS, read_patients
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        data, settings = snakemake.input.data, dict(snakemake.params.settings)
        place = data if isinstance(data, str) else os.path.dirname(data[0])
        patients = read_patients(place, **settings)
        # No randomness is involved, so the seed is 0.
        write_table(snakemake.output.patients, patients, PATIENTS, settings=settings, seed=0)
