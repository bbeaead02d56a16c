"""The response-aware rule on tables: what pilots' features explain of rows they did not see."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.decision import Decision, PilotEvidence, check_spectrum, decide_by_pilots
from embedalloc.data.network import TabularModel
from embedalloc.data.pilots import Pilot, expand_target, split_by_rank, train_half_pilots
from embedalloc.data.rules import DataRule
from embedalloc.data.table import FieldData
from embedalloc.from_cardinalities import optimal_dimensions
from embedalloc.result import Allocation


def gather_response(case: DataCase) -> PilotEvidence:
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
    pilots = train_half_pilots(case, later=0)
    return PilotEvidence(
        tuple(response_curves(pilot) for pilot in pilots),
        check_spectrum([pilot.model for pilot in pilots], weighted=False),
    )


def response_curves(pilot: Pilot) -> dict[str, Floats]:
    """Return g_j(0), g_j(1), … by field, per row of the data and relative to the variance."""
    data = pilot.judged_on
    goals = expand_target(data)
    goals = goals - goals.mean(axis=0)
    features = {
        name: _scores(pilot.model, data, name, levels)
        for name, levels in data.cardinalities.items()
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
    codes = data.codes[name]
    most = min(levels - 1, model.tables[name].shape[1])
    columns = [scores[codes] for scores, _ in split_by_rank(model, name)]
    matrix = np.stack(columns[: max(most, 1)], axis=1)
    matrix = matrix - matrix.mean(axis=0)
    norms = np.linalg.norm(matrix, axis=0)
    return matrix[:, norms > 1e-4 * norms.max(initial=0.0)]


def decide_response_aware(case: DataCase, evidence: PilotEvidence, budget: int) -> Decision:
    """Minimise the estimated risk exactly under the budget."""

    def best(curves: Mapping[str, Floats]) -> Allocation:
        extended = {name: _reach(curve, case, name) for name, curve in curves.items()}
        constraints = case.limits.constraints(may_drop=True)
        found = optimal_dimensions(case.cardinalities, budget, curves=extended, **constraints)
        return replace(found, allocation_rule="response_aware", objective=None, lower_bound=None)

    together = {}
    for name in case.names:
        shortest = min(len(curves[name]) for curves in evidence.each)
        together[name] = np.mean([curves[name][:shortest] for curves in evidence.each], axis=0)
    return decide_by_pilots(evidence, together, best)


def _reach(curve: Floats, case: DataCase, name: str) -> Floats:
    """Forbid what lies between 0 and the user's minimum, and extend the curve, flat, to there."""
    least = case.limits.smallest(name)
    end = case.limits.fixed.get(name, least)
    reached = np.append(curve, np.full(max(0, end + 1 - len(curve)), curve[-1]))
    if name not in case.limits.fixed:
        reached[1:least] = np.inf
    return reached


RESPONSE_AWARE = DataRule(gather_response, decide_response_aware)
