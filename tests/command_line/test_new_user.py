"""From a raw file to a trained network, as a new user tries it: nothing but the target is named."""

import os
import subprocess
import sys

import pandas as pd
import pytest

from tests.places import ROOT

TABLES = sorted((ROOT / "workflow" / "resources" / "tables").glob("*.parquet"))
#: Rows of each table: enough for every kind of column, and quick.
ROWS = 3_000


def run(*arguments, folder):
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "KERAS_BACKEND": "torch", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("library", ["torch", "keras"])
def test_a_raw_file_becomes_a_trained_network(table, library, tmp_path):
    """One plan with nothing but --target, then one epoch of the program that it exports."""
    pytest.importorskip(library, reason=f"{library} is not installed")
    frame = pd.read_parquet(table).sample(ROWS, random_state=0)
    frame.to_csv(tmp_path / "raw.csv", index=False)  # no types, no hints
    told = run("-m", "embedalloc", "plan", "raw.csv", "--target", "y", folder=tmp_path)
    assert "raw.csv: 3,000 rows" in told.stderr
    assert "Does the plan beat equal dimensions?" in told.stdout
    words = ("raw.csv", "--target", "y", "--rule", "equal", "--export", library)
    program = run("-m", "embedalloc", "plan", *words, folder=tmp_path).stdout
    (tmp_path / "train.py").write_text(program.replace("EPOCHS = 10", "EPOCHS = 1"))
    trained = run("train.py", folder=tmp_path)
    assert "loss" in trained.stdout
    assert "nan" not in trained.stdout
