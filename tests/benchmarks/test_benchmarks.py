"""Each benchmark in a small form, and that a wrong peer is refused; no time is asserted."""

import os
import time

import numpy as np
import pandas as pd
import pytest
import yaml
from snakemake.utils import update_config

from embedalloc.study.settings.benchmarks import BENCHMARKS
from embedalloc.study.settings.configuration import read_configuration
from embedalloc.study.workflow.legibility import find_flaws
from embedalloc.study.workflow.style import TEXT_WIDTH
from scripts import plot_benchmarks
from tests.benchmarks import (
    decomposition,
    dimensions,
    effects,
    experiments,
    growth,
    networks,
    planner,
    refits,
    summary,
    table_set,
    whole_workflow,
)
from tests.benchmarks.cells import benchmark_cell
from tests.benchmarks.measure import (
    MEASUREMENTS,
    Case,
    Contestant,
    DisagreementError,
    measure,
    require_close,
    run_alone,
)
from tests.benchmarks.works import CASES, run
from tests.places import SMOKE, read_config


def small_cell(work):
    config = read_config()
    update_config(config, yaml.safe_load(SMOKE.read_text()))
    return benchmark_cell(read_configuration(config), work)


@pytest.fixture(scope="module", autouse=True)
def short_runs():
    """No time is asserted here, so no run need be long enough for the clock."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "LEAST_WORK", 1e5)
        yield


@pytest.fixture(scope="module")
def measured():
    """Every benchmark once, in its small form."""
    return {work: run(**small_cell(work)) for work in BENCHMARKS}


def test_every_benchmark_runs_and_keeps_its_contract(measured):
    assert set(BENCHMARKS) == {*CASES, "workflow"}
    for work, frame in measured.items():
        MEASUREMENTS.check(frame, work)
        assert (frame["work"] == work).all()
        assert "ours" in set(frame["contestant"])


def test_the_page_and_the_figure_show_every_benchmark(measured):
    frame = pd.concat(measured.values(), ignore_index=True)
    rows = summary.table(frame)
    assert {row.work for row in rows} == set(BENCHMARKS)
    text = summary.page(rows, "a machine")
    assert all(words in text for words in summary.WORK_WORDS.values())
    assert text.count("\n|") == len(rows) + 2
    figure = plot_benchmarks.draw(frame)
    assert len(figure.axes) == 10
    assert all(axes.lines for axes in figure.axes)
    figure.draw_without_rendering()
    assert find_flaws(figure, widest=TEXT_WIDTH) == []


# ------------------------------------------------------------------ a wrong peer is refused


def off_by_a_little(function):
    """The same function with one result in a thousand more."""

    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        if isinstance(found, dict):
            return {name: 1.001 * value for name, value in found.items()}
        return [d + 1 for d in found] if isinstance(found, list) else 1.001 * found

    return wrong


@pytest.mark.parametrize(
    ("work", "module", "name"),
    [
        ("experiments", experiments, "exp1_profile"),
        ("experiments", experiments, "exp2_profile"),
        ("sample_size", experiments, "exp1_profile"),
        ("decomposition", decomposition, "svdvals"),
        ("refits", refits, "exp3_errors_by_formula"),
        ("networks", networks, "data_loader"),
        ("networks", networks, "stacked"),
        ("dimensions", dimensions.naive, "proposed"),
        ("dimensions", dimensions, "least_by_milp"),
        ("dimensions", dimensions, "least_by_slsqp"),
        ("table_set", table_set, "singular_values_by_rows"),
        ("effects", effects, "solve"),
    ],
)
def test_a_wrong_peer_is_refused(monkeypatch, work, module, name):
    monkeypatch.setattr(module, name, off_by_a_little(getattr(module, name)))
    cell = small_cell(work)
    if work == "experiments":  # without joblib, whose processes take seconds to start
        monkeypatch.setattr(experiments, "PEERS", ("literal", "one SVD"))
    with pytest.raises(DisagreementError):
        run(**cell)


def test_a_plan_beyond_its_budget_is_refused(monkeypatch):
    monkeypatch.setattr(
        planner, "plan", lambda table, budget: {"a": {"rows": budget, "dimension": 2}}
    )
    with pytest.raises(DisagreementError, match="600 and 300 parameters of 300"):
        run(**small_cell("planner"))


@pytest.mark.parametrize("work", summary.GROWING)
def test_growth_refuses_work_that_was_not_done(work):
    size = growth.Size(rows=100, levels=5, fields=2, budgets=300)
    right = {"plan": 300, "effects": 10, "counts": 200, "training": np.array([0.5])}
    wrong = {"plan": 301, "effects": 9, "counts": 199, "training": np.array([np.nan])}
    growth.agree(work, size, {"ours": right[work]})
    with pytest.raises(DisagreementError, match=work):
        growth.agree(work, size, {"ours": wrong[work]})


def test_scikit_learn_trains_the_same_network():
    """Its check is the loosest; without it a wrong order of rows would go unnoticed."""
    rng = np.random.default_rng(0)
    shape = networks.NetworkShape(networks.CARDINALITIES, None, networks.NUMERIC)
    rows = networks.heart_like(rng, 64), networks.heart_like(rng, 16)
    settings = networks.training_with(epochs=3, patience=3, dropout=0.0, weight_decay=0.0)
    weights = networks.draw_weights(shape, rng)
    schedule = networks.draw_schedule(rng, 64, 3, shape.hidden, 0.0)
    task = networks.Task(shape, weights, *rows, settings, schedule.orders)
    expected = networks.train_ours(task, schedule)
    found = networks.scikit_learn(task)
    np.testing.assert_allclose(found, expected, atol=networks.LOOSE)
    backwards = task._replace(orders=schedule.orders[:, ::-1])
    assert np.abs(networks.scikit_learn(backwards) - expected).max() > networks.LOOSE


# ------------------------------------------------------------------ measuring


def test_a_run_has_its_own_time_memory_and_result():
    def busy():
        started = time.process_time()
        block = np.ones(8_000_000)  # 61 MB
        while time.process_time() - started < 0.05:
            pass
        return block[:3].sum()

    usage = run_alone(busy, lambda value: value + 1)
    assert usage.value == 4.0
    assert 0.05 <= usage.cpu_seconds < 5
    assert 55 < usage.peak_memory < 90
    assert run_alone(lambda: None).peak_memory < 10


def test_processes_that_a_run_starts_count():
    def with_child():
        return run_alone(lambda: sum(range(3_000_000))).cpu_seconds

    usage = run_alone(with_child)
    assert usage.cpu_seconds > 0.9 * usage.value


def test_a_contestant_that_fails_is_named_with_its_reason():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        run_alone(lambda: 1 / 0)
    with pytest.raises(RuntimeError, match="ended without an answer"):
        run_alone(lambda: os._exit(3))


def test_contestants_take_turns_and_units_divide():
    seen = []
    case = Case(
        "case",
        7,
        [Contestant("ours", lambda: 1), Contestant("peer", lambda: 2, 10)],
        lambda results: seen.append(results),
    )
    frame = measure("experiments", [case], 3)
    assert seen == [{"ours": 1, "peer": 2}] * 3
    assert list(frame["contestant"]) == ["ours", "peer"] * 3
    assert list(frame["repetition"]) == [0, 0, 1, 1, 2, 2]
    assert set(frame["units"]) == {1, 10}


def test_closeness_is_per_number_and_refuses_nan():
    require_close([1.0, 2.0], [1.0, 2.0 + 1e-9], "same", relative=1e-8)
    for found in ([1.0, 2.1], [1.0, np.nan], [1.0]):
        with pytest.raises(DisagreementError):
            require_close(found, [1.0, 2.0], "other", relative=1e-8)


# ------------------------------------------------------------------ summary


def made_up(seconds, sizes=(10, 100, 1000, 10_000), work="dimensions", case="greedy"):
    """Measurements by formula: {contestant: size → seconds}."""
    rows = [
        (work, case, who, size, repetition, 1, function(size), 8.0)
        for who, function in seconds.items()
        for size in sizes
        for repetition in range(3)
    ]
    return pd.DataFrame(rows, columns=list(MEASUREMENTS.columns))


def test_growth_is_the_power_of_the_larger_sizes():
    frame = made_up(
        {"ours": lambda n: 1e-6 * max(n, 100) ** 1.1, "naive scan": lambda n: 1e-6 * n**2}
    )
    assert summary.growth(frame, "greedy", "ours") == pytest.approx(1.1)
    assert summary.growth(frame, "greedy", "naive scan") == pytest.approx(2.0)
    verdicts = {row.what: row.met for row in summary.table(frame)}
    assert verdicts["greedy, growth"] is True
    frame = made_up({"ours": lambda n: 1e-6 * n**1.3})
    assert [row.met for row in summary.table(frame)] == [False]


@pytest.mark.parametrize(("times", "met"), [(49, False), (51, True)])
def test_a_ratio_is_held_against_its_aim(times, met):
    frame = made_up(
        {"ours": lambda n: 0.002, "literal": lambda n: 0.002 * times},
        sizes=(20_000,), work="experiments", case="exp1",
    )  # fmt: skip
    first, memory = summary.table(frame)
    assert (first.met, first.aim) == (met, "at least 50×")
    assert first.measured == f"{times}× ({times}–{times})"
    assert (first.ours, memory.measured, memory.met) == ("2 ms", "1×", True)


@pytest.mark.parametrize(("case", "aim"), [("square root", 150), ("budget 4096", 50)])
def test_a_case_may_have_an_aim_of_its_own(case, aim):
    frame = made_up(
        {"ours": lambda n: 1e-6, "DataLoader": lambda n: 149e-6},
        sizes=(1,), work="networks", case=case,
    )  # fmt: skip
    (row,) = summary.table(frame)
    assert (row.aim, row.met) == (f"at least {aim}×", aim == 50)


def test_the_overhead_of_the_workflow_is_what_jobs_do_not_use():
    seconds = {"ours": lambda n: 120.0, summary.OWN: lambda n: 100.0}
    frame = made_up(seconds, sizes=(40,), work="workflow", case="workflow")
    (row,) = summary.table(frame)
    assert (row.measured, row.met) == ("20% overhead", False)


def test_a_log_without_the_time_of_its_job_is_named(tmp_path):
    (tmp_path / "good.log").write_text("words\ndone in 2.0 s, 1.25 s of CPU time\n")
    assert whole_workflow.own_seconds(tmp_path) == [1.25]
    (tmp_path / "bad.log").write_text("error\n")
    with pytest.raises(RuntimeError, match=r"bad\.log"):
        whole_workflow.own_seconds(tmp_path)


def test_the_machines_are_those_that_measured():
    receipts = [{"machine": {"processor": "Some CPU", "cores": str(n)}} for n in (4, 2, 4)]
    assert summary.machine_words(receipts[:1]) == "Some CPU, 4 cores"
    assert summary.machine_words(receipts) == "Some CPU, 2 cores; Some CPU, 4 cores"
