"""Figure theory_alternating: Theorem 1's scheme from several starts (Section 2.3)."""

import itertools
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy.special import expit

from embedalloc.streams import stream
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.settings.theory import Alternating
from embedalloc.study.theory.alternating import fit_alternating, initial_parameters
from embedalloc.study.theory.contracts import LOSSES, PATHS, RUNS, SCHEMES, ZERO_START
from embedalloc.study.theory.convex import global_optimality_residual
from embedalloc.study.theory.linear import Loss, Parameters, Penalties, Sample, transform


def simulate(cell: Cell[Alternating]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the path of every run, round by round, and one row about each run.

    Both schemes begin from the same starts. Both losses face the same categories and scores.
    """
    settings, seed = cell.settings, cell.seed
    paths, runs = [], []
    for loss in LOSSES:
        sample = draw_sample(settings, loss, stream(seed, "theory", "alternating", "sample"))
        penalties = Penalties(settings.penalty, dict.fromkeys(sample.codes, settings.penalty))
        for number, scheme in itertools.product(range(settings.starts + 1), SCHEMES):
            fit = fit_alternating(
                draw_start(settings, seed, number),
                sample,
                penalties,
                loss,
                tolerance=settings.tolerance,
                max_iterations=settings.rounds,
                accelerated=scheme == "accelerated",
            )
            run = {"loss": loss, "scheme": scheme, "start": number}
            path = pd.DataFrame({**run, "round": np.arange(fit.objective.size)})
            paths.append(path.assign(objective=fit.objective, gradient_norm=fit.gradient_norm))
            rng = stream(seed, "theory", "alternating", "rotation", number)
            runs.append(
                {
                    **run,
                    "rounds": fit.objective.size - 1,
                    "converged": fit.converged,
                    "objective": fit.objective[-1],
                    "gradient_norm": fit.gradient_norm[-1],
                    "residual": global_optimality_residual(fit.parameters, sample, penalties, loss),
                    "rotation_change": measure_rotation(fit.parameters, sample, rng),
                }
            )
    every = pd.concat(paths, ignore_index=True)
    best = every.groupby("loss")["objective"].min()
    every, ends = (
        table.assign(excess=table["objective"] - table["loss"].map(best))
        for table in (every, pd.DataFrame(runs))
    )
    return every[list(PATHS.columns)], ends[list(RUNS.columns)]


def draw_sample(settings: Alternating, loss: Loss, rng: np.random.Generator) -> Sample:
    """Draw rows of an additive model with standard normal effects and covariate weights."""
    n = settings.observations
    sizes = name_predictors(settings.cardinalities)
    effects = {k: rng.standard_normal(size) for k, size in sizes.items()}
    codes = {k: rng.integers(0, size, n) for k, size in sizes.items()}
    covariates = rng.standard_normal((n, settings.covariates))
    score = covariates @ rng.standard_normal(settings.covariates)
    for name, effect in effects.items():
        score = score + effect[codes[name]]
    if loss == "squared":
        return Sample(codes, covariates, score + rng.standard_normal(n))
    target = (rng.uniform(size=n) < expit(score)).astype(np.float64)
    if np.ptp(target) == 0:
        raise ConfigError(
            f"theory.alternating.observations: all {n} responses drawn are {target[0]:g}, and a "
            "logistic fit needs both kinds; take more observations"
        )
    return Sample(codes, covariates, target)


def draw_start(settings: Alternating, seed: int, number: int) -> Parameters:
    """Draw Gaussian tables, or take tables of zeros for start 0."""
    return initial_parameters(
        name_predictors(settings.cardinalities),
        name_predictors(settings.dimensions),
        numeric_count=settings.covariates,
        scale=0.0 if number == ZERO_START else 1.0,
        rng=stream(seed, "theory", "alternating", "start", number),
    )


def name_predictors(values: Iterable[int]) -> dict[str, int]:
    """Return values by predictor name."""
    return {f"x{j}": value for j, value in enumerate(values, start=1)}


def measure_rotation(fitted: Parameters, sample: Sample, rng: np.random.Generator) -> float:
    """Return the largest change of a score when all tables are rotated at random (Prop. 1)."""
    rotations = {
        name: np.linalg.qr(rng.standard_normal((table.shape[1],) * 2))[0]
        for name, table in fitted.tables.items()
    }
    before = fitted.predict(sample.codes, sample.numeric)
    after = transform(fitted, rotations).predict(sample.codes, sample.numeric)
    return float(np.abs(after - before).max())
