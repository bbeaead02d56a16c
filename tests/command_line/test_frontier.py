"""`embedalloc frontier`: curves of a table and of a model's weights, as text, JSON and figure."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from embedalloc.command_line import main
from tests.oracles.simulated_tables import make_table

QUICK = ("--splits", "2", "--epochs", "1", "--rule", "unit", "--target", "y")


def run(*words):
    return CliRunner().invoke(main, ["frontier", *map(str, words)])


@pytest.fixture
def sales(tmp_path):
    frame, target = make_table(1, rows=200, signal=(8, 20))
    frame.assign(y=target).to_csv(tmp_path / "sales.csv", index=False)
    return tmp_path / "sales.csv"


def test_a_table_in_80_columns_json_and_a_figure(sales, tmp_path):
    figure, config = tmp_path / "curve.svg", tmp_path / "used.yaml"
    words = ("--budgets", "40, 90", "--margin", "0.5", "--plot", figure, "--save-config", config)
    done = run(sales, *QUICK, *words)
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines()[0].split() == [
        *("budget", "curve", "spent", "loss", "against", "full,", "%", "95", "%")
    ]
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "budget 4 of at most 4 done" in done.stderr
    text = figure.read_text()
    assert "<svg" in text
    again = run(sales, "--config", config, "--json")
    found = json.loads(again.stdout)
    assert found["kind"] == "held-out loss"
    assert (found["budgets"], found["splits"], found["margin"]) == ([40, 90], 2, 0.5)
    losses = np.array(found["curves"]["unit"]["losses"])
    assert losses.shape == (2, 2)
    assert f"{losses[:, 0].mean():.5f}" in done.stdout
    assert "Area between unit and equal dimensions" in again.stderr


def test_weights_need_no_target_and_their_curves_are_marked(tmp_path):
    rng = np.random.default_rng(0)
    tables = {
        name: rng.normal(size=(rows, 4)) * [1, 0.5, 0.1, 0.01]
        for name, rows in (("user", 50), ("item", 80))
    }
    for name, values in tables.items():
        np.save(tmp_path / f"{name}_emb.npy", values)
    figure = tmp_path / "curve.png"
    done = run(tmp_path, "--margin", "0.1", "--plot", figure)
    assert done.exit_code == 0, done.output
    assert "abundance" in done.stdout.splitlines()[0]
    assert "surrogate error" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Nothing was trained" in " ".join(done.stdout.split())
    assert figure.read_bytes().startswith(b"\x89PNG")
    found = json.loads(run(tmp_path, "--json", "--budgets", "130,260").stdout)
    assert found["kind"] == "surrogate"
    values = np.linalg.svd(tables["user"], compute_uv=False)
    abundance = found["tables"]["user_emb"]["information_abundance"]
    assert abundance == pytest.approx(values.sum() / values[0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("sales.csv",), "--target: which column of sales.csv is to be predicted?"),
        (("sales.csv", *QUICK, "--budget", "90"), "--budget: a curve has several; name them with"),
        (("sales.csv", *QUICK, "--budgets", "1,x"), "--budgets: budget: 'x' is neither a number"),
        (("sales.csv", *QUICK, "--budgets", "90"), "sales.csv: budgets: 1 is too few for a curve"),
        (("sales.csv", *QUICK, "--plot", "a.doc"), "--plot: a.doc is none of .png, .pdf, .svg"),
        (("no.safetensors",), "no.safetensors': No such file or directory"),
    ],
)
def test_mistakes_end_in_one_line(sales, monkeypatch, words, message):
    monkeypatch.chdir(sales.parent)
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
