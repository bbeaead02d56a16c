"""What machines read about the project: citation, CI and the workflow catalog's file."""

import subprocess
import sys

import pytest
import yaml

from tests.places import ROOT

CI = ".github/workflows/ci.yml"


def check(schema, file):
    """Check a file against a schema that the checker brings along; no network is needed."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    return subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("schema", "file"), [("citation-file-format", "CITATION.cff"), ("github-workflows", CI)]
)
def test_a_file_follows_its_schema_and_a_wrong_one_is_refused(tmp_path, schema, file):
    done = check(schema, ROOT / file)
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "wrong.yml"
    wrong.write_text((ROOT / file).read_text() + "surprise: true\n")
    assert check(schema, wrong).returncode == 1


def test_the_citation_names_paper_and_data():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"version", "date-released", "license", "abstract", "keywords", "authors"} <= {*citation}
    paper, data = citation["references"]  # the pages take the paper from the first place
    assert (paper["type"], data["type"]) == ("article", "data")
    origin = (ROOT / "workflow/resources/heart_disease/ORIGIN.md").read_text()
    assert data["doi"] in origin
    assert all(author["family-names"] in origin for author in data["authors"])


def test_ci_runs_what_everybody_can_run():
    (job,) = yaml.safe_load((ROOT / CI).read_text())["jobs"].values()
    assert job["steps"][-1]["run"] == ".ci/run"
    assert (ROOT / ".ci/run").stat().st_mode & 0o100


def test_the_catalog_learns_what_works():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert {*usage} == {"mandatory-flags", "software-stack-deployment"}
    works = usage["software-stack-deployment"]
    assert works == {"conda": True, "apptainer": False, "apptainer+conda": False, "report": True}
