"""Files are whole or absent, errors are one line, and jobs end with their workflow."""

import errno
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import matplotlib.font_manager
import pytest

from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.workflow.files import whole_file, write_text
from embedalloc.study.workflow.job import STARTED, WORKFLOW, logged
from embedalloc.study.workflow.style import new_figure, save_figure
from embedalloc.study.workflow.tables import TableError


def test_a_file_appears_complete_and_alone(tmp_path):
    target = tmp_path / "deep/er/page.md"
    with whole_file(target) as partial:
        assert partial.suffix == ".md"
        partial.write_text("half")
        assert not target.exists()
        partial.write_text("whole")
    assert [path.name for path in target.parent.iterdir()] == ["page.md"]
    assert target.read_text() == "whole"


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_who_may_read_a_file_is_up_to_the_umask(tmp_path, umask):
    target, before = tmp_path / "page.md", os.umask(umask)
    try:
        for text in ("new", "replaced"):
            write_text(target, text)
            assert target.stat().st_mode & 0o777 == 0o666 & ~umask
    finally:
        os.umask(before)


def test_leftovers_of_killed_writes_go_with_the_next_write(tmp_path):
    target, other = tmp_path / "a[1].parquet", tmp_path / "b.parquet"
    for name in (".part-a[1].parquet-x.parquet", ".part-a[1].parquet-y.parquet"):
        (tmp_path / name).write_text("left over")
    with whole_file(other) as partial:
        partial.write_text("b")
    assert len(list(tmp_path.iterdir())) == 3
    with whole_file(target) as partial:
        partial.write_text("a")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a[1].parquet", "b.parquet"]


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda place: place.write_text("a file"), "File exists"),
        (lambda place: place.symlink_to("nowhere/at/all"), "File exists"),
    ],
)
def test_a_folder_that_is_none_is_named(tmp_path, prepare, reason):
    prepare(tmp_path / "figures")
    with (
        pytest.raises(OSError, match=rf"cannot be written \({reason}\): '.*figures/x.pdf'"),
        whole_file(tmp_path / "figures/x.pdf"),
    ):
        pass


def test_a_read_only_place_is_named(tmp_path, monkeypatch):
    def refuse(*given, **options):
        raise OSError(errno.EROFS, "Read-only file system", "/place/.part-xyz")

    monkeypatch.setattr(Path, "touch", refuse)
    with (
        pytest.raises(OSError, match=r"cannot be written \(Read-only file system\): '.*x\.pdf'"),
        whole_file(tmp_path / "x.pdf"),
    ):
        pass


LIMITED = """
import sys, pandas as pd
from embedalloc.study.workflow.job import logged
from embedalloc.study.workflow.style import new_figure, save_figure
from embedalloc.study.workflow.tables import Column, Contract, write_table
contract = Contract("wide", {"row": Column("integer", "which")}, key=("row",))
with logged("log/limited.log"):
    if sys.argv[1] == "table":
        frame = pd.DataFrame({"row": range(100_000)})
        write_table("wide.parquet", frame, contract, settings={}, seed=0)
    else:
        save_figure(new_figure()[0], pdf="x.pdf", png="x.png")
"""


@pytest.mark.parametrize(("what", "name"), [("table", "wide.parquet"), ("figure", "x.p")])
def test_a_full_disk_leaves_one_line_and_no_damaged_file(tmp_path, what, name):
    """A limit on the size of files fails the same write that a full disk fails."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, what],
        cwd=tmp_path,
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ")
    assert f"cannot be written (File too large): '{name}" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert (tmp_path / "log/limited.log").read_text() == f"{STARTED}\n{done.stderr}"


def test_a_missing_font_is_named_and_nothing_is_drawn(tmp_path, monkeypatch):
    def missing(font, **options):
        raise ValueError(f"Failed to find font {font}")

    monkeypatch.setattr(matplotlib.font_manager.fontManager, "findfont", missing)
    monkeypatch.setattr("embedalloc.study.workflow.style.findfont", missing)
    with pytest.raises(OSError, match=r"the font is missing, .* install that again: 'DejaVu Sans'"):
        save_figure(new_figure()[0], pdf=tmp_path / "x.pdf", png=tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error",
    [TableError("x.parquet: damaged"), ConfigError("x: too few"), OSError(28, "No space", "x")],
)
def test_a_known_error_ends_a_job_with_one_line(tmp_path, capsys, error):
    log = tmp_path / "logs/x.log"

    def work():
        with logged(log):
            print("working")
            raise error

    with pytest.raises(SystemExit) as caught:
        work()
    assert caught.value.code == 1
    assert capsys.readouterr().err == f"error: {error}\n"
    assert log.read_text() == f"{STARTED}\nworking\nerror: {error}\n"


def test_a_log_that_cannot_be_written_ends_a_job_with_one_line(tmp_path, capsys):
    (tmp_path / "logs").write_text("a file")
    with pytest.raises(SystemExit), logged(tmp_path / "logs/x.log"):
        raise AssertionError("no work without a log")
    assert capsys.readouterr().err.count("\n") == 1


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("death", "last"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (interrupt, "KeyboardInterrupt"),
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), "Fatal Python error: Segmentation fault"),
        (lambda: os.kill(os.getpid(), signal.SIGABRT), "Fatal Python error: Aborted"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), STARTED),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), STARTED),
        (lambda: os._exit(3), STARTED),
    ],
)
def test_a_log_says_how_the_job_ended(tmp_path, death, last):
    def work():
        with logged(tmp_path / "x.log"):
            death()

    # A fork: a new process would load packages longer than it lives.
    job = multiprocessing.get_context("fork").Process(target=work)
    job.start()
    job.join()
    assert job.exitcode != 0
    log = (tmp_path / "x.log").read_text()
    assert log.startswith(STARTED)
    assert last in log


ORPHAN = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", '''
import sys, time
from embedalloc.study.workflow.job import logged
with logged("job.log"):
    print("at work", file=sys.__stdout__, flush=True)
    time.sleep(600)
'''], stdout=subprocess.PIPE, text=True)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_job_ends_when_its_workflow_is_killed(tmp_path):
    parent = subprocess.run(
        [sys.executable, "-c", ORPHAN], cwd=tmp_path, stdout=subprocess.PIPE, text=True, check=False
    )
    assert parent.returncode == -signal.SIGKILL
    child = int(parent.stdout)
    for _ in range(600):
        if not alive(child):
            break
        time.sleep(0.1)
    try:
        assert not alive(child)
    finally:
        if alive(child):
            os.kill(child, signal.SIGKILL)


def test_a_job_whose_workflow_ended_while_it_started_does_no_work(tmp_path, monkeypatch):
    with subprocess.Popen(["true"]) as workflow:
        workflow.wait()
    monkeypatch.setenv(WORKFLOW, str(workflow.pid))
    with pytest.raises(SystemExit, match="has ended"), logged(tmp_path / "x.log"):
        raise AssertionError("no work without a workflow")


LATE = """
import os, subprocess, sys
os.environ["EMBEDALLOC_WORKFLOW"] = str(os.getpid())
subprocess.Popen([sys.executable, "-c", '''
import os, sys
workflow = os.getppid()
print("begun", flush=True)
while os.getppid() == workflow:
    pass
from embedalloc.study.workflow.job import logged
with logged("job.log"):
    print("at work")
'''])
sys.stdin.read()
"""


def test_a_job_does_nothing_if_its_workflow_was_killed_before_it_could_look(tmp_path):
    """The killed workflow stays in the table of processes, for nobody waits for it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(
        [sys.executable, "-c", LATE], cwd=tmp_path, text=True, **pipes
    ) as workflow:
        assert workflow.stdout.readline() == "begun\n"
        os.kill(workflow.pid, signal.SIGKILL)
        # Until the job has ended too, which holds the other end of the pipe.
        assert workflow.stderr.read() == "error: the workflow that started this job has ended\n"
        assert workflow.stdout.read() == ""
    assert list(tmp_path.iterdir()) == []


def alive(process: int) -> bool:
    """Whether a process runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
