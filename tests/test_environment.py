"""One set of versions for pip and conda, and a lock that covers what the package asks for."""

import re
import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.places import ROOT


def locked():
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    for pin in pins:
        (only,) = pin.specifier
        assert only.operator == "==", pin
    return {canonicalize_name(pin.name): str(next(iter(pin.specifier)).version) for pin in pins}


def test_conda_users_get_the_same_versions():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    pins = [Requirement(line) for line in pip]
    assert {
        canonicalize_name(pin.name): str(next(iter(pin.specifier)).version) for pin in pins
    } == locked()


def test_the_lock_satisfies_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    versions = locked()
    for requirement in map(Requirement, wanted):
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(Version(version)), requirement
    assert versions["torch"] == "2.13.0"


def test_package_and_workflow_ask_for_the_same_snakemake():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = re.search(r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text())
    assert f"snakemake>={asked[1]}" in project["dependencies"]


def test_citation_and_package_agree_on_the_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == project["version"]
