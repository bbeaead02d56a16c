"""Receipts: what made a file is known, and what is not as it was made is refused by name."""

import getpass
import hashlib
import json
import platform
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.receipts import (
    describe_job,
    digest_files,
    read_receipt,
    receipt_of,
    trace,
    what_differs,
)
from embedalloc.study.workflow.tables import TableError
from tests.places import ROOT


class Params(dict):
    """Like Snakemake's, which has items."""


def work(rule, *, inputs=(), outputs=(), cell="", text="made", **settings):
    """Run a job that writes the same text into all its outputs; return its receipt's place."""
    log = f"results/logs/{rule}{cell}.log"
    snakemake = SimpleNamespace(
        rule=rule,
        log=[log],
        input=list(inputs),
        output=list(outputs),
        params=Params(code="c0de", **settings),
    )
    with job(snakemake):
        for path in map(Path, outputs):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return receipt_of(log)


@pytest.fixture
def chain(tmp_path, monkeypatch):
    """Two parts of a table, a figure of both, and the words of a page."""
    monkeypatch.chdir(tmp_path)
    parts = [f"results/exp1/part{i}.parquet" for i in (0, 1)]
    for i, part in enumerate(parts):
        work("simulate", cell=f"/{i}", outputs=[part], text=f"part {i}", replications=[i])
    work("plot", inputs=parts, outputs=["figures/x.png"], text="pixels")
    claims = str(ROOT / "workflow/claims.yaml")
    work("write", inputs=["figures/x.png", claims], outputs=["figures/page.html"])
    return parts


def test_a_receipt_names_all_that_a_file_depends_on(chain):
    receipt = read_receipt("results/receipts/plot.json")
    assert receipt["rule"] == "plot"
    assert receipt["code"] == "c0de"
    assert receipt["inputs"] == digest_files(chain)
    assert receipt["outputs"] == digest_files(["figures/x.png"])
    assert receipt["versions"]["Python"] == platform.python_version()
    assert receipt["machine"].keys() == {"system", "processor", "cores", "linear algebra"}
    assert receipt["cost"]["peak_megabytes"] > 10


def test_names_hold_wherever_project_and_results_lie(chain, tmp_path):
    inputs = read_receipt("results/receipts/write.json")["inputs"]
    assert list(inputs) == ["figures/x.png", "workflow/claims.yaml"]
    elsewhere = tmp_path.parent / "heart.csv"
    elsewhere.write_bytes(b"abc")
    assert digest_files([elsewhere]) == {"heart.csv": hashlib.sha256(b"abc").hexdigest()}
    text = "".join(path.read_text() for path in Path("results/receipts").rglob("*.json"))
    for private in (str(Path.home()), str(tmp_path), str(ROOT)):
        assert private not in text
    assert not {getpass.getuser(), platform.node()} & set(re.split(r"\W+", text))


def test_each_difference_has_its_words(chain):
    path = Path("results/receipts/plot.json")
    receipt = read_receipt(path)
    now = {
        "expected": describe_job("plot", {"code": "c0de"}),
        "inputs": digest_files(chain),
        "outputs": digest_files(["figures/x.png"]),
    }
    assert what_differs(receipt, **now) == ""
    elsewhere = {"versions": {"numpy": "1.0"}, "machine": {}, "cost": {}}
    assert what_differs(receipt | elsewhere, **now) == ""
    assert what_differs(None, **now) == "no receipt says what made it"
    for changed, words in (
        ({"expected": describe_job("plot", {"code": "c0de", "n": 1})}, "made with other settings"),
        ({"expected": describe_job("plot", {"code": "new"})}, "made by other code"),
        ({"expected": describe_job("draw", {"code": "c0de"})}, "its receipt is of another job"),
        ({"inputs": {**now["inputs"], chain[0]: "0"}}, f"made from another {chain[0]}"),
        ({"inputs": {chain[0]: now["inputs"][chain[0]]}}, f"made from another {chain[1]}"),
        ({"inputs": {**now["inputs"], "more": "0"}}, "made from another more"),
        ({"outputs": {"figures/x.png": "0"}}, "figures/x.png is not as it was written"),
        ({"inputs": {**now["inputs"], chain[0]: None}}, f"made from {chain[0]}, which is gone"),
        ({"outputs": {"figures/x.png": None}}, ""),
        ({"outputs": {"figures/y.png": "0"}}, "its receipt is of another job"),
    ):
        assert what_differs(receipt, **(now | changed)) == words


def test_a_changed_receipt_is_none(chain):
    path = Path("results/receipts/plot.json")
    content = path.read_bytes()
    accepted = []
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1
        path.write_bytes(damaged)
        if read_receipt(path) is not None:
            accepted.append(place)
    # Space between the parts holds nothing.
    assert all(chr(content[place]).isspace() for place in accepted)
    for text in ("", "[]", "{}", "[" * 100_000, json.dumps({"seal": 1})):
        path.write_text(text)
        assert read_receipt(path) is None


def test_a_job_refuses_files_that_are_not_as_they_were_made(chain, capsys):
    """A part over another one: the replication would count twice."""
    shutil.copy(chain[0], chain[1])
    before = Path("figures/x.png").read_bytes()
    with pytest.raises(SystemExit):
        work("plot", inputs=chain, outputs=["figures/x.png"], text="other pixels")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith(f"error: {chain[1]}: damaged, or of another job or run; ")
    assert f"snakemake --cores 1 --force {chain[1]}\n" in said
    assert Path("figures/x.png").read_bytes() == before


def test_the_jobs_behind_a_file_are_traced_once_each(chain):
    behind = trace(digest_files(["figures/page.html"]))
    assert [receipt["rule"] for receipt in behind] == ["simulate", "simulate", "plot", "write"]


def test_a_chain_with_a_foreign_link_is_refused(chain):
    """The part was made again, with other numbers, after the figure was drawn."""
    work("simulate", cell="/1", outputs=[chain[1]], text="part 2")
    with pytest.raises(TableError, match=rf"{chain[1]}: no receipt says what made it; rebuild it"):
        trace(digest_files(["figures/page.html"]))


def test_a_rule_with_a_new_name_takes_over_its_files(chain):
    """The receipt under the old name stays and does no harm."""
    work("draw", inputs=chain, outputs=["figures/x.png"], text="new pixels")
    work("write", inputs=["figures/x.png"], outputs=["figures/page.html"])
    behind = trace(digest_files(["figures/page.html"]))
    assert [receipt["rule"] for receipt in behind] == ["simulate", "simulate", "draw", "write"]
