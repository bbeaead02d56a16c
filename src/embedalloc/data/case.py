"""What a rule that reads data is given, and what it returns."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embedalloc.allocation import Allocation
from embedalloc.arrays import Floats
from embedalloc.data.network import TabularModel, TabularSettings
from embedalloc.data.screening import (
    DropPath,
    Pilot,
    half_pilots,
    headroom,
    split_rows,
)
from embedalloc.data.table import FieldData
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.problem import Constraints
from embedalloc.spectra import fit_coefficient, singular_values, spectral_tails

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
    """

    minimum: Mapping[str, int]
    maximum: Mapping[str, int]
    fixed: Mapping[str, int]
    multiple_of: int
    droppable: frozenset[str]

    def constraints(self, names: Sequence[str], *, may_drop: bool = False) -> Constraints:
        """Return the words of `build_problem` for some of the fields."""
        return {
            "minimum": {
                name: 0 if may_drop and name in self.droppable else self.minimum[name]
                for name in names
            },
            "maximum": {name: self.maximum[name] for name in names},
            "fixed": {name: d for name, d in self.fixed.items() if name in names},
            "multiple_of": self.multiple_of,
        }


def set_limits(
    cardinalities: Mapping[str, int],
    *,
    minimum: int | Mapping[str, int] = 1,
    maximum: int | Mapping[str, int] | None = None,
    fixed: Mapping[str, int] | None = None,
    multiple_of: int = 1,
    drop_allowed: bool = True,
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
    droppable = frozenset(set(cardinalities) - set(settled)) if drop_allowed else frozenset()
    return Limits(lower, upper, settled, multiple_of, droppable)


@dataclass(frozen=True)
class Case:
    """What a data-driven rule is given.

    Attributes
    ----------
    training, validation
        Rows to learn from, and rows that stop trainings and choose.
    limits
        Permitted dimensions.
    pilots
        How many pilots the spectral rules train.
    seed
        Names all random numbers.
    settings
        How networks are trained.
    trained
        Called after each training, with how many more may follow at most.
    """

    training: FieldData
    validation: FieldData
    limits: Limits
    pilots: int = 2
    seed: int = 0
    settings: TabularSettings = field(default_factory=TabularSettings)
    trained: Callable[[int], None] = lambda remaining: None

    @property
    def names(self) -> tuple[str, ...]:
        """The fields."""
        return self.training.names

    @property
    def cardinalities(self) -> dict[str, int]:
        """Levels by field."""
        return self.training.cardinality()

    def half_pilots(self, *, later: int) -> tuple[Pilot, Pilot]:
        """Train the two half pilots; so many more trainings may follow them."""
        remaining = iter((later + 1, later))
        return half_pilots(
            self.training,
            self.validation,
            seed=self.seed,
            settings=self.settings,
            trained=lambda: self.trained(next(remaining)),
        )


def make_case(data: FieldData, limits: Limits, **others: Any) -> Case:
    """Hold out validation rows and return the case."""
    seed = others.get("seed", 0)
    kept, held_out = split_rows(
        data.target, data.task, VALIDATION_SHARE, seed=seed, label="validation"
    )
    return Case(data.take(kept), data.take(held_out), limits, **others)


@dataclass(frozen=True)
class SpectrumCheck:
    """Whether the pilots' spectra say more than the random numbers they started from.

    Attributes
    ----------
    after, before
        Coefficient a_j of the trained and of the initial tables, by field, averaged over pilots.
    """

    after: Mapping[str, float]
    before: Mapping[str, float]

    @property
    def median_ratio(self) -> float:
        """Median over fields of a_j after training over a_j before."""
        return float(np.median([self.after[name] / self.before[name] for name in self.after]))

    @property
    def correlation(self) -> float:
        """Correlation over fields of log a_j after and before; nan below three fields."""
        after = np.log([self.after[name] for name in self.after])
        before = np.log([self.before[name] for name in self.after])
        if len(after) < 3 or after.std() == 0 or before.std() == 0:
            return float("nan")
        return float(np.corrcoef(after, before)[0, 1])


@dataclass(frozen=True)
class Candidate:
    """Dimensions that were tried: the loss of every validation row after training."""

    label: str
    allocation: Allocation
    dropped: tuple[str, ...]
    losses: Floats

    @property
    def loss(self) -> float:
        """Mean validation loss."""
        return float(self.losses.mean())


@dataclass(frozen=True)
class ScreeningEvidence:
    """Everything that screening measured before it decided.

    Attributes
    ----------
    path
        The drop path.
    curves
        By field, the pilots' loss with the field's contribution cut to rank 0, 1, 2, …
    relevance, half_relevances
        The a_j of all training rows, and of each half.
    spectrum
        Of the two half pilots.
    """

    path: DropPath
    curves: Mapping[str, Floats]
    relevance: Mapping[str, float]
    half_relevances: tuple[Mapping[str, float], ...]
    spectrum: SpectrumCheck

    @property
    def headroom(self) -> float:
        """What dimensions beyond each field's first can add, as a share of the loss."""
        return sum(headroom(self.curves).values()) / self.path.full_loss


@dataclass(frozen=True)
class Outcome:
    """A rule's decision and what it rests on.

    Attributes
    ----------
    allocation
        The dimensions.
    spread
        Smallest and largest dimension over pilots and all of them together, by field.
    coefficients
        The a_j behind the dimensions, where the rule has them.
    spectrum
        What the pilots' spectra are worth, where there are pilots.
    screening
        The measurements of the screened rule.
    candidates
        The dimensions that were trained and validated.
    """

    allocation: Allocation
    spread: Mapping[str, tuple[int, int]] | None = None
    coefficients: Mapping[str, float] | None = None
    spectrum: SpectrumCheck | None = None
    screening: ScreeningEvidence | None = None
    candidates: tuple[Candidate, ...] = ()


def cardinality_dimensions(case: Case, name: str, budget: int) -> Allocation:
    """Return the dimensions of a rule that needs cardinalities only, equal ones among them."""
    return allocate(case.cardinalities, budget, rule=name, **case.limits.constraints(case.names))


def coefficients_of(
    model: TabularModel, *, weighted: bool, initial: bool = False
) -> dict[str, float]:
    """Return a_j of every table, of its rows that have training data.

    Weighted rows count by the root of their frequency: then the tail is the error that
    Proposition 2 bounds, exactly.
    """
    found = {}
    for name, trained in model.tables.items():
        table = model.initial_tables[name] if initial else trained
        frequencies = model.frequencies[name].double()
        rows = table.double()[frequencies > 0]
        if weighted:
            rows = rows * frequencies[frequencies > 0].sqrt()[:, None]
        found[name] = float(fit_coefficient(spectral_tails(singular_values(rows.numpy()))))
    return found


def check_spectrum(models: Sequence[TabularModel], *, weighted: bool) -> SpectrumCheck:
    """Average a_j over pilots, after training and before."""

    def average(initial: bool) -> dict[str, float]:
        each = [coefficients_of(model, weighted=weighted, initial=initial) for model in models]
        return {name: float(np.mean([one[name] for one in each])) for name in models[0].tables}

    return SpectrumCheck(average(False), average(True))


def spread_of(allocations: Sequence[Allocation]) -> dict[str, tuple[int, int]]:
    """Return the smallest and largest dimension of every field over some allocations."""
    return {
        name: (
            min(each.dimensions[name] for each in allocations),
            max(each.dimensions[name] for each in allocations),
        )
        for name in allocations[0].dimensions
    }
