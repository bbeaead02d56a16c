"""The audit of the paper's Table 1: its input, its parquet and its report."""

import csv

import pytest

from embedalloc.audit import audit_table, read_metrics_table
from embedalloc.study.heart.table1 import PAPER, PAPER_METRICS, SECONDS
from embedalloc.study.heart.table1_audit import AUDIT, audit_printed, describe_audit, tabulate_audit
from embedalloc.study.workflow.document import as_markdown
from embedalloc.study.workflow.tables import TableError, read_table, write_table
from tests.places import PRINTED_TABLE

PRINTED = PRINTED_TABLE


@pytest.fixture(scope="module")
def audited():
    return audit_printed(PRINTED, 600)


def test_the_printed_figures_are_those_of_the_study():
    with PRINTED.open(newline="") as file:
        header, *lines = csv.reader(file)
    assert header == ["model", *PAPER_METRICS, SECONDS]
    assert all(len(cell.partition(".")[2]) == 3 for line in lines for cell in line[1:])
    assert {line[0]: tuple(map(float, line[1:])) for line in lines} == PAPER


def test_the_frame_keeps_its_contract_and_its_numbers(audited, tmp_path):
    frame = tabulate_audit(audited[1])
    path = tmp_path / "audit.parquet"
    write_table(path, frame, AUDIT, settings={}, seed=0)
    again = read_table(path, AUDIT)
    assert list(zip(again["n"], again["positives"], strict=True)) == (
        [(276, 153)] * 5 + [(552, 306)] * 5
    )
    assert (again[["tp", "fp", "fn", "tn"]].sum(axis=1) == again["n"]).all()
    assert (again["tp"] + again["fn"] == again["positives"]).all()
    wrong = again[again["unexplained"] > 0]
    assert set(wrong["model"]) == {"unconstrained"}
    assert set(wrong["cells"]) == {"mcc printed 0.620, implied 0.626"}


def test_the_report_names_the_cell_and_the_other_sizes(audited):
    report = as_markdown(describe_audit(*audited))
    assert "No test set of at most 600 patients explains all 20 printed cells" in report
    assert "276 patients, 153 of them positive, with a single matrix per row" in report
    assert "| **0.626** (printed 0.620) |" in report
    assert "Unconstrained, MCC: printed 0.620, but 0.6263 by the matrix" in report
    assert "1 other test set of at most 600 patients does as well" in report
    assert "552 (306)." in report


def test_the_report_of_a_table_without_contradiction():
    printed = read_metrics_table(PRINTED)
    rows = {model: dict(row) for model, row in printed.rows.items()}
    rows["unconstrained"]["mcc"] = "0.626"
    report = as_markdown(describe_audit(printed, audit_table(rows, n_max=300)))
    assert "Some test sets explain all 20 printed cells." in report
    assert "No other test set of at most 300 patients does as well." in report
    assert "(printed" not in report
    assert "bold" not in report


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,accuracy\na,1.5\n", "cannot be audited: row 'a'"),
        ("model,accuracy,f1,mcc\na,0.9,0.1,0.9\n", "raise audit.largest_test_set"),
    ],
)
def test_a_table_that_cannot_be_used_stops_the_job(tmp_path, text, message):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(TableError, match=message):
        audit_printed(path, 5)
