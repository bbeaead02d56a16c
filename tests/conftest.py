"""Runs that are shared by all tests that need a finished one: of the smoke study, of a sweep."""

import gc
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

# Before anything is imported that asks: threads that wait for each other burn more time than they
# save on work as small as that of the tests, up to seven times in torch's.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Some machines ask for no bytecode: each of hundreds of programs would compile all modules anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Python looks for cycles after some hundred new objects, among all that the tests have imported.
gc.set_threshold(50_000)
# What a shell starts in the background ignores Ctrl-C, and so would all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: Programs that `make compat` runs in environments of their own.
collect_ignore_glob = ["compat/peers/*"]


@dataclass(frozen=True)
class FinishedRun:
    """A copy of the project with all its results, and the digests of what it computed."""

    project: Path
    numbers: dict[str, str]
    #: Where the guard of `hostile_environment` keeps its notes.
    guard: Path


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """The project copied into an empty folder and run there on two cores, among hostile settings.

    The other ways of `tests.verify` run without them and must come to the same numbers.
    """
    # Here, because the tests of core, data and command line run without the study's packages.
    from tests.verify import numbers
    from tests.workflow.hostile import hostile_environment
    from tests.workflow.runner import complete, copy_compiled, copy_study

    project, guard = (
        copy_study(tmp_path_factory.mktemp("project")),
        tmp_path_factory.mktemp("guard"),
    )
    copy_compiled(project)
    complete(project, project=project, environment=hostile_environment(guard))
    return FinishedRun(project, numbers(project), guard)


@pytest.fixture(scope="session")
def finished_sweep(tmp_path_factory):
    """A copy of the project with a small sweep and its results."""
    from tests.workflow.runner import complete, copy_small_sweep

    project = copy_small_sweep(tmp_path_factory.mktemp("sweep"))
    complete(project, "sweep", project=project)
    return project


#: Folders whose tests start workflows, a cluster's daemons or benchmarks.
SLOW_FOLDERS = tuple(Path(__file__).parent / name for name in ("benchmarks", "cluster", "workflow"))


def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out; single tests elsewhere carry the mark themselves."""
    for item in items:
        if item.path.parent in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)
