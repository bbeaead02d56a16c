"""Confusion matrices and test sets behind the paper's Table 1, and cells that none explains."""

import json
from dataclasses import asdict

from embedalloc.study.heart.table1_audit import AUDIT, audit_frame, audit_printed, describe_audit
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table


def main(printed: str, audit: str, parts: str, report: str, largest_test_set: int) -> None:
    """Write the audit and its report; no randomness is involved, so the seed is 0."""
    table, result = audit_printed(printed, largest_test_set)
    settings = {"largest_test_set": largest_test_set}
    write_table(audit, audit_frame(result), AUDIT, settings=settings, seed=0)
    described = describe_audit(table, result)
    write_text(report, as_markdown(described))
    write_text(parts, json.dumps([asdict(part) for part in described], ensure_ascii=False))
    print(result)


if __name__ == "__main__":
    with job(snakemake.log[0]):
        main(
            snakemake.input.printed,
            **snakemake.output,
            largest_test_set=snakemake.params.largest_test_set,
        )
