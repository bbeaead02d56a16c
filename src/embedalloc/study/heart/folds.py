"""Algorithm 2 on the heart-disease data: the budget by repeated K-fold validation."""

from functools import partial

import numpy as np
import pandas as pd

from embedalloc.budgets import select_budget
from embedalloc.streams import stream
from embedalloc.study.heart.bench import Bench, split_patients
from embedalloc.study.heart.networks import logloss, square_root_dimensions
from embedalloc.study.heart.preprocess import RowNumbers, stratified_split
from embedalloc.study.heart.trainer.network import TrainedNetwork, predict
from embedalloc.study.settings.heart import HeartFoldsCell


def select_by_folds(patients: pd.DataFrame, cell: HeartFoldsCell) -> pd.DataFrame:
    """Return Algorithm 2's selection on the training and validation rows of the cell's splits."""
    splits = range(cell.first, cell.last)
    return pd.concat([_select_on_split(patients, cell, s) for s in splits], ignore_index=True)


def _select_on_split(patients: pd.DataFrame, cell: HeartFoldsCell, split: int) -> pd.DataFrame:
    """Run repeated K-fold validation; nothing of a fold is seen by the model judged on it.

    Early stopping needs validation rows of its own, taken from each fold's training rows.
    """
    # NOTE[PAPER] heart-folds: Algorithm 2 does not say where early stopping gets its rows.
    settings, named = cell.settings, partial(stream, cell.seed, "heart", split)
    training, validation, _ = split_patients(patients, settings, named("rows"))
    everyone = np.sort(np.concatenate([training, validation]))
    labels = patients["disease"].to_numpy()
    benches: dict[bytes, Bench] = {}

    def bench_of(rows: RowNumbers) -> Bench:
        key = rows.tobytes()
        if key not in benches:
            of_fold = partial(named, "folds", len(benches))
            inner, stopping = stratified_split(
                of_fold("rows"), everyone[rows], labels, settings.validation_share
            )
            benches[key] = Bench(patients, inner, stopping, settings, of_fold)
        return benches[key]

    def allocate(rows: RowNumbers, budget: int) -> tuple[int, ...]:
        bench = bench_of(rows)
        pilot = square_root_dimensions(bench.cardinalities)
        coefficients = bench.coefficients(pilot, bench.fit(pilot).weights)
        return bench.propose(bench.weigh(coefficients), budget)

    def fit(rows: RowNumbers, dimensions: tuple[int, ...]) -> tuple[Bench, TrainedNetwork]:
        bench = bench_of(rows)
        return bench, bench.fit(dimensions)

    def loss(model: tuple[Bench, TrainedNetwork], rows: RowNumbers) -> float:
        bench, network = model
        held_out = bench.rows(everyone[rows])
        return logloss(held_out.labels, predict(network, held_out))

    selection = select_budget(
        len(everyone),
        settings.budgets,
        allocate,
        fit,
        loss,
        rng=named("folds"),
        folds=settings.folds,
        repetitions=settings.repetitions,
        strata=labels[everyone],
    )
    return pd.DataFrame(
        {
            "split": split,
            "budget": selection.budgets,
            "mean_loss": selection.mean_losses,
            "standard_error": selection.standard_errors,
            "selected": [budget == selection.budget for budget in selection.budgets],
        }
    )
