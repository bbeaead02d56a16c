"""Measure one row of the table of benchmarks."""

from typing import Any

from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table
from tests.benchmarks.measure import MEASUREMENTS
from tests.benchmarks.works import run


def main(cell: dict[str, Any], measurements: str) -> None:
    """Run the contestants; nothing is written unless they agree."""
    frame = run(**cell)
    write_table(measurements, frame, MEASUREMENTS, settings=cell, seed=1)
    print(frame.to_string())


if __name__ == "__main__":
    with job(snakemake):
        main(snakemake.params.cell, **snakemake.output)
