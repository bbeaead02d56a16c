"""Screen, then allocate: drop fields without signal, keep what validates best."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from embedalloc.data.case import DataCase
from embedalloc.data.decision import (
    Candidate,
    Decision,
    ScreeningEvidence,
    check_spectrum,
    measure_spread,
)
from embedalloc.data.rules import DataRule
from embedalloc.data.screening import (
    FAILURES,
    find_drop_path,
    measure_rank_curves,
    measure_relevance,
    train_half_pilots,
)
from embedalloc.from_cardinalities import integer_dimensions
from embedalloc.result import Allocation


def gather_screening(case: DataCase) -> ScreeningEvidence:
    """Train the half pilots and measure path, curves and relevance."""
    pilots = train_half_pilots(case, later=len(case.names) + 2)
    droppable = [name for name in case.names if name in case.limits.droppable]
    return ScreeningEvidence(
        find_drop_path(pilots, droppable),
        measure_rank_curves(pilots),
        measure_relevance(case.training, seed=case.seed),
        tuple(measure_relevance(pilot.judged_on, seed=case.seed) for pilot in pilots),
        check_spectrum([pilot.model for pilot in pilots], weighted=False),
    )


def decide_screened(case: DataCase, evidence: ScreeningEvidence, budget: int) -> Decision:
    """Train the candidates one after the other and keep the best on validation (steps 5, 6)."""
    path = evidence.path.fields
    equal = case.allocate("equal", budget)
    candidates = []
    if any(equal.dimensions.values()):
        candidates.append(_try(case, "equal", equal, (), 1 + len(path)))
    best = candidates[0].loss if candidates else np.inf
    failures = 0
    for length in range(len(path) + 1):
        dropped = path[:length]
        allocation = _share_by_relevance(case, evidence.relevance, dropped, budget)
        if any(allocation.dimensions == each.allocation.dimensions for each in candidates):
            continue  # the same network again
        label = f"without {length}" if length else "by relevance"
        candidates.append(_try(case, label, allocation, dropped, len(path) - length))
        failures = 0 if candidates[-1].loss < best else failures + 1
        best = min(best, candidates[-1].loss)
        if failures == FAILURES:
            break
    chosen = min(candidates, key=lambda each: each.loss)
    halves = [
        _share_by_relevance(case, half, chosen.dropped, budget) for half in evidence.half_relevances
    ]
    return Decision(
        replace(chosen.allocation, allocation_rule="screened"),
        spread=None if chosen.label == "equal" else measure_spread([chosen.allocation, *halves]),
        spectrum=evidence.spectrum,
        screening=evidence,
        candidates=tuple(candidates),
    )


def _try(
    case: DataCase, label: str, allocation: Allocation, dropped: tuple[str, ...], remaining: int
) -> Candidate:
    losses = case.train(allocation.dimensions).validation_losses
    case.trained(remaining)
    return Candidate(label, allocation, dropped, losses)


def _share_by_relevance(
    case: DataCase, coefficients: Mapping[str, float], dropped: Sequence[str], budget: int
) -> Allocation:
    """Return Theorem 3's whole dimensions for the kept fields, 0 for the others."""
    limits = replace(case.limits, fixed={**case.limits.fixed, **dict.fromkeys(dropped, 0)})
    found = integer_dimensions(coefficients, case.cardinalities, budget, **limits.constraints())
    return replace(found, allocation_rule="screened", objective=None, lower_bound=None)


SCREENED = DataRule(gather_screening, decide_screened)
