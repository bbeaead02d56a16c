"""EmbeddingAllocator: scikit-learn's checks, every rule within its budget, and known truths."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from embedalloc import EmbeddingAllocator, from_json, to_json, to_pytorch_tabular, to_torch
from embedalloc.data.auto_budget import list_budgets
from embedalloc.data.case import set_limits
from embedalloc.data.screened import TURNS
from embedalloc.data.settled import write_down
from embedalloc.data.table import DataError, find_task, learn_encoding, sample_rows
from embedalloc.problem import BudgetError
from embedalloc.rules import TABLE_RULES
from tests.oracles.simulated_tables import make_table


def expected_failed_checks(estimator):
    """Checks of scikit-learn that fail for a reason."""
    why = "a row that is there twice may both train and validate; one of double weight does not"
    names = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{name}_data": why for name in names}


@parametrize_with_checks(
    [EmbeddingAllocator(20_000, "equal"), EmbeddingAllocator(20_000, epochs=1)],
    expected_failed_checks=expected_failed_checks,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def small():
    return make_table(0, rows=500, signal=(6, 15), noise=(50,))


def quick(budget=300, rule="screened", **words):
    words = {"epochs": 5, "random_state": 0} | words
    return EmbeddingAllocator(budget, rule, **words)


def true_cost(fit):
    """Return what a user pays: tables, and one number per level for each effect column."""
    tables = sum(each["rows"] * each["dimension"] for each in fit.tables_.values())
    columns = [name for name in fit.get_feature_names_out() if "__effect" in name]
    return tables + sum(fit.cardinalities_[name.split("__effect")[0]] for name in columns)


def test_planning_imports_no_torch():
    """In a process of its own, with the rules that train networks."""
    code = (
        "import sys\n"
        "from embedalloc.data.estimator import EmbeddingAllocator\n"
        "from tests.oracles.simulated_tables import make_table\n"
        "for rule in ('screened', 'paper', 'response_aware'):\n"
        "    plan = EmbeddingAllocator(300, rule, epochs=1)\n"
        "    plan.fit(*make_table(0, rows=60, signal=(4,), noise=(5,)))\n"
        "    print(len(plan.dimensions_), 'torch' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("2 False\n" * 3, 0), done.stderr


@pytest.mark.parametrize("rule", TABLE_RULES)
@pytest.mark.parametrize("budget", [74, 130, 1000])
def test_no_rule_exceeds_the_budget(small, rule, budget):
    """The three tables have 7, 16 and 51 rows: 74 pays one dimension of each."""
    fit = quick(budget, rule, epochs=1).fit(*small)
    assert true_cost(fit) == fit.allocation_.cost == fit.report_.spent <= budget == fit.budget_
    assert list(fit.dimensions_) == ["signal0", "signal1", "noise0"]
    assert all(d <= n - 1 for d, n in zip(fit.dimensions_.values(), (7, 16, 51), strict=True))


@pytest.mark.parametrize("rule", ["screened", "paper", "response_aware", "equal", "square_root"])
def test_the_users_limits_hold_for_every_rule(small, rule):
    fit = quick(
        500, rule, fixed={"signal0": 3}, minimum=2, maximum=6, multiple_of=2, drop_allowed=False
    ).fit(*small)
    assert fit.dimensions_["signal0"] == 3
    assert {fit.dimensions_[name] for name in ("signal1", "noise0")} <= {2, 4, 6}
    entry = {each.name: each for each in fit.report_.fields}
    assert entry["signal0"].why == "fixed by you"


@pytest.mark.parametrize("rule", ["screened", "response_aware"])
def test_a_field_is_dropped_or_has_the_minimum(small, rule):
    fit = quick(1500, rule, minimum=3, multiple_of=8, fixed={"signal1": 2}, epochs=2).fit(*small)
    assert fit.dimensions_["signal1"] == 2
    assert {fit.dimensions_[name] % 8 for name in ("signal0", "noise0")} == {0}
    fit = quick(1500, rule, minimum=3, epochs=2).fit(*small)
    assert not {1, 2} & set(fit.dimensions_.values())


def test_a_budget_below_the_minimum_names_it(small):
    with pytest.raises(BudgetError, match="raise it to at least 74"):
        quick(73, "paper").fit(*small)
    with pytest.raises(BudgetError, match="raise it to at least 74"):
        quick(73, drop_allowed=False, pool_allowed=False).fit(*small)
    with pytest.raises(ValueError, match="budget: 'much' is neither a number"):
        quick("much").fit(*small)
    with pytest.raises(ValueError, match="fixed: 'shop' is not a categorical column"):
        quick(fixed={"shop": 2}).fit(*small)
    with pytest.raises(ValueError, match="unknown allocation rule 'best'"):
        quick(rule="best").fit(*small)


def test_without_dropping_every_field_keeps_an_embedding():
    frame, y = make_table(1, rows=800, signal=(8,), noise=(100, 150))
    kept = EmbeddingAllocator(800, drop_allowed=False, random_state=1).fit(frame, y)
    assert min(kept.dimensions_.values()) >= 1


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_the_result_is_that_of_the_data_not_of_their_order_or_names(kind):
    frame, y = make_table(2, rows=300, signal=(5, 12), noise=(40,), kind=kind)
    expected = quick(200, random_state=7).fit(frame, y)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(frame))
    moved = frame.iloc[order][["number", "noise0", "signal1", "signal0"]]
    for name in ("noise0", "signal1", "signal0"):
        levels = moved[name].unique()
        words = dict(zip(levels, rng.permutation(len(levels)), strict=True))
        moved[name] = moved[name].map(words).astype("category")
    found = quick(200, random_state=7).fit(moved, y[order])
    assert found.dimensions_ == expected.dimensions_
    assert found.report_.candidates == expected.report_.candidates
    assert found.report_.beats_equal == expected.report_.beats_equal
    named = {each.name: each for each in found.report_.fields}
    assert all(named[each.name] == each for each in expected.report_.fields)
    assert found.plan_.effects or found.tables_
    ours = found.set_output(transform="pandas").transform(moved)
    theirs = expected.set_output(transform="pandas").transform(frame).iloc[order]
    pd.testing.assert_frame_equal(ours[list(theirs)], theirs)


def test_seeds_matter_and_are_kept(small):
    one, again = (quick(random_state=3).fit(*small).report_ for _ in range(2))
    assert one == again
    assert quick(random_state=4).fit(*small).report_ != one
    assert clone(quick(random_state=3)).fit(*small).report_ == one


def test_categorical_columns_by_type_name_and_position():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "text": rng.choice(["a", "b"], 40), "number": rng.integers(30, size=40),
            "flag": rng.random(40) < 0.5, "kind": pd.Categorical(rng.choice(["x", "y"], 40)),
            "real": rng.normal(size=40),
        }
    )  # fmt: skip

    def fields(columns, frame=frame):
        fit = quick(rule="equal", columns=columns).fit(frame, rng.normal(size=40))
        return list(fit.dimensions_)

    assert fields(None) == ["text", "flag", "kind"]
    numbers = frame.drop(columns="kind")
    assert fields(["number", "text"], numbers) == ["text", "number"]
    assert fields([1, -4], numbers) == ["text", "number"]
    with pytest.raises(DataError, match="'colour' is not a column"):
        fields(["colour"])
    with pytest.raises(DataError, match="there is no column 9 among 5"):
        fields([9])
    with pytest.raises(DataError, match="no column is categorical"):
        fields(None, frame[["number", "real"]])
    with pytest.raises(DataError, match="column 'kind': holds values that are not numbers"):
        fields(["text"])


def test_a_user_names_numbers_and_what_is_left_out():
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(40, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    y = rng.normal(size=40)
    for data, numeric, ignore in ((frame, ["b"], ["c"]), (X, [1], [-1])):
        fit = quick(rule="equal", numeric=numeric, ignore=ignore).fit(data, y)
        assert [role.taken_as for role in fit.roles_.columns] == ["table", "number", "ignored"]
        assert len(fit.dimensions_) == len(fit.encoder_.numeric) == 1
    with pytest.raises(DataError, match="ignore: 'd' is not a column"):
        quick(ignore=["d"]).fit(frame, y)
    with pytest.raises(DataError, match="column 'b' is named twice, with different roles"):
        quick(columns=["a", "b"], numeric=["b"]).fit(frame, y)


def test_dates_become_parts_and_identifiers_are_left_out():
    rng = np.random.default_rng(0)
    days = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(700, size=200), "D"))
    y = np.sin(days.dt.month) + 0.1 * rng.normal(size=200)
    frames = [
        pd.DataFrame({"day": day, "id": [f"r{k}" for k in range(200)]})
        for day in (days, days.dt.strftime("%Y-%m-%d"))
    ]
    found = []
    for frame in frames:
        with pytest.warns(UserWarning, match="column 'id' is left out: 200 different values"):
            found.append(quick(200, "equal").fit(frame, y))
    assert list(found[0].dimensions_) == ["day month", "day weekday"]
    assert found[0].report_ == found[1].report_
    codes = found[1].transform(frames[1])
    np.testing.assert_array_equal(found[0].transform(frames[0]), codes)
    assert len(set(zip(codes[:, 0], days.dt.month, strict=True))) == 12
    assert found[1].transform(frames[1].assign(day="no date"))[0].tolist() == [0, 0]


def test_unseen_missing_and_rare_levels():
    rng = np.random.default_rng(0)
    town = np.where(rng.random(400) < 0.1, None, rng.choice(list("ABCD"), 400)).astype(object)
    town[:3] = ["rare 1", "rare 2", "rare 3"]
    frame = pd.DataFrame({"town": town, "size": rng.normal(size=400)})
    fit = quick(60, "equal", min_frequency=5).fit(frame, rng.integers(2, size=400))
    assert fit.cardinalities_ == {"town": 7}  # A to D, missing, the rare ones, unseen
    codes = fit.transform(pd.DataFrame({"town": ["A", "Z", None, "rare 2"], "size": 0.0}))[:, 0]
    assert codes[1] == 0
    assert len(set(codes)) == 4
    assert fit.get_feature_names_out().tolist() == ["town"]


def test_bad_targets_are_refused(small):
    frame, y = small
    with pytest.raises(DataError, match="2 values are missing"):
        quick().fit(frame, np.r_[np.nan, np.nan, y[2:]])
    with pytest.raises(DataError, match="nothing to predict"):
        quick().fit(frame, np.zeros(len(frame)))
    with pytest.raises(DataError, match="column 'a' is there twice"):
        quick().fit(pd.concat([frame["noise0"].rename("a")] * 2, axis=1), y)


def test_rows_are_sampled_and_the_report_says_so(small):
    frame, y = small
    report = quick(max_rows=200).fit(frame, y).report_
    assert (report.rows, report.rows_used) == (500, 200)
    assert "trained on a sample of 200 of 500 rows" in str(report)


def test_the_budget_is_searched_and_what_was_tried_is_told(small):
    fit = quick("auto", epochs=3).fit(*small)
    candidates = list_budgets(fit.cardinalities_, set_limits(fit.cardinalities_))
    assert candidates[:3] == [74, 148, 296]
    assert [each.budget for each in fit.report_.budgets] == candidates
    losses = {each.budget: each.validation_loss for each in fit.report_.budgets}
    assert fit.budget_ in candidates
    # Nothing smaller is as good as the chosen one up to half a per cent of the best.
    smaller = [loss for budget, loss in losses.items() if budget < fit.budget_]
    assert all(loss > 1.005 * min(losses.values()) for loss in smaller)


def test_a_search_for_the_budget_costs_at_most_five_plans(small):
    def count(budget):
        done = []
        fit = quick(budget, epochs=2, progress=lambda k, most: done.append(k)).fit(*small)
        return len(done), fit.budget_

    searched, budget = count("auto")
    alone, _ = count(budget)
    assert alone < searched <= 5 * alone
    assert searched - alone <= 6


@pytest.mark.parametrize("words", [("auto", "equal"), (60, "screened")])
def test_the_number_of_jobs_changes_nothing(small, words):
    told = {1: [], 2: []}
    one, two = (
        quick(*words, epochs=2, jobs=k, progress=lambda *done, k=k: told[k].append(done)).fit(
            *small
        )
        for k in told
    )
    assert one.report_ == two.report_
    assert one.plan_ == two.plan_
    assert told[1] == told[2]


def test_a_time_limit_samples_rows():
    frame, y = make_table(0, rows=6000, signal=(6, 15), noise=(50,))
    fit = quick(300, minutes=1e-6, epochs=1).fit(frame, y)
    assert fit.report_.rows_used == 1000
    assert fit.report_.rounds_left_out == TURNS - 1
    assert {each.trainings for each in fit.report_.candidates} == {1}
    assert "the time was up before all trainings were done" in str(fit.report_)
    fit = quick("auto", minutes=1e-6, epochs=1).fit(frame, y)
    assert [each.validation_loss is None for each in fit.report_.budgets] == [False] + 5 * [True]
    assert str(fit.report_).count("\n  no time   ") == 5
    fit = quick(300, minutes=60, epochs=1).fit(frame, y)
    assert (fit.report_.rows_used, fit.report_.rounds_left_out) == (6000, 0)
    with pytest.raises(ValueError, match=r"minutes: 0.0 is not above 0"):
        quick(minutes=0).fit(frame, y)


def test_a_settled_plan_is_followed_without_a_search(small):
    frame, y = small
    found = quick(250).fit(frame, y)
    settled = write_down(found.plan_)
    again = quick(None, tables=settled, progress=lambda *_: pytest.fail("nothing is trained"))
    np.testing.assert_array_equal(again.fit_transform(frame, y), found.fit_transform(frame, y))
    assert again.tables_ == found.tables_
    assert again.budget_ == found.allocation_.cost
    with pytest.raises(DataError, match="tables: 'shop' is not a categorical column"):
        quick(None, tables={"shop": {"dimension": 2}}).fit(frame, y)
    with pytest.raises(DataError, match="they cost 24 parameters, and the budget is 20"):
        quick(20, tables={"signal0": {"rows": 6, "dimension": 4}}).fit(frame, y)


def test_the_report_reads_well_and_becomes_json(small):
    report = quick(200).fit(*small).report_
    text = str(report)
    assert max(map(len, text.splitlines())) <= 80
    head = text.splitlines()[0].split()
    assert head[:2] == ["field", "levels"]
    assert head[-2:] == ["worth", "decision"]
    assert "Does the plan beat equal dimensions?" in " ".join(text.split())
    assert "Does splitting dimensions matter?" in text
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["fields"][0]["name"] == "signal0"
    assert plain["beats_equal"]["verdict"] in ("yes", "no", "cannot tell")
    assert sum(each["parameters"] for each in plain["fields"]) == plain["spent"]


def test_whether_the_budget_binds(small):
    """All ranks together cost 6 · 7 + 15 · 16 + 50 · 51 = 2,832 parameters."""
    for budget, binds in ((74, True), (2831, True), (2832, False), (9000, False)):
        report = quick(budget, "equal").fit(*small).report_
        assert report.budget_binds is binds
        assert report.splitting.verdict == ("no" if budget >= 2832 else "cannot tell")


def test_sampling_draws_rows_without_replacement(small):
    frame, y = small
    _, data = learn_encoding(frame, y, list(frame), task=find_task(y))
    assert len(sample_rows(data, 100, seed=0)) == 100
    assert sample_rows(data, 500, seed=0) is data


# ---- what a network outside reads -----------------------------------------------------------


@pytest.fixture(scope="module", params=["binary", "multiclass", "regression"])
def planned(request):
    """A fitted plan with effects, its training inputs, and the rows."""
    frame, y = make_table(5, rows=900, signal=(4, 60), noise=(80,), kind=request.param)
    plan = quick(700).set_output(transform="pandas")
    inputs = plan.fit_transform(frame, y)
    assert plan.plan_.effects, "this table's plan has effects"
    return plan, inputs, frame, y


def test_a_column_of_codes_per_table_and_of_effects_per_effect(planned):
    plan, inputs, frame, y = planned
    assert list(inputs.columns) == plan.get_feature_names_out().tolist()
    assert (inputs.index == frame.index).all()
    new = plan.transform(frame)
    for name, table in plan.tables_.items():
        assert inputs[name].dtype == new[name].dtype == np.int64
        assert inputs[name].between(0, table["rows"] - 1).all()
        assert (inputs[name] == new[name]).all()
        assert table["dimension"] == plan.dimensions_[name] >= 1
    effects = [name for name in inputs if name not in plan.tables_]
    classes = sorted(set(y)) if len(set(y)) == 3 else None
    for name in effects:
        field, _, label = name.partition("__effect")
        assert field in frame
        assert label.lstrip("_") in (classes or [""])
        assert inputs[name].abs().max() <= 6
        assert (inputs[name] != new[name]).any()  # cross-fitted is not the full fit
    assert true_cost(plan) <= 700


def test_levels_never_seen_have_code_and_effect_zero(planned):
    plan, _, frame, _ = planned
    new = frame.head(2).copy()
    new[["signal0", "signal1", "noise0"]] = "never seen"
    assert not plan.transform(new).to_numpy().any()


def test_pooled_levels_share_code_zero():
    frame, y = make_table(5, rows=900, signal=(4, 60), noise=(80,), kind="regression")
    frame.loc[:4, "signal1"] = [f"rare {k}" for k in range(5)]
    wanted = {"signal1": {"rows": 41, "dimension": 2}}
    plan = EmbeddingAllocator(tables=wanted).set_output(transform="pandas").fit(frame, y)
    assert plan.plan_.pooled == ("signal1",)
    counts = frame["signal1"].map(frame["signal1"].value_counts())
    codes = plan.transform(frame)["signal1"]
    assert codes.nunique() == 41 < plan.cardinalities_["signal1"]
    assert counts[codes == 0].max() <= counts[codes > 0].min()
    assert (codes.head(5) == 0).all()


def test_arrays_without_set_output_hold_the_same_numbers(planned):
    plan, inputs, frame, y = planned
    plain = clone(plan).set_output(transform="default")
    np.testing.assert_array_equal(plain.fit_transform(frame, y), inputs.to_numpy())


def test_plans_are_cloned_and_pickled(planned):
    plan, inputs, frame, y = planned
    again = pickle.loads(pickle.dumps(plan))
    pd.testing.assert_frame_equal(again.transform(frame), plan.transform(frame))
    pd.testing.assert_frame_equal(clone(plan).fit_transform(frame, y), inputs)


def test_the_torch_export_takes_exactly_these_inputs(planned):
    plan, inputs, frame, _ = planned
    layer = to_torch(plan.allocation_)
    for columns in (inputs, plan.transform(frame)):
        matrix = torch.tensor(columns.to_numpy())
        found = layer(matrix)
        begin = 0
        for name, table in zip(plan.tables_, layer.values(), strict=True):
            part = found[:, begin : begin + plan.dimensions_[name]]
            torch.testing.assert_close(
                part, table.weight[matrix[:, list(columns).index(name)].long()]
            )
            begin += plan.dimensions_[name]
        torch.testing.assert_close(found[:, begin:], matrix[:, len(plan.tables_) :].float())
    with pytest.raises(ValueError, match="columns of codes"):
        layer(matrix[:, 1:])


def test_json_and_other_exports_name_the_effects(planned):
    plan, inputs, _, _ = planned
    effects = [name for name in inputs if name not in plan.tables_]
    text = to_json(plan.allocation_)
    assert from_json(text) == plan.allocation_
    field = plan.plan_.effects[0]
    spent = plan.allocation_.parameters[field]
    with pytest.raises(ValueError, match="columns of effects"):
        from_json(text.replace(f'"parameters": {spent}', '"parameters": 0'))
    assert to_pytorch_tabular(plan.allocation_)["continuous_cols"] == effects


def test_a_network_of_the_inputs_alone_beats_one_without_them():
    """The columns carry the signal: ridge on cross-fitted effects predicts new rows."""
    frame, y = make_table(8, rows=3000, signal=(60, 90), kind="regression", number=False)
    plan = quick(400).set_output(transform="pandas")
    known = plan.fit_transform(frame[:2000], y[:2000]).filter(like="__effect")
    new = plan.transform(frame[2000:]).filter(like="__effect")
    assert known.shape[1] == 2
    score = LinearRegression().fit(known, y[:2000]).score(new, y[2000:])
    assert score > 0.5  # the two fields' effects are two thirds of the variance


@pytest.mark.parametrize("budget", [0, 1, 7, 20, 50])
def test_budgets_below_one_dimension_per_level_pool_and_drop(small, budget):
    fit = quick(budget, epochs=1).fit(*small)
    assert true_cost(fit) == fit.report_.spent <= budget
    assert fit.transform(small[0]).shape == (500, len(fit.get_feature_names_out()))
    assert fit.report_.verdict == "cannot tell"  # equal dimensions cannot be paid


# ---- known truth --------------------------------------------------------------------------------


@pytest.mark.slow
def test_noise_is_dropped_and_signal_kept():
    """A field of noise has F > 2 next to never with so many levels, so it is not in the way.

    Equal dimensions keep it; they win only where everything does about as well.
    """
    noise = signal = 0
    for seed in range(4):
        frame, y = make_table(seed, rows=2000, signal=(10, 40), noise=(150, 300), kind="regression")
        plan = EmbeddingAllocator(1000, random_state=seed).fit(frame, y)
        noise += sum(plan.dimensions_[name] == 0 for name in ("noise0", "noise1"))
        signal += sum(name in plan.plan_.dropped for name in ("signal0", "signal1"))
    assert noise >= 6
    assert signal == 0


@pytest.mark.slow
def test_a_row_less_hardly_ever_changes_the_plan():
    """The rates on more tables are those of `python -m tests.benchmarks.stability_rates`."""
    frame, y = make_table(1, rows=1500, signal=(6, 60), noise=(150,), kind="regression")
    plans = []
    for left_out in (None, 10, 400, 800, 1400):
        rows = np.delete(np.arange(1500), [] if left_out is None else left_out)
        fit = EmbeddingAllocator(650, random_state=0).fit(frame.iloc[rows], y[rows])
        plans.append((fit.tables_, fit.plan_.effects))
    assert sum(plan == plans[0] for plan in plans[1:]) >= 3
