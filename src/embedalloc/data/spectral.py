"""Rules that share the budget by the spectra of pilots' tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from embedalloc.allocation import Allocation, integer_dimensions
from embedalloc.data.case import (
    Case,
    Outcome,
    SpectrumCheck,
    check_spectrum,
    coefficients_of,
    spread_of,
)
from embedalloc.data.network import train_tabular
from embedalloc.data.rules import DataRule

#: The spectral pilots have ⌈√N_j⌉ columns, between these.
SPECTRAL_PILOT_DIMENSIONS = (2, 32)


@dataclass(frozen=True)
class SpectralEvidence:
    """The a_j of every pilot, and what they were before training."""

    coefficients: tuple[Mapping[str, float], ...]
    spectrum: SpectrumCheck


def gather_spectra(case: Case, *, weighted: bool) -> SpectralEvidence:
    """Train pilots with ⌈√N_j⌉ columns and fit a/d to the tails of their singular values."""
    low, high = SPECTRAL_PILOT_DIMENSIONS
    dimensions = {
        name: min(max(int(np.ceil(np.sqrt(levels))), low), high)
        for name, levels in case.cardinalities.items()
    }
    models = []
    for k in range(case.pilots):
        models.append(
            train_tabular(
                case.training,
                case.validation,
                dimensions,
                seed=case.seed,
                label=f"spectral pilot {k}",
                settings=case.settings,
            )
        )
        case.trained(case.pilots - k - 1)
    return SpectralEvidence(
        tuple(coefficients_of(model, weighted=weighted) for model in models),
        check_spectrum(models, weighted=weighted),
    )


def decide_by_spectra(case: Case, evidence: SpectralEvidence, budget: int, *, name: str) -> Outcome:
    """Share the budget by Theorem 3 and its integer step, with a_j averaged over pilots."""

    def share(coefficients: Mapping[str, float]) -> Allocation:
        found = integer_dimensions(
            coefficients, case.cardinalities, budget, **case.limits.constraints(case.names)
        )
        return replace(found, allocation_rule=name)

    mean = {
        name: float(np.mean([each[name] for each in evidence.coefficients])) for name in case.names
    }
    chosen = share(mean)
    return Outcome(
        chosen,
        spread=spread_of([chosen, *(share(each) for each in evidence.coefficients)]),
        coefficients=mean,
        spectrum=evidence.spectrum,
    )


PAPER = DataRule(partial(gather_spectra, weighted=False), partial(decide_by_spectra, name="paper"))
FREQUENCY_WEIGHTED = DataRule(
    partial(gather_spectra, weighted=True), partial(decide_by_spectra, name="frequency_weighted")
)
