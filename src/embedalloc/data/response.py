"""The response-aware rule on tables: what pilots' features explain of rows they did not see."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from embedalloc.allocation import Allocation
from embedalloc.arrays import Floats
from embedalloc.data.case import Case, Outcome, SpectrumCheck, check_spectrum, spread_of
from embedalloc.data.network import TabularModel, codes_of
from embedalloc.data.rules import DataRule
from embedalloc.data.screening import (
    Pilot,
    target_columns,
    truncation_parts,
)
from embedalloc.data.table import FieldData
from embedalloc.optimum import optimal_dimensions


@dataclass(frozen=True)
class ResponseEvidence:
    """Estimated risk of every dimension, by field: one set of curves per half pilot."""

    curves: tuple[Mapping[str, Floats], ...]
    spectrum: SpectrumCheck


def gather_response(case: Case) -> ResponseEvidence:
    """Measure, on rows that a half pilot did not see, what its features explain of the target.

    The features of a field are the scores of T_j's singular directions. They come from the
    other half's rows, so the noise of these rows' target is independent of them, and Mallows'
    Cp estimates risk without bias: regress the target on all features once (residual variance
    s²), take each field's partial residual, and let g_j(d) = −Σ_{k≤d} (q_k'r_j)² + 2 s² d with
    its features orthonormalised in order.

    Assumed: the target is additive and linear in the features, with noise of equal variance
    (classes count as indicator columns); the levels' vectors are given by the pilot, so that a
    dimension costs one coefficient here and only the budget charges for N_j levels. Dimensions
    beyond the pilot's 12 cannot be judged and are not given.
    """
    pilots = case.half_pilots(later=0)
    return ResponseEvidence(
        tuple(response_curves(pilot) for pilot in pilots),
        check_spectrum([pilot.model for pilot in pilots], weighted=False),
    )


def response_curves(pilot: Pilot) -> dict[str, Floats]:
    """Return g_j(0), g_j(1), … by field, per row of the data and relative to the variance."""
    data = pilot.judged_on
    goals = target_columns(data)
    goals = goals - goals.mean(axis=0)
    features = {
        name: _scores(pilot.model, data, name, int(levels))
        for name, levels in data.cardinality().items()
    }
    numbers = data.numbers.astype(np.float64)
    design = np.hstack([numbers - numbers.mean(axis=0), *features.values()])
    gram = design.T @ design
    ridge = 1e-6 * max(float(np.trace(gram)) / max(len(gram), 1), 1e-12)
    weights = np.linalg.solve(gram + ridge * np.eye(len(gram)), design.T @ goals)
    residual = goals - design @ weights
    free = max(len(data) - design.shape[1] - 1, 1)
    variance = float((residual**2).sum()) / free
    curves = {}
    begin = numbers.shape[1]
    for name, own in features.items():
        part = residual + own @ weights[begin : begin + own.shape[1]]
        begin += own.shape[1]
        directions, _ = np.linalg.qr(own)
        gains = ((directions.T @ part) ** 2).sum(axis=1) - 2 * variance
        curves[name] = np.append(0.0, -np.cumsum(gains)) / float((goals**2).sum())
    return curves


def _scores(model: TabularModel, data: FieldData, name: str, levels: int) -> Floats:
    """Return the rows' centred scores on T_j's singular directions that are more than rounding."""
    codes = codes_of(data, name).numpy()
    most = min(levels - 1, model.tables[name].shape[1])
    columns = [scores.double().numpy()[codes] for scores, _ in truncation_parts(model, name)]
    matrix = np.stack(columns[: max(most, 1)], axis=1)
    matrix = matrix - matrix.mean(axis=0)
    norms = np.linalg.norm(matrix, axis=0)
    return matrix[:, norms > 1e-4 * norms.max(initial=0.0)]


def decide_response_aware(case: Case, evidence: ResponseEvidence, budget: int) -> Outcome:
    """Minimise the estimated risk exactly under the budget."""

    def best(curves: Mapping[str, Floats]) -> Allocation:
        extended = {name: _reach(curve, case, name) for name, curve in curves.items()}
        constraints = case.limits.constraints(case.names, may_drop=True)
        found = optimal_dimensions(case.cardinalities, budget, curves=extended, **constraints)
        return replace(found, allocation_rule="response_aware", objective=None, lower_bound=None)

    together = {}
    for name in case.names:
        shortest = min(len(curves[name]) for curves in evidence.curves)
        together[name] = np.mean([curves[name][:shortest] for curves in evidence.curves], axis=0)
    chosen = best(together)
    return Outcome(
        chosen,
        spread=spread_of([chosen, *(best(curves) for curves in evidence.curves)]),
        spectrum=evidence.spectrum,
    )


def _reach(curve: Floats, case: Case, name: str) -> Floats:
    """Forbid what lies between 0 and the user's minimum, and extend the curve, flat, to there."""
    step = case.limits.multiple_of
    least = -(-max(case.limits.minimum[name], 1) // step) * step
    end = case.limits.fixed.get(name, least)
    reached = np.append(curve, np.full(max(0, end + 1 - len(curve)), curve[-1]))
    if name not in case.limits.fixed:
        reached[1:least] = np.inf
    return reached


RESPONSE_AWARE = DataRule(gather_response, decide_response_aware)
