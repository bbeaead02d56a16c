"""Settings that Snakemake would take in silence, or choke on, are refused before any job."""

import pytest
import yaml

from tests.workflow.runner import copy_study, run

RECURSIVE = "exp1: &a {noise: *a}\n"


def refusal(directory, **options):
    done = run(directory, "--dry-run", **options)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout
    assert not (directory / "results").exists()
    return done.stdout


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return copy_study(tmp_path_factory.mktemp("study"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RECURSIVE, "config.yaml: the configuration is not valid:\n  exp1.noise: nested more"),
        ("seed: 1\nseed: 2\n", "config.yaml: the key 'seed' stands twice, in lines 1 and 2"),
    ],
)
def test_the_project_s_own_file(text, message, study, tmp_path):
    (study / "config.yaml").write_text(text)
    assert message in refusal(tmp_path, project=study, config=None)


def test_files_of_the_command_line(tmp_path):
    given = tmp_path / "mine.yaml"
    given.write_text("exp1: {noise: 1.0}\nexp1: {noise: 2.0}\n")
    assert "mine.yaml: the key 'exp1' stands twice" in refusal(tmp_path, config=given)
    given.write_text(yaml.safe_dump({"heart": {"data": "./"}}))
    said = refusal(tmp_path, config=given)
    assert "heart.data: " in said
    assert "processed.cleveland.data is no file; name a folder with the four" in said
