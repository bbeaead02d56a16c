"""The heart-disease study (Section 3.4): every model of Table 1 on many splits of the patients."""

from collections.abc import Collection
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.budgets import select_budget_by_holdout
from embedalloc.proportional import dimensions_by_priority, proportional_dimensions, weigh_equally
from embedalloc.study.heart.bench import Bench, prepare_split
from embedalloc.study.heart.networks import SEARCHED, square_root_dimensions
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.heart.trainer.network import TrainedNetwork, predict
from embedalloc.study.settings.heart import HeartCell


def run_splits(
    patients: pd.DataFrame, cell: HeartCell, *, models: Collection[str] | None = None
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return trained networks, splits and pilot coefficients of the cell's splits.

    Only networks that some of the models of Table 1 need are trained, or all of them.
    """
    results = [_run_split(patients, cell, split, models) for split in range(cell.first, cell.last)]
    trained, splits, coefficients = zip(*results, strict=True)
    return (
        pd.DataFrame([row for rows in trained for row in rows]),
        pd.DataFrame(list(splits)),
        pd.DataFrame([row for rows in coefficients for row in rows]),
    )


def _run_split(
    patients: pd.DataFrame, cell: HeartCell, split: int, models: Collection[str] | None
) -> tuple[list[dict[str, Any]], dict[str, Any], list[dict[str, Any]]]:
    """Train the networks of one split: Algorithm 1 end to end, its rivals and the controls."""

    # The list of all models is not imported: a new metric or label beside it must not train anew.
    def wanted(model: str) -> bool:
        return models is None or model in models

    settings = cell.settings
    bench, parts = prepare_split(patients, settings, seed=cell.seed, split=split)
    pilot_dimensions = square_root_dimensions(bench.cardinalities)
    # The pilot has the dimensions of the unconstrained model, so it is that model.
    pilot = bench.fit(pilot_dimensions)
    before = bench.coefficients(pilot_dimensions, bench.start(pilot_dimensions, 0))
    after = bench.coefficients(pilot_dimensions, pilot.weights)
    fitted: dict[tuple[str, int, int], TrainedNetwork] = {}
    for network, dimensions in (("unconstrained", pilot_dimensions), ("one_hot", None)):
        for restart in range(settings.restarts if wanted(f"{network}_best") else 1):
            fitted[network, 0, restart] = bench.fit(dimensions, restart)
    coefficients = bench.weigh(after)

    def fit(network: str, budget: int) -> TrainedNetwork:
        chosen = _choose_dimensions(network, bench, coefficients, budget)
        fitted[network, budget, 0] = bench.fit(chosen)
        return fitted[network, budget, 0]

    def search(network: str) -> int:
        """Select a network's budget by holdout with tolerance (Section 3.4)."""
        # What is chosen at a budget is known to `fit`.
        return select_budget_by_holdout(
            parts.training,
            parts.validation,
            settings.budgets,
            lambda rows, budget: budget,
            lambda rows, budget: fit(network, budget),
            lambda trained, rows: bench.validation_logloss(trained),
            tolerance=settings.tolerance,
        ).budget

    selected: dict[str, Any] = {
        column: search(network) if wanted(model) else None
        for model, (network, column) in SEARCHED.items()
    }
    for network in ("uniform", "cardinality", "cardinality_per_dimension"):
        if wanted(network):
            fit(network, selected["selected_budget"])
    test_rows = bench.rows(parts.test)
    rows = [
        {
            "split": split,
            "network": network,
            "budget": budget,
            "restart": restart,
            "dimensions": np.array(trained.shape.dimensions or (), dtype=np.int64),
            "validation_logloss": bench.validation_logloss(trained),
            "test_probabilities": predict(trained, test_rows),
        }
        for (network, budget, restart), trained in fitted.items()
    ]
    pilots = [
        {"split": split, "predictor": name, "cardinality": n, "before": b, "after": a}
        for name, n, b, a in zip(CATEGORICAL, bench.cardinalities, before, after, strict=True)
    ]
    return rows, {"split": split, **parts._asdict(), **selected}, pilots


def _choose_dimensions(
    network: str, bench: Bench, coefficients: Floats, budget: int
) -> tuple[int, ...]:
    """Return the dimensions of a network whose name says who chooses them."""
    if network == "proposed":
        return bench.propose(coefficients, budget)
    if network == "unit_coefficients":
        return bench.propose(np.ones(len(coefficients)), budget)
    problem = bench.problem(budget)
    if network == "uniform":
        chosen = proportional_dimensions(problem, weigh_equally(problem), "floored")
    else:
        divide = network == "cardinality_per_dimension"
        chosen = dimensions_by_priority(problem, divide_by_dimension=divide)
    return tuple(chosen.tolist())
