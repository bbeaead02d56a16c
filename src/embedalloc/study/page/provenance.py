"""Where the numbers of a page come from: commit, versions, data files, time and memory."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from embedalloc.study.workflow.receipts import Receipt, way_out
from embedalloc.study.workflow.tables import TableError, digest_of


def describe_run(
    citation: str | Path, params: Any, project: str | Path, receipts: Sequence[Receipt]
) -> dict[str, Any]:
    """Return what every page says of its run.

    Parameters
    ----------
    citation
        CITATION.cff, which names the paper.
    params
        Seed, and digests of the run's whole configuration and of the default one.
    project
        Folder of the workflow, which may be a git checkout.
    receipts
        Of all jobs behind the page: what computed it, which need not be what writes it.
    """
    return {
        "paper": yaml.safe_load(Path(citation).read_text(encoding="utf-8"))["references"][0],
        "versions": name_values(receipts, "versions"),
        "machine": name_values(receipts, "machine"),
        "kinds": count_kinds(receipts),
        "costs": sum_costs(receipts),
        "commit": find_commit(project),
        "seed": params.seed,
        "config_digest": params.config_digest,
        "default": params.default_digest == params.config_digest,
    }


def read_jobs(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Return the rule, CPU and wall-clock seconds and peak memory of each job, in the order given.

    Snakemake writes `-` or `NA` for what a short job was over too soon to measure; such a value
    counts as nothing.
    """
    names = {"cpu_time": "cpu", "s": "seconds", "max_rss": "megabytes"}
    frames = []
    for path in map(Path, paths):
        parts = path.with_suffix("").parts
        try:
            frame = pd.read_csv(path, sep="\t", na_values="-")[list(names)].astype(float)
        except (OSError, ValueError, LookupError):
            raise TableError(f"{path}: no timing of a job{way_out(str(path))}") from None
        frames.append(frame.fillna(0.0).assign(rule=parts[parts.index("timings") + 1]))
    return pd.concat(frames, ignore_index=True).rename(columns=names)


def sum_costs(receipts: Iterable[Receipt]) -> list[dict[str, Any]]:
    """Return jobs, CPU and wall-clock seconds and peak memory by rule, in the order given."""
    rules: dict[str, list[dict[str, float]]] = {}
    for receipt in receipts:
        rules.setdefault(receipt["rule"], []).append(receipt["cost"])
    return [
        {
            "rule": rule,
            "jobs": len(costs),
            "cpu": sum(cost["cpu_seconds"] for cost in costs),
            "seconds": sum(cost["seconds"] for cost in costs),
            "megabytes": max(cost["peak_megabytes"] for cost in costs),
        }
        for rule, costs in rules.items()
    ]


def name_values(receipts: Iterable[Receipt], part: str) -> dict[str, str]:
    """Return the versions, or the machine, that jobs ran with; how many jobs if they differ.

    Examples
    --------
    >>> old, new = ({"versions": {"numpy": number}} for number in ("2.3", "2.4"))
    >>> name_values([new, new, old], "versions"), name_values([new, new], "versions")
    ({'numpy': '2.4 (2 jobs), 2.3 (1 job)'}, {'numpy': '2.4'})
    """
    counts: dict[str, Counter[str]] = {}
    for receipt in receipts:
        for name, value in receipt[part].items():
            counts.setdefault(name, Counter())[value] += 1
    return {
        name: next(iter(found))
        if len(found) == 1
        else ", ".join(f"{v} ({n} {'job' if n == 1 else 'jobs'})" for v, n in found.most_common())
        for name, found in counts.items()
    }


def count_kinds(receipts: Iterable[Receipt]) -> int:
    """Return how many different sets of versions and machines computed the results."""
    return len({digest_of([receipt["versions"], receipt["machine"]]) for receipt in receipts})


def find_commit(project: str | Path) -> str | None:
    """Return the commit of a checkout, with what was changed since; nothing elsewhere."""

    def git(*arguments: str) -> str | None:
        try:
            done = subprocess.run(
                ["git", "-C", str(project), *arguments],
                capture_output=True,
                text=True,
                check=False,
                timeout=10,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    found = git("rev-parse", "--show-toplevel", "HEAD")
    if found is None:
        return None
    top, commit = found.splitlines()
    # A copy inside somebody else's checkout is not a checkout of this project.
    if Path(top).resolve() != Path(project).resolve():
        return None
    return f"{commit} with uncommitted changes" if git("status", "--porcelain") else commit
