"""Put a finished run into one zip: an RO-Crate with configuration, results, figures and source."""

from pathlib import Path

import yaml

from embedalloc.study.archive.container import zip_files
from embedalloc.study.archive.contents import (
    CONFIGURATION,
    MANIFEST,
    METADATA,
    collect_run,
    collect_source,
    write_configuration,
    write_manifest,
)
from embedalloc.study.archive.crate import describe_crate, read_titles
from embedalloc.study.page.provenance import find_commit, name_values
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.places import PROJECT
from embedalloc.study.workflow.receipts import digest_files, trace

if __name__ == "__main__":
    with job(snakemake):
        receipts = trace(digest_files(snakemake.input.run))
        files = collect_run(receipts) | collect_source(PROJECT)
        files[CONFIGURATION] = write_configuration(snakemake.params.configuration)
        files[METADATA] = describe_crate(
            files,
            citation=yaml.safe_load(Path(snakemake.input.citation).read_bytes()),
            titles=read_titles(Path(snakemake.input.figures).read_bytes()),
            versions=name_values(receipts, "versions"),
            machine=name_values(receipts, "machine"),
            commit=find_commit(PROJECT),
        )
        files[MANIFEST] = write_manifest(files)
        with whole_file(snakemake.output.archive) as partial:
            partial.write_bytes(zip_files(files))
