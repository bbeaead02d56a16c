"""Decide every claim of the paper by its written rule, from the cached results."""

from typing import Any

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study import exp1_contracts, exp2_contracts, exp3_contracts
from embedalloc.study.claims.exp1 import exp1_findings
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.exp3 import exp3_findings
from embedalloc.study.claims.finding import Bootstrap, Findings
from embedalloc.study.claims.heart import data_findings, heart_findings
from embedalloc.study.claims.ledger import check_evidence, describe_claims, judge, read_ledger
from embedalloc.study.claims.theory import theory_findings
from embedalloc.study.claims.verdicts import CLAIMS
from embedalloc.study.heart.metrics import LOSSES
from embedalloc.study.heart.networks import COEFFICIENTS
from embedalloc.study.heart.patients import PATIENTS
from embedalloc.study.heart.table1 import PAIRED, TABLE
from embedalloc.study.heart.table1_audit import AUDIT
from embedalloc.study.settings.claims import ClaimsCell
from embedalloc.study.theory.contracts import BUDGETS, ERRORS, GAPS, PATHS, RUNS, SCALING
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.files import write_text
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import Contract, read_tables, write_table


def find(results: Any, cell: ClaimsCell) -> Findings:
    """Return the findings of all parts of the study, from the files of the rule's inputs."""

    def table(name: str, contract: Contract) -> pd.DataFrame:
        paths = results[name]
        return read_tables([paths] if isinstance(paths, str) else paths, contract)

    def bootstrap(part: str) -> Bootstrap:
        return Bootstrap(stream(cell.seed, "claims", part), cell.draws)

    return {
        **theory_findings(
            approximation=table("approximation", ERRORS),
            paths=table("paths", PATHS),
            runs=table("runs", RUNS),
            gaps=table("gaps", GAPS),
            scaling=table("scaling", SCALING),
            budgets=table("budgets", BUDGETS),
            cardinalities=cell.cardinalities,
            bootstrap=bootstrap("theory"),
        ),
        **exp1_findings(
            table("exp1_profiles", exp1_contracts.PROFILES),
            table("exp1_fits", exp1_contracts.FITS),
            settings=cell.exp1,
            bootstrap=bootstrap("exp1"),
        ),
        **exp2_findings(
            table("exp2_profiles", exp2_contracts.PROFILES),
            settings=cell.exp2,
            bootstrap=bootstrap("exp2"),
        ),
        **exp3_findings(
            table("exp3_performance", exp3_contracts.PERFORMANCE),
            settings=cell.exp3,
            cardinalities=cell.cardinalities,
            bootstrap=bootstrap("exp3"),
        ),
        **heart_findings(
            table=table("table1", TABLE),
            paired=table("paired", PAIRED),
            coefficients=table("coefficients", COEFFICIENTS),
            losses=table("losses", LOSSES),
        ),
        **data_findings(table("audit", AUDIT), patients=len(table("patients", PATIENTS))),
    }


if __name__ == "__main__":
    with job(snakemake):
        claims = read_ledger(snakemake.input.ledger)
        check_evidence(claims, [*snakemake.input, snakemake.output.page])
        cell = ClaimsCell.model_validate(snakemake.params.cell)
        judged = judge(claims, find(snakemake.input, cell))
        write_table(snakemake.output.claims, judged, CLAIMS, settings=cell.plain(), seed=cell.seed)
        write_text(snakemake.output.page, as_markdown(describe_claims(judged)))
