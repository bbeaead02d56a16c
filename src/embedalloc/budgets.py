"""The total budget, chosen from data.

`select_budget` is Algorithm 2 and `select_budget_by_holdout` the variant of Section 3.4. Both take
functions, so they work with any way to allocate, any model and any loss:

- ``allocate(rows, budget)`` returns whatever describes the dimensions, from these rows alone;
- ``train(rows, dimensions)`` returns a model;
- ``loss(model, rows)`` returns the mean loss on these rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embedalloc.arrays import Floats
from embedalloc.checks import whole_number

Rows = NDArray[np.intp]
Dimensions = TypeVar("Dimensions")
Model = TypeVar("Model")


@dataclass(frozen=True)
class BudgetSelection(Generic[Dimensions]):
    """The selected budget, its final allocation and what the choice rests on.

    Attributes
    ----------
    budget
        The selected budget.
    dimensions
        The allocation at that budget, on all rows given.
    budgets
        The candidates, smallest first.
    losses
        Validation losses, one row per candidate; the columns are the same splits for all.
    threshold
        Largest mean loss that was still good enough.
    """

    budget: int
    dimensions: Dimensions
    budgets: tuple[int, ...]
    losses: Floats
    threshold: float

    @property
    def mean_losses(self) -> Floats:
        """Mean validation loss of each candidate."""
        return self.losses.mean(axis=1)

    @property
    def standard_errors(self) -> Floats:
        """Standard error of each mean (nan with a single split)."""
        count = self.losses.shape[1]
        if count < 2:
            return np.full(len(self.losses), np.nan)
        return self.losses.std(axis=1, ddof=1) / np.sqrt(count)


def select_budget(
    row_count: int,
    budgets: Sequence[int],
    allocate: Callable[[Rows, int], Dimensions],
    train: Callable[[Rows, Dimensions], Model],
    loss: Callable[[Model, Rows], float],
    *,
    rng: np.random.Generator,
    folds: int = 5,
    repetitions: int = 1,
    strata: ArrayLike | None = None,
) -> BudgetSelection[Dimensions]:
    """Select the budget by repeated K-fold validation with the one-standard-error rule.

    Algorithm 2: the smallest budget wins whose mean loss is within one standard error (of the
    best budget) of the lowest mean loss. All budgets are judged on the same folds.

    Parameters
    ----------
    row_count
        Number of rows of the data set.
    budgets
        Candidate budgets.
    folds, repetitions
        K and R.
    strata
        Labels whose shares every fold keeps, for example the classes.
    """
    # NOTE[PAPER] shared-folds: Algorithm 2 draws the partition inside the loop over budgets; we
    # draw it once, so that budgets are compared on the same rows.
    candidates = _sorted_candidates(budgets)
    folds = whole_number(folds, "folds", least=2)
    repetitions = whole_number(repetitions, "repetitions", least=1)
    if folds > row_count:
        raise ValueError(f"folds: {folds} is not between 2 and the number of rows, {row_count}")
    splits = [
        split
        for _ in range(repetitions)
        for split in _fold_splits(row_count, folds, rng=rng, strata=strata)
    ]
    losses = _validate(splits, candidates, allocate, train, loss)
    means = losses.mean(axis=1)
    best = int(np.argmin(means))
    threshold = float(means[best] + losses[best].std(ddof=1) / np.sqrt(len(splits)))
    chosen = candidates[int(np.argmax(means <= threshold))]
    everything = np.arange(row_count)
    return BudgetSelection(chosen, allocate(everything, chosen), candidates, losses, threshold)


def select_budget_by_holdout(
    training_rows: ArrayLike,
    validation_rows: ArrayLike,
    budgets: Sequence[int],
    allocate: Callable[[Rows, int], Dimensions],
    train: Callable[[Rows, Dimensions], Model],
    loss: Callable[[Model, Rows], float],
    *,
    tolerance: float,
) -> BudgetSelection[Dimensions]:
    """Select the smallest budget whose validation loss is within a tolerance of the best (3.4)."""
    candidates = _sorted_candidates(budgets)
    if not tolerance >= 0:
        raise ValueError(f"tolerance: {tolerance} is below 0")
    training = _row_numbers(training_rows, "training_rows")
    held_out = _row_numbers(validation_rows, "validation_rows")
    shared = np.intersect1d(training, held_out)
    if shared.size:
        raise ValueError(f"row {shared[0]} is in both the training and the validation rows")
    losses = _validate([(training, held_out)], candidates, allocate, train, loss)
    threshold = float(losses.min() + tolerance)
    chosen = candidates[int(np.argmax(losses[:, 0] <= threshold))]
    return BudgetSelection(chosen, allocate(training, chosen), candidates, losses, threshold)


def _validate(
    splits: Sequence[tuple[Rows, Rows]],
    budgets: Sequence[int],
    allocate: Callable[[Rows, int], Dimensions],
    train: Callable[[Rows, Dimensions], Model],
    loss: Callable[[Model, Rows], float],
) -> Floats:
    """Return the loss of every budget on the held-out rows of every split."""
    losses = np.empty((len(budgets), len(splits)))
    for i, budget in enumerate(budgets):
        for k, (training, held_out) in enumerate(splits):
            losses[i, k] = loss(train(training, allocate(training, budget)), held_out)
            if not np.isfinite(losses[i, k]):
                raise ValueError(f"the validation loss at budget {budget} is {losses[i, k]}")
    return losses


def _row_numbers(rows: ArrayLike, what: str) -> Rows:
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or numbers.size == 0 or not np.issubdtype(numbers.dtype, np.integer):
        raise ValueError(f"{what}: expected a list of row numbers, got {rows!r}")
    return numbers.astype(np.intp)


def _sorted_candidates(budgets: Sequence[int]) -> tuple[int, ...]:
    candidates = tuple(sorted(whole_number(b, "budgets", least=1) for b in budgets))
    if not candidates:
        raise ValueError("budgets: there is no candidate")
    repeated = next((b for b, c in pairwise(candidates) if b == c), None)
    if repeated is not None:
        raise ValueError(f"budgets: {repeated} stands there twice; all must be different")
    return candidates


def _fold_splits(
    row_count: int, folds: int, *, rng: np.random.Generator, strata: ArrayLike | None
) -> list[tuple[Rows, Rows]]:
    """Return (training rows, held-out rows) for each fold of one random partition."""
    order = rng.permutation(row_count)
    if strata is not None:
        labels = np.asarray(strata)
        if labels.shape != (row_count,):
            raise ValueError(f"strata: expected {row_count} labels, got shape {labels.shape}")
        # Rows of one stratum stand together in random order; dealing them out in turn gives
        # every fold its share of each stratum and folds that differ by one row at most.
        order = order[np.argsort(labels[order], kind="stable")]
    fold_of = np.empty(row_count, dtype=np.intp)
    fold_of[order] = np.arange(row_count) % folds
    return [(np.flatnonzero(fold_of != k), np.flatnonzero(fold_of == k)) for k in range(folds)]
