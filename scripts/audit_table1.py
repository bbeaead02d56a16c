"""Confusion matrices and test sets behind the paper's Table 1, and cells that none explains."""

import json
from dataclasses import asdict

from embedalloc.study.heart.table1_audit import AUDIT, audit_printed, describe_audit, tabulate_audit
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import write_table

if __name__ == "__main__":
    with job(snakemake):
        output = snakemake.output
        settings = {"largest_test_set": snakemake.params.largest_test_set}
        printed, audit = audit_printed(snakemake.input.printed, **settings)
        # No randomness is involved, so the seed is 0.
        write_table(output.audit, tabulate_audit(audit), AUDIT, settings=settings, seed=0)
        parts = describe_audit(printed, audit)
        write_text(output.report, as_markdown(parts))
        write_text(output.parts, json.dumps([asdict(part) for part in parts], ensure_ascii=False))
        print(audit)
