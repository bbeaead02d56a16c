"""Train every network of a block of splits and cache its probabilities."""

from typing import Any

from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.heart.splits import COEFFICIENTS, SPLITS, TRAINED, run_splits
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table, write_table


def main(cell: dict[str, Any], patients: str, outputs: dict[str, str]) -> None:
    """Run the splits that the cell describes."""
    frames = run_splits(read_table(patients, PATIENTS), **cell)
    contracts = {"trained": TRAINED, "splits": SPLITS, "coefficients": COEFFICIENTS}
    for (name, contract), frame in zip(contracts.items(), frames, strict=True):
        write_table(outputs[name], frame, contract, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.params.cell, snakemake.input.patients, dict(snakemake.output.items()))
