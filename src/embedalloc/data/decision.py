"""What a rule that reads data returns: its decision and what that rests on."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.effects import CrossedEffects
from embedalloc.data.network import TabularModel
from embedalloc.data.plan import Plan, plan_allocation
from embedalloc.data.planned import Candidate
from embedalloc.result import Allocation
from embedalloc.spectra import fit_coefficient, singular_values, spectral_tails

#: The spectrum counts as that of its initialisation if a_j changed by less than this share ...
SMALLEST_SPECTRUM_CHANGE = 0.1
#: ... or if log a_j over fields is correlated above this with its values before training.
LARGEST_SPECTRUM_CORRELATION = 0.99


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

    @property
    def is_initialisation(self) -> bool:
        """Whether the pilots' spectra are about those of their random numbers."""
        return (
            abs(self.median_ratio - 1) < SMALLEST_SPECTRUM_CHANGE
            or self.correlation > LARGEST_SPECTRUM_CORRELATION
        )


@dataclass(frozen=True)
class PilotEvidence:
    """What every pilot says by itself, by field, and what the pilots' spectra are worth."""

    each: tuple[Mapping[str, Any], ...]
    spectrum: SpectrumCheck


@dataclass(frozen=True)
class Decision:
    """What a rule chose and what that rests on.

    Attributes
    ----------
    allocation
        The dimensions.
    spread
        Smallest and largest dimension over pilots and all of them together, by field.
    spectrum
        What the pilots' spectra are worth, where there are pilots.
    planned
        The plan, where it is more than dimensions.
    effects
        The levels' effects; None if the rule did not look.
    candidates
        The plans that were trained and validated.
    references
        Loss of every validation row of models without embeddings, by name.
    rounds_left_out
        Rounds of trainings for which there was no time.
    """

    allocation: Allocation
    spread: Mapping[str, tuple[int, int]] | None = None
    spectrum: SpectrumCheck | None = None
    planned: Plan | None = None
    effects: CrossedEffects | None = None
    candidates: tuple[Candidate, ...] = ()
    references: Mapping[str, Floats] = field(default_factory=dict)
    rounds_left_out: int = 0

    @property
    def plan(self) -> Plan:
        """What every field gets; without a plan of its own all levels have a row."""
        return self.planned or plan_allocation(self.allocation.allocation_rule, self.allocation)

    def put_in_order(self, columns: Iterable[str]) -> "Decision":
        """Return the same with its fields in the order of the data's columns."""
        order = [name for name in columns if name in self.allocation.dimensions]

        def sort(values: Mapping[str, Any]) -> dict[str, Any]:
            return {name: values[name] for name in order if name in values}

        return replace(
            self,
            allocation=replace(
                self.allocation,
                dimensions=sort(self.allocation.dimensions),
                cardinalities=sort(self.allocation.cardinalities),
                parameters=sort(self.allocation.parameters),
                effects=sort(self.allocation.effects),
            ),
            planned=self.planned and replace(self.planned, fields=sort(self.planned.fields)),
        )

    @property
    def winner(self) -> Candidate:
        """The candidate that is the plan."""
        return next(each for each in self.candidates if each.label == self.plan.label)

    def find(self, label: str) -> Candidate | None:
        """Return the candidate of this name, if there is one."""
        return next((each for each in self.candidates if each.label == label), None)


def fit_coefficients(
    model: TabularModel, *, weighted: bool, initial: bool = False
) -> dict[str, float]:
    """Return a_j of every table, of its rows that have training data.

    Weighted rows count by the root of their frequency: then the tail is the error that
    Proposition 2 bounds, exactly.
    """
    found = {}
    for name, trained in model.tables.items():
        table = model.initial_tables[name] if initial else trained
        frequencies = model.frequencies[name].astype(np.float64)
        rows = table[frequencies > 0].astype(np.float64)
        if weighted:
            rows = rows * np.sqrt(frequencies[frequencies > 0])[:, None]
        found[name] = float(fit_coefficient(spectral_tails(singular_values(rows))))
    return found


def check_spectrum(models: Sequence[TabularModel], *, weighted: bool) -> SpectrumCheck:
    """Average a_j over pilots, after training and before."""

    def average(initial: bool) -> dict[str, float]:
        each = [fit_coefficients(model, weighted=weighted, initial=initial) for model in models]
        return {name: float(np.mean([one[name] for one in each])) for name in each[0]}

    return SpectrumCheck(average(False), average(True))


def measure_spread(allocations: Sequence[Allocation]) -> dict[str, tuple[int, int]]:
    """Return the smallest and largest dimension of every field over some allocations."""
    dimensions = {
        name: [each.dimensions[name] for each in allocations] for name in allocations[0].dimensions
    }
    return {name: (min(every), max(every)) for name, every in dimensions.items()}


def decide_by_pilots(
    evidence: PilotEvidence,
    together: Mapping[str, Any],
    share: Callable[[Mapping[str, Any]], Allocation],
) -> Decision:
    """Share the budget by what the pilots say together; the spread is what each alone would do."""
    chosen = share(together)
    spread = measure_spread([chosen, *map(share, evidence.each)])
    return Decision(chosen, spread, evidence.spectrum)
