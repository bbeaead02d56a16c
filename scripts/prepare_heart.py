"""Check, parse and join the heart-disease files."""

import os

from embedalloc.study.heart.patients import PATIENTS, read_patients
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(data: list[str] | str, patients: str, cholesterol_zero_is_missing: bool) -> None:
    """Write the patients; no randomness is involved, so the seed is 0."""
    settings = {"cholesterol_zero_is_missing": cholesterol_zero_is_missing}
    place = data if isinstance(data, str) else os.path.dirname(data[0])
    write_table(patients, read_patients(place, **settings), PATIENTS, settings=settings, seed=0)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.input.data,
            snakemake.output.patients,
            snakemake.params.cholesterol_zero_is_missing,
        )
