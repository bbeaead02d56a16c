"""One set of versions for pip and conda, and a lock that covers what the package asks for."""

import json
import re
import subprocess
import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.lock import (
    ENVIRONMENT,
    LOCK,
    environment_text,
    lock_text,
    read_lock,
    resolve,
    this_place,
    wanted,
)
from tests.places import ROOT


def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for pin in pins:
        (only,) = pin.specifier
        assert only.operator == "==", pin
    return {canonicalize_name(pin.name): str(next(iter(pin.specifier)).version) for pin in pins}


def test_make_lock_writes_both_files_and_says_where_they_were_tried():
    pins, tried = read_lock()
    assert lock_text(pins, tried) == LOCK.read_text()
    assert environment_text(pins) == ENVIRONMENT.read_text()
    assert tried
    python = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    for place in tried:
        version, system = re.fullmatch(r"Python ([\d.]+), (\w+ \w+)", place).groups()
        assert SpecifierSet(python).contains(version)
        assert system
    assert re.fullmatch(r"Python [\d.]+, \w+ \w+", this_place())


def test_pip_finds_the_versions_afresh_without_an_installation(monkeypatch):
    """What pip answered is made up here; that names and answer fit together is not."""
    asked = []

    def answer(command, **options):
        asked.extend(command)
        found = {"torch": "2.13.0+cpu", "Zebra": "1.0", "alpha": "2.0"}
        install = [{"metadata": {"name": n, "version": v}} for n, v in found.items()]
        return subprocess.CompletedProcess(command, 0, json.dumps({"install": install}))

    monkeypatch.setattr(subprocess, "run", answer)
    assert resolve() == ["alpha==2.0", "torch==2.13.0", "Zebra==1.0"]
    assert {"--dry-run", "--ignore-installed", "torch==2.13.0"} <= {*asked}
    assert any(name.startswith("pytest>=") for name in asked)


def test_conda_users_get_the_same_versions():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    pins = [Requirement(line) for line in pip]
    assert {
        canonicalize_name(pin.name): str(next(iter(pin.specifier)).version) for pin in pins
    } == locked()


def test_the_lock_satisfies_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    versions = locked()
    for requirement in map(Requirement, wanted(project)):
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(Version(version)), requirement
    assert versions["torch"] == "2.13.0"


def test_package_and_workflow_ask_for_the_same_snakemake():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = re.search(r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text())
    assert f"snakemake>={asked[1]}" in project["optional-dependencies"]["study"]


def test_citation_package_and_changelog_agree_on_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == project["version"]
    newest = re.search(r"^## (\d.+)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert newest[1] == f"{citation['version']} ({citation['date-released']})"
