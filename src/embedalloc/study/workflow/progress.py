"""What a run shows: one bar in a terminal, one short line per job elsewhere."""

import logging
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

#: What Snakemake calls the handler that writes to the terminal.
SNAKEMAKES_OWN = "DefaultStreamHandler"
#: Events of which the bar or the line of a job says all that is needed.
SILENT = (
    LogEvent.WORKFLOW_STARTED,
    LogEvent.RESOURCES_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.GROUP_INFO,
    LogEvent.SHELLCMD,
    LogEvent.PROGRESS,
)
#: How messages begin that say nothing about this study. A new one would be shown, not lost.
NOISE = (
    "Assuming unrestricted shared filesystem",
    "Building DAG",
    "Using shell",
    "Conda environments: ignored",
    "Select jobs to execute",
    "Touching output file",
    "Shutting down",
    "Reasons:",  # they and the next point to the jobs above, which are not shown
    "Some jobs were triggered by provenance",
    "RuleException:\nCalledProcessError",  # how a script was called; what failed is said anyway
)
BAR_WIDTH = 24


def show_progress(workflow: Any) -> None:
    """Show short lines or a bar in place of what Snakemake prints by default.

    Snakemake's own words remain with `--verbose`, `--quiet` or `--logger`, and in its log file.
    """
    asked = workflow.output_settings
    if not workflow.is_main_process or asked.verbose or asked.debug_dag or asked.quiet:
        return
    for handler in logger.handlers:
        if handler.name == SNAKEMAKES_OWN:
            logger.removeHandler(handler)
            logger.addHandler(Progress(handler.stream, dry_run=asked.dryrun))


class Progress(logging.Handler):
    """Turns Snakemake's events into a bar with what runs and what failed, or into short lines."""

    def __init__(self, stream: TextIO, *, dry_run: bool = False) -> None:
        super().__init__()
        self.stream, self.dry_run = stream, dry_run
        self.with_bar = stream.isatty() and not dry_run
        self.name = SNAKEMAKES_OWN
        self.total = self.done = 0
        self.titles: dict[int, str] = {}
        self.running: dict[int, str] = {}
        self.failed: set[int] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Say what a record is worth saying, and draw the bar anew."""
        try:
            text = self.word(record)
            if self.with_bar:
                self.stream.write("\r\x1b[K")
            if text:
                self.stream.write(text + "\n")
            if self.with_bar and self.total:
                # The cursor goes back, so that what a job itself may print begins a line.
                self.stream.write(self.bar(self.columns()) + "\r")
            self.stream.flush()
        except BrokenPipeError:
            raise
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        """Leave the bar as it is, on a line of its own."""
        if self.with_bar and self.total:
            self.total = 0
            self.stream.write("\n")
            self.stream.flush()
        super().close()

    def word(self, record: logging.LogRecord) -> str:
        """Return what to print for a record; often nothing."""
        event, told = getattr(record, "event", None), record.__dict__
        if event == LogEvent.RUN_INFO:
            return self.begin(told["stats"], record.getMessage())
        if event == LogEvent.JOB_INFO:
            self.start(told)
        elif event == LogEvent.JOB_FINISHED:
            return self.finish(told["job_id"])
        elif event == LogEvent.JOB_ERROR:
            # Those of a group stand in its own record.
            return "" if told["indent"] else self.fail([told])
        elif event == LogEvent.GROUP_ERROR:
            return self.fail(told["job_error_info"], told["aux_logs"])
        elif event not in SILENT:
            return self.remark(record)
        return ""

    def begin(self, jobs: Mapping[str, int], table: str) -> str:
        """Take note of the number of jobs; a dry run shows them by rule, once."""
        known, self.total = self.total, jobs["total"]
        if known or self.with_bar:
            return ""
        return table if self.dry_run else f"{self.total} job{'s' if self.total > 1 else ''}"

    def start(self, told: Mapping[str, Any]) -> None:
        """Take note of a job that begins, perhaps once more after a failure."""
        wildcards = (f"{name}={value}" for name, value in told["wildcards"].items() if value)
        self.titles[told["jobid"]] = " ".join([told["rule_name"], *wildcards])
        self.running[told["jobid"]] = told["rule_name"]
        self.failed.discard(told["jobid"])

    def finish(self, job: int) -> str:
        """Count a job; elsewhere than in a terminal, say which."""
        self.done += 1
        self.running.pop(job, None)
        return "" if self.with_bar else f"{self.done} of {self.total}: {self.titles[job]}"

    def fail(self, jobs: Iterable[Mapping[str, Any]], more_logs: Iterable[str] = ()) -> str:
        """Return the rule of a failed job, or of each in a group, with its log's content."""
        lines = []
        for told in jobs:
            self.running.pop(told["jobid"], None)
            self.failed.add(told["jobid"])
            lines.append(f"FAILED: {self.titles.get(told['jobid'], told['rule_name'])}")
            lines += [line for log in told["log"] for line in quote(Path(log))]
        return "\n".join([*lines, *(line for log in more_logs for line in quote(Path(log)))])

    def remark(self, record: logging.LogRecord) -> str:
        """Return a message of any other kind, unless it is noise."""
        message = record.getMessage() if record.msg else ""
        return "" if message.startswith(NOISE) else message

    def columns(self) -> int:
        """Return the width of the terminal; some do not know their own."""
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or 80
        except OSError:
            return 80

    def bar(self, columns: int) -> str:
        """Return how far the run is, what runs and what failed, in one line of the terminal."""
        filled = BAR_WIDTH * self.done // self.total
        bar = f"[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {self.done} of {self.total}"
        failed = f"  {len(self.failed)} FAILED" if self.failed else ""
        runs = ", ".join(
            rule if number == 1 else f"{number} {rule}"
            for rule, number in Counter(self.running.values()).items()
        )
        return f"{bar}{failed}  {runs}"[: columns - 1].rstrip()


def quote(log: Path) -> list[str]:
    """Return the name of a log and its content, indented."""
    content = ["(the job ended before its work began; see above)"]
    with suppress(OSError):
        content = log.read_text("utf-8", errors="replace").splitlines() or content
    return [f"  log {log}:", *(f"    {line}" for line in content)]
