"""Where the numbers of a page come from: commit, versions, data files, time and memory."""

import hashlib
import platform
import re
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

import pandas as pd
import yaml


def describe_run(citation: str | Path, params: Any, project: str | Path) -> dict[str, Any]:
    """Return what every page says of its run.

    Parameters
    ----------
    citation
        CITATION.cff, which names the paper.
    params
        Seed, and digests of the run's whole configuration and of the default one.
    project
        Folder of the workflow, which may be a git checkout.
    """
    return {
        "paper": yaml.safe_load(Path(citation).read_text(encoding="utf-8"))["references"][0],
        "versions": find_versions(),
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
        frame = pd.read_csv(path, sep="\t", na_values="-")[list(names)]
        frames.append(frame.fillna(0.0).assign(rule=parts[parts.index("timings") + 1]))
    return pd.concat(frames, ignore_index=True).rename(columns=names)


def read_timings(paths: Iterable[str | Path]) -> list[dict[Any, Any]]:
    """Return jobs, CPU and wall-clock seconds and peak memory by rule, in the order given."""
    rules = read_jobs(paths).groupby("rule", sort=False)
    table = rules.agg(
        jobs=("seconds", "size"),
        cpu=("cpu", "sum"),
        seconds=("seconds", "sum"),
        megabytes=("megabytes", "max"),
    )
    return table.reset_index().to_dict("records")


def find_versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of what it asks for, by name."""
    found = {"Python": platform.python_version()}
    try:
        wanted = ["embedalloc", *(requires("embedalloc") or [])]
    except PackageNotFoundError:
        return found
    for line in (line for line in wanted if "extra ==" not in line):
        name = re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0]
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def digest_files(paths: Iterable[str | Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    return {Path(path).name: hashlib.sha256(Path(path).read_bytes()).hexdigest() for path in paths}


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
