"""Rules that share the budget by the spectra of pilots' tables."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from embedalloc.data.case import DataCase
from embedalloc.data.decision import (
    Decision,
    PilotEvidence,
    check_spectrum,
    decide_by_pilots,
    fit_coefficients,
)
from embedalloc.data.rules import DataRule
from embedalloc.from_cardinalities import integer_dimensions
from embedalloc.result import Allocation

#: The spectral pilots have ⌈√N_j⌉ columns, between these.
SPECTRAL_PILOT_DIMENSIONS = (2, 32)


def gather_spectra(case: DataCase, *, weighted: bool) -> PilotEvidence:
    """Train pilots with ⌈√N_j⌉ columns and fit a/d to the tails of their singular values."""
    low, high = SPECTRAL_PILOT_DIMENSIONS
    dimensions = {
        name: min(max(int(np.ceil(np.sqrt(levels))), low), high)
        for name, levels in case.cardinalities.items()
    }
    models = []
    for k in range(case.pilots):
        models.append(case.train(dimensions, f"spectral pilot {k}"))
        case.trained(case.pilots - k - 1)
    return PilotEvidence(
        tuple(fit_coefficients(model, weighted=weighted) for model in models),
        check_spectrum(models, weighted=weighted),
    )


def decide_by_spectra(
    case: DataCase, evidence: PilotEvidence, budget: int, *, name: str
) -> Decision:
    """Share the budget by Theorem 3 and its integer step, with a_j averaged over pilots."""

    def share(coefficients: Mapping[str, float]) -> Allocation:
        found = integer_dimensions(
            coefficients, case.cardinalities, budget, **case.limits.constraints()
        )
        return replace(found, allocation_rule=name)

    return decide_by_pilots(evidence, evidence.spectrum.after, share)


PAPER = DataRule(partial(gather_spectra, weighted=False), partial(decide_by_spectra, name="paper"))
FREQUENCY_WEIGHTED = DataRule(
    partial(gather_spectra, weighted=True), partial(decide_by_spectra, name="frequency_weighted")
)
