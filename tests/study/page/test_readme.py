"""Examples of README and docs run, and what they quote is what the results say."""

import doctest
import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml
from PIL import Image

from embedalloc.study.claims.verdicts import CLAIMS
from embedalloc.study.page import readme
from embedalloc.study.workflow.tables import digest_of, read_table
from tests.digests import provenance_of
from tests.places import ROOT, read_settings

README, REPRODUCTION = ((ROOT / page).read_text() for page in (readme.README, readme.REPRODUCTION))
EVERY_PAGE = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PAGES = [page for page in EVERY_PAGE if ">>>" in page.read_text()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page):
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried >= 5
    assert failed == 0


def test_the_readme_is_short_and_its_links_lead_somewhere():
    assert len(README.splitlines()) <= 150
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target


def test_the_track_record_is_that_of_the_file():
    record = json.loads((ROOT / readme.TRACK_RECORD).read_text())
    shown = readme.find_block(README, readme.RECORD_BEGIN, readme.RECORD_END)
    assert shown == readme.write_track_record(record), "refresh it with `make track-record`"


def test_gains_are_told_with_their_interval():
    record = json.loads((ROOT / readme.TRACK_RECORD).read_text())
    gain = {"mean": 1.61, "low": 0.5, "high": 2.7}
    told = readme.write_track_record(record | {"gain": gain})
    assert "loss is 1.6 % lower than that of equal dimensions (0.5 to 2.7 %)." in told


def test_the_verdict_in_a_line_counts_as_the_table():
    (row,) = re.findall(r"^\| \*\*all\*\* \| (.*) \|$", REPRODUCTION, flags=re.MULTILINE)
    reproduced, partly, failed, depends, untestable = map(int, row.split(" | "))
    total = reproduced + partly + failed + depends + untestable
    line = readme.find_block(README, readme.LINE_BEGIN, readme.LINE_END)
    assert f"{reproduced} of {total} claims are reproduced, {failed} are not. {depends} dep" in line


def test_the_figure_table_is_the_list_of_targets():
    targets = list(yaml.safe_load((ROOT / "workflow/report/figures.yaml").read_text()))
    listed = re.findall(r"^\| `(\w+)` \|.*\| `plot_(\w+)` \|", REPRODUCTION, flags=re.MULTILINE)
    assert [name for name, _ in listed] == targets
    assert all(name == rule for name, rule in listed)


def test_verdicts_belong_to_this_configuration_and_ledger():
    assert readme.find_block(REPRODUCTION).startswith(
        f"{readme.BEGIN} of {readme.digest_source(ROOT)} -->"
    ), "config.yaml or workflow/claims.yaml changed: refresh the README with `make readme`"


def test_verdicts_and_pictures_are_those_of_the_results():
    results = ROOT / "results/claims.parquet"
    cell = read_settings().claims_cell().plain()
    if not results.exists() or provenance_of(results)["config_digest"] != digest_of(cell):
        pytest.skip("no results of the default configuration here; `make readme` makes them")
    claims = read_table(results, CLAIMS)
    line = readme.find_block(README, readme.LINE_BEGIN, readme.LINE_END)
    assert line == readme.write_line(claims), "refresh it with `make readme`"
    assert readme.find_block(REPRODUCTION) == readme.write_block(claims, ROOT), (
        "refresh it with `make readme`"
    )
    for name in readme.PICTURES:
        shown, made = (
            np.asarray(Image.open(folder / name).convert("RGB"), dtype=float)
            for folder in (ROOT / readme.PICTURE_FOLDER, ROOT / "figures")
        )
        assert shown.shape == made.shape, f"{name}: refresh it with `make readme`"
        # Fonts differ between machines by a few pixels; another curve differs by more.
        assert np.abs(shown - made).mean() < 2.0, f"{name}: refresh it with `make readme`"


def test_the_verdict_table_counts_claims_not_readings():
    claims = claims_of(
        [("one", "exp1", "reproduced", "It holds."), ("one", "exp1", "reproduced", "It holds."),
         ("two", "exp3", "not reproduced", "It fails.")]
    )  # fmt: skip
    table = readme.tabulate_verdicts(claims)
    assert "| Experiment 1 (Section 3.1) | 1 | 0 | 0 | 0 | 0 |" in table
    assert "| **all** | 1 | 0 | 1 | 0 | 0 |" in table
    assert table.endswith("- It fails.")


def claims_of(rows):
    return pd.DataFrame(rows, columns=["claim", "section", "verdict", "statement"])


def test_costs_of_what_was_not_run_say_so(tmp_path):
    head = "| target | jobs |\n|---|---:|\n"
    (tmp_path / "targets.md").write_text(f"# Costs\n\n{head}| `all` | 59 |\n\n- Minutes: …\n")
    (tmp_path / "targets_benchmarks.md").write_text(f"{head}| `benchmarks` | 8 |\n")
    assert readme.tabulate_costs(tmp_path).splitlines()[1:-1] == [
        "| target | jobs |",
        "|---|---:|",
        "| `all` | 59 |",
        "| `multiverse` | not run here | | | |",
        "| `benchmarks` | 8 |",
    ]


def test_the_costs_of_every_target_are_shown():
    shown = re.findall(r"^\| `([\w/.]+)` \|", costs(REPRODUCTION), flags=re.MULTILINE)
    smk = (ROOT / "workflow/rules/targets.smk").read_text()
    assert shown == re.findall(
        r'"([\w/.]+)": ', smk.replace('"_multiverse": ', "").replace('"_benchmarks": ', "")
    )


def costs(text):
    return readme.find_block(text, readme.COSTS_BEGIN, readme.COSTS_END)
