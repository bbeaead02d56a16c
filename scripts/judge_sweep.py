"""Judge every rule on one split of a user's table at one budget."""

from pathlib import Path

from embedalloc.study.sweep.cells import LOSSES, run_cell
from embedalloc.study.sweep.protocol import Cell
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        settings = snakemake.params.cell
        cell = Cell.model_validate(settings)
        split, dimensions = int(snakemake.wildcards.split), float(snakemake.wildcards.dimensions)
        frame = run_cell(Path(snakemake.input.data), cell, split, dimensions)
        write_table(snakemake.output.losses, frame, LOSSES, settings=settings, seed=cell.seed)
