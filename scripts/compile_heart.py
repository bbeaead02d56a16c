"""Compile the trainer once, before many jobs need it at the same time."""

from embedalloc.study.heart.trainer.network import compile_kernel
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job

if __name__ == "__main__":
    with job(snakemake):
        compile_kernel()
        write_text(snakemake.output.compiled, "The trainer was compiled.\n")
