"""The multiverse: its space, its points, one point by hand, and what is said of the outcomes."""

import copy
import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import yaml

from embedalloc.intervals import wilson
from embedalloc.streams import stream
from embedalloc.study import exp2, exp3, latent
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.finding import Bootstrap, Finding
from embedalloc.study.claims.heart import paired_findings
from embedalloc.study.claims.ledger import judge, read_ledger
from embedalloc.study.heart.bench import prepare_split
from embedalloc.study.heart.metrics import score
from embedalloc.study.heart.paired import tabulate_pairs
from embedalloc.study.heart.patients import read_patients
from embedalloc.study.heart.splits import run_splits
from embedalloc.study.multiverse import space as mv
from embedalloc.study.multiverse.cells import (
    CHOICES,
    multiverse_cell,
    multiverse_parts,
    multiverse_points,
    regret_cell,
)
from embedalloc.study.multiverse.heart import (
    resampled_findings,
    run_heart_points,
    score_splits,
    share_of_same_outcomes,
)
from embedalloc.study.multiverse.runs import (
    DRAWN_REGRET,
    ExperimentCell,
    measure_regret,
    run_points,
)
from embedalloc.study.multiverse.summary import (
    EFFECTS,
    SHARES,
    count_shares,
    describe_multiverse,
    describe_overturns,
    measure_effects,
    measure_variance_share,
    print_shares,
)
from embedalloc.study.settings.configuration import read_configuration
from embedalloc.study.settings.exp3 import Exp3Choices
from embedalloc.study.settings.heart import HeartChoices
from embedalloc.study.workflow.document import as_markdown
from tests.places import ROOT, changed, read_config, read_settings

CONFIG = read_config()
SETTINGS = read_settings()
SPACES = mv.read_spaces(ROOT / "workflow/multiverse.yaml")
CLAIMS = {claim.id: claim for claim in read_ledger(ROOT / "workflow/claims.yaml")}
DATA = ROOT / "workflow/resources/heart_disease"
EXPERIMENTS = ("exp1", "exp2", "exp3", "heart")


# ------------------------------------------------------------------ the space


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_default_setting_is_the_configuration(name):
    space = SPACES[name]
    block = getattr(SETTINGS, name)
    assert space.block(block, space.default) == block
    assert space.changes(space.default) == []


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_single_change_but_a_reading_changes_the_configuration(name):
    space, block = SPACES[name], getattr(SETTINGS, name)
    for setting in space.singles():
        (change,) = space.changes(setting)
        is_reading = next(c.reading for c in space.choices if c.name == change)
        assert (space.block(block, setting) == block) == is_reading


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_pairs_are_all_combinations_of_two_changes(name):
    space = SPACES[name]
    alternatives = [len(choice.options) - 1 for choice in space.choices]
    pairs = space.pairs()
    assert len(pairs) == (sum(alternatives) ** 2 - sum(n**2 for n in alternatives)) // 2
    assert len({mv.write_setting(setting) for setting in pairs}) == len(pairs)
    assert all(len(space.changes(setting)) == 2 for setting in pairs)


def test_every_single_change_is_a_valid_configuration():
    """Changes of different experiments do not meet, so they are checked together."""
    singles = [[(name, s) for s in SPACES[name].singles()] for name in EXPERIMENTS]
    for together in itertools.zip_longest(*singles):
        blocks = {
            name: SPACES[name].block(getattr(SETTINGS, name), setting).plain()
            for name, setting in filter(None, together)
        }
        read_configuration(CONFIG | blocks)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_followed_claim_is_in_the_ledger_and_has_one_reading(name):
    space = SPACES[name]
    for number in range(30):
        readings = space.readings(space.draw(1, number))
        for claim in space.claims:
            assert mv.reading_of(CLAIMS[claim], readings) in CLAIMS[claim].readings


def test_draws_are_named_and_every_value_comes_up():
    space = SPACES["exp3"]
    assert space.draw(5, 7) == space.draw(5, 7)
    assert space.draw(5, 7) != space.draw(6, 7)
    drawn = pd.DataFrame([space.draw(CONFIG["seed"], i) for i in range(400)])
    for choice in space.choices:
        counts = drawn[choice.name].value_counts()
        assert set(counts.index) == set(choice.options)
        assert counts.min() > 0.5 * 400 / len(choice.options)


def test_more_draws_only_add_points():
    space = SPACES["exp1"]
    few = mv.list_points(space, 1, pairs=True, draws=3, repeated=2)
    many = mv.list_points(space, 1, pairs=True, draws=9, repeated=2)
    assert many[: len(few)] == few
    assert len(few) == 2 + len(space.singles()) + len(space.pairs()) + 2 * 2 + 1
    assert len({(p.kind, p.number, p.repeat) for p in many}) == len(many)
    assert len({p.seed for p in many if p.kind == "draw"}) == 9 + 2


def test_jobs_take_every_point_once():
    for space in SPACES.values():
        parts = multiverse_parts(SETTINGS, space)
        cells = [multiverse_cell(SETTINGS, space, part) for part in parts]
        assert [p for cell in cells for p in cell.points] == multiverse_points(SETTINGS, space)
    regret_parts = SETTINGS.multiverse.regret_parts
    cells = [regret_cell(SETTINGS, SPACES["exp3"], part) for part in regret_parts]
    numbers = [point.number for cell in cells for point in cell.points]
    assert numbers == list(range(SETTINGS.multiverse.exp3.draws))
    multiverse = SETTINGS.multiverse.plain() | {"scale": 2}
    twice = changed(SETTINGS, multiverse=multiverse)
    more, fewer = (len(multiverse_points(each, SPACES["exp2"])) for each in (twice, SETTINGS))
    assert more == fewer + SETTINGS.multiverse.exp2.draws


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_cell_is_rebuilt_from_plain_data_and_holds_what_its_points_look_at(name):
    kind = CHOICES[name]
    cell = multiverse_cell(SETTINGS, SPACES[name], 0)
    again = mv.PointsCell[kind].model_validate(json.loads(json.dumps(cell.plain())))
    assert type(again.settings) is kind
    assert again.plain() == cell.plain()
    assert [mv.write_setting(p.setting) for p in again.points] == [
        mv.write_setting(p.setting) for p in cell.points
    ]
    if name != "heart":
        assert type(ExperimentCell.model_validate(cell.plain()).settings) is kind


def test_mistakes_in_the_space_are_named(tmp_path):
    path = tmp_path / "space.yaml"
    path.write_text(
        "exp1: {claims: [], choices: {a: {asks: x, default: 1, key: b, values: [2, 3]}}}"
    )
    with pytest.raises(mv.SpaceError, match=r"exp1\.a: '1' must be one of at least two values"):
        mv.read_spaces(path)
    path.write_text(
        "exp1: {claims: [], choices: {a: {asks: x, default: 2, key: b, values: [2, 3]}}}"
    )
    space = mv.read_spaces(path)["exp1"]
    with pytest.raises(mv.SpaceError, match=r"exp1\.b: the configuration has no 'b'"):
        space.block(SETTINGS.exp1, space.default)
    path.write_text(
        "exp1: {claims: [], choices: {a: {asks: x, default: 2, key: noise, values: [2, loud]}}}"
    )
    space = mv.read_spaces(path)["exp1"]
    with pytest.raises(mv.SpaceError, match=r"exp1\.noise: 'loud' must be a number \(standard"):
        space.block(SETTINGS.exp1, {"a": "loud"})
    with pytest.raises(mv.SpaceError, match="exp1-error-falls: no choice says which"):
        mv.reading_of(CLAIMS["exp1-error-falls"], ["refit"])


# ------------------------------------------------------------------ points


def run(space, chosen, *, replications=6, at_most=6, resamples=100):
    """Run points of Experiment 1, 2 or 3 from its default settings."""
    cell = mv.PointsCell(
        experiment=space.experiment,
        settings=CHOICES[space.experiment].taken_from(getattr(SETTINGS, space.experiment)),
        seed=SETTINGS.seed,
        points=chosen,
        replications=replications,
        at_most=at_most,
        resamples=resamples,
    )
    return run_points(space, cell, CLAIMS)


def test_a_draw_by_hand_through_the_normal_configuration_has_the_same_outcome():
    """The config edited key by key, simulated in parts as the rules do, judged by the ledger."""
    space = SPACES["exp2"]
    point = next(p for p in mv.list_points(space, 3, pairs=False, draws=40, repeated=0)
                 if p.kind == "draw" and p.setting["split"] == "literal"
                 and p.setting["decay"] == "k^-1")  # fmt: skip
    config = copy.deepcopy(CONFIG)
    config["seed"] = point.seed
    config["exp2"] |= {"replications": 6, "replications_per_job": 4}
    config["exp2"]["cardinality"] = int(point.setting["categories"])
    config["exp2"]["latent_rank"] = int(point.setting["rank"])
    config["exp2"]["concentration"] = float(point.setting["concentration"])
    config["exp2"]["spectrum"] |= {
        "decay": "polynomial", "rate": 1.0, "scale": float(point.setting["scale"]),
    }  # fmt: skip
    grids = yaml.safe_load((ROOT / "workflow/multiverse.yaml").read_text())["exp2"]["choices"]
    config["exp2"] |= grids["grid"]["options"][point.setting["grid"]]
    settings = read_configuration(config)
    block = settings.exp2
    profiles = pd.concat(
        exp2.simulate(block.cell(settings.seed, n, block.parts[part]))
        for n in {*block.panel_observations, *block.curve_observations}
        for part in (0, 1)
    )
    bootstrap = Bootstrap(stream(settings.seed, "claims", "exp2"), 100)
    about = settings.claims_cell().exp2
    found = exp2_findings(profiles, settings=about, bootstrap=bootstrap)
    judged = judge([CLAIMS[name] for name in found], found).set_index(["claim", "reading"])
    rows = run(space, [point])
    mv.POINT_OUTCOMES.check(rows, "outcomes")
    for row in rows.to_dict("records"):
        expected = judged.loc[(row["claim"], CLAIMS[row["claim"]].readings[row["reading"]])]
        assert row["outcome"] == expected["outcome"]
        assert row["estimate"] == pytest.approx(expected["estimate"], rel=1e-12)


@pytest.mark.parametrize("name", ["exp1", "exp3"])
def test_points_run_with_every_reading(name):
    space = SPACES[name]
    chosen = [
        mv.Point("single", i, 0, 9, setting)
        for i, setting in enumerate(space.singles())
        if any(c.reading for c in space.choices if c.name in space.changes(setting))
    ]
    rows = run(space, chosen)
    mv.POINT_OUTCOMES.check(rows, "outcomes")
    assert len(rows) == len(chosen) * len(space.claims)


def heart_block(**changes):
    return HeartChoices.taken_from(SETTINGS.heart, epochs=2, **changes)


def heart_points(block, chosen, splits, at_most):
    return mv.PointsCell[HeartChoices](
        experiment="heart",
        settings=block,
        seed=1,
        points=chosen,
        replications=splits,
        at_most=at_most,
        resamples=10,
    )


def test_heart_points_run_and_share_their_seed():
    space = SPACES["heart"]
    block = heart_block(budgets=[64, 128], restarts=2)
    setting = space.default | {"greedy": "per_dimension", "tries": "same_tries",
                               "cap": "cardinality_minus_one", "restore": "no"}  # fmt: skip
    chosen = [mv.Point("draw", i, 0, 5, setting) for i in range(2)]
    rows = run_heart_points(space, heart_points(block, chosen, 2, 2), CLAIMS, DATA)
    mv.POINT_OUTCOMES.check(rows, "outcomes")
    assert set(rows["reading"]) == {"same_tries"}
    assert (
        rows[rows["number"] == 0]["estimate"].tolist()
        == rows[rows["number"] == 1]["estimate"].tolist()
    )


def test_replications_double_until_every_outcome_is_settled():
    simulated, decided = [], []

    def simulate(replications):
        simulated.extend(replications)
        return (pd.DataFrame({"replication": replications}),)

    def decided_with(steadiness):
        def decide(tables):
            decided.append(tables[0]["replication"].tolist())
            return [{"steadiness": 1.0}, {"steadiness": steadiness(len(tables[0]))}]

        simulated.clear()
        decided.clear()
        rows = mv.until_settled(simulate, decide, 20, 100)
        assert simulated == decided[-1]  # each once
        assert all(rows == list(range(len(rows))) for rows in decided)
        assert {row["replications"] for row in rows} == {len(simulated)}
        return [len(rows) for rows in decided]

    assert decided_with(lambda count: 0.95) == [20]
    assert decided_with(lambda count: 0.96 if count > 30 else 0.94) == [20, 40]
    assert decided_with(lambda count: 0.5) == [20, 40, 80, 100]


@pytest.mark.parametrize("name", ["exp1", "exp2", "exp3"])
def test_a_point_that_grew_is_the_same_as_one_that_was_large_at_once(name, monkeypatch):
    monkeypatch.setattr(mv, "SETTLED", 1.1)
    space = SPACES[name]
    point = mv.Point("draw", 0, 0, 7, space.draw(7, 0))
    grown = run(space, [point], replications=4, resamples=50)
    at_once = run(space, [point], resamples=50)
    assert set(grown["replications"]) == {6}
    pd.testing.assert_frame_equal(grown, at_once)
    change = mv.Point("single", 0, 0, 7, point.setting)
    small = run(space, [change], replications=4, resamples=50)
    assert set(small["replications"]) == {4}


def test_heart_findings_are_those_of_the_paired_table_and_of_resampled_splits():
    space = SPACES["heart"]
    cell = heart_block(budgets=[64, 128], restarts=2).cell(4, range(5))
    patients = read_patients(DATA, cholesterol_zero_is_missing=False)
    scores, splits = score_splits(patients, cell, space.readings(space.default))
    first, *again = resampled_findings(scores, splits, seed=4)
    table = tabulate_pairs(scores, test=(276, 644), validation=(129, 515))
    assert first == paired_findings(table)
    assert set(first["heart-brier"]) == {"one_try"}
    claim = CLAIMS["heart-accuracy"]
    estimates = np.array([found["heart-accuracy"]["one_try"].estimate for found in again])
    wide = scores.pivot(index="split", columns="model", values="accuracy")
    advantage = wide.drop(columns="proposed").rsub(wide["proposed"], axis=0)
    rng = np.random.default_rng(0)
    drawn = [advantage.iloc[rng.integers(5, size=5)].mean().min() for _ in range(2000)]
    assert estimates.mean() == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / 10)
    others = [Finding(e, "", -1.0, 1.0) for e in (0.1, 0.1, -0.1, 0.2)]
    assert share_of_same_outcomes(claim, others[0], others) == 0.75


def test_the_heuristic_of_the_reading_stands_for_cardinality():
    patients = read_patients(DATA, cholesterol_zero_is_missing=False)
    cell = heart_block(budgets=[64, 256], restarts=1).cell(4, range(2))
    everything = run_splits(patients, cell)
    scores, _ = score(*everything[:2], patients)
    for reading, model in (
        ("literal", "cardinality"),
        ("per_dimension", "cardinality_per_dimension"),
    ):
        found, _ = score_splits(patients, cell, [reading, "one_try"])
        mine = found[found["model"] == "cardinality"].drop(columns="model")
        expected = scores[scores["model"] == model].drop(columns="model")
        pd.testing.assert_frame_equal(mine.reset_index(drop=True), expected.reset_index(drop=True))
    both = scores[scores["model"].str.startswith("cardinality")]
    chosen = both.assign(dimensions=both["dimensions"].map(tuple)).groupby("split")["dimensions"]
    assert chosen.nunique().max() == 2  # the readings do differ


def test_heart_points_grow_as_if_large_at_once(monkeypatch):
    monkeypatch.setattr(mv, "SETTLED", 1.1)
    space = SPACES["heart"]
    block = heart_block(budgets=[64, 128], restarts=2)
    chosen = [mv.Point("draw", 0, 0, 5, space.default)]
    grown, at_once = (
        run_heart_points(space, heart_points(block, chosen, splits, 3), CLAIMS, DATA)
        for splits in (2, 3)
    )
    assert set(grown["replications"]) == {3}
    pd.testing.assert_frame_equal(grown, at_once)


def test_regret_of_draws():
    space = SPACES["exp3"]
    chosen = [p for p in mv.list_points(space, 2, pairs=False, draws=2, repeated=0)
              if p.kind == "draw"]  # fmt: skip
    block = Exp3Choices.taken_from(SETTINGS.exp3, budgets=[300, 1000])
    cell = mv.DrawsCell(settings=block, seed=SETTINGS.seed, points=chosen, replications=2)
    frame = measure_regret(space, cell)
    DRAWN_REGRET.check(frame, "regret")
    assert (frame[frame["budget"] == 300]["excess"] == 0).all()  # one allocation only


# ------------------------------------------------------------------ settings behind the choices


def test_defaults_of_the_new_settings_keep_every_number():
    k = np.arange(1, 21)
    expected = (1.0 / k) / np.linalg.norm(1.0 / k)
    assert (latent.response_weights(20) == expected).all()
    assert (latent.response_weights(20, support=1.0, decay=1.0) == expected).all()
    tails = np.array([5.0, 3.0, 0.0])
    assert exp3.mass_of(tails, 30, "squares") == 25.0
    bench = small_bench()
    a = np.arange(1.0, 10.0)
    assert bench.weigh(a) is a
    assert bench.caps is None
    assert (SETTINGS.heart.watch, SETTINGS.heart.restore_best) == ("logloss", True)


def small_bench(**changes):
    patients = read_patients(DATA, cholesterol_zero_is_missing=False)
    quick = changed(SETTINGS.heart, epochs=6, patience=2, learning_rate=0.05, **changes)
    return prepare_split(patients, quick, seed=1, split=0)[0]


def test_other_values_do_what_they_say():
    weights = latent.response_weights(8, support=0.3, decay=0.0)
    np.testing.assert_allclose(weights, np.array([1, 1, 1, 0, 0, 0, 0, 0]) / np.sqrt(3))
    weights = latent.response_weights(3, decay=2.0)
    np.testing.assert_allclose(weights / weights[0], [1, 1 / 4, 1 / 9])
    tails = np.array([5.0, 3.0, 0.0])  # singular values 4 and 3
    assert exp3.mass_of(tails, 30, "values") == pytest.approx(7.0)
    assert exp3.mass_of(tails, 30, "squares_per_category") == pytest.approx(25 / 30)
    for cap, less in (("cardinality", 0), ("cardinality_minus_one", 1)):
        bench = small_bench(rank_cap=cap)
        assert bench.caps == [n - less for n in bench.cardinalities]
        assert list(bench.propose(np.ones(9), 4096)) == bench.caps
    a = np.ones(9)
    bench = small_bench(sample_sizes="multiply")
    recorded = bench.weigh(a)
    assert recorded[0] == len(bench.training.numbers)  # the sex is always recorded
    assert recorded.min() < 0.5 * recorded.max()
    np.testing.assert_allclose(small_bench(sample_sizes="divide").weigh(a), 1 / recorded)
    dimensions = (2,) * 9
    best, last = (small_bench(restore_best=keep) for keep in (True, False))
    fits = best.fit(dimensions), last.fit(dimensions)
    assert fits[0].best_epoch < fits[0].epochs_run == fits[1].epochs_run
    assert last.validation_logloss(fits[1]) == fits[0].validation_logloss[-1]
    assert best.validation_logloss(fits[0]) == min(fits[0].validation_logloss)
    watched = small_bench(watch="error")
    fit = watched.fit(dimensions)
    assert fit.validation_error[fit.best_epoch - 1] == min(fit.validation_error)


# ------------------------------------------------------------------ what is said


@pytest.mark.parametrize(("held", "trials"), [(0, 5), (3, 10), (24, 24), (61, 96)])
def test_wilson_is_the_score_test_turned_round(held, trials):
    """Ends of the interval solve (p̂ − p)² = z² p (1 − p)/n."""
    z2, p = 1.959963984540054**2, held / trials
    roots = np.roots([1 + z2 / trials, -(2 * p + z2 / trials), p**2])
    np.testing.assert_allclose(wilson(held, trials), sorted(np.real(roots)), atol=1e-12)


def test_the_variance_share_by_hand():
    scores = pd.Series([1.0, 1.0, 0.0, 0.0])
    assert measure_variance_share(scores, pd.Series(list("aabb"))) == 1.0
    assert measure_variance_share(scores, pd.Series(list("abab"))) == 0.0
    # Between 0.5 and 0.75 of six: total 1.5, within 1.25 − …, by the textbook's formula.
    scores, groups = pd.Series([1.0, 1.0, 0.0, 1.0, 0.0, 0.0]), pd.Series(list("aaabbb"))
    within, total = 2 / 3 + 2 / 3, 1.5
    expected = (total - within - within / 4) / total
    assert measure_variance_share(scores, groups) == pytest.approx(max(expected, 0.0))
    assert math.isnan(measure_variance_share(pd.Series([1.0, 1.0]), pd.Series(list("ab"))))


def outcome_table(values):
    """Outcomes of exp2-total-turns and its companions: (kind, number, repeat, setting, outcome).

    An outcome with a question mark is not settled.
    """
    space = SPACES["exp2"]
    rows = [
        {
            "experiment": "exp2", "kind": kind, "number": number, "repeat": repeat, "seed": 0,
            "replications": 20, "setting": json.dumps(space.default | changed),
            "changes": len(changed), "claim": claim, "reading": "as stated",
            "outcome": outcome.rstrip("?"), "steadiness": 0.5 if outcome.endswith("?") else 0.99,
            "estimate": 1.0, "low": math.nan, "high": math.nan,
        }
        for claim in space.claims
        for kind, number, repeat, changed, outcome in values
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_shares_and_overturning_changes_by_hand():
    table = outcome_table(
        [
            ("default", 0, 0, {}, "holds"),
            ("default", 0, 1, {}, "holds"),
            ("single", 0, 0, {"rank": "10"}, "holds"),
            ("single", 1, 0, {"rank": "40"}, "fails"),
            ("single", 2, 0, {"scale": "5"}, "fails?"),
            ("draw", 0, 0, {"rank": "10", "scale": "5"}, "fails"),
            ("draw", 0, 1, {"rank": "10", "scale": "5"}, "partly?"),
            ("draw", 1, 0, {"scale": "20"}, "holds?"),
            ("draw", 2, 0, {"rank": "40"}, "partly"),
            ("draw", 3, 0, {"rank": "40", "scale": "20"}, "holds"),
        ]
    )
    spaces = {"exp2": SPACES["exp2"]}
    found = count_shares(table, spaces, CLAIMS)
    choices = measure_effects(table, spaces)
    SHARES.check(found, "shares")
    EFFECTS.check(choices, "effects")
    row = found.iloc[0]
    assert (row["draws"], row["share"], row["partly"]) == (4, 0.5, 0.75)
    assert (row["low"], row["high"]) == wilson(2, 4)
    assert (row["default_settled"], row["settled"]) == (True, 3)
    assert (row["repetitions"], row["same"]) == (2, 0.5)
    assert (row["settled_repetitions"], row["same_settled"]) == (1, 1.0)
    assert (row["singles"], row["settled_singles"]) == (3, 2)
    assert (row["overturning"], row["fewest"]) == (1, 1)
    assert row["overturned_by"] == "rank 40 (fails)"
    by_rank = choices[(choices["claim"] == row["claim"]) & (choices["choice"] == "rank")]
    assert by_rank.set_index("value")["draws"].to_dict() == {"10": 1, "20": 1, "40": 2}
    words = "holds in 50 % of 4 settings (15 to 85 %), 1 of them unsettled"
    assert print_shares(found)[row["claim"]] == words
    page = as_markdown(describe_multiverse(found, choices))
    assert "| 3 of 4 | 1 of 2 (1 of 1) |" in page
    expected = "1 of 2 settled single changes (3 in all): rank 40 (fails)"
    assert f"| `{row['claim']}` | holds | {expected} |" in page
    unsettled = describe_overturns(dict(row) | {"default_settled": False})
    assert unsettled == "the default itself is not settled"
    kept = table[~((table["kind"] == "single") & (table["outcome"] == "fails"))]
    again = count_shares(kept, spaces, CLAIMS).iloc[0]
    assert (again["overturning"], again["fewest"]) == (0, 1)
    expected = (
        "none of 1 settled single changes (1 in all); a draw with 1 changes: rank 40 (partly)"
    )
    assert describe_overturns(again) == expected


def test_settings_in_which_a_claim_cannot_be_tested_count_in_no_share():
    common = [("default", 0, 0, {}, "holds"), ("default", 0, 1, {}, "holds"),
              ("single", 0, 0, {"rank": "10"}, "holds")]  # fmt: skip
    draws = [("draw", i, 0, {"rank": "10"}, outcome)
             for i, outcome in enumerate(["holds", "not testable"])]  # fmt: skip
    spaces = {"exp2": SPACES["exp2"]}
    some = count_shares(outcome_table([*common, *draws]), spaces, CLAIMS)
    none = count_shares(outcome_table([*common, draws[1]]), spaces, CLAIMS)
    for table in (some, none):
        SHARES.check(table, "shares")
    assert (some["draws"][0], some["share"][0], none["draws"][0]) == (1, 1.0, 0)
    assert print_shares(none)[none["claim"][0]] == "not testable in any setting"


def test_pairs_come_before_draws_and_long_lists_are_cut():
    pairs = [
        ("pair", i, 0, {"rank": "10", "scale": str(i)}, "fails" if i else "holds")
        for i in range(14)
    ]
    runs = [
        ("default", 0, 0, {}, "holds"),
        ("single", 0, 0, {"rank": "10"}, "holds"),
        ("draw", 0, 0, {"scale": "20"}, "fails"),
    ]
    spaces = {"exp2": SPACES["exp2"]}
    row = count_shares(outcome_table(runs + pairs), spaces, CLAIMS).iloc[0]
    assert (row["pairs"], row["overturning_pairs"], row["fewest"]) == (14, 13, 2)
    words = describe_overturns(row)
    assert words.startswith(
        "none of 1 settled single changes (1 in all); 13 of 14 settled pairs (14 in all): "
        "rank 10, scale 1 (fails); "
    )
    assert words.endswith("rank 10, scale 12 (fails); and 1 more")
    row = count_shares(outcome_table(runs + pairs[:1]), spaces, CLAIMS).iloc[0]
    expected = (
        "none of 1 settled single changes (1 in all) and none of 1 settled pairs (1 in all); "
        "a draw with 1 changes: scale 20 (fails)"
    )
    assert describe_overturns(row) == expected
