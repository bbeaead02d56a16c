"""From a raw file to a trained network, as a new user tries it: nothing but the target is named."""

import re
import runpy
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from embedalloc.command_line import main
from tests.places import ROOT

TABLES = sorted((ROOT / "workflow" / "resources" / "tables").glob("*.parquet"))
#: Rows of each table: enough for every kind of column, and quick.
ROWS = 3_000


def run(*arguments):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("library", ["torch", "keras"])
def test_a_raw_file_becomes_a_trained_network(table, library, tmp_path, monkeypatch, capsys):
    """One plan with nothing but --target, then one epoch of the program that it exports."""
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip(library, reason=f"{library} is not installed")
    frame = pd.read_parquet(table).sample(ROWS, random_state=0)
    frame.to_csv(tmp_path / "raw.csv", index=False)  # no types, no hints
    told = run("plan", "raw.csv", "--target", "y")
    assert "raw.csv: 3,000 rows" in told.stderr
    assert "Does the plan beat equal dimensions?" in told.stdout
    words = ("raw.csv", "--target", "y", "--rule", "equal", "--export", library)
    program = run("plan", *words).stdout
    (tmp_path / "train.py").write_text(program.replace("EPOCHS = 10", "EPOCHS = 1"))
    capsys.readouterr()
    runpy.run_path("train.py", run_name="__main__")
    trained = capsys.readouterr().out
    assert "loss" in trained
    assert "nan" not in trained


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = 300
    frame = pd.DataFrame(
        {
            "user": rng.integers(40, size=rows).astype(str),
            "shop": rng.choice(["a", "b", "c"], rows),
            "day": pd.date_range("2021-01-01", periods=rows)[rng.permutation(rows)].astype(str),
            "counts": rng.integers(1, 5, size=rows),
            "spent": rng.normal(size=rows),
        }
    )
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    frame.to_csv(path, index=False)
    return path


def train_exported(path, *options, library="torch"):
    """Return all names of an exported program after one epoch."""
    pytest.importorskip(library, reason=f"{library} is not installed")
    words = ["plan", str(path), "--target", "spent", "--rule", "equal", "--export", library]
    done = run(*words, *options)
    program = path.with_name(f"{library}_program.py")
    program.write_text(done.stdout.replace("EPOCHS = 10", "EPOCHS = 1"))
    return runpy.run_path(str(program))


@pytest.mark.slow  # imports torch once more
def test_a_program_runs_in_a_process_of_its_own(visits):
    train_exported(visits)
    program = [sys.executable, str(visits.with_name("torch_program.py"))]
    done = subprocess.run(program, cwd=visits.parent, capture_output=True, text=True, check=True)
    assert "validation loss" in done.stdout


@pytest.mark.parametrize("library", ["torch", "keras"])
def test_a_program_holds_out_what_the_plan_held_out(visits, library, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    by_group = train_exported(visits, "--group", "user", library=library)
    users = by_group["about"]["groups"].to_numpy()
    assert not set(users[by_group["first"]]) & set(users[by_group["rest"]])
    by_time = train_exported(visits, "--time", "day", library=library)
    days = by_time["about"]["times"].to_numpy()
    assert days[by_time["first"]].max() < days[by_time["rest"]].min()
    assert len(by_time["rest"]) == 60


def test_a_program_weighs_rows(visits, capsys):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    names = train_exported(visits, "--weight", "counts")
    told = float(re.search(r"validation loss ([0-9.]+)", capsys.readouterr().out)[1])
    codes, numbers, target, _ = names["new"]
    with torch.no_grad():
        errors = (names["network"](codes, numbers) - target).numpy()[:, 0] ** 2
    counts = pd.read_csv(visits)["counts"].to_numpy()[names["rest"]]
    assert told == pytest.approx(np.average(errors, weights=counts), rel=1e-4)
    assert told != pytest.approx(errors.mean(), rel=1e-4)


def test_a_keras_program_weighs_rows(visits, monkeypatch, capsys):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    names = train_exported(visits, "--weight", "counts", library="keras")
    told = float(re.findall(r"val_loss: ([0-9.]+)", capsys.readouterr().out)[-1])
    codes, numbers, target, weights = names["new"]
    errors = (names["network"].predict([codes, numbers]) - target)[:, 0] ** 2
    # Keras divides by the rows, and weights are 1 on average over all of them.
    assert told == pytest.approx((errors * weights).mean(), rel=1e-3)
