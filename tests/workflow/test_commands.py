"""Every command that README.md and CONTRIBUTING.md show works as written."""

import itertools
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embedalloc import count_levels
from tests.places import PRINTED_TABLE, ROOT, SMOKE
from tests.workflow.runner import planned, run, run_loaded

PAGES = ["README.md", "CONTRIBUTING.md", *(str(p) for p in sorted((ROOT / "docs").rglob("*.md")))]
#: Programs of the project, and those that only set it up: of the latter the files must exist.
OURS, OTHERS = ("snakemake", "make", "embedalloc", "python", "pytest"), ("pip", "conda", "apt-get")
#: Names that stand for the reader's own, and what they are here.
STANDS_FOR = {"exp2_gap": "exp1_gap", "NAME": "equal"}
#: The file with other values that docs/reproduction.md shows.
REPRODUCTION = (ROOT / "docs/reproduction.md").read_text()
(SMALL,) = re.findall(r"^```yaml\n(.*?)^```", REPRODUCTION, re.M | re.S)
#: What Snakemake does without running a job; everything else gets a dry run.
ANSWERS = ("--report", "--list", "--dag", "--rulegraph", "--lint")


def commands(page):
    """Every shell line of a page, without comments: in blocks, and in the text if of a program."""
    text = (ROOT / page).read_text()
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    rest = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    spans = (re.sub(r"\s+", " ", span) for span in re.findall(r"`([^`]+)`", rest))
    lines += [s for s in spans if s.split()[0] in OURS + OTHERS and len(s.split()) > 1]
    return [shlex.join(words) for line in lines if (words := shlex.split(line, comments=True))]


LINES = list(dict.fromkeys(line for page in PAGES for line in commands(page)))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with the files that the examples name."""
    folder = tmp_path_factory.mktemp("desk")
    rng = np.random.default_rng(0)
    levels = {"town": rng.integers(5, size=200), "shop": rng.integers(12, size=200)}
    sales = pd.DataFrame(levels).astype(str) + "x"
    sales["bought"] = rng.integers(2, size=200)
    sales.to_csv(folder / "sales.csv", index=False)
    sales.to_parquet(folder / "sales.parquet")
    visits = pd.DataFrame({"user": levels["shop"], "click": sales["bought"]}).astype(str)
    (folder / "data").mkdir()
    visits.to_parquet(folder / "data/visits.parquet")
    visits.to_parquet(folder / "sample.parquet")
    count_levels(folder / "data", output=folder / "counts.parquet")
    (folder / "t.csv").write_text(PRINTED_TABLE.read_text())
    (folder / "small.yaml").write_text(SMALL)
    return folder


def attempt(words, request):
    """Run a command, or what tries it, and return how that ended."""
    program, arguments = words[0], words[1:]
    if program == "snakemake":
        call = [*arguments]
        if "--report" in arguments:  # needs results: those of the small study
            finished = request.getfixturevalue("finished_run").project
            return run_loaded(finished, [*call, "--configfile", str(SMOKE)])
        if "small.yaml" in arguments:  # the reader's own; the project is not theirs to write in
            call += ["--snakefile", str(ROOT / "Snakefile")]
        folder = request.getfixturevalue("desk") if "small.yaml" in arguments else ROOT
        return run_loaded(folder, [*call, *([] if {*ANSWERS} & {*arguments} else ["--dry-run"])])
    if program == "make":
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(["make", "--dry-run", *arguments], cwd=ROOT, text=True, **pipes)
    if program == "embedalloc":
        folder = request.getfixturevalue("desk")
        files = [
            sorted(map(str, folder.glob(each))) if "*" in each else [each] for each in arguments
        ]
        return run_loaded(folder, [*itertools.chain(*files)], module="embedalloc")
    if program == "pytest":
        return run_loaded(ROOT, ["--collect-only", "-q", *arguments], module="pytest")
    option, module, *_ = arguments
    assert option == "-m"
    return run_loaded(ROOT, [], module, name="only imported")


@pytest.mark.parametrize("line", LINES)
def test_a_shown_command_works(line, request):
    for name, ours in STANDS_FOR.items():
        line = line.replace(name, ours)
    words = shlex.split(line)
    assert words[0] in OURS + OTHERS, f"{line!r}: say here how it is to be tried"
    if words[0] in OTHERS:
        files = [word for word in words if word.endswith((".lock", ".yml"))]
        assert all((ROOT / name).is_file() for name in files)
        return
    done = attempt(words, request)
    assert done.returncode == 0, done.stdout


def test_the_pages_show_commands_of_every_kind():
    shown = {line.split()[0] for line in LINES}
    assert shown >= {"snakemake", "make", "embedalloc"}
    assert any("--report" in line for line in LINES)


@pytest.mark.parametrize("question", ["--dag", "--rulegraph", "--summary"])
def test_questions_need_no_number_of_cores(tmp_path, question):
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), question]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 50


def test_without_cores_one_line_says_what_to_add(tmp_path):
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode
    assert done.stdout == ""
    assert "--cores N" in done.stderr.splitlines()[-1]
    assert len(done.stderr.splitlines()) <= 3


def test_a_package_that_snakemake_itself_lacks_is_named_with_the_way_out(tmp_path):
    """With `--sdm conda` only the jobs run in the environment that Snakemake makes."""
    (tmp_path / "pyarrow.py").write_text("raise ModuleNotFoundError(name='pyarrow')")
    done = run(tmp_path, "--dry-run", environment={"PYTHONPATH": str(tmp_path)})
    assert done.returncode
    assert "lacks pyarrow: pip install -r requirements.lock" in done.stdout
    assert "Traceback" not in done.stdout


TWICE = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{p: *a{i - 1}, q: *a{i - 1}}}\n" for i in range(1, 40)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("exp3: &a {replications: 100, again: *a}", "again: nested more than 20 deep"),
        (TWICE, "more than 100,000 values in all; look for repeated aliases"),
    ],
)
def test_a_file_that_snakemake_would_merge_for_ever_is_refused(tmp_path, text, message):
    file = tmp_path / "other.yaml"
    file.write_text(text)
    done = run(tmp_path, "--dry-run", config=file)
    assert done.returncode == 1
    (_, first, second) = done.stdout.splitlines()
    assert first.startswith(f"{file}: ")
    assert message in second


def test_a_value_that_snakemake_would_merge_for_ever_is_refused(tmp_path):
    done = run(tmp_path, "--dry-run", "--config", "exp3=&a {x: *a}", "seed=7", config=None)
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].startswith("--config exp3: ")
    assert "nested more than 20 deep" in done.stdout


def test_a_dry_run_is_a_short_list(tmp_path):
    said = run(tmp_path, "--dry-run", config=None).stdout.splitlines()
    assert "simulate_exp3                           5" in said
    assert len(said) < 50


def test_a_run_says_one_short_line_per_job_and_all_of_a_failure(tmp_path):
    target = "figures/exp1_gap.pdf"
    said = run(tmp_path, target).stdout.splitlines()
    assert "4 jobs" in said
    assert "4 of 4: plot_exp1_gap" in said
    assert len(said) < 12
    loud = "theory={generalisation: {noise: 1000000000.0}}"
    failed = run(tmp_path, "figures/theory_generalisation.pdf", "--config", loud)
    assert failed.returncode
    said = failed.stdout.splitlines()
    at = said.index("FAILED: simulate_theory_generalisation")
    assert said[at + 1] == "  log results/logs/simulate_theory_generalisation.log:"
    assert "theory.generalisation: with noise 1e+09" in "".join(said[at + 2 :])


def test_a_terminal_shows_a_bar(tmp_path):
    """A run in a terminal of its own, which a pair of devices stands in for."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    command += ["--cores", "1", "--configfile", str(SMOKE), "--", "figures/theory_allocation.pdf"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        try:
            while part := os.read(ours, 4096):
                said += part
        except OSError:  # how Linux says that the other side was closed
            pass
    os.close(ours)
    assert process.returncode == 0
    bars = re.findall(r"\x1b\[K(\[[#.]+\] \d of 2.*?)\r", said.decode())
    assert bars[0] == f"[{'.' * 24}] 0 of 2"
    assert f"{bars[0]}  simulate_theory_allocation" in bars
    assert bars[-1] == f"[{'#' * 24}] 2 of 2"
    assert Path(tmp_path / "figures/theory_allocation.pdf").exists()


@pytest.mark.parametrize("way", ["--configfile", "--config"])
def test_one_value_can_be_changed_alone(tmp_path, way):
    """Both ways of the README lead to the same plan: fewer parts, and nothing else changes."""
    (tmp_path / "few.yaml").write_text("exp3:\n  replications_per_job: 150\n")
    words = ["few.yaml"] if way == "--configfile" else ["exp3={replications_per_job: 150}"]
    plan = planned(tmp_path, way, *words, "--", "figures/exp3_allocations.pdf", config=None)
    assert plan == {"simulate_exp3": 2, "plot_exp3_allocations": 1}
