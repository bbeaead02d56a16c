"""What a rule that reads data returns: its decision and what that rests on."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.network import TabularModel
from embedalloc.data.screening import DropPath
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
class PilotEvidence:
    """What every pilot says by itself, by field, and what the pilots' spectra are worth."""

    each: tuple[Mapping[str, Any], ...]
    spectrum: SpectrumCheck


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
        beyond_first = [
            float(curve[1] - curve[1:].min()) for curve in self.curves.values() if len(curve) > 1
        ]
        return sum(beyond_first) / self.path.full_loss


@dataclass(frozen=True)
class Decision:
    """The dimensions that a rule chose and what they rest on.

    Attributes
    ----------
    allocation
        The dimensions.
    spread
        Smallest and largest dimension over pilots and all of them together, by field.
    spectrum
        What the pilots' spectra are worth, where there are pilots.
    screening
        The measurements of the screened rule.
    candidates
        The dimensions that were trained and validated.
    """

    allocation: Allocation
    spread: Mapping[str, tuple[int, int]] | None = None
    spectrum: SpectrumCheck | None = None
    screening: ScreeningEvidence | None = None
    candidates: tuple[Candidate, ...] = ()

    @property
    def winner(self) -> Candidate:
        """The candidate with the smallest validation loss."""
        return min(self.candidates, key=lambda each: each.loss)


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
        frequencies = model.frequencies[name].double()
        rows = table.double()[frequencies > 0]
        if weighted:
            rows = rows * frequencies[frequencies > 0].sqrt()[:, None]
        found[name] = float(fit_coefficient(spectral_tails(singular_values(rows.numpy()))))
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
