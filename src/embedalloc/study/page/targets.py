"""What a target costs: minutes, memory and disk on two cores, from the timings of its jobs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from embedalloc.study.page.provenance import read_jobs
from embedalloc.study.workflow.document import Part

CORES = 2
#: Rules whose jobs take all cores, because they measure times.
ALONE = ("time_heart", "measure_benchmark")
HEAD = ("target", "jobs", "minutes", "memory, MB", "disk, MB")
NOTES = (
    "Minutes: how long the jobs took here, shared between two cores; those that measure times run "
    "alone. Some seconds for Snakemake's own start come on top.",
    "Memory: the largest jobs that run at a time. Disk: all that the jobs make.",
    "`multiverse` counts what it adds to `figures/claims.md`, which it needs.",
)


@dataclass(frozen=True)
class Cost:
    """What a target costs on two cores."""

    jobs: int
    minutes: float
    memory: float
    disk: float


def measure(jobs: Mapping[str, Iterable[str]]) -> Cost:
    """Return the cost of a target.

    Parameters
    ----------
    jobs
        The files that each job made, under the file of its timing.
    """
    table = read_jobs(jobs)
    alone = table["rule"].isin(ALONE)
    together = table["seconds"][~alone]
    # Two cores cannot end before the longest job does.
    seconds = table["seconds"][alone].sum() + max([together.sum() / CORES, *together])
    largest = table["megabytes"][~alone].nlargest(CORES).sum()
    size = sum(Path(file).stat().st_size for made in jobs.values() for file in made)
    return Cost(
        jobs=len(table),
        minutes=seconds / 60,
        memory=max(largest, table["megabytes"].max()),
        disk=size / 1e6,
    )


def describe_targets(costs: Mapping[str, Cost]) -> list[Part]:
    """Return the costs as a table, with what its numbers mean."""
    rows = [
        [f"`{target}`", f"{c.jobs}", f"{c.minutes:.1f}", f"{c.memory:,.0f}", f"{c.disk:,.1f}"]
        for target, c in costs.items()
    ]
    align = ["---", *["---:"] * (len(HEAD) - 1)]
    return [
        Part(
            "What each target costs on two cores", 1, head=HEAD, rows=rows, align=align, notes=NOTES
        )
    ]
