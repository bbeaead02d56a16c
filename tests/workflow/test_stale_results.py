"""Results that were copied, mixed up or damaged: what is stale is made again, and nothing else."""

import os
import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.places import SMOKE
from tests.workflow.runner import complete, copy_study, planned
from tests.workflow.test_workflow import EXP3, VERDICT, edited, plots


@pytest.fixture
def unpacked(finished_run, tmp_path):
    """A fresh clone with the results of another one, without Snakemake's records.

    All files are new, and what others were made from is the newest.
    """
    project = copy_study(tmp_path / "clone", finished_run.project)
    for name in ("results", "figures"):
        shutil.copytree(finished_run.project / name, project / name, copy_function=shutil.copy)
    for number, name in enumerate(("figures", "results", "workflow", "src")):
        for path in (project / name).rglob("*"):
            os.utime(path, (1e9 + number, 1e9 + number))
    return project


def reasons(project):
    """Return why each rule would run that does not only follow others."""
    said = complete(project, "--dry-run", project=project)
    return set(re.findall(r"^(\w+) runs again: (.+)$", said, flags=re.MULTILINE))


def test_copied_results_of_the_same_study_rerun_nothing(unpacked):
    before = {path: path.stat().st_mtime_ns for path in (unpacked / "results").rglob("*")}
    assert planned(unpacked, project=unpacked) == {}
    after = {path: path.stat().st_mtime_ns for path in (unpacked / "results").rglob("*")}
    assert after == before


@pytest.mark.parametrize("triggers", [(), ("--rerun-triggers", "mtime")])
def test_copied_results_of_another_configuration_are_made_again(unpacked, tmp_path, triggers):
    config = tmp_path / "other.yaml"
    settings = yaml.safe_load(SMOKE.read_text())
    settings["exp3"]["ridge"] = 1e-3
    config.write_text(yaml.safe_dump(settings))
    plan = planned(unpacked, *triggers, project=unpacked, config=config)
    assert plan == EXP3 | plots("exp3") | VERDICT


def test_copied_results_of_other_code_are_made_again_whatever_its_date(unpacked):
    script = unpacked / "scripts/plot_exp1_gap.py"
    with edited(script):
        os.utime(script, (0, 0))
        assert planned(unpacked, project=unpacked) == {"plot_exp1_gap": 1} | VERDICT


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("records", [True, False])
def test_what_is_not_as_it_was_made_is_made_again(finished_run, unpacked, records):
    """Parts and tables in the place of others, and damage to what the page takes in."""
    if records:
        shutil.copytree(finished_run.project / ".snakemake", unpacked / ".snakemake")
    results, figures = unpacked / "results", unpacked / "figures"
    shutil.copy(results / "exp2/n200/profiles0.parquet", results / "exp2/n200/profiles1.parquet")
    for name in ("trained", "splits"):
        shutil.copy(results / f"heart/{name}/0.parquet", results / f"heart/{name}/1.parquet")
    # A whole job of another cell, with its receipt.
    other, place = results / "exp1/exponential", results / "exp1/polynomial_slow"
    shutil.copytree(other, place, dirs_exist_ok=True)
    receipts = results / "receipts/simulate_exp1"
    shutil.copy(receipts / "exponential_0.json", receipts / "polynomial_slow_0.json")
    flip(figures / "theory_approximation.png")
    flip(results / "audit.json")
    (figures / "table1_notes.json").write_text("{}")
    (figures / "exp3_allocations.pdf").write_bytes(b"")
    (results / "receipts/plot_heart_pilot.json").unlink()
    assert reasons(unpacked) == {
        ("simulate_exp2", "results/exp2/n200/profiles1.parquet is not as it was written"),
        ("train_heart", "results/heart/trained/1.parquet is not as it was written"),
        ("simulate_exp1", "its receipt is of another job"),
        ("plot_theory_approximation", "figures/theory_approximation.png is not as it was written"),
        ("audit_table1", "results/audit.json is not as it was written"),
        ("plot_exp3_allocations", "figures/exp3_allocations.pdf is not as it was written"),
    }


def test_a_damaged_table_is_made_again_and_what_follows_stays(unpacked):
    """The same numbers again: what was made from them is right; only the costs are counted anew."""
    victim = unpacked / "results/exp1/exponential/profiles0.parquet"
    content = victim.read_bytes()
    victim.write_bytes(content[: len(content) // 2])
    complete(unpacked, str(victim.relative_to(unpacked)), project=unpacked)
    assert victim.read_bytes() == content
    assert planned(unpacked, project=unpacked) == {"tabulate_targets": 1}


def test_other_data_make_the_patients_again(unpacked):
    """A project file that a job reads, older than what was made from it."""
    data = unpacked / "workflow/resources/heart_disease/processed.va.data"
    lines = data.read_text().splitlines(keepends=True)
    data.write_text("".join(lines[1:]))
    os.utime(data, (0, 0))
    name = "workflow/resources/heart_disease/processed.va.data"
    assert reasons(unpacked) == {("prepare_heart", f"made from another {name}")}
