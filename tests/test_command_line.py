"""The command line: readable answers, and mistakes in one line with exit code 2."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import embedalloc
from embedalloc.command_line import main

PAPER = Path(__file__).resolve().parents[1] / "workflow/resources/paper_table1.csv"


def run(*arguments):
    return CliRunner().invoke(main, ["audit", *map(str, arguments)])


def test_the_audit_reads_well_in_80_columns():
    done = run(PAPER)
    assert done.exit_code == 0
    assert done.stderr == ""
    assert "smallest: n = 276 with 153 positives" in done.stdout
    assert "  ! unconstrained: mcc printed 0.620, implied 0.626\n" in done.stdout
    assert "columns left out: validation_logloss, brier, ece, seconds_per_epoch" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_holds_every_solution():
    done = run(PAPER, "--json", "--n-min", 270, "--n-max", 600)
    found = json.loads(done.stdout)
    assert (found["n_cells"], found["n_unexplained"], found["complete"]) == (20, 1, True)
    assert [(s["n"], s["positives"]) for s in found["solutions"]] == [(276, 153), (552, 306)]
    first = found["solutions"][0]
    assert first["matrices"]["uniform"] == [{"tp": 132, "fp": 29, "fn": 21, "tn": 94}]
    (cell,) = first["unexplained"]
    assert (cell["row"], cell["column"], cell["printed"]) == ("unconstrained", "mcc", "0.620")
    assert cell["implied"] == pytest.approx(0.6263, abs=5e-5)
    assert cell["matrix"] == {"tp": 127, "fp": 25, "fn": 26, "tn": 98}


def test_a_known_test_set_and_percent(tmp_path):
    table = tmp_path / "percent.csv"
    table.write_text("model,acc,f1,precision,mcc\na,83.7,85.1,86.0,67.1\n")
    done = run(table, "--percent", "--n", 276, "--positives", 153)
    assert "test sets that reach this: 1\n" in done.stdout
    assert done.stdout.splitlines()[-1].split() == ["a", "129", "21", "24", "102"]


def test_a_table_that_fits_nowhere_ends_with_a_way_out(tmp_path):
    table = tmp_path / "odd.csv"
    table.write_text("model,acc,prec,rec,f1\na,0.95,0.10,0.99,0.20\n")
    done = run(table, "--n-max", 60)
    assert done.exit_code == 0
    assert "every one leaves at least 2 unexplained\ngive --n for the best" in done.stdout
    # 57 of 60 right allow no such precision or F1, and 60 rows no recall of 0.99
    assert "fewest unexplained cells: 3" in run(table, "--n", 60).stdout


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (None, (), "table.csv: No such file or directory"),
        (b"model,acc\n\xff,0.8\n", (), "table.csv: byte 10 is not UTF-8 text"),
        (b"model,loss\na,0.8\n", (), "no metric after the first of the columns"),
        (b"model,acc\na,1.8\n", (), "row 'a', column 'accuracy', value '1.8': 0 to 1 is allowed"),
        (b"model,acc\na,good\n", (), "value 'good': a plain decimal number"),
        (b'model,acc\n"a\nb",0.8,1\n', (), r"row 'a\nb') has 3 cells"),
        (b"model,acc\na,0.8\n", ("--n", "0"), "n from 0 to 0"),
        (b"model,acc\na,0.8\n", ("--n", "9", "--positives", "10"), "positives = 10: 0 to 9"),
        (b"model,acc\na,0.8\n", ("--n", "9", "--n-max", "10"), "--n names one size"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path, content, options, message):
    table = tmp_path / "table.csv"
    if content is not None:
        table.write_bytes(content)
    done = run(table, *options)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_a_folder_is_not_a_table(tmp_path):
    done = run(tmp_path)
    assert done.exit_code == 2
    assert done.stderr == f"Error: {tmp_path}: Is a directory\n"


def test_the_module_runs_as_a_command():
    def python(*arguments):
        command = [sys.executable, "-m", "embedalloc", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert python("--version").stdout == f"embedalloc, version {embedalloc.__version__}\n"
    assert python("--help").stdout.startswith("Usage: embedalloc [OPTIONS] COMMAND")
    done = python("audit", "nowhere.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: nowhere.csv: No such file or directory\n"
