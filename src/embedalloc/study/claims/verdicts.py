"""The claims ledger: the paper's statements and what the results say of each.

`workflow/claims.yaml` states every claim with its statistic and its decision rule. This module
holds the table of outcomes: one row per claim and reading, as a claim can turn on something that
the paper leaves open.
"""

import pandas as pd

from embedalloc.study.workflow.tables import Column, Contract

SECTIONS = {
    "theory": "Theory (Section 2)",
    "exp1": "Experiment 1 (Section 3.1)",
    "exp2": "Experiment 2 (Section 3.2)",
    "exp3": "Experiment 3 (Section 3.3)",
    "heart": "Heart disease (Section 3.4)",
    "data": "Data and Table 1",
}
VERDICTS = (
    "reproduced",
    "partly",
    "not reproduced",
    "depends on an unstated choice",
    "not testable",
)
OUTCOMES = ("holds", "partly", "fails", "not testable")

CLAIMS = Contract(
    name="claims",
    columns={
        "claim": Column("text", "id of the claim in workflow/claims.yaml"),
        "section": Column("text", "part of the study", values=tuple(SECTIONS)),
        "place": Column("text", "section, figure or table of the paper"),
        "statement": Column("text", "the claim in our words"),
        "statistic": Column("text", "what is computed to decide it"),
        "decision": Column("text", "the decision rule with its threshold"),
        "verdict": Column("text", "verdict on the claim, over all its readings", values=VERDICTS),
        "why": Column("text", "the verdict in one or two sentences, with the numbers"),
        "data": Column("text", "parquet files behind it, separated by a space"),
        "figure": Column("text", "figure or table that shows it"),
        "reading": Column("text", "which reading of the claim this row decides"),
        "outcome": Column("text", "outcome under this reading", values=OUTCOMES),
        "estimate": Column("number", "the deciding statistic", may_be_missing=True),
        "low": Column("number", "lower end of its 95 % interval", may_be_missing=True),
        "high": Column("number", "upper end of its 95 % interval", may_be_missing=True),
        "evidence": Column("text", "what was found under this reading, with the numbers"),
    },
    key=("claim", "reading"),
)


def count_verdicts(judged: pd.DataFrame) -> dict[str, int]:
    """Return how many claims have each verdict, also where none has."""
    verdicts = judged.drop_duplicates("claim")["verdict"]
    return {verdict: int((verdicts == verdict).sum()) for verdict in VERDICTS}
