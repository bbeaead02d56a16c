"""Screen, then allocate: drop fields without signal, keep what validates best."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from embedalloc.allocation import Allocation, integer_dimensions
from embedalloc.data.case import (
    Candidate,
    Case,
    Outcome,
    ScreeningEvidence,
    cardinality_dimensions,
    check_spectrum,
    spread_of,
)
from embedalloc.data.network import train_tabular
from embedalloc.data.rules import DataRule
from embedalloc.data.screening import (
    FAILURES,
    drop_path,
    rank_curves,
    relevance,
)


def gather_screening(case: Case) -> ScreeningEvidence:
    """Train the half pilots and measure path, curves and relevance."""
    pilots = case.half_pilots(later=len(case.names) + 2)
    droppable = [name for name in case.names if name in case.limits.droppable]
    path = drop_path(pilots, droppable)
    keeps_nothing = len(path.fields) == len(case.names) and not case.training.numbers.shape[1]
    if keeps_nothing:  # a network needs an input
        path = replace(
            path,
            fields=path.fields[:-1],
            losses=path.losses[:-1],
            standard_errors=path.standard_errors[:-1],
        )
    return ScreeningEvidence(
        path,
        rank_curves(pilots),
        relevance(case.training, seed=case.seed),
        tuple(relevance(pilot.judged_on, seed=case.seed) for pilot in pilots),
        check_spectrum([pilot.model for pilot in pilots], weighted=False),
    )


def decide_screened(case: Case, evidence: ScreeningEvidence, budget: int) -> Outcome:
    """Train the candidates one after the other and keep the best on validation (steps 5, 6)."""
    path = evidence.path.fields
    equal = cardinality_dimensions(case, "equal", budget)
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
    return Outcome(
        replace(chosen.allocation, allocation_rule="screened"),
        spread=None if chosen.label == "equal" else spread_of([chosen.allocation, *halves]),
        coefficients=evidence.relevance,
        spectrum=evidence.spectrum,
        screening=evidence,
        candidates=tuple(candidates),
    )


def _try(
    case: Case, label: str, allocation: Allocation, dropped: tuple[str, ...], remaining: int
) -> Candidate:
    model = train_tabular(
        case.training,
        case.validation,
        allocation.dimensions,
        seed=case.seed,
        label="candidate",
        settings=case.settings,
    )
    case.trained(remaining)
    return Candidate(label, allocation, dropped, model.validation_losses)


def _share_by_relevance(
    case: Case, coefficients: Mapping[str, float], dropped: Sequence[str], budget: int
) -> Allocation:
    """Return Theorem 3's whole dimensions for the kept fields, 0 for the others."""
    kept = [name for name in case.names if name not in dropped]
    none = dict.fromkeys(case.names, 0)
    if not kept:
        return Allocation("screened", none, case.cardinalities, none, budget)
    found = integer_dimensions(
        {name: coefficients[name] for name in kept},
        {name: case.cardinalities[name] for name in kept},
        budget,
        **case.limits.constraints(kept),
    )
    return replace(
        found,
        dimensions=none | dict(found.dimensions),
        cardinalities=case.cardinalities,
        parameters=none | dict(found.parameters),
        allocation_rule="screened",
        objective=None,
        lower_bound=None,
    )


SCREENED = DataRule(gather_screening, decide_screened)
