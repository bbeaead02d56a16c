"""What the tables of Experiment 3 hold, apart from what computes them: a figure needs no more."""

from typing import Literal

from embedalloc.study.workflow.tables import Column, Contract

#: The paper's four rules, proposed first.
ALLOCATION_RULES = ("proposed", "equal", "cardinality", "spectral_mass")
LEFTOVERS: tuple[Literal["floored", "spent"], ...] = ("floored", "spent")

PERFORMANCE = Contract(
    "exp3_performance",
    {
        "observations": Column("integer", "training sample size n", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "budget": Column("integer", "total embedding parameters B", low=1),
        "allocation_rule": Column("text", "who chose the dimensions", values=ALLOCATION_RULES),
        "leftover": Column("text", "what became of the leftover budget", values=LEFTOVERS),
        "dimensions": Column("integers", "of the predictors, in their order", low=1),
        "cost": Column("integer", "parameters spent", low=1),
        "risk": Column("number", "expected squared error, read-out refitted", low=0),
        "risk_known": Column("number", "expected squared error, beta known", low=0),
    },
    key=("observations", "replication", "budget", "allocation_rule", "leftover"),
)
