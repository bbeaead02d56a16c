"""Figure theory_generalisation: Theorem 2's gap measured over a grid (Section 2.4)."""

from dataclasses import asdict
from typing import Any, get_args

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Generalisation
from embedalloc.study.theory.generalisation import (
    GapLoss,
    draw_gap_problem,
    expected_gap,
    fit_gap_scaling,
    measure_gap,
)
from embedalloc.study.workflow.tables import Column, Contract

# NOTE[PAPER] generalisation-loss: Theorem 2 asks for a loss within [0, 1], Theorem 1's example is
# squared; the model is fitted by squares and its gap measured in both.
LOSSES: tuple[GapLoss, ...] = get_args(GapLoss)
GAPS = Contract(
    "theory_generalisation_gaps",
    {
        "cardinality": Column("integer", "categories N of each predictor", low=1),
        "observations": Column("integer", "training sample size n", low=1),
        "dimension": Column("integer", "columns d of each table", low=1),
        "replication": Column("integer", "Monte Carlo replication", low=0),
        "loss": Column("text", "loss whose risk is meant", values=LOSSES),
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
        "loss": Column("text", "loss whose risk is meant", values=LOSSES),
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


def simulate(cell: Cell[Generalisation]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the gap of every fitted model of the grid, and how the means scale.

    One data set serves all dimensions of a replication, so comparisons over d are paired.
    """
    settings = cell.settings
    rows = [
        row
        for cardinality in settings.cardinalities
        for observations in settings.observations
        for replication in range(settings.replications)
        for row in gap_rows(settings, cell.seed, cardinality, observations, replication)
    ]
    frame = pd.DataFrame(rows)
    return frame, scaling(frame)


def gap_rows(
    settings: Generalisation, seed: int, cardinality: int, observations: int, replication: int
) -> list[dict[str, Any]]:
    """Return one row per dimension and loss for one data set."""
    predictors, noise = settings.predictors, settings.noise
    categories = predictors * cardinality
    measured = _measure(settings, seed, cardinality, observations, replication)
    return [
        {
            "cardinality": cardinality,
            "observations": observations,
            "dimension": dimension,
            "replication": replication,
            "loss": loss,
            "categories": categories,
            "parameters": categories * dimension,
            "gap": gaps[loss],
            "expected": float(expected_gap(categories, predictors, observations, noise, loss)),
        }
        for dimension, gaps in measured.items()
        for loss in LOSSES
    ]


def _measure(
    settings: Generalisation, seed: int, cardinality: int, observations: int, replication: int
) -> dict[int, dict[GapLoss, float]]:
    """Return the gaps of one data set by dimension and loss."""
    name = ("theory", "generalisation", cardinality, observations, replication)
    problem = draw_gap_problem(
        cardinality,
        observations,
        predictors=settings.predictors,
        noise=settings.noise,
        rng=stream(seed, *name),
    )
    return {
        d: measure_gap(problem, d, penalty=settings.penalty, rng=stream(seed, *name, d))
        for d in settings.dimensions
    }


def mean_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the mean gap of every point of the grid and its standard error."""
    by = ["loss", "categories", "parameters", "dimension", "observations", "expected"]
    grouped = frame.groupby(by, sort=True)["gap"]
    return grouped.agg(gap="mean", error="sem").reset_index()


def scaling(frame: pd.DataFrame) -> pd.DataFrame:
    """Return, by loss, the fit of the bound's form and the free exponents."""
    means = mean_gaps(frame)
    rows = []
    for loss in LOSSES:
        mine = means[means["loss"] == loss]
        fit = fit_gap_scaling(
            mine["gap"], mine["categories"], mine["dimension"], mine["observations"]
        )
        rows.append({"loss": loss} | asdict(fit))
    return pd.DataFrame(rows)
