"""The whole workflow from nothing: all CPU time beside the jobs' own.

A job's own time starts when its imports are done; its log ends with it. The difference is what
Snakemake, starting Python, importing and forking cost.
"""

import re
import resource
import tempfile
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import yaml

from tests.benchmarks.cells import WorkflowCell
from tests.benchmarks.measure import MEASUREMENTS, OURS, DisagreementError, cpu_seconds
from tests.benchmarks.summary import OWN
from tests.workflow import runner


class Run(NamedTuple):
    """CPU seconds in all and by jobs alone, the largest process and the number of jobs."""

    total: float
    own: float
    peak_memory: float
    jobs: int


def measurements(cell: WorkflowCell) -> pd.DataFrame:
    """Run the workflow cold a few times."""
    rows = []
    for repetition in range(cell.repetitions):
        run = run_cold(cell)
        if not 0 < run.own < run.total:
            raise DisagreementError(f"jobs took {run.own} s of {run.total} s")
        for who, seconds in ((OURS, run.total), (OWN, run.own)):
            place = ("workflow", "workflow", who, run.jobs, repetition, 1)
            rows.append((*place, seconds, run.peak_memory))
    return pd.DataFrame(rows, columns=list(MEASUREMENTS.columns))


def run_cold(cell: WorkflowCell) -> Run:
    """Run the workflow in an empty folder with the cell's configuration."""
    with tempfile.TemporaryDirectory(prefix="benchmark-workflow-") as name:
        folder = Path(name)
        config = folder / "benchmark.yaml"
        config.write_text(yaml.safe_dump(cell.config), encoding="utf-8")
        before = cpu_seconds()
        # With variables of its own, though none: in a new process, as a user's.
        done = runner.run(folder, *cell.targets, "--quiet", "all", config=config, environment={})
        total = cpu_seconds() - before
        if done.returncode:
            raise RuntimeError(f"the workflow failed:\n{done.stdout[-2000:]}")
        own = own_seconds(folder / "results/logs")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Run(total, sum(own), peak, len(own))


def own_seconds(logs: Path) -> list[float]:
    """Return the CPU seconds that the logs of the jobs end with."""
    found = []
    for path in sorted(logs.rglob("*.log")):
        line = re.search(r"([\d.]+) s of CPU time\s*$", path.read_text(encoding="utf-8"))
        if line is None:
            raise RuntimeError(f"{path.name}: the log does not end with the job's CPU time")
        found.append(float(line[1]))
    return found
