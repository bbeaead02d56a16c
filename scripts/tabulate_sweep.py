"""Write what a sweep found: the curves as JSON, and a page with a comparison at every budget."""

import json

from embedalloc.study.sweep.cells import LOSSES, describe_sweep, gather_frontier
from embedalloc.study.sweep.protocol import read_sweep
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

if __name__ == "__main__":
    with job(snakemake):
        sweep = read_sweep(snakemake.input.sweep)
        losses = read_tables(snakemake.input.losses, LOSSES)
        curves = json.dumps(gather_frontier(losses, sweep).to_dict(), indent=2)
        write_text(snakemake.output.curves, f"{curves}\n")
        write_text(snakemake.output.page, as_markdown(describe_sweep(losses, sweep)))
