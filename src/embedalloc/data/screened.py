"""Shrunken effects first, then tables: three plans, and validation chooses.

In an additive model a table is worth one number per level, its shrunken effect; a table of more
dimensions only has to learn what is not additive. So these plans are tried:

1. equal: equal dimensions for all levels of all fields, the safety net;
2. pruned: fields of ten levels and more have a table only if F_j > 2 (for one field that is
   Mallows' Cp), and a level a row of its own only if it has 0.3 λ_j rows, and three at least;
   equal dimensions on the rest;
3. effects: the same with inputs beside the tables, the shrunken effects of all fields whose
   levels differ by an F test. A field of ten levels and more with both gives a row to levels of
   λ_j rows and twenty at least: a network that learns a rare level by heart can tell from its
   cross-fitted effect what the row's own target was.

Each is trained twice, with other validation rows and initial weights every time, and only once
if it is clearly behind. A plan may replace equal dimensions if its loss is lower by more than
chance explains (see `CLEAR_ERRORS`); where that is in doubt, there are up to four trainings. Of
those that may, and are near the lowest loss (see `TOLERANCE`), the one with the fewest parameters
wins.

Tried on thirty tables and left out because they did not gain: effects without any table, effects
of large fields only, fields dropped where trained networks do without them. The winner with at
most one, two or four dimensions has a third fewer parameters, but costs two to four trainings
more; `frontier` looks for the smallest budget that is enough.

Beside them the winner is trained with the dimensions of Theorem 3 at the same cost instead of
equal ones, a_j being the variance that the field explains. It tells whether splitting matters
and never wins: of thirteen runs in which it led on validation, another network lost in seven.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase
from embedalloc.data.decision import Decision
from embedalloc.data.effects import CrossedEffects
from embedalloc.data.plan import Plan, Wish, make_plan, plan_allocation
from embedalloc.data.planned import (
    CLEAR_ERRORS,
    FEWEST_VALIDATING,
    START_NOISE,
    Candidate,
    compare,
    try_all,
)
from embedalloc.data.references import measure_references
from embedalloc.data.rules import DataRule
from embedalloc.from_cardinalities import integer_dimensions
from embedalloc.problem import BudgetError, build_problem

#: Fields with fewer levels always keep a table and all levels: they cost little.
BIG_FIELD = 10
#: A big field needs more than this F for a table.
SMALLEST_F = 2.0
#: A field's effect is an input if the F test has a smaller p-value than this.
LARGEST_P_VALUE = 0.01
#: A level needs so many times λ_j rows, and so many at least, for a row of its own, ...
ROW_NEEDS = (0.3, 3)
#: ... and so many beside an effect.
ROW_NEEDS_BESIDE_EFFECT = (1.0, 20)
#: How often a plan is trained that is not clearly behind, ...
TURNS = 2
#: ... and at most, while it is in doubt whether a plan replaces equal dimensions, ...
MOST_TURNS = 4
#: ... which is so many standard errors around the lead that it needs.
DOUBT = 1.0
#: A plan is trained no more once it is behind the best by more than this share of the loss and
#: two standard errors.
CONTENTION = 0.01
#: Within this share of the lowest loss, or one standard error, the smallest plan wins.
TOLERANCE = START_NOISE
#: No field counts for less than this share of the largest in Theorem 3.
COEFFICIENT_FLOOR = 0.02


def list_wishes(effects: CrossedEffects, cardinalities: Mapping[str, int]) -> list[Wish]:
    """Return what the plans but equal dimensions would like."""
    fields = effects.fields
    big = {name: fields[name] for name, n in cardinalities.items() if n >= BIG_FIELD}
    weak = frozenset(name for name, each in big.items() if each.f_statistic <= SMALLEST_F)
    varying = [name for name, each in fields.items() if each.p_value < LARGEST_P_VALUE]
    by_strength = sorted(varying, key=lambda name: (-fields[name].f_statistic, name))

    def count(name: str, needs: tuple[float, int]) -> float:
        share, least = needs
        return max(least, share * big[name].shrinkage)

    counts = {name: count(name, ROW_NEEDS) for name in big}
    beside = {name: count(name, ROW_NEEDS_BESIDE_EFFECT) for name in big if name in varying}
    return [
        Wish("pruned", weak, counts),
        Wish("effects", weak, counts | beside, by_strength),
    ]


def list_plans(case: DataCase, budget: int) -> list[Plan]:
    """Return the plans to try as far as the budget and the user's limits permit, none twice."""
    worth = {name: effect.f_statistic for name, effect in case.design.fields.items()}
    plans = [_plan_equal(case, budget)]
    for wish in list_wishes(case.design, case.cardinalities):
        columns = case.design.intercept.size
        plans.append(
            make_plan(wish, case.counts, case.limits, budget, worth=worth, effect_columns=columns)
        )
    different: list[Plan] = []
    for plan in plans:
        if plan is not None and all(plan.fields != each.fields for each in different):
            different.append(plan)
    if not different:
        # Nothing may be dropped or pooled as far as the budget wants: say what it must be.
        build_problem(case.cardinalities, budget, **case.limits.constraints())
        raise BudgetError(f"budget {budget} cannot pay the smallest permitted tables")
    return different


def _plan_equal(case: DataCase, budget: int) -> Plan | None:
    try:
        return plan_allocation("equal", case.allocate("equal", budget))
    except BudgetError:
        return None


def split_dimensions(case: DataCase, plan: Plan) -> Plan | None:
    """Return a plan with its tables' dimensions by Theorem 3 at no higher cost.

    None if they are the same.
    """
    tables = {name: field for name, field in plan.fields.items() if field.dimension}
    if not tables:
        return None
    rows = {name: field.rows for name, field in plan.fields.items()}
    explained = {name: case.design.fields[name].explained for name in plan.fields}
    floor = COEFFICIENT_FLOOR * max(explained.values()) or 1.0
    found = integer_dimensions(
        {name: max(value, floor) for name, value in explained.items()},
        rows,
        sum(field.rows * field.dimension for field in tables.values()),
        **case.limits.for_rows(rows, plan.fields.keys() - tables.keys()),
    )
    if found.dimensions == plan.dimensions:
        return None
    fields = {
        name: replace(field, dimension=found.dimensions[name])
        for name, field in plan.fields.items()
    }
    return Plan("split", fields, plan.budget)


def decide_screened(case: DataCase, effects: CrossedEffects, budget: int) -> Decision:
    """Train the plans in turns, choose, and try the choice with split dimensions."""
    tried = [Candidate(plan) for plan in list_plans(case, budget)]
    references = measure_references(case)  # first, for it takes the most memory
    for number in range(MOST_TURNS):
        if number and (case.is_late or (number >= TURNS and not in_doubt(tried))):
            break
        turn = case.turn(number)
        places = [k for k, each in enumerate(tried) if in_contention(each, tried)]
        found = try_all([(tried[k], turn) for k in places], jobs=case.jobs)
        for done, (k, again) in enumerate(zip(places, found, strict=True), start=1):
            tried[k] = again
            later = (MOST_TURNS - 1 - number) * len(places) + MOST_TURNS  # the split plan is last
            case.trained(len(places) - done + later)
        del turn, found  # and their rows
    chosen = choose(tried)
    split = split_dimensions(case, chosen.plan)
    if split is not None:
        turns = ((Candidate(split), case.turn(number)) for number in range(chosen.tries))
        losses: tuple[Floats, ...] = ()
        for measured in try_all(turns, jobs=case.jobs):
            losses += measured.losses
            case.trained(chosen.tries - len(losses))
        tried.append(Candidate(split, losses))
    return Decision(
        chosen.plan.to_allocation("screened", case.whole.task),
        planned=chosen.plan,
        effects=effects,
        candidates=tuple(tried),
        references=references,
        rounds_left_out=max(0, TURNS - chosen.tries),
    )


def in_contention(candidate: Candidate, tried: Sequence[Candidate]) -> bool:
    """Tell whether another training could still make a plan the best, or it is the yardstick."""
    if not candidate.tries or candidate.label == "equal":
        return True
    contenders = _tried_most(tried)
    best = min(contenders, key=lambda each: each.loss)
    behind = compare(candidate, best)
    return candidate in contenders and behind.mean <= max(
        CONTENTION * abs(best.loss), 2 * behind.error
    )


def in_doubt(tried: Sequence[Candidate]) -> bool:
    """Tell whether another training could change that a plan replaces equal dimensions, or not."""
    contenders = _tried_most(tried)
    equal = next((each for each in contenders if each.label == "equal"), None)
    if equal is None:
        return False
    leads = [compare(equal, each) for each in contenders if each is not equal]
    if not leads:
        return False
    lead, error = max(leads)
    return abs(lead - CLEAR_ERRORS * error) < DOUBT * error


def choose(tried: Sequence[Candidate]) -> Candidate:
    """Return the smallest plan near the lowest loss, of those that clearly beat equal dimensions.

    Without such a plan, equal dimensions. A plan that was given up after fewer trainings does
    not compete.
    """
    contenders = _tried_most(tried)
    equal = next((each for each in contenders if each.label == "equal"), None)
    if equal is not None:
        contenders = [each for each in contenders if clearly_beats(each, equal)]
        if not contenders:
            return equal
    best = min(contenders, key=lambda each: each.loss)
    return min(
        (each for each in contenders if is_near(each, best)), key=lambda each: each.plan.cost
    )


def is_near(one: Candidate, best: Candidate) -> bool:
    """Tell whether a loss is within the tolerance of the lowest, or a standard error of it."""
    behind = compare(one, best)
    return behind.mean <= max(TOLERANCE * abs(best.loss), behind.error)


def clearly_beats(one: Candidate, other: Candidate) -> bool:
    """Tell whether a loss is lower by more than chance explains."""
    lead = compare(other, one)
    clear = lead.mean > 0 and lead.mean >= CLEAR_ERRORS * lead.error
    return clear and len(one.losses[0]) >= FEWEST_VALIDATING


def _tried_most(tried: Sequence[Candidate]) -> list[Candidate]:
    most = max(each.tries for each in tried)
    return [each for each in tried if each.tries == most]


SCREENED = DataRule(lambda case: case.design, decide_screened, fits_small_budgets=True)
