"""Confusion matrices and test sets behind the paper's Table 1, and cells that none explains."""

from embedalloc.study.heart.table1_audit import AUDIT, audit_frame, audit_printed, audit_report
from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(printed: str, audit: str, report: str, largest_test_set: int) -> None:
    """Write the audit and its report; no randomness is involved, so the seed is 0."""
    table, result = audit_printed(printed, largest_test_set)
    settings = {"largest_test_set": largest_test_set}
    write_table(audit, audit_frame(result), AUDIT, settings=settings, seed=0)
    with whole_file(report) as partial:
        partial.write_text(audit_report(table, result), encoding="utf-8")
    print(result)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.input.printed,
            snakemake.output.audit,
            snakemake.output.report,
            snakemake.params.largest_test_set,
        )
