"""What decides the claims of Section 2, as checked numerically."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import (
    Bootstrap,
    Finding,
    Findings,
    Means,
    at_most,
    curves_by_cell,
    list_values,
    mean_curves,
    undecidable,
    without_rounding,
)


def theory_findings(
    *,
    approximation: pd.DataFrame,
    paths: pd.DataFrame,
    runs: pd.DataFrame,
    gaps: pd.DataFrame,
    scaling: pd.DataFrame,
    budgets: pd.DataFrame,
    cardinalities: Sequence[int],
    bootstrap: Bootstrap,
) -> Findings:
    """Return the findings of every claim on Section 2, by claim and reading.

    Parameters
    ----------
    approximation, paths, runs, gaps, scaling, budgets
        Tables of the four parts of the theory.
    cardinalities
        N_j of the predictors in `budgets`.
    bootstrap
        Source of the intervals.
    """
    change = float(runs["rotation_change"].max())
    rotated = f"{len(runs)} fitted models rotated; they change by {at_most(change)}"
    found = {
        "prop1-rotation": Finding(without_rounding(change), rotated),
        "prop2-bound": _bound(approximation),
        "theorem1-descent": _descent(paths),
        "theorem1-stationary": _stationary(runs),
        "theorem2-bound": _constant(scaling),
        "theorem2-growth": _growth(gaps, scaling, bootstrap),
        "theorem3-closed-form": _closed_form(budgets, cardinalities),
    }
    return {claim: {"as stated": finding} for claim, finding in found.items()}


def _bound(rows: pd.DataFrame) -> Finding:
    positive = rows[rows["bound"] > 1e-9 * rows["bound"].max()]
    ratio = positive["exact"] / positive["bound"]
    balanced = ratio[positive["balance"] == "balanced"]
    return Finding(
        float(ratio.max()),
        f"exact error over bound: {ratio.min():.3g} to {ratio.max():.3g} in {len(ratio):,} cases; "
        f"with equal probabilities always {balanced.median():.3g}, one over the root of N, so the "
        "bound is that much too large",
    )


def _descent(paths: pd.DataFrame) -> Finding:
    steps = paths.sort_values("round").groupby(["loss", "scheme", "start"])["objective"]
    rises = (steps.diff() / paths["objective"].abs()).dropna()
    largest = max(float(rises.max()), 0.0)
    return Finding(
        without_rounding(largest),
        f"{len(rises):,} rounds; the objective rises by {at_most(largest)}, relatively",
    )


def _stationary(runs: pd.DataFrame) -> Finding:
    drawn = runs[(runs["scheme"] == "plain") & (runs["start"] > 0)]
    rounds = drawn.groupby("loss")["rounds"].agg(["min", "max"])
    words = "; ".join(f"{loss} loss {row['min']} to {row['max']} rounds"
                      for loss, row in rounds.iterrows())  # fmt: skip
    return Finding(
        float(drawn["converged"].mean()),
        f"{int(drawn['converged'].sum())} of {len(drawn)} runs from random starts ended within the "
        f"tolerance ({words}); largest gradient norm {drawn['gradient_norm'].max():.1e}",
    )


def _constant(scaling: pd.DataFrame) -> Finding:
    loose = list_values(dict(zip(scaling["loss"], scaling["looseness"], strict=True)), ".0f")
    return Finding(
        float(scaling["envelope"][scaling["loss"] == "bounded"].iloc[0]),
        "with the smallest constant that covers the grid, the bound is larger than the gap by a "
        f"factor of up to: {loose}",
    )


def _growth(gaps: pd.DataFrame, scaling: pd.DataFrame, bootstrap: Bootstrap) -> Finding:
    rows = gaps[gaps["loss"] == "bounded"]
    smallest, largest = rows["dimension"].min(), rows["dimension"].max()
    if smallest == largest:
        return undecidable("one dimension only")
    ends = rows[rows["dimension"].isin([smallest, largest])]
    samples = curves_by_cell(ends, ["cardinality", "observations"], "gap")

    def exponent(means: Means) -> Floats:
        each = [np.log(m[..., 1] / m[..., 0]) / np.log(largest / smallest) for m in means.values()]
        return np.asarray(np.mean(each, axis=0))

    law = scaling.set_index("loss").loc["bounded"]
    return bootstrap.find(
        samples,
        exponent,
        f"the gap from d = {smallest} to {largest} grows with exponent "
        f"{float(exponent(mean_curves(samples))):.3f}, where the bound has 0.5; with the "
        f"categories {law['categories_exponent']:.2f} and with n {law['size_exponent']:.2f}: in "
        "the additive linear model only U w enters, so dimensions above 1 cost nothing",
    )


def _closed_form(budgets: pd.DataFrame, cardinalities: Sequence[int]) -> Finding:
    closed = budgets[budgets["solution"] == "closed_form"].sort_values(["budget", "predictor"])
    shape = (-1, len(cardinalities))
    a = closed["coefficient"].to_numpy().reshape(shape)
    d = closed["dimension"].to_numpy().reshape(shape)
    budget = closed["budget"].to_numpy().reshape(shape)[:, 0]
    least = np.sqrt(a * np.asarray(cardinalities)).sum(axis=1) ** 2 / budget
    excess = np.abs((a / d).sum(axis=1) / least - 1)
    overspent = (d @ np.asarray(cardinalities) / budget - 1).max()
    return Finding(
        without_rounding(float(max(excess.max(), overspent))),
        f"{len(least)} budgets: excess {at_most(excess.max())}, "
        f"overspending {at_most(overspent)}, relatively",
    )
