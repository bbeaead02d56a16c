"""Allocation rules that read data: each proposes dimensions from pilots or by validation.

A rule first gathers evidence, which costs training and does not depend on the budget, and then
decides for a budget. Rules that need cardinalities only are those of `embedalloc.allocate`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from embedalloc.allocation import Allocation, integer_dimensions
from embedalloc.from_cardinalities import allocate, useful_maximum
from embedalloc.problem import Constraints, Floats
from embedalloc.response_curves import response_aware
from embedalloc.rule_catalogue import RULE_DESCRIPTIONS
from embedalloc.screening import (
    FAILURES,
    DropPath,
    Pilot,
    drop_path,
    half_pilots,
    headroom,
    rank_curves,
    relevance,
    split_rows,
    target_columns,
    truncation_parts,
)
from embedalloc.spectra import fit_coefficient, singular_values, spectral_tails
from embedalloc.tabular_data import FieldData
from embedalloc.tabular_network import TabularModel, TabularSettings, codes_of, train_tabular

#: Share of the rows whose loss stops trainings and chooses among candidates.
VALIDATION_SHARE = 0.2
#: The spectral pilots have ⌈√N_j⌉ columns, between these.
SPECTRAL_PILOT_DIMENSIONS = (2, 32)


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


@dataclass(frozen=True)
class DataRule:
    """A rule by its two halves: what it measures, and how it decides for a budget."""

    gather: Callable[[Case], Any]
    decide: Callable[[Case, Any, int], Outcome]


def cardinality_dimensions(case: Case, name: str, budget: int) -> Allocation:
    """Return the dimensions of a rule that needs cardinalities only, equal ones among them."""
    return allocate(case.cardinalities, budget, rule=name, **case.limits.constraints(case.names))


# ---- screen, then allocate ---------------------------------------------------------------------


def gather_screening(case: Case) -> ScreeningEvidence:
    """Train the half pilots and measure path, curves and relevance."""
    remaining = iter(range(len(case.names) + 3, 0, -1))
    pilots = half_pilots(
        case.training,
        case.validation,
        seed=case.seed,
        settings=case.settings,
        trained=lambda: case.trained(next(remaining)),
    )
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
        spread=None if chosen.label == "equal" else _spread([chosen.allocation, *halves]),
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


# ---- spectra of pilots -------------------------------------------------------------------------


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
        spread=_spread([chosen, *(share(each) for each in evidence.coefficients)]),
        coefficients=mean,
        spectrum=evidence.spectrum,
    )


# ---- response-aware ----------------------------------------------------------------------------


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
    remaining = iter((1, 0))
    pilots = half_pilots(
        case.training,
        case.validation,
        seed=case.seed,
        settings=case.settings,
        trained=lambda: case.trained(next(remaining)),
    )
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
        found = response_aware(case.cardinalities, budget, curves=extended, **constraints)
        return replace(found, objective=None, lower_bound=None)

    together = {}
    for name in case.names:
        shortest = min(len(curves[name]) for curves in evidence.curves)
        together[name] = np.mean([curves[name][:shortest] for curves in evidence.curves], axis=0)
    chosen = best(together)
    return Outcome(
        chosen,
        spread=_spread([chosen, *(best(curves) for curves in evidence.curves)]),
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


# ---- by name -----------------------------------------------------------------------------------


def _spread(allocations: Sequence[Allocation]) -> dict[str, tuple[int, int]]:
    return {
        name: (
            min(each.dimensions[name] for each in allocations),
            max(each.dimensions[name] for each in allocations),
        )
        for name in allocations[0].dimensions
    }


#: Rules that read data, by name.
DATA_RULES: Mapping[str, DataRule] = {
    "screened": DataRule(gather_screening, decide_screened),
    "paper": DataRule(
        partial(gather_spectra, weighted=False), partial(decide_by_spectra, name="paper")
    ),
    "frequency_weighted": DataRule(
        partial(gather_spectra, weighted=True),
        partial(decide_by_spectra, name="frequency_weighted"),
    ),
    "response_aware": DataRule(gather_response, decide_response_aware),
}


def rule_names() -> tuple[str, ...]:
    """Return every rule that `data_rule` knows, the recommended one first."""
    plain = [each.name for each in RULE_DESCRIPTIONS if each.needs == "cardinalities"]
    return (*DATA_RULES, *plain)


def data_rule(name: str) -> DataRule:
    """Return a rule by name; cardinality rules gather nothing."""
    if name in DATA_RULES:
        return DATA_RULES[name]
    if name not in rule_names():
        raise ValueError(f"unknown allocation rule {name!r}; there are {', '.join(rule_names())}")
    return DataRule(
        lambda case: None,
        lambda case, _, budget: Outcome(cardinality_dimensions(case, name, budget)),
    )
