"""Write the table of benchmarks: ratios with their spread, aims, and whether they are met."""

from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.receipts import digest_files, trace
from embedalloc.study.workflow.tables import read_tables
from tests.benchmarks.measure import MEASUREMENTS
from tests.benchmarks.summary import machine_words, page, table


def main(measurements: list[str], target: str) -> None:
    """Write the page, with the names of the machines that measured."""
    machine = machine_words(trace(digest_files(measurements)))
    text = page(table(read_tables(measurements, MEASUREMENTS)), machine)
    write_text(target, text)
    print(text)


if __name__ == "__main__":
    with job(snakemake):
        main(list(snakemake.input.measurements), snakemake.output.page)
