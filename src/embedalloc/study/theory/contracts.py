"""What the tables of Section 2 hold, apart from what computes them: a figure needs no more."""

from typing import Literal, get_args

import pandas as pd

from embedalloc.study.workflow.tables import Column, Contract

# Proposition 2
BALANCES = ("balanced", "imbalanced")
ERRORS = Contract(
    "theory_approximation_errors",
    {
        "balance": Column("text", "equal or Dirichlet probabilities", values=BALANCES),
        "replication": Column("integer", "draw of U and of the probabilities", low=0),
        "dimension": Column("integer", "rank d of the approximation", low=0),
        "exact": Column("number", "least error over all tables of rank d", low=0),
        "truncated": Column("number", "error of the plain rank-d truncation of U", low=0),
        "weighted_bound": Column("number", "root of max π times the tail of U", low=0),
        "bound": Column("number", "the paper's bound, the tail of U", low=0),
    },
    key=("balance", "replication", "dimension"),
)

# Theorem 1
LOSSES: tuple[Literal["squared", "logistic"], ...] = ("squared", "logistic")
SCHEMES = ("plain", "accelerated")
#: Number of the start with tables of zeros, which is stationary but not a minimum.
ZERO_START = 0

_RUN = {
    "loss": Column("text", "loss of the objective", values=LOSSES),
    "scheme": Column("text", "the paper's scheme or the accelerated one", values=SCHEMES),
    "start": Column("integer", "number of the start; 0 has tables of zeros", low=0),
}
PATHS = Contract(
    "theory_alternating_paths",
    _RUN
    | {
        "round": Column("integer", "rounds done, 0 at the start", low=0),
        "objective": Column("number", "objective of Theorem 1"),
        "excess": Column("number", "objective minus the best value of all runs", low=0),
        "gradient_norm": Column("number", "norm of the full gradient", low=0),
    },
    key=("loss", "scheme", "start", "round"),
)
RUNS = Contract(
    "theory_alternating_runs",
    _RUN
    | {
        "rounds": Column("integer", "rounds until the end", low=0),
        "converged": Column("flag", "whether the gradient norm is within the tolerance"),
        "excess": Column("number", "last objective minus the best value of all runs", low=0),
        "gradient_norm": Column("number", "last norm of the full gradient", low=0),
        "residual": Column("number", "distance from a global minimum's conditions", low=0),
        "rotation_change": Column("number", "largest change of a score by random rotations", low=0),
    },
    key=("loss", "scheme", "start"),
)

# Theorem 2
#: ``squared`` is what is fitted; ``bounded``, 1 − exp(−(y − f)²/2), is what Theorem 2 asks for.
GapLoss = Literal["squared", "bounded"]
GAP_LOSSES: tuple[GapLoss, ...] = get_args(GapLoss)
GAPS = Contract(
    "theory_generalisation_gaps",
    {
        "cardinality": Column("integer", "categories N of each predictor", low=1),
        "observations": Column("integer", "training sample size n", low=1),
        "dimension": Column("integer", "columns d of each table", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "loss": Column("text", "loss whose risk is meant", values=GAP_LOSSES),
        "categories": Column("integer", "sum of the cardinalities", low=1),
        "parameters": Column("integer", "sum of N d, what the bound charges for", low=1),
        "gap": Column("number", "test risk minus training risk, less that of the truth"),
        "expected": Column("number", "first-order law: free effects over n", low=0),
    },
    key=("cardinality", "observations", "dimension", "replication", "loss"),
)
SCALING = Contract(
    "theory_generalisation_scaling",
    {
        "loss": Column("text", "loss whose risk is meant", values=GAP_LOSSES),
        "constant": Column("number", "least-squares C of the bound's form"),
        "envelope": Column("number", "smallest C above every mean gap", low=0),
        "looseness": Column("number", "envelope over gap where it is worst", low=1),
        "relative_error": Column("number", "residual of the fitted form over the gaps", low=0),
        "categories_exponent": Column("number", "measured exponent of the categories"),
        "dimension_exponent": Column("number", "measured exponent of the dimension"),
        "size_exponent": Column("number", "measured exponent of n"),
    },
    key=("loss",),
)

# Theorem 3
SOLUTIONS = ("closed_form", "projection", "optimum")
#: An objective this close to the optimum, relatively, counts as optimal.
OPTIMAL = 1e-12

BUDGETS = Contract(
    "theory_allocation_budgets",
    {
        "budget": Column("integer", "total embedding parameters B", low=1),
        "solution": Column("text", "who chose the dimensions", values=SOLUTIONS),
        "predictor": Column("integer", "number of the predictor, from 1", low=1),
        "coefficient": Column("number", "a of the population tails", low=0),
        "dimension": Column("number", "dimension; whole except in the closed form", low=0),
        "objective": Column("number", "sum of a/d over all predictors", low=0),
        "gap": Column("number", "objective over the optimum, minus 1"),
        "bound_gap": Column("number", "the same for real dimensions within the bounds", high=1e-9),
        "proven": Column("flag", "whether the search for the optimum was complete"),
    },
    key=("budget", "solution", "predictor"),
)
INSTANCES = Contract(
    "theory_allocation_instances",
    {
        "predictors": Column("integer", "number of predictors m", low=1),
        "instance": Column("integer", "draw of cardinalities and coefficients", low=0),
        "budget_ratio": Column("number", "budget over the sum of the cardinalities", low=1),
        "budget": Column("integer", "total embedding parameters B", low=1),
        "projection": Column("number", "sum of a/d of Algorithm 1's integer step", low=0),
        "optimum": Column("number", "least sum of a/d", low=0),
        "gap": Column("number", "projection over optimum, minus 1", low=-1e-9),
        "optimal": Column("flag", "whether the integer step is optimal"),
        "proven": Column("flag", "whether the search for the optimum was complete"),
    },
    key=("predictors", "instance", "budget_ratio"),
)


def average_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gap of every point of the grid."""
    by = ["loss", "categories", "parameters", "dimension", "observations", "expected"]
    return frame.groupby(by)["gap"].mean().reset_index()
