"""What the tables of Experiment 2 hold, apart from what computes them: a figure needs no more."""

from embedalloc.study.workflow.tables import Column, Contract

PROFILES = Contract(
    "exp2_profiles",
    {
        "observations": Column("integer", "training sample size n", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "dimension": Column("integer", "embedding dimension d", low=1),
        "training_mse": Column("number", "per coordinate, on the training sample", low=0),
        "test_mse": Column("number", "per coordinate, on the test sample", low=0),
        "test_risk": Column("number", "expectation of test_mse given the estimate", low=0),
        "total": Column("number", "squared Frobenius norm of U − Û_d", low=0),
        "approximation": Column("number", "exact split: squared norm of U(I − P_d)", low=0),
        "estimation": Column("number", "exact split: squared norm of (Û − U)P_d", low=0),
        "literal_approximation": Column("number", "squared norm of U − U_d", low=0),
        "literal_estimation": Column("number", "squared norm of U_d − Û_d", low=0),
    },
    key=("observations", "replication", "dimension"),
)
