"""Places for runs: copies of a finished one, and small disks."""

import os
import shutil
import subprocess

import pytest

from tests.workflow.runner import copy_study


@pytest.fixture
def clone(finished_run, tmp_path):
    """A fresh clone of the project with copied results and records, all files new."""
    finished = finished_run.project
    project = copy_study(tmp_path / "clone", finished)
    for name in ("results", "figures", ".snakemake"):
        shutil.copytree(finished / name, project / name, copy_function=shutil.copy)
    return project


@pytest.fixture
def small_disk(tmp_path):
    """Give a function that mounts one with the options given; skip where that is not allowed."""
    places = []

    def mount(options):
        place = tmp_path / f"mount{len(places)}"
        place.mkdir()
        call = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("only root can mount file systems; test_files.py covers the errors")
        if subprocess.run(call, check=False).returncode != 0:
            pytest.skip("no file system can be mounted here; test_files.py covers the errors")
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", str(place)], check=True)
