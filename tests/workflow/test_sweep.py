"""`snakemake sweep` in small, beside the same work in one process."""

import json

import pandas as pd
import pytest
import yaml

from embedalloc import measure_frontier
from embedalloc.data.comparison import compare_rules
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.sweep.protocol import read_sweep
from tests.places import ROOT
from tests.workflow.runner import planned, run


def test_the_sweep_finds_what_one_process_finds(finished_sweep):
    project = finished_sweep
    sweep = read_sweep(project / "workflow/sweep.yaml")
    frame = pd.read_parquet(sweep.data)
    data = frame.drop(columns="y"), frame["y"].to_numpy(), ["signal0", "signal1"]
    words = {"splits": 2, "epochs": 2, "seed": sweep.seed}
    levels = 7 + 16
    budgets = [int(1.5 * levels), int(3 * levels)]
    found = json.loads((project / "results/sweep/curves.json").read_text())
    expected = measure_frontier(*data, budgets, rule="unit", **words)
    assert found == expected.to_dict()
    comparison = compare_rules(*data, budgets[0], ["unit"], **words)
    page = (project / "figures/sweep.md").read_text()
    for name in comparison.losses:
        assert f"| {name} | {comparison.losses[name].mean():.5f} |" in page
    assert (project / "figures/sweep.png").stat().st_size > 10_000
    assert planned(project, "sweep", project=project) == {}
    place = project / "workflow/sweep.yaml"
    before = yaml.safe_load(place.read_text())
    place.write_text(yaml.safe_dump(before | {"splits": 3}))  # computes the new split only
    assert planned(project, "sweep", project=project)["judge_sweep"] == 2
    place.write_text(yaml.safe_dump(before))


def test_a_mistake_in_the_sweep_is_one_line(finished_sweep, tmp_path):
    project = finished_sweep
    text = (ROOT / "workflow/sweep.yaml").read_text()
    wrong = tmp_path / "sweep.yaml"
    wrong.write_text(text.replace("splits: 10", "splits: ten"))
    with pytest.raises(ConfigError, match=r"sweep.yaml: splits: .*, got 'ten'"):
        read_sweep(wrong)
    wrong.write_text("a: [")
    with pytest.raises(ConfigError, match=r"sweep.yaml is not YAML"):
        read_sweep(wrong)
    place = project / "workflow/sweep.yaml"
    before = place.read_text()
    place.write_text(before.replace("target: y", "target: z"))
    done = run(project, "sweep", project=project)
    place.write_text(before)
    assert done.returncode != 0
    assert "visits.parquet: --target: no column 'z'; there are" in done.stdout


def test_hundreds_of_trainings_are_a_job_per_split_and_budget(tmp_path):
    sweep = read_sweep(ROOT / "workflow/sweep.yaml")
    profile = ("--profile", str(ROOT / "workflow/profiles/slurm"))
    for words in ((), profile):
        jobs = planned(tmp_path, "sweep", *words)
        assert jobs["judge_sweep"] == sweep.splits * len(sweep.budgets) == 60
