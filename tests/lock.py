"""Renew requirements.lock and environment.yml: `make lock`.

python -m tests.lock resolve   the newest versions that pyproject.toml allows, into both files
python -m tests.lock tried     add this Python and platform to those on which the tests passed
"""

import itertools
import json
import platform
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from tests.places import ROOT

LOCK, ENVIRONMENT = ROOT / "requirements.lock", ROOT / "environment.yml"
#: How the line of the lock begins that says where it was tried.
TRIED = "# Tried with `make test` on: "
NOWHERE = "nothing yet"
#: The study's results were made with this one; a plain `torch` brings gigabytes for GPUs.
TORCH = "torch==2.13.0"
LOCK_HEADER = """\
# Every package of the project at the version that was tested, for `make paper` and `make test`:
#     pip install -r requirements.lock && pip install --no-deps --no-build-isolation -e .
# Renewed by `make lock`, together with environment.yml, which holds the same versions.
"""
ENVIRONMENT_HEADER = """\
# For conda users: `conda env create -f environment.yml`, or `snakemake --cores 8 --sdm conda`.
# The project itself is not in it: the workflow puts its own code on the path of every job.
# The same versions as requirements.lock, which pip uses; `make lock` writes both.
name: embedalloc
channels:
  - conda-forge
dependencies:
  - python=3.11
  - pip
  - pip:
"""


def wanted(project: dict[str, Any]) -> list[str]:
    """Return what the project asks for with all its extras."""
    extras = itertools.chain.from_iterable(project["optional-dependencies"].values())
    # An extra may stand for others, which are here anyway.
    return [*project["dependencies"], *(n for n in extras if not n.startswith(project["name"]))]


def resolve() -> list[str]:
    """Return a pin for every package that the project and its tests need, found by pip afresh."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    names = [TORCH, *wanted(project["project"]), *project["build-system"]["requires"]]
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    done = subprocess.run(
        [*command, "--report", "-", *names], stdout=subprocess.PIPE, text=True, check=True
    )
    found = [package["metadata"] for package in json.loads(done.stdout)["install"]]
    # A build for one kind of machine (1.2+cpu) is the same version.
    pins = [f"{package['name']}=={package['version'].partition('+')[0]}" for package in found]
    return sorted(pins, key=str.casefold)


def read_lock(path: Path = LOCK) -> tuple[list[str], list[str]]:
    """Return the pins of the lock, and where it was tried."""
    lines = path.read_text().splitlines()
    (tried,) = (line.removeprefix(TRIED) for line in lines if line.startswith(TRIED))
    pins = [line for line in lines if line and not line.startswith("#")]
    return pins, [place for place in tried.split("; ") if place != NOWHERE]


def lock_text(pins: list[str], tried: list[str]) -> str:
    """Return the text of requirements.lock."""
    return "\n".join([f"{LOCK_HEADER}{TRIED}{'; '.join(tried) or NOWHERE}", *pins, ""])


def environment_text(pins: list[str]) -> str:
    """Return the text of environment.yml."""
    return ENVIRONMENT_HEADER + "".join(f"      - {pin}\n" for pin in pins)


def this_place() -> str:
    """Return the version of Python and the platform."""
    return f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def main(what: str) -> None:
    """Renew the versions, or note that the tests passed here with those of the lock."""
    if what == "resolve":
        pins, tried = resolve(), []
        ENVIRONMENT.write_text(environment_text(pins))
    else:
        pins, tried = read_lock()
        tried = sorted({*tried, this_place()})
    LOCK.write_text(lock_text(pins, tried))


if __name__ == "__main__":
    main(sys.argv[1])
