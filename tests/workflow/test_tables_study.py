"""`snakemake tables` in small: one table, two splits, one budget."""

import json

import pytest
import yaml

from tests.places import ROOT
from tests.workflow.runner import complete, copy_study, planned


@pytest.mark.slow
def test_the_study_of_real_tables_runs_to_its_page(tmp_path):
    project = copy_study(tmp_path / "project")
    place = project / "workflow/tables.yaml"
    protocol = yaml.safe_load(place.read_text())
    protocol |= {"rows": 250, "splits": 2, "budgets": [3.0]}
    protocol["judge"]["epochs"] = 2
    protocol["tables"] = {"heart": protocol["tables"]["heart"]}
    place.write_text(yaml.safe_dump(protocol))
    complete(project, "tables", project=project)
    page = (project / "figures/tables.md").read_text()
    assert "| screened | small |" in page
    assert "| permuted | table |" in page
    assert (project / "figures/tables.png").stat().st_size > 10_000
    record = json.loads((project / "results/tables/track_record.json").read_text())
    assert (record["tables"], record["splits"]) == (["heart"], 2)
    assert planned(project, "tables", project=project) == {}


def test_the_protocol_is_a_job_per_table_and_split(tmp_path):
    protocol = yaml.safe_load((ROOT / "workflow/tables.yaml").read_text())
    jobs = planned(tmp_path, "tables")
    assert jobs["judge_tables"] == len(protocol["tables"]) * protocol["splits"] >= 50
