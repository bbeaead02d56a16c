"""What the tables of Experiment 1 hold, apart from what computes them: a figure needs no more."""

from embedalloc.study.workflow.tables import Column, Contract

_DESIGN = Column("text", "spectral design")
_REPLICATION = Column("integer", "Monte Carlo replication", low=0)

PROFILES = Contract(
    "exp1_profiles",
    {
        "design": _DESIGN,
        "replication": _REPLICATION,
        "dimension": Column("integer", "embedding dimension d", low=1),
        "population_tail": Column("number", "Frobenius norm of U − U_d", low=0),
        "empirical_tail": Column("number", "Frobenius norm of Û − Û_d", low=0),
        "reconstruction_error": Column("number", "Frobenius norm of U − Û_d", low=0),
        "predictive_error_refit": Column("number", "root excess risk, read-out refitted", low=0),
        "predictive_error_known": Column("number", "root excess risk, beta known", low=0),
    },
    key=("design", "replication", "dimension"),
)
FITS = Contract(
    "exp1_fits",
    {
        "design": _DESIGN,
        "replication": _REPLICATION,
        "coefficient": Column("number", "a fitted to the empirical tails", low=0),
        "r_squared": Column("number", "goodness of that fit", high=1, may_be_missing=True),
    },
    key=("design", "replication"),
)
