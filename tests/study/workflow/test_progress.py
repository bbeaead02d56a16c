"""What a run shows in a terminal and elsewhere, from records as Snakemake makes them."""

import io
import logging

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from embedalloc.study.workflow.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def screen(stream):
    """The lines that a terminal shows after all that was written: the cursor went back at times."""
    lines = stream.getvalue().split("\n")
    return [line.rstrip("\r").split("\x1b[K")[-1].split("\r")[-1] for line in lines]


def info(job, rule, **wildcards):
    return {"event": LogEvent.JOB_INFO, "jobid": job, "rule_name": rule, "wildcards": wildcards}


def end(job):
    return {"event": LogEvent.JOB_FINISHED, "job_id": job}


def error(job, rule, log, indent=False):
    told = {"jobid": job, "rule_name": rule, "log": [str(log)], "indent": indent}
    return told | {"event": LogEvent.JOB_ERROR}


def run_info(**jobs):
    return {"event": LogEvent.RUN_INFO, "stats": jobs | {"total": sum(jobs.values())}}


def show(stream, *records, dry_run=False):
    handler = Progress(stream, dry_run=dry_run)
    for told in records:
        text, told = (told, {}) if isinstance(told, str) else (told.pop("text", ""), told)
        record = logging.LogRecord("snakemake", logging.INFO, "", 0, text, (), None)
        record.__dict__.update(told)
        handler.handle(record)
    handler.close()
    return screen(stream)


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "train.log"
    path.write_text("epoch 1\nerror: no memory\n")
    return path


def test_elsewhere_than_in_a_terminal_each_job_is_a_short_line(log):
    lines = show(
        io.StringIO(),
        "Building DAG of jobs...",
        run_info(plot=1, train=2),
        info(1, "train", block="0"),
        info(2, "train", block="1"),
        end(2),
        error(1, "train", log),
        "Something else that Snakemake says",
    )
    assert lines == [
        "3 jobs",
        "1 of 3: train block=1",
        "FAILED: train block=0",
        f"  log {log}:",
        "    epoch 1",
        "    error: no memory",
        "Something else that Snakemake says",
        "",
    ]


def test_a_terminal_shows_one_bar_with_what_runs_and_what_failed(log):
    lines = show(
        Terminal(),
        run_info(plot=1, train=3),
        *(info(job, "train", block=str(job)) for job in (1, 2, 3)),
        info(4, "plot"),
        end(4),
        error(1, "train", log),
    )
    assert lines[:-2] == [
        "FAILED: train block=1",
        f"  log {log}:",
        "    epoch 1",
        "    error: no memory",
    ]
    assert lines[-2:] == [f"[{'#' * 6}{'.' * 18}] 1 of 4  1 FAILED  2 train", ""]


def test_the_bar_stays_within_the_terminal(monkeypatch):
    monkeypatch.setattr(Progress, "columns", lambda self: 60)
    rules = [f"plot_a_figure_{number}" for number in range(9)]
    jobs = [info(number, rule) for number, rule in enumerate(rules)]
    lines = show(Terminal(), run_info(**dict.fromkeys(rules, 1)), *jobs)
    assert lines[0].startswith("[........................] 0 of 9  plot_a_figure_0, plot")
    assert len(lines[0]) == 59


def test_a_job_that_is_tried_again_has_not_failed(log):
    lines = show(
        Terminal(), run_info(train=1), info(1, "train"), error(1, "train", log), info(1, "train")
    )
    assert lines[-2] == f"[{'.' * 24}] 0 of 1  train"


def test_a_group_that_failed_names_each_job_once(log, tmp_path):
    group = {"event": LogEvent.GROUP_ERROR, "aux_logs": [str(tmp_path / "none.log")]}
    group["job_error_info"] = [error(1, "train", log)]
    lines = show(
        io.StringIO(), run_info(train=1), info(1, "train"), group, error(1, "train", log, True)
    )
    assert lines[1] == "FAILED: train"
    assert lines.count("    error: no memory") == 1
    assert lines[-2] == "    (the job ended before its work began; see above)"


def test_a_dry_run_shows_the_table_of_jobs_once():
    table = "job count\n--- -----\nplot 1"
    told = [run_info(plot=1) | {"text": table} for _ in range(2)]
    assert show(Terminal(), told[0], info(1, "plot"), told[1], dry_run=True) == [
        *table.split("\n"),
        "",
    ]
