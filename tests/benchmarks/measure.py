"""CPU time and memory of contestants, in turns, each run in a process of its own.

A busy machine slows neighbours in time alike, so ratios of contestants that take turns mean
something where seconds do not. A fresh process has a peak of memory that is its own. What the
runs return is compared before any time is believed.
"""

import ctypes
import gc
import multiprocessing
import os
import resource
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from embedalloc.study.workflow.tables import Column, Contract

#: The contestant that the others are compared with.
OURS = "ours"

MEASUREMENTS = Contract(
    "benchmark",
    {
        "work": Column("text", "row of the table of benchmarks"),
        "case": Column("text", "what is computed"),
        "contestant": Column("text", "who computes it"),
        "size": Column("integer", "what grows: observations, categories, predictors …", low=1),
        "repetition": Column("integer", "turn in which it was measured", low=0),
        "units": Column("integer", "units of work in the run", low=1),
        "cpu_seconds": Column("number", "per unit of work, children included", low=0),
        "peak_memory": Column("number", "megabytes above those at the start", low=0),
    },
    key=("work", "case", "contestant", "size", "repetition"),
)


class DisagreementError(AssertionError):
    """Contestants came to different numbers, so their times mean nothing."""


def _as_it_is(value: Any) -> Any:
    return value


def _nothing() -> None:
    return None


class Contestant(NamedTuple):
    """Someone who does the work.

    Attributes
    ----------
    name, run
        Who, and the function that is measured.
    units
        Units of work that one call does.
    finish
        Turns the result into what is compared, after the clock has stopped.
    prepare
        Called before the clock starts, in the same process.
    """

    name: str
    run: Callable[[], Any]
    units: int = 1
    finish: Callable[[Any], Any] = _as_it_is
    prepare: Callable[[], object] = _nothing


class Usage(NamedTuple):
    """What a run took, and what it returned."""

    cpu_seconds: float
    peak_memory: float
    value: Any


@dataclass(frozen=True)
class Case:
    """One comparison: contestants, and a function that refuses results that differ.

    Attributes
    ----------
    name, size
        What is computed, and how large.
    contestants
        All take part in every turn.
    agree
        Takes the results by contestant and raises `DisagreementError` unless they are the same.
    """

    name: str
    size: int
    contestants: Sequence[Contestant]
    agree: Callable[[Mapping[str, Any]], None]


def measure(work: str, cases: Sequence[Case], repetitions: int) -> pd.DataFrame:
    """Return the measurements of all cases; contestants of a case run in turns."""
    rows = [
        row
        for case in cases
        for repetition in range(repetitions)
        for row in _turn(work, case, repetition)
    ]
    return pd.DataFrame(rows, columns=list(MEASUREMENTS.columns))


def _turn(work: str, case: Case, repetition: int) -> list[tuple[Any, ...]]:
    used = {who.name: run_alone(who.run, who.finish, who.prepare) for who in case.contestants}
    case.agree({name: usage.value for name, usage in used.items()})
    return [
        (
            work,
            case.name,
            who.name,
            case.size,
            repetition,
            who.units,
            used[who.name].cpu_seconds / who.units,
            used[who.name].peak_memory,
        )
        for who in case.contestants
    ]


def run_alone(
    run: Callable[[], Any],
    finish: Callable[[Any], Any] = _as_it_is,
    prepare: Callable[[], object] = _nothing,
) -> Usage:
    """Run a function in a forked process and return what it took there."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_report, args=(run, finish, prepare, sender))
    process.start()
    sender.close()
    try:
        answer = receiver.recv()
    except EOFError:
        answer = "the process ended without an answer"
    process.join()
    if isinstance(answer, str):
        raise RuntimeError(f"a contestant failed:\n{answer}")
    return Usage(*answer)


def _report(
    run: Callable[[], Any],
    finish: Callable[[Any], Any],
    prepare: Callable[[], object],
    sender: Connection,
) -> None:
    # Some solvers write to the terminal from compiled code, past Python's own streams.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        prepare()
        _forget_peak()
        before, started = _peak_megabytes(resource.RUSAGE_SELF), cpu_seconds()
        value = run()
        seconds = cpu_seconds() - started
        memory = _peak_megabytes(resource.RUSAGE_SELF) - before
        # A child starts with all that its parent has, even one that runs another program.
        memory += max(0.0, _peak_megabytes(resource.RUSAGE_CHILDREN) - before)
        sender.send((seconds, memory, finish(value)))
    except Exception:
        sender.send(traceback.format_exc())


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _forget_peak() -> None:
    """Give back what is free, and let the peak be what is in use now, where the system can.

    Or a run that takes less than those before it would take nothing.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")


def _peak_megabytes(who: int) -> float:
    return resource.getrusage(who).ru_maxrss / 1024


def require_close(
    found: ArrayLike, expected: ArrayLike, what: str, *, relative: float, absolute: float = 0.0
) -> None:
    """Raise a `DisagreementError` that names the largest difference beyond the tolerance."""
    found, expected = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    if found.shape != expected.shape:
        raise DisagreementError(f"{what}: shapes {found.shape} and {expected.shape}")
    difference = np.abs(found - expected)
    if not (difference <= absolute + relative * np.abs(expected)).all():
        raise DisagreementError(f"{what}: the results differ by {difference.max():.3g}")
