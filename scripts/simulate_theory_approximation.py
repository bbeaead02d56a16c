"""Compute exact errors and bounds of Proposition 2 and write their table."""

from typing import Any

from embedalloc.study.theory.proposition2 import ERRORS, simulate
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(cell: dict[str, Any], errors: str) -> None:
    """Run the computation that the cell describes."""
    write_table(errors, simulate(**cell), ERRORS, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.params.cell, **snakemake.output)
