"""Pilots on halves of the rows, and their fields taken apart into directions."""

from dataclasses import dataclass

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.network import TabularModel
from embedalloc.data.table import FieldData

#: Largest embedding dimension of a pilot.
PILOT_DIMENSION = 12


@dataclass(frozen=True)
class Pilot:
    """A network trained on one half of the training rows, and the other half to judge it by."""

    model: TabularModel
    judged_on: FieldData


def train_half_pilots(case: DataCase, *, later: int) -> tuple[Pilot, Pilot]:
    """Train two pilots on halves of the training rows; so many trainings may follow."""
    dimensions = {name: min(n, PILOT_DIMENSION) for name, n in case.cardinalities.items()}
    training = case.training
    order = training.shuffle(case.seed, "halves")
    halves = [training.take(np.sort(order[k::2])) for k in range(2)]
    pilots = []
    for k, half in enumerate(halves):
        model = case.train(dimensions, f"pilot {k}", training=half)
        pilots.append(Pilot(model, halves[1 - k]))
        case.trained(later + 1 - k)
    return pilots[0], pilots[1]


def split_by_rank(model: TabularModel, name: str) -> list[tuple[Floats, Floats]]:
    """Split T_j into rank-one parts (a score per level, a direction), the largest first."""
    contribution = model.contributions()[name].astype(np.float64)
    weighted = contribution.T @ (model.frequencies[name][:, None] * contribution)
    _, directions = np.linalg.eigh(weighted)
    return [(contribution @ direction, direction) for direction in directions.T[::-1]]


def expand_target(data: FieldData) -> Floats:
    """Return the target as columns of numbers: indicators for classes."""
    if data.task.kind == "regression":
        return data.target[:, None].astype(np.float64)
    classes = np.arange(len(data.task.classes))
    return (data.target[:, None] == classes).astype(np.float64)
