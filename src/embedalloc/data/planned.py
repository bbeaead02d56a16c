"""Networks that follow a plan, and the plans that were tried."""

from dataclasses import dataclass, replace

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.effects import CrossedEffects
from embedalloc.data.network import TabularModel
from embedalloc.data.plan import Plan
from embedalloc.data.table import FieldData


@dataclass(frozen=True)
class PlannedModel:
    """A trained network that reads what its plan gives it.

    Attributes
    ----------
    plan
        What it reads.
    effects
        The effects that it reads; None if the plan has none.
    model
        The network.
    """

    plan: Plan
    effects: CrossedEffects | None
    model: TabularModel

    @property
    def validation_losses(self) -> Floats:
        """Loss of every validation row."""
        return self.model.validation_losses

    @property
    def validation_loss(self) -> float:
        """Mean validation loss."""
        return self.model.validation_loss

    def losses(self, data: FieldData) -> Floats:
        """Return the loss of every new row."""
        return self.model.losses(self.plan.apply(data, read_effects(self.plan, self.effects, data)))


def read_effects(plan: Plan, effects: CrossedEffects | None, data: FieldData) -> dict[str, Floats]:
    """Return the effect inputs of rows that no effect was fitted to, by field."""
    if effects is None:
        return {}
    return {name: effects.fields[name].read(data.codes[name]) for name in plan.effects}


def train_plan(case: DataCase, plan: Plan, label: str = "candidate") -> PlannedModel:
    """Train a network that follows a plan; the label names its random numbers."""
    effects = case.effects if plan.effects else None
    prepared = replace(
        case,
        training=plan.apply(case.training, case.training_effects if plan.effects else {}),
        validation=plan.apply(case.validation, read_effects(plan, effects, case.validation)),
    )
    return PlannedModel(plan, effects, prepared.train(plan.dimensions, label))


@dataclass(frozen=True)
class Candidate:
    """A plan that was tried: the loss of every validation row, one line per training."""

    plan: Plan
    losses: Floats

    @property
    def label(self) -> str:
        """How the plan was made."""
        return self.plan.label

    @property
    def loss(self) -> float:
        """Mean validation loss over trainings."""
        return float(self.losses.mean())

    @property
    def tries(self) -> int:
        """Number of trainings."""
        return len(self.losses)


def try_plan(case: DataCase, plan: Plan, *, start: int = 0) -> Candidate:
    """Train a plan once; `start` numbers the initialisation."""
    label = f"restart {start}" if start else "candidate"
    return Candidate(plan, train_plan(case, plan, label).validation_losses[None, :])


def try_again(case: DataCase, candidate: Candidate) -> Candidate:
    """Train a candidate once more, from other initial weights."""
    again = try_plan(case, candidate.plan, start=candidate.tries)
    return replace(candidate, losses=np.vstack([candidate.losses, again.losses]))
