"""Kill a run at random moments, start it again, and compare with an undisturbed run.

python -m tests.interruption --kills 50 --seed 1
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.digests import file_digests
from tests.workflow.runner import Fork, run, words

#: A part of the study: simulations with several outputs per job, figures, a search.
TARGETS = ("figures/exp1_loglog.pdf", "figures/exp3_allocations.pdf", "results/audit.parquet")
KINDS = ("workflow", "job", "both")


class DamageError(AssertionError):
    """A file or a run that an interruption damaged."""


def made(directory: Path) -> dict[str, str]:
    """Digests of every file under its final name that a job wrote."""
    found = file_digests(directory, "results/**/*.parquet", "figures/*")
    return {name: digest for name, digest in found.items() if "/.part-" not in name}


def finish(directory: Path, targets: tuple[str, ...]) -> str:
    """Give the command and wait for its end; it must succeed."""
    done = run(directory, "--", *targets)
    if done.returncode != 0:
        raise DamageError(f"the command failed after an interruption:\n{done.stdout}")
    return done.stdout


def jobs_of(workflow: int) -> Iterator[int]:
    """Yield the processes below a workflow: its jobs and what they are forked from."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == workflow:
            yield (child := int(status.parent.name))
            yield from jobs_of(child)


def interrupt(
    directory: Path, targets: tuple[str, ...], kind: str, wait: float, rng: random.Random
) -> bool:
    """Give the command and kill it, one of its jobs or both after a while; whether one was hit."""
    workflow = Fork(directory, words(directory, ["--", *targets]))
    time.sleep(wait)
    jobs = sorted(jobs_of(workflow.pid))
    victims = [workflow.pid] if kind != "job" else []
    victims += rng.sample(jobs, min(1, len(jobs))) if kind != "workflow" else []
    hit = False
    for process in victims:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
            hit = True
    workflow.wait()
    return hit


def torture(directory: Path, *, kills: int, seed: int, targets: tuple[str, ...] = TARGETS) -> int:
    """Interrupt a run again and again; return the number of kills that hit a process.

    After each, every file under its final name must be that of the undisturbed run; at the end
    the same command must complete, give the same files and leave nothing else.
    """
    undisturbed, disturbed = directory / "undisturbed", directory / "disturbed"
    undisturbed.mkdir()
    disturbed.mkdir()
    started = time.monotonic()
    finish(undisturbed, targets)
    seconds = time.monotonic() - started
    expected = made(undisturbed)
    rng = random.Random(seed)
    hits = 0
    for number in range(kills):
        kind = KINDS[number % len(KINDS)]
        hits += interrupt(disturbed, targets, kind, seconds * rng.uniform(0.1, 1), rng)
        found = made(disturbed)
        if odd := [name for name, digest in found.items() if expected.get(name) != digest]:
            raise DamageError(f"kill {number} ({kind}, seed {seed}) left damaged files: {odd}")
        if found == expected:
            # Nothing is left to interrupt: begin again, with Snakemake's records as they are.
            shutil.rmtree(disturbed / "results")
            shutil.rmtree(disturbed / "figures")
    finish(disturbed, targets)
    if made(disturbed) != expected:
        raise DamageError("the files differ from those of an undisturbed run")
    if leftovers := [str(path) for path in disturbed.rglob(".part-*")]:
        raise DamageError(f"left behind: {leftovers}")
    if "Nothing to be done" not in finish(disturbed, targets):
        raise DamageError("the command does something when given once more")
    return hits


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("targets", nargs="*", default=TARGETS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        hits = torture(
            Path(directory), kills=given.kills, seed=given.seed, targets=tuple(given.targets)
        )
    print(f"{given.kills} interruptions, {hits} processes hit: no damage")
    return 0


if __name__ == "__main__":
    sys.exit(main())
