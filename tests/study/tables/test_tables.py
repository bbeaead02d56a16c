"""The study of real tables in small: one split, the judge, and known summaries."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.data.verdict import TRACK_RECORD, recall
from embedalloc.result import Allocation
from embedalloc.rules import TABLE_RULES
from embedalloc.study.tables.contest import (
    CONTROLS,
    Split,
    run_decoys,
    run_split,
)
from embedalloc.study.tables.judge import Inputs, encode_target, judge_plan, read_numbers
from embedalloc.study.tables.outcomes import DECOYS, LOSSES
from embedalloc.study.tables.page import describe_tables
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.sources import Table, read_source
from embedalloc.study.tables.summary import (
    DIFFERENCES,
    VERDICTS,
    calibrate_yes,
    judge_verdicts,
    summarise_differences,
    track_record,
)
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.tables import TableError
from scripts.plot_tables import draw
from tests.oracles.simulated_tables import make_table
from tests.places import ROOT

PROTOCOL = read_protocol(ROOT / "workflow/tables.yaml")
SMALL = PROTOCOL.model_copy(
    update={"budgets": (3.0,), "judge": PROTOCOL.judge.model_copy(update={"epochs": 3})}
)


def simulated(kind="classification"):
    frame, y = make_table(
        0, rows=400, signal=(4, 30), noise=(40,),
        kind="binary" if kind == "classification" else "regression",
    )  # fmt: skip
    return Table(frame, y, kind)


@pytest.fixture(scope="module")
def losses():
    return run_split("simulated", simulated(), SMALL, 0)


def test_one_split_judges_every_rule_and_control(losses):
    LOSSES.check(losses, "here")
    assert set(losses["contestant"]) == {*TABLE_RULES, *CONTROLS}
    assert len(losses) == 2 * (len(TABLE_RULES) + len(CONTROLS))
    planned = losses[losses["contestant"].isin(TABLE_RULES)]
    budget = int(3 * Split(simulated(), SMALL, 0).levels)
    assert planned["parameters"].between(1, budget).all()
    own = planned[planned["contestant"] == "screened"]
    assert set(own["verdict"]) <= {"yes", "no", "cannot tell"}
    assert (own["trainings"] >= 4).all()


def test_decoys_are_planned_with(losses):
    found = run_decoys("simulated", simulated(), SMALL, 0)
    DECOYS.check(found, "here")
    assert found["decoy"].tolist() == ["permuted", "corrupted", "combined"]


def test_the_judge_learns_an_easy_table_from_the_fitted_object_alone():
    rng = np.random.default_rng(0)
    town = rng.integers(20, size=3000)
    y = (rng.normal(size=20)[town] > 0).astype(int)
    frame = pd.DataFrame({"town": town.astype(str), "x": rng.normal(size=3000)})
    plan = EmbeddingAllocator(200, "equal", random_state=0).fit(frame[:2000], y[:2000])
    known, new = (plan.transform(frame[part]) for part in (slice(2000), slice(2000, None)))
    inputs = Inputs(
        (known, new),
        read_numbers(frame[:2000], frame[2000:]),
        encode_target(y[:2000], y[2000:], "classification"),
    )
    words = {"task": "classification", "deviation": 0.05, "seed": 3}
    found = judge_plan(plan.allocation_, inputs, PROTOCOL.judge, **words)
    assert found.test < 0.05
    assert found == judge_plan(plan.allocation_, inputs, PROTOCOL.judge, **words)
    nothing = Allocation("none", {"town": 0}, {"town": 21}, {"town": 0}, 200)
    empty = inputs._replace(planned=(known[:, :0], new[:, :0]))
    blind = judge_plan(nothing, empty, PROTOCOL.judge, **words)
    constant = log_loss(y[2000:], np.full(1000, y[:2000].mean()))
    assert blind.test == pytest.approx(constant, rel=0.05)


def test_numbers_of_the_judge_are_scaled_by_training_rows():
    rng = np.random.default_rng(0)
    known = pd.DataFrame({"a": rng.normal(5, 2, 500), "skewed": rng.lognormal(0, 2, 500)})
    known.loc[0, "a"] = np.nan
    new = pd.DataFrame({"a": [known["a"].median(), 1e9], "skewed": [-1.0, 0.0]})
    first, second = read_numbers(known, new)
    np.testing.assert_allclose(first.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(first.std(axis=0), 1)
    expected = np.log1p(known["skewed"])
    np.testing.assert_allclose(first[:, 1], (expected - expected.mean()) / expected.std(ddof=0))
    assert second[1, 0] == 8
    assert second[0, 1] == second[1, 1]


# ---- summaries of made-up losses ----------------------------------------------------------


def made_up(own, *, verdicts=("yes",) * 4, split=(1.0,) * 4, splitting=("no",) * 4):
    """Return losses of equal (1.0), screened and two more on two tables with two splits each."""
    rows = []
    for k, (loss, verdict) in enumerate(zip(own, verdicts, strict=True)):
        contestants = {"equal": 1.0, "equal, restarts": 0.99, "screened": loss}
        contestants["screened, split"] = loss * split[k]
        for contestant, value in contestants.items():
            said = contestant == "screened"
            rows.append(
                {
                    "table": "ab"[k // 2], "split": k % 2, "budget": 3.0,
                    "contestant": contestant, "initialisation": "small", "loss": value,
                    "parameters": 5, "trainings": 3, "seconds": 1.5, "chosen": "",
                    "verdict": verdict if said else "", "gain": 0.0,
                    "splitting": splitting[k] if said else "",
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def test_differences_are_per_mille_over_tables():
    found = summarise_differences(made_up([0.98, 0.979, 1.01, 0.99]), 3 / 7)
    DIFFERENCES.check(found, "here")
    row = found[found["contestant"] == "screened"].iloc[0]
    assert row["mean"] == pytest.approx((-20.5 + 0) / 2)
    assert row["error"] == pytest.approx(20.5 / 2)
    assert (row["better"], row["worse"], row["cells"]) == (1, 0, 2)


def test_verdicts_against_truth():
    losses = made_up(
        [0.98, 1.01, 0.997, 0.9],
        verdicts=("yes", "yes", "no", "cannot tell"),
        split=(0.99, 1.01, 0.98, 0.999),
        splitting=("yes", "yes", "no", "no"),
    )
    found = judge_verdicts(losses, 0.005)
    VERDICTS.check(found, "here")
    assert found.to_numpy().tolist() == [
        ["beats_equal", "yes", 1, 2],
        ["beats_equal", "no", 1, 1],
        ["beats_equal", "cannot tell", 1, 1],
        ["splitting", "yes", 1, 2],
        ["splitting", "no", 1, 2],
    ]
    record = track_record(found, losses)
    assert record["verdicts"] == {
        "beats_equal": {"yes": {"right": 1, "of": 2}},
        "splitting": {"yes": {"right": 1, "of": 2}, "no": {"right": 1, "of": 2}},
    }
    assert record["gain_of_restarts"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    by_table = np.array([0.5, 5.15])  # per cent: means of (2, −1) and of (0.3, 10)
    assert record["gain"]["mean"] == pytest.approx(by_table.mean(), abs=0.01)
    reach = 12.706 * by_table.std(ddof=1) / np.sqrt(2)  # Student's t with one degree of freedom
    assert record["gain"]["high"] == pytest.approx(by_table.mean() + reach, abs=0.01)
    missed = judge_verdicts(made_up([0.98] * 4, verdicts=("no",) * 4), 0.005)
    assert missed["right"].tolist() == [0, 4]


def test_yes_with_a_bar_that_other_tables_set():
    """Table a is always right, b at a gain of 0.5 % is not: so a has a bar of 1 %, and b of 0."""
    keys = {"split": 0, "budget": 3.0, "initialisation": "small"}
    runs = [("a", 0.005, 0.9), ("a", 0.03, 0.9), ("b", 0.005, 1.1), ("b", 0.03, 0.9)]
    rows = [
        {"table": table, **keys, "split": split, "contestant": who, "loss": loss, "gain": gain,
         "verdict": "yes" if who == "screened" else ""}
        for split, (table, gain, own) in enumerate(runs)
        for who, loss in (("equal", 1.0), ("screened", own))
    ]  # fmt: skip
    assert calibrate_yes(pd.DataFrame(rows)) == (2, 3)


def test_page_and_figure_show_all_contestants(losses):
    differences = summarise_differences(losses, 3 / 7)
    verdicts = judge_verdicts(losses, 0.005)
    decoys = run_decoys("simulated", simulated("regression"), SMALL, 0)
    page = as_markdown(describe_tables(SMALL, differences, verdicts, (8, 9), decoys))
    assert "it is right in 8 of 9 here" in page
    assert all(f"| {name} |" in page for name in [*TABLE_RULES, *CONTROLS])
    assert "| permuted | table |" in page
    figure = draw(differences)
    assert len(figure.axes) == 2
    assert len(figure.axes[0].get_yticklabels()) == len(TABLE_RULES) + len(CONTROLS) - 1


# ---- the protocol and the files -----------------------------------------------------------


@pytest.mark.parametrize("name", ["flights", "adult", "hotel", "birds"])
def test_shipped_tables_are_those_of_the_protocol(name):
    place = ROOT / f"workflow/resources/tables/{name}.parquet"
    assert place.stat().st_size <= 1_000_000
    table = read_source(name, place, PROTOCOL)
    assert len(table.frame) == len(table.target) == PROTOCOL.rows
    assert "y" not in table.frame
    assert f"`{name}.parquet`" in (place.parent / "ORIGIN.md").read_text()


def test_another_file_is_refused(tmp_path):
    place = tmp_path / "flights.parquet"
    place.write_bytes(b"something else")
    with pytest.raises(TableError, match=r"flights\.parquet: sha256 is .*, expected d8f0"):
        read_source("flights", place, PROTOCOL)


def test_the_patients_are_a_table_too():
    table = read_source("heart", ROOT / "workflow/resources/heart_disease", PROTOCOL)
    assert len(table.frame) == 920
    # Nine fields with 27 values; six of them are missing somewhere, and each keeps an unseen level.
    assert 27 + 5 + 9 <= Split(table, SMALL, 0).levels <= 27 + 6 + 9  # restecg hardly ever is


def test_the_reports_track_record_is_one_that_the_study_makes():
    """What `snakemake tables` writes, after as many splits as it says, and quoted as it stands."""
    record = json.loads((ROOT / "src/embedalloc/data" / TRACK_RECORD).read_text())
    losses = made_up([0.9] * 4)
    made = track_record(judge_verdicts(losses, 0.005), losses)
    assert set(record) == set(made)
    assert record["tables"] == sorted(PROTOCOL.tables)
    assert 3 <= record["splits"] <= PROTOCOL.splits
    entry = record["verdicts"]["beats_equal"]["yes"]
    assert 0 <= entry["right"] <= entry["of"]
    assert recall("beats_equal", "yes") == (entry["right"], entry["of"])
    assert recall("beats_equal", "no") is None
