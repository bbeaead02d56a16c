"""Figure theory_alternating: Theorem 1's scheme from several starts (Section 2.3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import pandas as pd
from scipy.special import expit

from embedalloc.streams import stream
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Alternating
from embedalloc.study.theory.alternating import AlternatingFit, fit_alternating, initial_parameters
from embedalloc.study.theory.convex import global_optimality_residual
from embedalloc.study.theory.linear import Loss, Parameters, Penalties, Sample, rotate
from embedalloc.study.workflow.tables import Column, Contract

LOSSES: tuple[Loss, ...] = get_args(Loss)
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


@dataclass(frozen=True, eq=False)
class Run:
    """One run of a scheme from one start."""

    scheme: str
    start: int
    fit: AlternatingFit
    residual: float
    rotation_change: float


def simulate(cell: Cell[Alternating]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the path of every run, round by round, and one row about each run.

    Both schemes begin from the same starts. Both losses face the same categories and scores.
    """
    frames = [_simulate_loss(cell, loss) for loss in LOSSES]
    paths, runs = zip(*frames, strict=True)
    return pd.concat(paths, ignore_index=True), pd.concat(runs, ignore_index=True)


def draw_sample(settings: Alternating, loss: Loss, rng: np.random.Generator) -> Sample:
    """Draw rows of an additive model with standard normal effects and covariate weights."""
    n = settings.observations
    sizes = named(settings.cardinalities)
    effects = {k: rng.standard_normal(size) for k, size in sizes.items()}
    codes = {k: rng.integers(0, size, n) for k, size in sizes.items()}
    covariates = rng.standard_normal((n, settings.covariates))
    score = covariates @ rng.standard_normal(settings.covariates)
    for name, effect in effects.items():
        score = score + effect[codes[name]]
    if loss == "squared":
        return Sample(codes, covariates, score + rng.standard_normal(n))
    return Sample(codes, covariates, (rng.uniform(size=n) < expit(score)).astype(np.float64))


def draw_start(settings: Alternating, seed: int, number: int) -> Parameters:
    """Draw Gaussian tables, or take tables of zeros for start 0."""
    start = initial_parameters(
        named(settings.cardinalities),
        named(settings.dimensions),
        numeric_count=settings.covariates,
        rng=stream(seed, "theory", "alternating", "start", number),
    )
    return start.with_vector(0.0 * start.flatten()) if number == ZERO_START else start


def named(values: Iterable[int]) -> dict[str, int]:
    """Return values by predictor name."""
    return {f"x{j}": value for j, value in enumerate(values, start=1)}


def rotation_change(fitted: Parameters, sample: Sample, rng: np.random.Generator) -> float:
    """Return the largest change of a score when all tables are rotated at random (Prop. 1)."""
    rotations = {
        name: np.linalg.qr(rng.standard_normal((table.shape[1],) * 2))[0]
        for name, table in fitted.tables.items()
    }
    before = fitted.predict(sample.codes, sample.numeric)
    after = rotate(fitted, rotations).predict(sample.codes, sample.numeric)
    return float(np.abs(after - before).max())


def _simulate_loss(cell: Cell[Alternating], loss: Loss) -> tuple[pd.DataFrame, pd.DataFrame]:
    settings, seed = cell.settings, cell.seed
    sample = draw_sample(settings, loss, stream(seed, "theory", "alternating", "sample"))
    penalty = settings.penalty
    penalties = Penalties(penalty, dict.fromkeys(sample.codes, penalty))
    runs = []
    for number in range(settings.starts + 1):
        start = draw_start(settings, seed, number)
        for scheme in SCHEMES:
            fit = fit_alternating(
                start,
                sample,
                penalties,
                loss,
                tolerance=settings.tolerance,
                max_iterations=settings.rounds,
                accelerated=scheme == "accelerated",
            )
            residual = global_optimality_residual(fit.parameters, sample, penalties, loss)
            rng = stream(seed, "theory", "alternating", "rotation", number)
            change = rotation_change(fit.parameters, sample, rng)
            runs.append(Run(scheme, number, fit, residual, change))
    best = min(float(run.fit.objective.min()) for run in runs)
    return (
        pd.concat([_path(run, loss, best) for run in runs], ignore_index=True),
        pd.DataFrame([_about(run, loss, best) for run in runs]),
    )


def _path(run: Run, loss: Loss, best: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "loss": loss,
            "scheme": run.scheme,
            "start": run.start,
            "round": np.arange(run.fit.objective.size),
            "objective": run.fit.objective,
            "excess": run.fit.objective - best,
            "gradient_norm": run.fit.gradient_norm,
        }
    )


def _about(run: Run, loss: Loss, best: float) -> dict[str, Any]:
    return {
        "loss": loss,
        "scheme": run.scheme,
        "start": run.start,
        "rounds": run.fit.objective.size - 1,
        "converged": run.fit.converged,
        "excess": float(run.fit.objective[-1]) - best,
        "gradient_norm": float(run.fit.gradient_norm[-1]),
        "residual": run.residual,
        "rotation_change": run.rotation_change,
    }
