"""What surrounds a run: home, temporary files, settings of other programs, the network."""

import base64
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from contextlib import suppress

import pyarrow.parquet as pq
import pytest

from tests.workflow.hostile import TELLTALE, notes
from tests.workflow.runner import complete, planned, run, start

PATIENTS = "results/heart/patients.parquet"


def test_no_program_of_a_run_connects_anywhere(finished_run):
    """Not even to this computer; the guard was there in Snakemake and in every job."""
    programs = list(notes(finished_run.guard, "programs"))
    logs = [path.stem for path in (finished_run.project / "results/logs").iterdir()]
    assert len(logs) > 25
    for rule in logs:
        assert any(program.endswith(f".{rule}.py") for program in programs), rule
    assert list(notes(finished_run.guard, "connections")) == []


def test_the_guard_refuses_and_notes_a_connection(finished_run, tmp_path):
    shutil.copy(finished_run.guard / "sitecustomize.py", tmp_path)
    call = "import socket; socket.create_connection(('127.0.0.1', 9))"
    done = subprocess.run(
        [sys.executable, "-c", call],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert b"this run must do without a network" in done.stderr
    assert len(list(notes(tmp_path, "connections"))) == 1


def layers(content):
    """Yield the bytes of a file, and those packed inside: streams of a PDF, text of a PNG, data."""
    yield content
    for packed in re.finditer(rb"stream\r?\n|zTXt[^\0]*\0\0|iTXt[^\0]*\0\x01\0", content):
        with suppress(zlib.error):
            yield zlib.decompressobj().decompress(content[packed.end() :])
    for data in re.findall(rb"base64,([A-Za-z0-9+/=]+)", content):
        yield from layers(base64.b64decode(data))


def test_no_output_tells_of_the_user_or_the_machine(finished_run):
    """Neither home, user, secret nor the project's place: in pages, figures, tables, logs."""
    project, looked_at = finished_run.project, set()
    words = [TELLTALE.encode(), str(project).encode(), str(finished_run.guard).encode()]
    for path in (file for name in ("results", "figures") for file in (project / name).rglob("*")):
        if not path.is_file():
            continue
        looked_at.add(path.suffix)
        found = [word for layer in layers(path.read_bytes()) for word in words if word in layer]
        if path.suffix == ".parquet":
            table = pq.ParquetFile(path).read()
            text = repr((table.schema.metadata, table.to_pydict())).encode()
            found += [word for word in words if word in text]
        assert not found, path
    assert {".parquet", ".pdf", ".png", ".html", ".md", ".csv", ".tex", ".log", ".tsv"} <= looked_at


def test_packed_words_are_found():
    packed = zlib.compress(b"a word")
    png = b"\x89PNG zTXtKey\0\0" + packed
    for content in (b"stream\n" + packed + b"endstream", png, b"base64," + base64.b64encode(png)):
        assert any(b"a word" in layer for layer in layers(content))


def test_a_run_needs_no_home(tmp_path):
    """A home that cannot be written to: here it is a file."""
    (tmp_path / "home").write_text("")
    (tmp_path / "temporary").mkdir()
    places = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary")}
    figure = "figures/theory_allocation.pdf"
    complete(tmp_path, PATIENTS, figure, environment=places)
    assert (tmp_path / PATIENTS).exists()
    assert (tmp_path / figure).exists()
    assert [*(tmp_path / "temporary").iterdir()] == []  # the libraries kept their files there


@pytest.mark.parametrize("variable", ["TMPDIR", "TMP"])
def test_a_full_temporary_folder_is_named_before_the_first_job(tmp_path, small_disk, variable):
    disk = small_disk("size=64k")
    done = run(tmp_path, PATIENTS, environment={variable: str(disk)})
    assert done.returncode != 0
    line = f"{disk}: cannot be written (No space left on device); make room or name another folder"
    assert f"{line}: {variable}=/a/folder snakemake ..." in done.stdout
    assert "Traceback" not in done.stdout
    assert not (tmp_path / "results").exists()


def test_a_read_only_working_folder_is_named_before_the_first_job(small_disk):
    disk = small_disk("ro,size=64k")
    done = run(disk, PATIENTS)
    assert done.returncode != 0
    assert f"{disk}: cannot be written (Read-only file system); make room or run" in done.stdout
    assert "Traceback" not in done.stdout


def wait_for(appeared):
    """Wait until a function returns something true, for ten minutes at most."""
    end = time.monotonic() + 600
    while not appeared():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_second_run_in_the_same_folder_is_refused_and_does_no_harm(tmp_path):
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with start(tmp_path, PATIENTS, **silent) as first:
        wait_for(lambda: any(tmp_path.glob(".snakemake/locks/*")))
        first.send_signal(signal.SIGSTOP)
        second = run(tmp_path, PATIENTS)
        first.send_signal(signal.SIGCONT)
        assert first.wait() == 0
    assert second.returncode != 0
    assert "Directory cannot be locked" in second.stdout
    assert (tmp_path / PATIENTS).exists()


def test_results_may_be_moved_behind_a_link_and_the_clock_set_back(clone, tmp_path):
    """Seen after the clock was set back, all results are of tomorrow."""
    for name in ("results", "figures"):
        (clone / name).rename(tmp_path / f"elsewhere {name}")
        (clone / name).symlink_to(tmp_path / f"elsewhere {name}")
    tomorrow = time.time() + 86_400
    for path in (path for name in ("results", "figures") for path in clone.glob(f"{name}/**/*")):
        os.utime(path, (tomorrow, tomorrow))
    assert planned(clone, project=clone) == {}
    figure = tmp_path / "elsewhere figures/exp1_gap.pdf"
    drawn = figure.read_bytes()
    complete(clone, "--force", "figures/exp1_gap.pdf", project=clone)
    assert figure.read_bytes() == drawn
    figure.unlink()
    assert "plot_exp1_gap" in planned(clone, project=clone)


def test_a_file_deleted_during_a_run_is_named_and_made_again(clone):
    table, figure = "results/exp1/exponential/profiles0.parquet", "figures/exp1_gap.pdf"
    kept = {name: (clone / name).read_bytes() for name in (table, figure)}
    for name in kept:
        (clone / name).unlink()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with start(clone, figure, project=clone, **pipes) as process:
        wait_for((clone / table).exists)
        (clone / table).unlink()
        said, _ = process.communicate()
    assert process.returncode != 0
    assert table in said
    assert "Traceback" not in said
    complete(clone, figure, project=clone)
    assert {name: (clone / name).read_bytes() for name in kept} == kept
