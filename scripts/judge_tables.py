"""Plan one split of a real table with every rule, and judge the plans on its test rows."""

from pathlib import Path

from embedalloc.study.tables.contest import run_decoys, run_split
from embedalloc.study.tables.outcomes import DECOYS, LOSSES
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.sources import read_source
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        name, split = snakemake.wildcards.table, int(snakemake.wildcards.split)
        protocol = read_protocol(snakemake.input.protocol)
        # The patients are four files in one folder, or one file.
        files = snakemake.input.data
        place = files if isinstance(files, str) else Path(files[0]).parent
        table = read_source(name, place, protocol)
        settings = protocol.model_dump(mode="json")
        for run, contract, path in (
            (run_split, LOSSES, snakemake.output.losses),
            (run_decoys, DECOYS, snakemake.output.decoys),
        ):
            frame = run(name, table, protocol, split)
            write_table(path, frame, contract, settings=settings, seed=protocol.seed)
