"""What is in the wheel and in the source distribution."""

import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.places import ROOT

#: Builds without the network, with the setuptools that is here.
BUILD = "import setuptools.build_meta as b, sys; b.build_{}(sys.argv[1])"
#: Folders that only exist after work.
MADE = {
    "results",
    "figures",
    "site",
    "build",
    ".venv",
    ".snakemake",
    ".git",
    ".hypothesis",
    "__pycache__",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Both archives, made from a copy, so that nothing is left behind here."""
    project, out = tmp_path_factory.mktemp("project") / "embedalloc", tmp_path_factory.mktemp("out")
    made = shutil.ignore_patterns(*MADE, "*.egg-info", "*_cache")
    shutil.copytree(ROOT, project, symlinks=True, ignore=made)
    for kind in ("wheel", "sdist"):
        command = [sys.executable, "-c", BUILD.format(kind), str(out)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    return out


def test_the_wheel_holds_the_library_and_not_the_study(built):
    (wheel,) = built.glob("*.whl")
    names = [n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n]
    here = ROOT / "src/embedalloc"
    library = {
        path.relative_to(here.parent).as_posix()
        for path in here.rglob("*.py")
        if "study" not in path.relative_to(here).parts
    }
    others = {"embedalloc/py.typed", "embedalloc/data/track_record.json"}
    assert {*names} == library | others


def test_the_source_distribution_is_complete(built):
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as content:
        names = {n.name.partition("/")[2] for n in content.getmembers() if n.isfile()}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for entry in ROOT.iterdir()
        if entry.name not in MADE and not entry.name.endswith("_cache")
        for path in ([entry] if entry.is_file() else entry.glob("**/*"))
        if path.is_file() and not MADE & {*path.parts} and "egg-info" not in str(path)
    }
    profiles = (ROOT / "workflow/profiles").rglob("*")  # which `profiles` is a link to
    wanted |= {
        f"profiles/{p.relative_to(ROOT / 'workflow/profiles')}" for p in profiles if p.is_file()
    }
    assert wanted - names == set()
