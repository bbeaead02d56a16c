"""One run of the smoke configuration, shared by all tests that need a finished one."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.verify import ROOT, SMOKE, command, environment, numbers


@dataclass(frozen=True)
class FinishedRun:
    """A copy of the project with all its results, and the digests of what it computed."""

    project: Path
    numbers: dict[str, str]


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory):
    """The project copied into an empty folder and run there on two cores."""
    project = tmp_path_factory.mktemp("project")
    for name in ("Snakefile", "config.yaml", "CITATION.cff"):
        shutil.copy(ROOT / name, project / name)
    for name in ("workflow", "scripts", "src"):
        shutil.copytree(
            ROOT / name, project / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info")
        )
    (project / "profiles").symlink_to("workflow/profiles")
    done = subprocess.run(
        command(project, "--cores", "2", "--configfile", str(SMOKE), project=project),
        env=environment(project),
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return FinishedRun(project, numbers(project))


#: Folders whose tests start workflows, a cluster's daemons or benchmarks.
SLOW_FOLDERS = tuple(Path(__file__).parent / name for name in ("benchmarks", "cluster", "workflow"))


def pytest_collection_modifyitems(items):
    """Mark what `make quick` leaves out; single tests elsewhere carry the mark themselves."""
    for item in items:
        if item.path.parent in SLOW_FOLDERS:
            item.add_marker(pytest.mark.slow)
