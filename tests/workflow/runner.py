"""Starts the workflow as a user does: the one helper of all tests that need a run."""

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.oracles.simulated_tables import make_table
from tests.places import ROOT, SMOKE

#: What a study consists of.
FILES = ("Snakefile", "config.yaml", "environment.yml", "CITATION.cff")
STUDY = (*FILES, "workflow", "scripts", "src", "tests")
#: Rules that only name files to be made.
TARGETS = (
    "all",
    "theory",
    "exp1",
    "exp2",
    "exp3",
    "heart",
    "benchmarks",
    "multiverse",
    "tables",
    "sweep",
)


def words(
    directory: Path,
    arguments: Sequence[str],
    project: Path = ROOT,
    config: Path | None = SMOKE,
    cores: int = 2,
) -> list[str]:
    """Return what follows `snakemake` on the command line."""
    first = ["--configfile", str(config)] if config else []  # first: it takes all that follows
    first += ["--snakefile", str(project / "Snakefile"), "--directory", str(directory)]
    return [*first, "--nocolor", "--cores", str(cores), *arguments]


def start(
    directory: Path,
    *arguments: str,
    project: Path = ROOT,
    config: Path | None = SMOKE,
    cores: int = 2,
    environment: Mapping[str, str] = {},
    **process: Any,
) -> subprocess.Popen[str]:
    """Start a run of a project's workflow in a folder; its output is text."""
    given = words(directory, arguments, project, config, cores)
    return subprocess.Popen(
        [sys.executable, "-m", "snakemake", *given],
        cwd=directory,
        env=os.environ | environment,
        text=True,
        **process,
    )


@functools.cache
def loaded() -> subprocess.Popen[str]:
    """Start the process that has packages loaded; it ends with the tests."""
    command = [sys.executable, str(ROOT / "tests/workflow/loaded.py")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes)


class Fork:
    """A run in a fork of that process, which gives the words of a command to a module.

    With another name than that of a program the module is only imported. One run begins after the
    other has ended.
    """

    def __init__(
        self,
        directory: Path,
        given: Sequence[str],
        module: str = "snakemake",
        name: str = "__main__",
    ) -> None:
        self._given = given
        self._output = tempfile.NamedTemporaryFile(mode="r")  # noqa: SIM115 (closed at the end)
        order: dict[str, Any] = {"directory": str(directory), "words": [*given]}
        order |= {"module": module, "name": name}
        order |= {"environment": dict(os.environ), "output": self._output.name}
        print(json.dumps(order), file=loaded().stdin, flush=True)
        self.pid = self._answer()

    def _answer(self) -> int:
        answers = loaded().stdout
        assert answers
        return int(answers.readline())

    def wait(self) -> subprocess.CompletedProcess[str]:
        """Wait for the end; return how the run ended and all that it said."""
        with self._output:
            code = self._answer()
            return subprocess.CompletedProcess(self._given, code, self._output.read())


def run_loaded(directory: Path, *command: Any, **options: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a fork to its end."""
    return Fork(directory, *command, **options).wait()


def run(
    directory: Path,
    *arguments: str,
    project: Path = ROOT,
    config: Path | None = SMOKE,
    cores: int = 2,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a workflow to its end; return how it ended and all that it said.

    A run with variables of its own is a new process. Others start from one that has the packages
    loaded, which saves most of the time that a plan takes.
    """
    if environment is not None:
        settings: dict[str, Any] = {"project": project, "config": config, "cores": cores}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with start(directory, *arguments, environment=environment, **settings, **pipes) as process:
            said, _ = process.communicate()
        return subprocess.CompletedProcess(process.args, process.returncode, said)
    return run_loaded(directory, words(directory, arguments, project, config, cores))


def complete(directory: Path, *arguments: str, **options: Any) -> str:
    """Run a workflow that must succeed; return what it said."""
    done = run(directory, *arguments, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


def planned(directory: Path, *arguments: str, **options: Any) -> dict[str, int]:
    """Return the rules that a run would execute, with their counts of jobs."""
    said = complete(directory, "--dry-run", *arguments, **options)
    table = re.search(r"^job +count\n-+ +-+\n((?:.+\n)+?)total", said, flags=re.MULTILINE)
    if table is None:
        assert "Nothing to be done" in said
        return {}
    rows = (line.split() for line in table[1].splitlines())
    return {rule: int(count) for rule, count in rows if rule not in TARGETS}


def copy_study(target: Path, source: Path = ROOT) -> Path:
    """Copy a project, without its results, as a clone of its own; return the target."""
    target.mkdir(exist_ok=True)
    for name in STUDY:
        if (source / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source / name, target / name, ignore=ignored)
        else:
            shutil.copy(source / name, target / name)
    (target / "profiles").symlink_to("workflow/profiles")
    return target


def copy_compiled(project: Path) -> None:
    """Give a copy the machine code of the trainer, which takes a quarter of a minute to compile."""
    # Here, because other runs do without Numba.
    from numba.core.caching import UserProvidedCacheLocator

    from embedalloc.study.heart.trainer import kernel, vectors
    from embedalloc.study.heart.trainer.cache import cache_beside
    from embedalloc.study.heart.trainer.network import compile_kernel

    compile_kernel()
    fit: Any = kernel.fit  # Numba's types do not know its statistics
    copies = [
        project / Path(str(module.__file__)).relative_to(ROOT) for module in (kernel, vectors)
    ]
    cache = cache_beside(*copies)
    # Numba names a folder by the place of the source.
    folder = UserProvidedCacheLocator.get_suitable_cache_subpath(copies[0])
    with cache.checked():
        shutil.copytree(fit.stats.cache_path, cache.code / folder)


def copy_small_sweep(folder: Path) -> Path:
    """Copy the project into a folder, with a small sweep of a table that lies beside it."""
    project = copy_study(folder / "project")
    frame, target = make_table(2, rows=240, signal=(6, 15))
    frame.assign(y=target).to_parquet(folder / "visits.parquet")
    place = project / "workflow/sweep.yaml"
    sweep = yaml.safe_load(place.read_text()) | {
        "data": str(folder / "visits.parquet"),
        "rules": ["unit"],
        "budgets": [1.5, 3.0],
        "splits": 2,
        "epochs": 2,
    }
    place.write_text(yaml.safe_dump(sweep))
    return project
