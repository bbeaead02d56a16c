"""What decides the claims of Section 2, as checked numerically."""

from collections.abc import Sequence
from itertools import product

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
from embedalloc.study.theory.contracts import BUDGETS, ERRORS, GAPS, PATHS, RUNS, SCALING
from embedalloc.study.workflow.tables import Contract


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
    found = {
        "prop1-rotation": _without_rows(runs, RUNS) or _rotation(runs),
        "prop2-bound": _without_rows(approximation, ERRORS) or _bound(approximation),
        "theorem1-descent": _without_rows(paths, PATHS) or _descent(paths),
        "theorem1-stationary": _without_rows(runs, RUNS) or _stationary(runs),
        "theorem2-bound": _without_rows(scaling, SCALING) or _constant(scaling),
        "theorem2-growth": _without_rows(gaps, GAPS)
        or _without_rows(scaling, SCALING)
        or _growth(gaps, scaling, bootstrap),
        "theorem3-closed-form": _without_rows(budgets, BUDGETS)
        or _closed_form(budgets, cardinalities),
    }
    return {claim: {"as stated": finding} for claim, finding in found.items()}


def _without_rows(rows: pd.DataFrame, contract: Contract) -> Finding | None:
    """Return that nothing is decided where a case of the contract has no rows, or no number."""
    if rows.empty:
        return undecidable("no rows")
    for name in rows:
        if rows[name].isna().any():
            return undecidable(f"rows without {name}")
        if missing := set(contract.columns[str(name)].values) - set(rows[name]):
            return undecidable(f"no rows with {name} {', '.join(sorted(missing))}")
    return None


def _rotation(runs: pd.DataFrame) -> Finding:
    change = float(runs["rotation_change"].max())
    words = f"{len(runs)} fitted models rotated; they change by {at_most(change)}"
    return Finding(without_rounding(change), words)


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
    if rises.empty:
        return undecidable("runs of one round only")
    largest = max(float(rises.max()), 0.0)
    return Finding(
        without_rounding(largest),
        f"{len(rises):,} rounds; the objective rises by {at_most(largest)}, relatively",
    )


def _stationary(runs: pd.DataFrame) -> Finding:
    drawn = runs[(runs["scheme"] == "plain") & (runs["start"] > 0)]
    if set(drawn["loss"]) != set(runs["loss"]):
        return undecidable("no random start for one of the losses")
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
    cells = [*product(sorted(set(rows["cardinality"])), sorted(set(rows["observations"])))]
    samples = curves_by_cell(
        rows,
        ["cardinality", "observations"],
        "gap",
        cells=cells,
        dimensions=[smallest, largest],
    )

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
    closed = budgets[budgets["solution"] == "closed_form"]
    wide = closed.pivot(index="budget", columns="predictor", values=["coefficient", "dimension"])
    predictors = range(1, len(cardinalities) + 1)
    names = ("coefficient", "dimension")
    a, d = (wide.reindex(columns=[(name, j) for j in predictors]).to_numpy() for name in names)
    if not np.isfinite([a, d]).all():
        return undecidable("budgets at which a predictor has no row")
    budget = wide.index.to_numpy()
    least = np.sqrt(a * np.asarray(cardinalities)).sum(axis=1) ** 2 / budget
    excess = np.abs((a / d).sum(axis=1) / least - 1)
    overspent = (d @ np.asarray(cardinalities) / budget - 1).max()
    return Finding(
        without_rounding(float(max(excess.max(), overspent))),
        f"{len(least)} budgets: excess {at_most(excess.max())}, "
        f"overspending {at_most(overspent)}, relatively",
    )
