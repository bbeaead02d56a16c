"""Judge every rule on one split of a user's table at one budget."""

from pathlib import Path

from embedalloc.study.sweep.cells import LOSSES, run_cell
from embedalloc.study.sweep.protocol import read_sweep
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        sweep = read_sweep(snakemake.input.sweep)
        split, dimensions = int(snakemake.wildcards.split), float(snakemake.wildcards.dimensions)
        frame = run_cell(Path(snakemake.input.data), sweep, split, dimensions)
        settings = sweep.model_dump(mode="json")
        write_table(snakemake.output.losses, frame, LOSSES, settings=settings, seed=sweep.seed)
