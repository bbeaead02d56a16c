"""Compute exact errors and bounds of Proposition 2 and write their table."""

from typing import Any

from embedalloc.study.job import job
from embedalloc.study.tables import write_table
from embedalloc.study.theory_approximation import ERRORS, simulate


def main(cell: dict[str, Any], errors: str) -> None:
    """Run the computation that the cell describes."""
    write_table(errors, simulate(**cell), ERRORS, settings=cell, seed=cell["seed"])


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(snakemake.params.cell, **snakemake.output)
