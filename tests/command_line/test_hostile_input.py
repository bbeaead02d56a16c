"""Files, names and outputs that nobody hopes for: one line, exit code 2, and nothing is lost."""

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
import zipfile

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from embedalloc.command_line import main

ROWS = 40
GOOD = "a,x,y\n" + "".join(f"{'pqr'[k % 3]},{k}.5,{k % 2}\n" for k in range(ROWS))
QUICK = ("--target", "y", "--budget", "60", "--rule", "equal")
#: A colour, and a new title of the window.
ESCAPES = "\x1b[31mred\x1b]0;title\x07"


def run(*arguments, **words):
    return CliRunner().invoke(main, [*map(str, arguments)], **words)


def run_outside(*arguments, **words):
    """Run in a process of its own, as from a shell."""
    words = {"capture_output": True, "timeout": 300, "check": False, **words}
    return subprocess.run([sys.executable, "-m", "embedalloc", *map(str, arguments)], **words)


def expect_one_line(done, message):
    """Nothing but the error; what columns are taken for may stand above it."""
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    *roles, last = done.stderr.splitlines()
    assert last.startswith("Error: ")
    assert message in last
    assert not roles or "taken as" in done.stderr


def write(path, content=GOOD):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def plan_of(path, *options, **words):
    done = run("plan", path, *QUICK, "--json", *options, **words)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_what_is_no_file_is_told_at_once(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, message in (
        ("/dev/zero", "/dev/zero: a device, not a file"),
        (pipe, "a named pipe"),
        (tmp_path, "Is a directory"),
        ("none.csv", "none.csv: No such file or directory"),
    ):
        done = run_outside("audit", path)  # a process of its own can be ended, should it hang
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1
        assert message in done.stderr.decode()
        for command in ("plan", "compare"):
            expect_one_line(run(command, path, "--target", "y"), message)


def test_standard_input_is_a_file_like_others(tmp_path):
    expected = plan_of(write(tmp_path / "data.csv"))
    assert plan_of("-", input=GOOD) == expected
    assert plan_of("-", input=gzip.compress(GOOD.encode())) == expected
    done = run_outside("plan", "/dev/stdin", *QUICK, "--json", input=GOOD.encode())
    assert json.loads(done.stdout) == expected
    done = run_outside("audit", "-", "--n", "10", input=b"model,acc\na,0.8\n")
    assert (done.returncode, done.stderr) == (0, b"")
    with open("/dev/zero", "rb") as endless:
        done = run_outside("audit", "-", stdin=endless)
    assert (done.returncode, done.stderr) == (2, b"Error: -: a device, not a file\n")


def test_a_pipe_of_the_shell_is_read(tmp_path):
    reading, writing = os.pipe()
    feeder = threading.Thread(target=lambda: (os.write(writing, GOOD.encode()), os.close(writing)))
    feeder.start()
    done = run_outside("plan", f"/dev/fd/{reading}", *QUICK, "--json", pass_fds=[reading])
    feeder.join()
    os.close(reading)
    assert json.loads(done.stdout) == plan_of(write(tmp_path / "data.csv"))


def zipped(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.csv", content)
    return file.getvalue()


PACKERS = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zip": zipped,
    "zst": lambda content: pa.compress(content, codec="zstd", asbytes=True),
}


@pytest.mark.parametrize("ending", PACKERS)
def test_compressed_files_are_read_and_damaged_ones_refused(tmp_path, ending):
    packed = PACKERS[ending](GOOD.encode())
    expected = plan_of(write(tmp_path / "plain.csv"))
    assert plan_of(write(tmp_path / f"data.csv.{ending}", packed)) == expected
    for damage in (
        packed[: len(packed) // 2],
        packed[:2],
        b"\xff" * 4 + packed[4:],
        packed[:20] + bytes(b ^ 0x55 for b in packed[20:40]) + packed[40:],
        b"",
    ):
        done = run("plan", write(tmp_path / f"bad.csv.{ending}", damage), *QUICK)
        expect_one_line(done, f"bad.csv.{ending}: ")


def test_an_archive_of_two_files_does_not_say_which(tmp_path):
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
        archive.writestr("one.csv", GOOD)
        archive.writestr("two.csv", GOOD)
    done = run("plan", tmp_path / "two.zip", *QUICK)
    expect_one_line(done, "the archive holds 2 files; take the one that is meant out")


@pytest.mark.parametrize("command", ["plan", "compare"])
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_too_few_rows(tmp_path, command, rows):
    path = write(tmp_path / "data.csv", "\n".join(GOOD.splitlines()[: rows + 1]))
    expect_one_line(
        run(command, path, "--target", "y", "--task", "regression"),
        "in all 1 rows" if rows == 1 else f"{rows} sample(s), while a minimum of 10 rows",
    )


@pytest.mark.parametrize(
    "content",
    [
        GOOD.replace("39.5,1", "39.5,2"),
        GOOD.replace(",1\n", ",0\n").replace("39.5,0", "39.5,1"),
        "\n".join(GOOD.splitlines()[:11]),
    ],
)
def test_rare_classes_and_few_rows_are_planned_for(tmp_path, content):
    path = write(tmp_path / "data.csv", content)
    done = run("plan", path, "--target", "y", "--budget", 60)
    assert done.exit_code == 0, done.output
    assert "nan" not in done.stdout
    words = ("--target", "y", "--budget", 60, "--splits", 1, "--rules", "screened")
    done = run("compare", path, *words)
    assert done.exit_code == 0, done.output
    assert "nan" not in done.stdout


@pytest.mark.parametrize("value", ["1e308", "-1.7e308", "1e200", "1e-300", "5e-324"])
def test_numbers_at_the_ends_of_floating_point(tmp_path, value):
    """What is large or small in one unit is ordinary in another."""
    for column in (1, 2):
        lines = [line.split(",") for line in GOOD.splitlines()]
        for number, row in enumerate(lines[1:]):
            row[column] = value if number % 3 else "0"
        text = "\n".join([GOOD.splitlines()[0], *(",".join(line) for line in lines[1:])])
        words = ("--target", "y", "--budget", "60", "--task", "regression", "--json")
        done = run("plan", write(tmp_path / "data.csv", text), *words)
        assert done.exit_code == 0, done.output
        losses = [each["validation_loss"] for each in json.loads(done.stdout)["candidates"]]
        assert None not in losses


def test_a_row_with_a_cell_more_or_less_is_named(tmp_path):
    lines = GOOD.splitlines()
    for cells in ("p,1.5,0,7", "p,1.5", '"p\nq",1.5,0,7'):
        path = write(tmp_path / "data.csv", "\n".join([*lines[:20], cells, *lines[20:]]))
        line = 21 + cells.count("\n")
        expect_one_line(run("plan", path, *QUICK), f"line {line} has {cells.count(',') + 1} cells")
    every = "\n".join([lines[0], *(f"{line},9" for line in lines[1:])])
    expect_one_line(run("plan", write(path, every), *QUICK), "line 2 has 4 cells, the header has 3")
    expect_one_line(run("plan", write(path, GOOD + '"p,1,0\n'), *QUICK), "line 42: unexpected end")


def test_codes_with_leading_zeros_stay_apart(tmp_path):
    codes = ["007", "07", "7", "NA", ""]
    rows = "".join(f"{codes[k % 5]},{k % 2}\n" for k in range(ROWS))
    path = write(tmp_path / "data.csv", "code,y\n" + rows)
    (field,) = plan_of(path)["fields"]
    assert (field["levels"], field["rows"]) == (6, ROWS - 8)  # four, the missing and the unseen
    (field,) = plan_of(path, "--missing", "NA", "--missing", "7")["fields"]
    assert (field["levels"], field["rows"]) == (4, ROWS - 24)


def test_lists_and_records_in_parquet_are_named(tmp_path):
    columns = {"a": list("pqr") * 10, "y": [0.5, 1.5] * 15}
    for nested in ([[1, 2]] * 30, [{"u": 1}] * 30):
        pq.write_table(pa.table(columns | {"deep": nested}), tmp_path / "data.parquet")
        done = run("plan", tmp_path / "data.parquet", *QUICK)
        expect_one_line(done, "column 'deep' holds lists or records")
        assert plan_of(tmp_path / "data.parquet", "--ignore", "deep")["dimensions"] == {"a": 3}


def test_a_pandas_index_is_a_column_of_its_parquet_file(tmp_path):
    frame = pd.DataFrame({"town": list("pqr") * 10, "y": [0, 1] * 15})
    frame.set_index("town").to_parquet(tmp_path / "data.parquet")
    assert list(plan_of(tmp_path / "data.parquet")["dimensions"]) == ["town"]
    frame.assign(shop=frame["town"]).set_index(["town", "shop"]).to_parquet(
        tmp_path / "data.parquet"
    )
    assert list(plan_of(tmp_path / "data.parquet")["dimensions"]) == ["town", "shop"]


def test_a_target_of_lists_or_dates_is_refused(tmp_path):
    path = tmp_path / "data.parquet"
    for values, message in (
        ([[1], [2]] * 15, "'y' holds lists or records"),
        (pd.date_range("2020-01-01", periods=30), "target 'y' holds dates"),
    ):
        pq.write_table(pa.table({"a": list("pqr") * 10, "y": pa.array(values)}), path)
        expect_one_line(run("plan", path, *QUICK), message)


@pytest.mark.parametrize("option", ["--numeric", "--categorical", "--ignore"])
def test_the_target_has_no_other_role(tmp_path, option):
    done = run("plan", write(tmp_path / "data.csv"), *QUICK, option, "y")
    expect_one_line(done, f"{option}: 'y' is the target")


def test_one_column_has_one_role(tmp_path):
    words = ("--numeric", "x", "--categorical", "x")
    done = run("plan", write(tmp_path / "data.csv"), *QUICK, *words)
    expect_one_line(done, "--categorical and --numeric both name 'x'")


def test_escape_sequences_never_reach_the_terminal(tmp_path):
    """In names, levels, classes, file names and options, in results and in errors."""
    path = write(tmp_path / f"{ESCAPES}.csv", GOOD.replace("a,x,y", f"{ESCAPES},x,y"))
    odd = write(tmp_path / "odd.csv", GOOD.replace("q", ESCAPES))
    calls = [
        run("plan", path, *QUICK),
        run("plan", path, *QUICK, "--json"),
        run("plan", path, *QUICK, "--export", "torch"),
        run("plan", path, "--target", ESCAPES),
        run("plan", odd, *QUICK, "--fixed", f"{ESCAPES}=1"),
        run("plan", write(odd, GOOD.replace("p", ESCAPES)), *QUICK, "--numeric", "a"),
        run("compare", path, "--target", "y", "--rules", ESCAPES),
        run("solve", "--cardinality", f"{ESCAPES}=9", "--budget", "40"),
        run("solve", "--cardinality", f"{ESCAPES}=9", "--budget", "40", f"--{ESCAPES}"),
        run("solve", "--cardinality", f"{ESCAPES}", "--budget", "40"),
        run("solve", ESCAPES),
        run(ESCAPES),
        run(f"--{ESCAPES}"),
        run("audit", write(tmp_path / "t.csv", f"model,acc,{ESCAPES}\na,0.8,1\n"), "--n", 10),
        run("audit", tmp_path / ESCAPES),
    ]
    for done in calls:
        assert done.exit_code in (0, 2), done.output
        assert "\x1b" not in done.output
        assert "\x07" not in done.output
        assert "red" in done.output


def test_names_outside_the_encoding_of_the_terminal(tmp_path):
    content = GOOD.replace("a,x,y", "größe 大,x,y")
    name = os.fsencode(tmp_path) + b"/\xff.csv"
    with open(name, "wb") as file:
        file.write(content.encode())
    plan = ("plan", os.fsdecode(name), *QUICK)
    solve = ("solve", "--cardinality", "größe 大=9", "--budget", "40")
    for setting in ({"LC_ALL": "C"}, {"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "cp1252"}):
        environment = {**os.environ, **setting}
        done = run_outside(*plan, "--json", env=environment)
        assert list(json.loads(done.stdout)["dimensions"]) == ["größe 大"]
        done = run_outside(*solve, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        done = run_outside("audit", os.fsdecode(b"\xfe"), env=environment)
        assert done.stderr == b"Error: \\udcfe: No such file or directory\n"


PICTURE_NAMES = ["$\\frac$", "$x", "100 % _{a}^b #&~", "大", ESCAPES, "a" * 300]


@pytest.mark.parametrize("name", PICTURE_NAMES)
def test_any_name_can_be_drawn(tmp_path, name):
    path = write(tmp_path / "data.csv", GOOD.replace("a,x,y", f'"{name}",x,y'))
    done = run("plan", path, *QUICK, "--plot", tmp_path / "plan.pdf")
    assert done.exit_code == 0, done.output
    assert "equal: " in done.stdout
    assert (tmp_path / "plan.pdf").stat().st_size > 1000
    assert ("are not in the font" in done.stderr) == (name == "大")


def test_a_figure_that_fails_costs_neither_plan_nor_an_older_figure(tmp_path, monkeypatch):
    path, plot = write(tmp_path / "data.csv"), tmp_path / "plan.png"
    plot.write_bytes(b"older")

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("embedalloc.data.figure.Figure.savefig", fail)
    done = run("plan", path, *QUICK, "--plot", plot)
    assert done.exit_code == 2
    assert done.stdout == run("plan", path, *QUICK).stdout
    assert "plan.png: No space left on device; there is no figure, but the plan" in done.stderr
    assert plot.read_bytes() == b"older"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data.csv", "plan.png"]


def test_a_figure_has_a_place_before_the_work_starts(tmp_path):
    path = write(tmp_path / "data.csv")
    (tmp_path / "folder.png").mkdir()
    done = run("plan", path, *QUICK, "--plot", tmp_path / "folder.png")
    expect_one_line(done, "folder.png is there and is not a file")
    done = run("plan", path, *QUICK, "--plot", "/proc/plan.png")  # where even root cannot write
    assert done.exit_code == 2
    assert done.stdout in ("", run("plan", path, *QUICK).stdout)
    assert "--plot: /proc" in done.stderr


COMMANDS = [
    ("rules",),
    ("--help",),
    ("solve", "--cardinality", "a=9", "--budget", "40"),
    ("solve", "--cardinality", "a=9", "--budget", "40", "--json"),
]


@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_and_a_closed_pipe_end_without_a_traceback(words):
    with open("/dev/full", "wb") as full:
        done = run_outside(*words, stdout=full, stderr=subprocess.PIPE, capture_output=False)
    assert done.returncode == 2
    assert done.stderr == b"Error: standard output: No space left on device\n"
    reading, writing = os.pipe()
    os.close(reading)
    done = run_outside(*words, stdout=writing, stderr=subprocess.PIPE, capture_output=False)
    os.close(writing)
    assert done.returncode != 0
    assert done.stderr == b""


def test_closed_outputs_end_without_a_traceback(tmp_path):
    path = write(tmp_path / "data.csv")
    call = f"{sys.executable} -m embedalloc plan {path} {' '.join(QUICK)}"
    for closed in (">&- 2>&-", "<&-"):
        done = subprocess.run(
            ["sh", "-c", f"{call} {closed}"], capture_output=True, timeout=60, check=False
        )
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
    done = subprocess.run(
        ["sh", "-c", f"{call.replace(str(path), '-')} <&-"], capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, b"Error: -: the standard input is closed\n")


@pytest.mark.parametrize("dimension", ["9" * 5000, "٣", "1e3", "-1", ""])
def test_a_settled_dimension_is_a_plain_number(tmp_path, dimension):
    path = write(tmp_path / "table.csv")
    done = run("plan", path, *QUICK, "--fixed", f"a={dimension}")
    expect_one_line(done, "is not NAME=DIM with a whole number")
    assert len(done.stderr.splitlines()[-1]) < 200
