"""What a rule that reads data is given."""

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from embedalloc.arrays import Floats, Ints
from embedalloc.data.effects import CrossedEffects, cross_fit_effects, fit_effects
from embedalloc.data.network import TabularModel, train_tabular
from embedalloc.data.ordering import Rows
from embedalloc.data.table import FieldData
from embedalloc.data.validation import hold_out
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.problem import Constraints
from embedalloc.result import Allocation

#: Share of the rows whose loss stops trainings and chooses among candidates.
VALIDATION_SHARE = 0.2


@dataclass(frozen=True)
class Limits:
    """Smallest and largest dimension of every field, fixed ones, and the step between.

    Attributes
    ----------
    minimum, maximum
        By field.
    fixed
        Settled dimensions, by field.
    multiple_of
        All other dimensions are multiples of this.
    droppable
        Fields that a rule may give dimension 0.
    poolable
        Fields whose rare levels may share a row.
    """

    minimum: Mapping[str, int]
    maximum: Mapping[str, int]
    fixed: Mapping[str, int]
    multiple_of: int
    droppable: frozenset[str]
    poolable: frozenset[str] = frozenset()

    def for_rows(self, rows: Mapping[str, int], without: Set[str]) -> Constraints:
        """Return the words of `build_problem` for tables of so many rows, some left out."""
        return {
            "minimum": self.minimum,
            "maximum": {
                name: min(most, max(rows[name] - 1, self.smallest(name)))
                for name, most in self.maximum.items()
            },
            "fixed": {**self.fixed, **dict.fromkeys(without, 0)},
            "multiple_of": self.multiple_of,
        }

    def constraints(self, *, may_drop: bool = False) -> Constraints:
        """Return the words of `build_problem`."""
        dropped = dict.fromkeys(self.droppable, 0) if may_drop else {}
        return {
            "minimum": {**self.minimum, **dropped},
            "maximum": self.maximum,
            "fixed": self.fixed,
            "multiple_of": self.multiple_of,
        }

    def smallest(self, name: str) -> int:
        """Return the smallest dimension above 0 that is permitted to a field."""
        return -(-max(self.minimum[name], 1) // self.multiple_of) * self.multiple_of


def set_limits(
    cardinalities: Mapping[str, int],
    *,
    minimum: int | Mapping[str, int] = 1,
    maximum: int | Mapping[str, int] | None = None,
    fixed: Mapping[str, int] | None = None,
    multiple_of: int = 1,
    drop_allowed: bool = True,
    pool_allowed: bool = True,
) -> Limits:
    """Return limits by field; without a maximum it is N_j − 1, the largest useful rank.

    The default maximum never forbids the smallest step that `minimum` and `multiple_of` permit.
    """
    settled = dict(fixed or {})
    for what, named in (("fixed", settled), ("minimum", minimum), ("maximum", maximum)):
        unknown = sorted(set(named) - set(cardinalities)) if isinstance(named, Mapping) else []
        if unknown:
            raise ValueError(f"{what}: {unknown[0]!r} is not a categorical column")
    lower = dict.fromkeys(cardinalities, 1)
    lower |= minimum if isinstance(minimum, Mapping) else dict.fromkeys(cardinalities, minimum)
    ranks = {name: levels - 1 for name, levels in cardinalities.items()}
    upper = useful_maximum(ranks, minimum=lower, maximum=maximum, multiple_of=multiple_of)
    free = frozenset(cardinalities) - settled.keys()
    droppable = free if drop_allowed else frozenset()
    poolable = free if pool_allowed else frozenset()
    return Limits(lower, upper, settled, multiple_of, droppable, poolable)


@dataclass(frozen=True)
class DataCase:
    """What a rule that reads data is given.

    Attributes
    ----------
    whole
        All rows.
    held_out
        Which of these stop trainings and choose; the others are learnt from.
    limits
        Permitted dimensions.
    seed
        Names all random numbers.
    epochs
        Most passes over the rows per training.
    pilots
        How many pilots the spectral rules train.
    trained
        Called after each training, with how many more may follow at most.
    number
        Of the turn: each has validation rows and initial weights of its own.
    jobs
        Trainings at a time; no number depends on it.
    deadline
        By `time.monotonic`; after it no further round of trainings begins.
    """

    whole: FieldData
    held_out: Rows
    limits: Limits
    seed: int
    epochs: int
    pilots: int
    trained: Callable[[int], None]
    number: int = 0
    jobs: int = 1
    deadline: float | None = None

    @property
    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.deadline is not None and time.monotonic() > self.deadline

    @property
    def names(self) -> tuple[str, ...]:
        """The fields."""
        return self.whole.names

    @property
    def cardinalities(self) -> Mapping[str, int]:
        """Levels by field."""
        return self.whole.cardinalities

    @property
    def kept(self) -> Rows:
        """Which rows are learnt from."""
        return np.delete(np.arange(len(self.whole)), self.held_out)

    @property
    def training(self) -> FieldData:
        """Rows to learn from, a copy: of large tables none is kept that is not in use."""
        return self.whole.take(self.kept)

    @property
    def validation(self) -> FieldData:
        """Rows that stop trainings and choose, a copy too."""
        return self.whole.take(self.held_out)

    @cached_property
    def counts(self) -> Mapping[str, Ints]:
        """Rows of every level, by field and code."""
        return {
            name: np.bincount(self.whole.codes[name], minlength=levels)
            for name, levels in self.cardinalities.items()
        }

    @cached_property
    def design(self) -> CrossedEffects:
        """Effects of all rows: F_j and λ_j, which say what plans to try, are those of these.

        They hardly depend on one row or on which rows validate. Rows that are neither training
        nor validation rows read their effects here.
        """
        return fit_effects(self.whole)

    @cached_property
    def training_effects(self) -> Mapping[str, Floats]:
        """Effects as inputs of the training rows, from other training rows, by field."""
        return cross_fit_effects(self.training, self.design, self.names, seed=self.seed)

    @cached_property
    def validation_effects(self) -> Mapping[str, Floats]:
        """Effects as inputs of the validation rows, by field.

        A user's new rows read effects of all known rows. So these come from nearly all others,
        most validation rows included: from the training rows alone, levels with few rows would
        look worse than they are. Where times decide who validates, only what was before is known.
        """
        return cross_fit_effects(
            self.whole, self.design, self.names, seed=self.seed, rows=self.held_out
        )

    def quiet(self) -> "DataCase":
        """Return the same for another process, which has no terminal to tell progress on."""
        return replace(self, trained=_say_nothing, jobs=1)

    def turn(self, number: int) -> "DataCase":
        """Return the same case with other rows for validation and other initial weights."""
        if number == self.number:
            return self
        held_out = _draw_validation(self.whole, self.seed, number)
        again = replace(self, held_out=held_out, number=number)
        vars(again)["design"] = self.design  # of all rows, whoever validates: fitted once
        return again

    def train(
        self,
        dimensions: Mapping[str, int],
        label: str = "candidate",
        *,
        training: FieldData | None = None,
        validation: FieldData | None = None,
    ) -> TabularModel:
        """Train a network with these dimensions; the label names its random numbers.

        Other rows than those of the case may be given.
        """
        if self.number:
            label = f"{label} {self.number}"
        return train_tabular(
            self.training if training is None else training,
            self.validation if validation is None else validation,
            dimensions,
            seed=self.seed,
            label=label,
            epochs=self.epochs,
        )

    def allocate(self, rule: str, budget: int) -> Allocation:
        """Return the dimensions of a rule that needs cardinalities only."""
        return allocate(self.cardinalities, budget, rule=rule, **self.limits.constraints())


def _say_nothing(remaining: int) -> None:
    """Tell nobody."""


def make_case(
    data: FieldData,
    limits: Limits,
    *,
    seed: int,
    epochs: int,
    pilots: int = 2,
    trained: Callable[[int], None] = _say_nothing,
    jobs: int = 1,
    deadline: float | None = None,
) -> DataCase:
    """Hold out validation rows and return the case; see `DataCase` for the words."""
    return DataCase(
        data,
        _draw_validation(data, seed, 0),
        limits,
        seed=seed,
        epochs=epochs,
        pilots=pilots,
        trained=trained,
        jobs=jobs,
        deadline=deadline,
    )


def _draw_validation(data: FieldData, seed: int, number: int) -> Rows:
    """Return the rows that validate; each number has others, where rows do not have times."""
    label = f"validation {number}" if number else "validation"
    return hold_out(data, VALIDATION_SHARE, seed=seed, label=label)[1]
