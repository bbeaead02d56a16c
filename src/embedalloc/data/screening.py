"""Screen, then allocate: drop what carries no signal, share the budget by relevance, validate.

Predicted gains are poor guides to what a retrained network gains, so this rule only proposes
candidates, with plain equal dimensions among them as the safety net, and lets the validation
loss choose:

1. Two pilots, each on one half of the training rows, with dimensions min(N_j, 12).
2. Leaving a field out of a pilot means giving every row its average contribution; each pilot is
   judged on the other half's rows, without retraining.
3. Fields are left out greedily, best first, until the loss is more than three paired standard
   errors above that with all fields: the drop path.
4. What a field alone explains, out of fold, is its relevance a_j.
5. For every beginning of the path the kept fields share the budget by Theorem 3 with these a_j.
6. Equal dimensions, then one beginning of the path after the other are trained until two in a
   row do not improve; the best on validation wins.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.network import TabularModel, one_thread
from embedalloc.data.table import FieldData, PredictionTask
from embedalloc.streams import stream

#: Largest embedding dimension of a pilot.
PILOT_DIMENSION = 12
#: The drop path ends where the loss is this many paired standard errors above the start.
PATH_STANDARD_ERRORS = 3.0
#: Weight of the overall mean in the smoothed target encoding, in rows.
SMOOTHING = 20.0
#: Folds of the target encoding.
RELEVANCE_FOLDS = 5
#: No relevance is below this share of the largest.
RELEVANCE_FLOOR = 0.02
#: Candidates in a row that may fail to improve before the search ends.
FAILURES = 2


@dataclass(frozen=True)
class Pilot:
    """A network trained on one half of the training rows, and the other half to judge it by."""

    model: TabularModel
    judged_on: FieldData

    @cached_property
    def _contributions(self) -> dict[str, Tensor]:
        return self.model.contributions()

    def read_codes(self, name: str) -> Tensor:
        """Return a field's codes on the rows that judge, sharing their memory."""
        return torch.from_numpy(self.judged_on.codes[name])

    def contribute(self, name: str) -> Tensor:
        """Return what a field adds to the first layer's input of every row."""
        return self._contributions[name][self.read_codes(name)]

    def losses(self, pre_activation: Tensor) -> Floats:
        """Return the loss of every row, from the first layer's input."""
        return self.model.losses_from(pre_activation, self.judged_on.target)


@dataclass(frozen=True)
class DropPath:
    """Fields in the order in which they can be left out.

    Attributes
    ----------
    fields
        The path; leaving out one more would cost more than three standard errors.
    full_loss
        Mean loss of the pilots with all fields, each on the other half's rows.
    losses, standard_errors
        Mean loss after each step, and the paired standard error of its difference to the full
        loss.
    removal_losses
        By field: mean loss with only this field left out.
    """

    fields: tuple[str, ...]
    full_loss: float
    losses: tuple[float, ...]
    standard_errors: tuple[float, ...]
    removal_losses: Mapping[str, float]

    @property
    def gain(self) -> float:
        """Largest reduction of the loss along the path; 0 if there is none."""
        return max([0.0, *(self.full_loss - loss for loss in self.losses)])

    @property
    def gain_in_standard_errors(self) -> float:
        """The gain over its standard error."""
        if self.gain == 0.0:
            return 0.0
        error = self.standard_errors[int(np.argmin(self.losses))]
        return self.gain / error if error > 0 else float("inf")


def train_half_pilots(case: DataCase, *, later: int) -> tuple[Pilot, Pilot]:
    """Train two pilots on halves of the training rows (step 1); so many trainings may follow."""
    dimensions = {name: min(n, PILOT_DIMENSION) for name, n in case.cardinalities.items()}
    order = stream(case.seed, "halves").permutation(len(case.training))
    halves = [case.training.take(np.sort(order[k::2])) for k in range(2)]
    pilots = []
    for k, half in enumerate(halves):
        model = replace(case, training=half).train(dimensions, f"pilot {k}")
        pilots.append(Pilot(model, halves[1 - k]))
        case.trained(later + 1 - k)
    return pilots[0], pilots[1]


def find_drop_path(pilots: Sequence[Pilot], droppable: Sequence[str]) -> DropPath:
    """Leave fields out greedily until it costs more than three standard errors (step 3).

    Without numbers one field stays: a network needs an input.
    """
    most = len(pilots[0].model.tables) - (0 if pilots[0].judged_on.numbers.shape[1] else 1)
    with one_thread(), torch.no_grad():
        current = [pilot.model.pre_activation(pilot.judged_on) for pilot in pilots]

        def leave_out(name: str) -> Floats:
            """Return the loss of every row with one more field left out."""
            parts = zip(pilots, current, strict=True)
            return np.concatenate([each.losses(now - each.contribute(name)) for each, now in parts])

        full = np.concatenate([each.losses(now) for each, now in zip(pilots, current, strict=True)])
        removal = {name: float(leave_out(name).mean()) for name in pilots[0].model.tables}
        waiting, losses, errors = list(droppable), [], []
        path: list[str] = []
        while waiting and len(path) < most:
            trials = {name: leave_out(name) for name in waiting}
            name = min(waiting, key=lambda each: float(trials[each].mean()))
            difference = trials[name] - full
            error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
            if difference.mean() > PATH_STANDARD_ERRORS * error:
                break
            for pilot, now in zip(pilots, current, strict=True):
                now -= pilot.contribute(name)
            waiting.remove(name)
            path.append(name)
            losses.append(float(trials[name].mean()))
            errors.append(error)
    return DropPath(tuple(path), float(full.mean()), tuple(losses), tuple(errors), removal)


def measure_rank_curves(pilots: Sequence[Pilot]) -> dict[str, Floats]:
    """Return the pilots' mean loss with a field's contribution T_j cut to rank 0, 1, 2, … .

    Cut by the singular values of diag(√π_j) T_j, the best approximation for the rows' levels;
    entry 0 leaves the field out and the last entry cuts nothing.
    """
    curves = {}
    with one_thread(), torch.no_grad():
        full = [pilot.model.pre_activation(pilot.judged_on) for pilot in pilots]
        for name, table in pilots[0].model.tables.items():
            ranks = min(*table.shape, pilots[0].model.blocks[name].shape[1])
            totals = np.zeros(ranks + 1)
            for pilot, complete in zip(pilots, full, strict=True):
                codes = pilot.read_codes(name)
                current = complete - pilot.contribute(name)
                totals[0] += pilot.losses(current).sum()
                parts = split_by_rank(pilot.model, name)[:ranks]
                for rank, (scores, direction) in enumerate(parts, start=1):
                    current += torch.outer(scores[codes], direction)
                    totals[rank] += pilot.losses(current).sum()
            curves[name] = totals / sum(len(pilot.judged_on) for pilot in pilots)
    return curves


def split_by_rank(model: TabularModel, name: str) -> list[tuple[Tensor, Tensor]]:
    """Split T_j into rank-one parts (a score per level, a direction), the largest first."""
    contribution = model.contributions()[name].double()
    weighted = contribution.T @ (model.frequencies[name].double()[:, None] * contribution)
    _, directions = torch.linalg.eigh(weighted)
    return [
        ((contribution @ direction).float(), direction.float())
        for direction in directions.T.flip(0)
    ]


def measure_relevance(data: FieldData, *, seed: int) -> dict[str, float]:
    """Return a_j: how much of the loss each field explains by itself, out of fold (step 4).

    The prediction for a level is its mean target, drawn to the overall mean with the weight of
    20 rows: (Σy + 20 ȳ)/(n + 20); for classes the same with their shares. The loss is that of
    the networks. Never below 0.02 of the largest; all 1 where nothing explains anything.
    """
    fold_of = stream(seed, "relevance").permutation(len(data)) % RELEVANCE_FOLDS
    raw = {name: measure_explained_loss(data, name, fold_of) for name in data.names}
    largest = max(raw.values(), default=0.0)
    if largest <= 0:
        return dict.fromkeys(raw, 1.0)
    return {name: max(value, RELEVANCE_FLOOR * largest) for name, value in raw.items()}


def measure_explained_loss(data: FieldData, name: str, fold_of: NDArray[np.intp]) -> float:
    """Return the out-of-fold loss of the overall mean minus that of the target encoding."""
    goals, codes, levels = expand_target(data), data.codes[name], data.cardinalities[name]
    gained = 0.0
    for fold in range(RELEVANCE_FOLDS):
        held_out = fold_of == fold
        known, wanted = goals[~held_out], goals[held_out]
        if not len(known) or not len(wanted):
            continue
        overall = known.mean(axis=0)
        counts = np.bincount(codes[~held_out], minlength=levels)
        sums = np.stack(
            [np.bincount(codes[~held_out], column, minlength=levels) for column in known.T],
            axis=1,
        )
        encoded = (sums + SMOOTHING * overall) / (counts + SMOOTHING)[:, None]
        before = _measure_losses(np.broadcast_to(overall, wanted.shape), wanted, data.task)
        gained += float(
            (before - _measure_losses(encoded[codes[held_out]], wanted, data.task)).sum()
        )
    return gained / len(data)


def expand_target(data: FieldData) -> Floats:
    """Return the target as columns of numbers: indicators for classes."""
    if data.task.kind == "regression":
        return data.target[:, None].astype(np.float64)
    classes = np.arange(len(data.task.classes))
    return (data.target[:, None] == classes).astype(np.float64)


def _measure_losses(predicted: Floats, wanted: Floats, task: PredictionTask) -> Floats:
    if task.kind == "regression":
        return ((predicted - wanted) ** 2)[:, 0]
    # A class that a fold's training rows lack has share 0: the floor keeps its loss finite.
    return -np.log(np.maximum((predicted * wanted).sum(axis=1), 1e-6))
