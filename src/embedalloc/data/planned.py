"""Networks that follow a plan, and the plans that were tried."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.effects import CrossedEffects
from embedalloc.data.network import TabularModel
from embedalloc.data.parallel import run_all
from embedalloc.data.plan import Plan
from embedalloc.data.table import FieldData

#: Initial weights change a loss by about this share of it.
START_NOISE = 0.005
#: A difference is clear, and outside its 80 % interval, beyond so many standard errors.
CLEAR_ERRORS = 1.28
#: With fewer rows to validate on, no difference is clear.
FEWEST_VALIDATING = 40


@dataclass(frozen=True)
class PlannedModel:
    """A trained network that reads what its plan gives it.

    Attributes
    ----------
    plan
        What it reads.
    effects
        The effects that new rows read; None if the plan has none.
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
    model = case.train(
        plan.dimensions,
        label,
        training=plan.apply(case.training, case.training_effects if plan.effects else {}),
        validation=plan.apply(case.validation, case.validation_effects if plan.effects else {}),
    )
    return PlannedModel(plan, case.design if plan.effects else None, model)


@dataclass(frozen=True)
class Candidate:
    """A plan that was tried.

    Attributes
    ----------
    plan
        What was tried.
    losses
        Loss of every validation row, by training; each training has validation rows of its own.
    """

    plan: Plan
    losses: tuple[Floats, ...] = ()

    @property
    def label(self) -> str:
        """How the plan was made."""
        return self.plan.label

    @property
    def tries(self) -> int:
        """Number of trainings."""
        return len(self.losses)

    @property
    def loss(self) -> float:
        """Mean validation loss over trainings."""
        return float(np.mean([each.mean() for each in self.losses]))

    def try_on(self, case: DataCase) -> "Candidate":
        """Return the candidate with one more training."""
        return replace(self, losses=(*self.losses, train_plan(case, self.plan).validation_losses))


def try_all(tries: Iterable[tuple[Candidate, DataCase]], *, jobs: int) -> Iterator[Candidate]:
    """Yield candidates with one more training each, so many at a time."""
    if jobs == 1:
        yield from (candidate.try_on(case) for candidate, case in tries)
        return
    tries = list(tries)
    quiet = {id(case): case.quiet() for _, case in tries}
    for candidate, case in tries:
        if candidate.plan.effects:
            # Here, once, and not in every process.
            _ = quiet[id(case)].training_effects, quiet[id(case)].validation_effects
    yield from run_all(
        Candidate.try_on, [(each, quiet[id(case)]) for each, case in tries], jobs=jobs
    )


class Difference(NamedTuple):
    """Of two candidates' mean losses, and its standard error over rows and trainings."""

    mean: float
    error: float


def compare(one: Candidate, other: Candidate) -> Difference:
    """Return how much higher the loss of the first is, over the trainings that both had.

    Losses are paired by row. Initial weights count with their usual share: the spread of three
    trainings says too little about them, and would make verdicts turn on it.
    """
    pairs = [a - b for a, b in zip(one.losses, other.losses, strict=False)]
    rows = np.mean([pair.var(ddof=1) / len(pair) if len(pair) > 1 else 0.0 for pair in pairs])
    starts = (START_NOISE * other.loss) ** 2
    mean = float(np.mean([pair.mean() for pair in pairs]))
    return Difference(mean, float(np.sqrt((rows + starts) / len(pairs))))
