"""The rule screened: what it proposes, how it chooses, and what it says of it."""

from dataclasses import replace

import numpy as np
import pytest

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.decision import Decision
from embedalloc.data.effects import CrossedEffects, FieldEffect
from embedalloc.data.plan import FieldPlan, Plan
from embedalloc.data.planned import (
    CLEAR_ERRORS,
    FEWEST_VALIDATING,
    Candidate,
    compare,
    train_plan,
)
from embedalloc.data.references import measure_references
from embedalloc.data.screened import (
    CONTENTION,
    DOUBT,
    MOST_TURNS,
    TOLERANCE,
    TURNS,
    choose,
    decide_screened,
    in_doubt,
    list_plans,
    list_wishes,
    split_dimensions,
)
from embedalloc.data.table import PredictionTask, find_task, learn_encoding
from embedalloc.data.verdict import (
    answer_beats_equal,
    answer_splitting,
    find_better_reference,
    measure_gain,
)
from tests.oracles.simulated_tables import make_table

FIELDS = ["noise0", "signal0", "signal1"]
#: Rows that validate made-up candidates.
ROWS = 50


def case_of(kind="regression", rows=800, trained=lambda remaining: None, **words):
    frame, y = make_table(0, rows=rows, signal=(4, 60), noise=(90,), kind=kind)
    _, data = learn_encoding(frame, y, FIELDS, task=find_task(y))
    limits = set_limits(data.cardinalities, **words)
    return make_case(data, limits, seed=0, epochs=3, trained=trained)


def effect(f_statistic, shrinkage, degrees=(40, 2000)):
    """Return an effect with this F and λ."""
    variance = 0.0 if np.isinf(shrinkage) else 1 / shrinkage
    return FieldEffect(np.zeros((41, 1)), 1.0, variance, f_statistic, degrees, np.ones(1))


def test_wishes_follow_the_recipe():
    effects = CrossedEffects(
        {
            "strong": effect(6.0, 5.0),
            "rare": effect(2.5, 100.0),
            "weak": effect(1.8, 50.0),
            "none": effect(0.9, np.inf),
            "small": effect(0.1, np.inf),
            "few": effect(9.0, 4.0, (3, 2000)),
        },
        np.zeros(1),
        np.zeros((0, 1)),
    )
    levels = {"strong": 41, "rare": 41, "weak": 41, "none": 41, "small": 9, "few": 4}
    pruned, effects = list_wishes(effects, levels)
    assert pruned.without == effects.without == {"weak", "none"}
    assert pruned.minimum_counts["strong"] == 3
    assert pruned.minimum_counts["rare"] == pytest.approx(30)
    assert "small" not in pruned.minimum_counts
    assert effects.effects == ["few", "strong", "rare", "weak"]  # p < 0.01, the strongest first
    assert effects.minimum_counts["strong"] == 20  # beside an effect
    assert effects.minimum_counts["rare"] == pytest.approx(100)
    assert effects.minimum_counts["none"] == pruned.minimum_counts["none"] == np.inf
    assert "few" not in effects.minimum_counts  # a small field keeps all its levels


def test_equal_dimensions_are_always_among_the_plans():
    case = case_of()
    for budget in (160, 500, 2000):
        plans = list_plans(case, budget)
        assert plans[0].label == "equal"
        assert plans[0].dimensions == dict(case.allocate("equal", budget).dimensions)
        assert max(plan.cost for plan in plans) <= budget
    assert "equal" not in [plan.label for plan in list_plans(case, 50)]


def test_splitting_keeps_tables_effects_and_budget():
    case = case_of()
    plans = list_plans(case, 900)
    splits = [split_dimensions(case, plan) for plan in plans]
    assert splits[0] is not None
    for plan, split in zip(plans, splits, strict=True):
        if split is None:  # Theorem 3 gives these tables the same dimensions
            continue
        assert split.cost <= plan.cost
        assert split.dimensions != plan.dimensions
        for name, field in plan.fields.items():
            other = split.fields[name]
            assert (other.kept, other.effect_columns) == (field.kept, field.effect_columns)
            assert (other.dimension > 0) == (field.dimension > 0)
    everything = list_plans(case, 100_000)[0]
    assert split_dimensions(case, everything) is None  # all at full rank


def candidate(label, *losses, dimension=3):
    """Return a candidate with these mean losses, one per training, over so many rows."""
    fields = {"a": FieldPlan(20, 19, dimension), "b": FieldPlan(5, 4, 2)}
    spread = np.linspace(-0.05, 0.05, ROWS)
    return Candidate(Plan(label, fields, 100), tuple(loss + spread for loss in losses))


@pytest.mark.parametrize(
    ("pruned", "effects", "chosen"),
    [
        (1.0, 1.0, "equal"),  # not better
        (1.02, 1.03, "equal"),
        (0.997, 0.997, "equal"),  # as much as initial weights explain
        (0.98, 0.98 * (1 + 0.9 * TOLERANCE), "effects"),  # smaller, though not the lowest
        (0.97, 0.98, "pruned"),
        (0.99, 0.98, "effects"),
        (1.02, 0.97, "effects"),
    ],
)
def test_within_the_tolerance_the_smallest_wins(pruned, effects, chosen):
    tried = [
        candidate("equal", 1.0, 1.0),
        candidate("pruned", pruned, pruned, dimension=2),
        candidate("effects", effects, effects, dimension=1),
    ]
    assert choose(tried).label == chosen


def wavy(label, loss, spread, *, dimension=3):
    """Return a candidate of two trainings whose rows differ from `candidate`'s by this much."""
    wiggle = np.resize([spread, -spread], ROWS)
    made = candidate(label, loss, loss, dimension=dimension)
    return replace(made, losses=tuple(each + wiggle for each in made.losses))


def test_a_plan_must_beat_equal_dimensions_by_more_than_chance():
    equal = candidate("equal", 1.0, 1.0)
    error = compare(equal, wavy("pruned", 1.0, 0.3)).error
    for errors, chosen in ((0.9 * CLEAR_ERRORS, "equal"), (1.1 * CLEAR_ERRORS, "pruned")):
        assert choose([equal, wavy("pruned", 1 - errors * error, 0.3)]).label == chosen


@pytest.mark.parametrize(
    ("beyond", "doubted"), [(0.9, True), (-0.9, True), (1.1, False), (-1.1, False)]
)
def test_a_lead_near_the_one_that_is_needed_is_in_doubt(beyond, doubted):
    equal = candidate("equal", 1.0, 1.0)
    error = compare(equal, wavy("pruned", 1.0, 0.3)).error
    lead = (CLEAR_ERRORS + beyond * DOUBT) * error
    behind = candidate("effects", 2.0)  # trained once, so it does not count
    assert in_doubt([equal, wavy("pruned", 1 - lead, 0.3), behind]) == doubted
    assert not in_doubt([equal])
    assert not in_doubt([wavy("pruned", 1 - lead, 0.3)])  # nothing to replace


def test_within_a_standard_error_the_smallest_wins():
    equal = candidate("equal", 1.0, 1.0)
    for spread, chosen in ((0.0, "pruned"), (0.3, "effects")):
        tried = [equal, candidate("pruned", 0.8, 0.8), wavy("effects", 0.82, spread, dimension=1)]
        assert choose(tried).label == chosen


def test_the_difference_of_two_candidates_written_out():
    rng = np.random.default_rng(1)
    losses = rng.exponential(size=(2, 3, 50))
    one, other = (Candidate(candidate("x").plan, tuple(each)) for each in losses)
    pairs = losses[0] - losses[1]
    rows = (pairs.std(axis=1, ddof=1) ** 2 / 50).mean()
    starts = (0.005 * losses[1].mean()) ** 2
    np.testing.assert_allclose(compare(one, other), (pairs.mean(), np.sqrt((rows + starts) / 3)))
    longer = replace(one, losses=(*one.losses, rng.exponential(size=50)))
    assert compare(longer, other) == compare(one, other)  # only what both had


def test_a_candidate_that_fell_behind_does_not_win_by_its_one_training():
    tried = [candidate("equal", 1.0, 1.0), candidate("pruned", 0.9), candidate("effects", 1.0, 0.9)]
    assert choose(tried).label != "pruned"


def test_without_equal_dimensions_the_smallest_near_the_lowest_wins():
    tried = [candidate("pruned", 1.0, dimension=3), candidate("effects", 1.001, dimension=1)]
    assert choose(tried).label == "effects"


def test_contenders_are_trained_in_turns_and_trainings_are_counted():
    remaining = []
    case = case_of(trained=remaining.append)
    decision = decide_screened(case, case.design, 500)
    tried = [each for each in decision.candidates if each.label != "split"]
    assert TURNS <= decision.find("equal").tries <= MOST_TURNS
    assert len(remaining) == sum(each.tries for each in decision.candidates)
    assert all(later >= 0 for later in remaining)
    first = {each.label: Candidate(each.plan, each.losses[:1]) for each in tried}
    best = min(first.values(), key=lambda each: each.loss)
    for each in tried:
        behind = compare(first[each.label], best)
        near = behind.mean <= max(CONTENTION * best.loss, 2 * behind.error)
        assert (each.tries > 1) == (near or each.label == "equal")
    for number, losses in enumerate(decision.winner.losses):
        again = train_plan(case.turn(number), decision.plan).validation_losses
        np.testing.assert_array_equal(losses, again)


def test_turns_differ_in_rows_and_initial_weights():
    case = case_of(rows=500)
    dimensions = dict.fromkeys(FIELDS, 2)
    first, second = case.turn(0), case.turn(1)
    assert first is case
    assert len(first.validation) == len(second.validation) == 100
    assert not np.array_equal(first.validation.target, second.validation.target)
    tables = [turn.train(dimensions).initial_tables["signal1"] for turn in (first, second)]
    assert np.abs(tables[0] - tables[1]).max() > 0.01


# ---- models without embeddings --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_models_without_embeddings_beat_a_constant_on_additive_data(kind):
    case = case_of(kind, rows=1500)
    target = case.validation.target
    if kind == "regression":
        constant = target.var()
    else:
        shares = np.bincount(target.astype(int)) / len(target)
        constant = -(shares * np.log(shares)).sum()
    found = measure_references(case)
    assert list(found) == ["effects only", "one-hot ridge", "gradient boosting"]
    for losses in found.values():
        assert losses.shape == target.shape
        assert losses.mean() < 0.95 * constant


def test_a_better_model_without_embeddings_is_named():
    tried = (candidate("equal", 1.0, 1.0),)
    rng = np.random.default_rng(0)
    clearly, hardly = 0.8 + 0.01 * rng.normal(size=ROWS), 1.0 + 0.6 * rng.normal(size=ROWS)
    for losses, expected in ((clearly, "gradient boosting"), (hardly, None)):
        found = find_better_reference(
            decide(tried, "equal", references={"gradient boosting": losses})
        )
        assert (found and found[0]) == expected


# ---- the two answers ----------------------------------------------------------------------


def decide(tried, label, **words):
    chosen = next(each.plan for each in tried if each.label == label)
    allocation = chosen.to_allocation("screened", PredictionTask("regression"))
    return Decision(allocation, planned=chosen, candidates=tuple(tried), **words)


def test_the_gain_and_its_interval():
    rng = np.random.default_rng(1)
    before, after = (
        Candidate(candidate("x").plan, tuple(each)) for each in rng.exponential(size=(2, 3, 50))
    )
    lead = compare(before, after)
    expected = lead.mean + CLEAR_ERRORS * lead.error * np.array([0, -1, 1])
    np.testing.assert_allclose(measure_gain(before, after), expected / before.loss)


def test_the_first_answer():
    equal = candidate("equal", 1.0, 1.0)
    far = candidate("effects", 0.95, 0.95)
    answer = answer_beats_equal(decide([equal, far], "effects"))
    assert answer.verdict == "yes"
    assert answer.low > 0
    same = answer_beats_equal(decide([equal, candidate("effects", 1.001, 1.001)], "equal"))
    assert (same.verdict, same.gain) == ("no", 0.0)
    assert "ruled out" not in same.reason
    unsettled = answer_beats_equal(decide([equal, wavy("effects", 0.99, 0.3)], "equal"))
    assert unsettled.verdict == "no"
    high = 100 * measure_gain(equal, wavy("effects", 0.99, 0.3))[2]
    assert f"though a change of the loss by −{high:.1f} % is not ruled out" in unsettled.reason
    assert answer_beats_equal(decide([far], "effects")).verdict == "cannot tell"
    text = answer_beats_equal(decide([equal, candidate("pruned", 0.99, 0.99), far], "effects"))
    assert "dropping and pooling −1.0 %, effects as inputs −4.0 %" in text.reason
    assert "changes the validation loss by −5.0 %" in text.reason


def test_few_rows_decide_nothing():
    equal, far = (
        replace(each, losses=tuple(losses[: FEWEST_VALIDATING - 1] for losses in each.losses))
        for each in (candidate("equal", 1.0, 1.0), candidate("effects", 0.5, 0.5))
    )
    assert choose([equal, far]).label == "equal"
    answer = answer_beats_equal(decide([equal, far], "equal"))
    assert (answer.verdict, answer.gain) == ("cannot tell", None)
    assert "39 rows" in answer.reason


def test_equal_dimensions_that_did_as_well_are_named():
    lucky = candidate("equal", 1.04, 0.94)
    reason = answer_beats_equal(decide([lucky, candidate("effects", 0.95, 0.95)], "effects")).reason
    assert "equal dimensions did as well in 1 of 2 trainings" in reason


def test_the_second_answer():
    base = candidate("equal", 1.0, 1.0)
    cases = [
        (0.95, 0.0, "yes"),
        (0.9995, 0.001, "no"),  # no gain that matters is possible
        (1.05, 0.0, "no"),
        (0.99, 0.12, "cannot tell"),
    ]
    for loss, spread, verdict in cases:
        split = wavy("split", loss, spread)
        answer = answer_splitting(decide([base, split], "equal"), pays_for_all=False)
        assert answer.verdict == verdict, loss
    assert answer_splitting(decide([base], "equal"), pays_for_all=False).verdict == "no"
    assert answer_splitting(decide([base], "equal"), pays_for_all=True).verdict == "no"
