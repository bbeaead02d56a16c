"""`embedalloc memory`: counts in, a plan out, every mistake in one line."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from embedalloc import plan_memory
from embedalloc.command_line import main

COUNTS = {
    "user": np.maximum(1, 2000 * np.arange(1, 301) ** -1.1).astype(np.int64),
    "item.id": np.maximum(1, 900 * np.arange(1, 91) ** -1.1).astype(np.int64),
    "sex": np.array([4000, 2000]),
}


@pytest.fixture(params=["csv", "parquet"])
def file(request, tmp_path):
    rows = [
        (name, f"level {k}", int(n)) for name, each in COUNTS.items() for k, n in enumerate(each)
    ]
    frame = pd.DataFrame(rows, columns=["field", "level", "rows"]).sample(frac=1, random_state=0)
    frame = frame.sort_values("field", key=lambda names: names.map(list(COUNTS).index))
    path = tmp_path / f"counts.{request.param}"
    frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
    return path


def run(*words):
    return CliRunner().invoke(main, ["memory", *map(str, words)])


def test_the_json_is_the_plan_of_the_library(file):
    words = ["--budget", "6 kB", "--optimizer", "adam", "--width", 8, "--key-bytes", 4]
    words += ["--signal", "user=2", "--smoothing", 10, "--smoothing", "sex=5", "--no-hashing"]
    out = run(file, *words, "--json")
    assert out.exit_code == 0, out.output
    expected = plan_memory(
        COUNTS,
        "6 kB",
        optimizer="adam",
        width=8,
        key_bytes=4,
        signals={"user": 2},
        smoothing={"user": 10, "item.id": 10, "sex": 5},
        hashing=False,
    )
    assert json.loads(out.stdout) == json.loads(json.dumps(expected.to_dict()))


def test_the_table_fits_a_terminal_and_names_the_surrogate(file):
    out = run(file, "--budget", "2 kB")
    assert out.exit_code == 0
    assert out.stdout.startswith("field")
    assert "by the surrogate, at most 0 above the optimum" in out.stdout
    assert max(map(len, out.stdout.splitlines())) <= 80


def test_peers_are_in_one_table_beside_the_plan(file):
    out = run(file, "--budget", "1 kB", "--compare", "--format", "float32")
    lines = out.stdout.splitlines()
    assert "equal dimensions        does not fit" in lines
    assert lines[-1].split()[0] == "exact"
    content = json.loads(run(file, "--budget", "1 kB", "--compare", "--json").stdout)
    assert content["peers"]["equal dimensions"] is None
    assert content["peers"]["exact"]["error"] == content["error"]


def test_torchrec_and_a_file_to_write_to(file, tmp_path):
    place = tmp_path / "plan.json"
    assert run(file, "--budget", "2 kB", "--export", "torchrec", "--output", place).exit_code == 0
    expected = plan_memory(COUNTS, "2 kB").to_torchrec()
    assert json.loads(place.read_text()) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--budget", "2 gold"], "'gold' in '2 gold' is not a unit"),
        (["--budget", "2 kB", "--format", "int2"], "'int2' is not one of float32"),
        (["--budget", "2 kB", "--optimizer", "lion"], "'lion' is not one of sgd"),
        (["--budget", "2 kB", "--dimension", "x"], "--dimension: 'x' is not a number"),
        (["--budget", "2 kB", "--width", "1.5"], "--width: 1.5 is not a whole number"),
        (["--budget", "2 kB", "--export", "keras"], "--export: 'keras' is not torchrec"),
        (["--budget", "2 kB", "--export", "torchrec", "--json"], "--json"),
        (["--budget", "2 kB", "--export", "torchrec", "--compare"], "leave --compare out"),
        (["--budget", "2 kB", "--signal", "shop=1"], "signals: 'shop' is not a field"),
    ],
)
def test_mistakes_are_told_in_a_line(file, words, message):
    out = run(file, *words)
    assert out.exit_code == 2
    assert message in out.stderr
    assert len(out.stderr.strip().splitlines()) <= 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "no column 'field'; it needs field, level, rows and has"),
        ("field,rows\n", "no rows"),
        ("", "Empty CSV file"),
        ("field,rows\nuser,x\n", "rows: 'x' is not a whole number of at least 1"),
        ("field,rows\nuser,\nuser,3\n", "rows: a line has none"),
        ("field,rows\nuser,-3\n", "rows: -3 is not a whole number of at least 1"),
    ],
)
def test_files_that_hold_no_counts_are_refused(tmp_path, text, message):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    out = run(path, "--budget", "2 kB")
    assert out.exit_code == 2
    assert f"{path.name}: " in out.stderr
    assert message in out.stderr


def test_counts_without_names_from_standard_input_and_from_a_folder_make_the_same_plan(tmp_path):
    rows = [(name, int(n)) for name, each in COUNTS.items() for n in each]
    nameless = pd.DataFrame(rows, columns=["field", "rows"])
    nameless[:200].to_parquet(tmp_path / "1.parquet")
    nameless[200:].to_parquet(tmp_path / "2.parquet")
    whole = nameless.to_csv(index=False), nameless.to_parquet()
    found = [run(tmp_path, "--budget", "2 kB", "--json").stdout]
    for content in whole:
        words = ["memory", "-", "--budget", "2 kB", "--json"]
        found.append(CliRunner().invoke(main, words, input=content).stdout)
    expected = json.loads(json.dumps(plan_memory(COUNTS, "2 kB").to_dict()))
    assert [json.loads(each) for each in found] == [expected] * 3


def test_an_empty_folder_is_refused(tmp_path):
    out = run(tmp_path, "--budget", "2 kB")
    assert out.exit_code == 2
    assert "no file with columns in this folder" in out.stderr


def test_a_file_that_is_not_there_is_named(tmp_path):
    out = run(tmp_path / "none.csv", "--budget", "2 kB")
    assert out.exit_code == 2
    assert "none.csv: No such file or directory" in out.stderr
