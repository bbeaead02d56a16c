"""Simulate one cell of Experiment 2 and write its tables."""

from typing import Any

from embedalloc.study.exp2 import PROFILES, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: dict[str, Any], profiles: str) -> None:
    """Run the simulation that the cell describes."""
    write_table(profiles, simulate(**cell), PROFILES, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.params.cell, **snakemake.output)
