"""Write the table of benchmarks: ratios with their spread, aims, and whether they are met."""

import os
from pathlib import Path

from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables
from tests.benchmarks.measure import MEASUREMENTS
from tests.benchmarks.summary import machine_words, page, table


def main(measurements: list[str], target: str) -> None:
    """Write the page; the machine's name comes from the machine that writes it."""
    cpuinfo = Path("/proc/cpuinfo")
    described = cpuinfo.read_text(encoding="utf-8") if cpuinfo.exists() else ""
    machine = machine_words(described, os.cpu_count() or 1)
    text = page(table(read_tables(measurements, MEASUREMENTS)), machine)
    write_text(target, text)
    print(text)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(list(snakemake.input.measurements), snakemake.output.page)
