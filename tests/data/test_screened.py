"""The rule screened: what it proposes, how it chooses, and what it says of it."""

import numpy as np
import pytest

from embedalloc.data.case import make_case, set_limits
from embedalloc.data.decision import Decision
from embedalloc.data.effects import CrossedEffects, FieldEffect
from embedalloc.data.plan import FieldPlan, Plan
from embedalloc.data.planned import Candidate, train_plan
from embedalloc.data.references import measure_references
from embedalloc.data.screened import (
    TOLERANCE,
    choose,
    decide_screened,
    list_plans,
    list_wishes,
    split_dimensions,
)
from embedalloc.data.table import PredictionTask, find_task, learn_encoding
from embedalloc.data.verdict import (
    CLEAR_GAIN,
    answer_beats_equal,
    answer_splitting,
    find_better_reference,
    measure_gain,
)
from tests.oracles.simulated_tables import make_table

FIELDS = ["noise0", "signal0", "signal1"]


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
        },
        np.zeros(1),
        np.zeros((0, 1)),
    )
    levels = {"strong": 41, "rare": 41, "weak": 41, "none": 41, "small": 9}
    equal, pruned, effects = list_wishes(effects, levels)
    assert (equal.without, equal.minimum_counts, equal.effects) == (frozenset(), None, ())
    assert pruned.without == effects.without == {"weak", "none"}
    assert pruned.minimum_counts["strong"] == 3
    assert pruned.minimum_counts["rare"] == pytest.approx(30)
    assert "small" not in pruned.minimum_counts
    assert effects.effects == ["strong", "rare", "weak"]  # p < 0.01, the strongest first


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
        if split is None:  # only one table can grow
            assert sum(0 < f.dimension < f.rows - 1 for f in plan.fields.values()) <= 1
            continue
        assert split.cost <= 900
        assert split.dimensions != plan.dimensions
        for name, field in plan.fields.items():
            other = split.fields[name]
            assert (other.kept, other.effect_columns) == (field.kept, field.effect_columns)
            assert (other.dimension > 0) == (field.dimension > 0)
    everything = list_plans(case, 100_000)[0]
    assert split_dimensions(case, everything) is None  # all at full rank


def candidate(label, *losses, dropped=False):
    """Return a candidate with these mean losses, one per training, over ten rows."""
    fields = {"a": FieldPlan(20, 19, 0 if dropped else 3), "b": FieldPlan(5, 4, 2)}
    spread = np.linspace(-0.05, 0.05, 10)
    return Candidate(Plan(label, fields, 100), np.array([[x] for x in losses]) + spread)


@pytest.mark.parametrize(
    ("pruned", "effects", "chosen"),
    [
        (1.0, 1.0, "equal"),
        (1 - 0.9 * TOLERANCE, 1 - 0.9 * TOLERANCE, "equal"),  # within the tolerance
        (0.98, 0.9801, "effects"),  # preferred, though not the lowest
        (0.97, 0.98, "pruned"),
        (0.99, 0.98, "effects"),
        (1.02, 0.97, "effects"),
    ],
)
def test_within_the_tolerance_the_preferred_wins(pruned, effects, chosen):
    tried = [
        candidate("equal", 1.0, 1.0),
        candidate("pruned", pruned, pruned),
        candidate("effects", effects, effects),
    ]
    assert choose(tried).label == chosen


def test_few_rows_widen_the_tolerance_to_a_standard_error():
    rng = np.random.default_rng(2)
    equal = candidate("equal", 1.0, 1.0)
    noise = rng.normal(size=10)
    noise = (noise - noise.mean()) / noise.std(ddof=1) * 0.1 * np.sqrt(10)  # the error is 0.1
    cases = [("equal", 0.04, True), ("equal", 0.5, False), ("effects", 1.5, True),
             ("effects", 2.5, False)]  # fmt: skip
    for preferred, lead, kept in cases:
        first = Candidate(candidate(preferred, 1.0).plan, equal.losses)
        other = Candidate(candidate("pruned", 1.0).plan, equal.losses - 0.1 * lead + noise)
        assert (choose([first, other]) is first) == kept


def test_a_preferred_plan_must_beat_equal_dimensions_itself():
    """Rows may differ so much that everything is within two standard errors."""
    rng = np.random.default_rng(3)
    losses = {"equal": 1.0, "pruned": 0.95, "effects": 1.02}
    tried = [
        Candidate(candidate(label, 1.0).plan, np.tile(loss + centre(rng.normal(size=40)), (2, 1)))
        for label, loss in losses.items()
    ]
    assert choose(tried).label == "pruned"


def centre(values):
    return values - values.mean()


def test_a_candidate_that_fell_behind_does_not_win_by_its_one_training():
    tried = [candidate("equal", 1.0, 1.0), candidate("pruned", 0.9), candidate("effects", 1.0, 0.9)]
    assert choose(tried).label == "effects"


def test_contenders_are_trained_twice_and_trainings_are_counted():
    remaining = []
    case = case_of(trained=remaining.append)
    decision = decide_screened(case, case.effects, 500)
    tries = {each.label: each.tries for each in decision.candidates}
    assert tries["equal"] == 2
    assert set(tries.values()) <= {1, 2}
    assert len(remaining) == sum(tries.values()) <= 8
    assert remaining[-1] == 0
    best = min(decision.candidates, key=lambda each: each.losses[0].mean())
    for each in decision.candidates:
        behind = each.losses[0] - best.losses[0]
        reach = max(0.01 * best.losses[0].mean(), 2 * behind.std(ddof=1) / np.sqrt(len(behind)))
        assert (each.tries == 2) == (behind.mean() <= reach or each.label == "equal")
    again = train_plan(case, decision.plan).validation_losses
    np.testing.assert_array_equal(decision.winner.losses[0], again)


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
    clearly, hardly = 0.8 + 0.01 * rng.normal(size=10), 1.0 + 0.3 * rng.normal(size=10)
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


def test_the_gain_and_its_interval_written_out():
    rng = np.random.default_rng(1)
    losses = rng.exponential(size=(2, 2, 50))
    before, after = (Candidate(candidate("x", 1.0).plan, each) for each in losses)
    difference = losses[0] - losses[1]
    rows = difference.mean(axis=0).std(ddof=1) / np.sqrt(50)
    starts = abs(difference[0].mean() - difference[1].mean()) / 2
    error = 1.96 * np.hypot(rows, starts)
    gain = difference.mean()
    expected = np.array([gain, gain - error, gain + error]) / losses[0].mean()
    np.testing.assert_allclose(measure_gain(before, after), expected)


def test_the_first_answer():
    equal = candidate("equal", 1.0, 1.0)
    far = candidate("effects", 0.95, 0.95)
    near = candidate("pruned", 1 - 0.8 * CLEAR_GAIN, 1 - 0.8 * CLEAR_GAIN)
    assert answer_beats_equal(decide([equal, far], "effects")).verdict == "yes"
    assert answer_beats_equal(decide([equal, near], "pruned")).verdict == "cannot tell"
    same = answer_beats_equal(decide([equal, far], "equal"))
    assert (same.verdict, same.gain) == ("no", 0.0)
    assert answer_beats_equal(decide([far], "effects")).verdict == "cannot tell"
    text = answer_beats_equal(decide([equal, candidate("pruned", 0.99, 0.99), far], "effects"))
    assert "dropping and pooling −1.0 %, effects as inputs −4.0 %" in text.reason
    assert "changes the validation loss by −5.0 %" in text.reason


def test_restarts_that_do_as_well_are_named():
    lucky = candidate("equal", 1.04, 0.94)
    reason = answer_beats_equal(decide([lucky, candidate("effects", 0.95, 0.95)], "effects")).reason
    assert "the better of 2 starts of equal dimensions does as well" in reason


def test_the_second_answer():
    base = candidate("equal", 1.0, 1.0)
    cases = {0.95: "yes", 0.9995: "no", 1.05: "cannot tell", 0.996: "cannot tell"}
    for loss, verdict in cases.items():
        # Rows differ by a little, so that there is an interval.
        wiggle = 0.004 * np.resize([1, -1], 10) if loss == 0.996 else 0.0
        split = Candidate(
            candidate("split", 1.0).plan, candidate("split", loss, loss).losses + wiggle
        )
        answer = answer_splitting(decide([base, split], "equal"), pays_for_all=False)
        assert answer.verdict == verdict, loss
    assert answer_splitting(decide([base], "equal"), pays_for_all=False).verdict == "no"
    assert answer_splitting(decide([base], "equal"), pays_for_all=True).verdict == "no"
