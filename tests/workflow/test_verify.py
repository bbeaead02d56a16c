"""The same numbers to the last bit, whichever way the study is run."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from embedalloc.study.workflow.agreement import TOLERANCE
from tests.digests import digests
from tests.places import ROOT
from tests.verify import (
    WAYS,
    differences,
    disagreements,
    numbers,
    other_processor,
    run,
    without_times,
)
from tests.workflow.runner import complete


def test_the_numbers_do_not_depend_on_the_way(finished_run, tmp_path):
    """One run that differs from the shared one in everything; `make verify` takes way by way.

    The shared one asks for eight threads and starts every job as a process of its own.
    """
    _, one_core, other_chunks = WAYS.values()
    run(replace(other_chunks, cores=one_core.cores, environment=None), tmp_path)
    found = numbers(tmp_path)
    assert len(found) > 50
    assert differences(finished_run.numbers, found) == []


#: One table of each part that rests on linear algebra or exponentials; `make verify` takes all.
ROUNDED = (
    "results/exp1/exponential/fits0.parquet",
    "results/exp2/n500/profiles0.parquet",
    "results/exp2/n500/profiles1.parquet",
    "results/exp3/n500/performance0.parquet",
    "results/theory/allocation_budgets.parquet",
)


def test_the_code_of_another_processor_rounds_differently_and_decides_the_same(
    finished_run, tmp_path
):
    complete(tmp_path, *ROUNDED, environment=other_processor().environment)
    assert digests(tmp_path)["results/exp1/exponential/fits*.parquet"] not in {
        *finished_run.numbers.values()
    }
    assert disagreements(finished_run.project, tmp_path) == []


def test_disagreements_are_named(tmp_path):
    def study(name, value, time="0.03"):
        place = tmp_path / name
        (place / "figures").mkdir(parents=True)
        pq.write_table(pa.table({"mean": [value], "seconds_per_epoch": [0.1]}), place / "x.parquet")
        text = f"| model | Acc | s/epoch |\n| --- | --- | --- |\n| a | {value:.3f} | {time} |\n"
        (place / "figures/table1.md").write_text(text)
        return place

    expected = study("expected", 0.5)
    assert disagreements(expected, study("rounded", 0.5 + 0.9 * TOLERANCE, time="0.04")) == []
    other = study("other", 0.501)
    assert disagreements(expected, other) == ["figures/table1.md", "x.parquet: mean"]
    (other / "x.parquet").rename(other / "y.parquet")
    assert disagreements(expected, other) == ["figures/table1.md", "y.parquet"]


def test_the_tolerance_is_stated_once_and_told_to_users():
    assert f"{TOLERANCE:g}" in (ROOT / "docs/reproduction.md").read_text()
    timed, again = (without_times(f"| a | s/epoch |\n| 1 | {time} |") for time in (2, 3))
    assert timed == again != without_times("| a | s/epoch |\n| 2 | 2 |")


def test_digests_see_every_bit_but_timings_and_parts(tmp_path):
    def digest(*parts, name="x"):
        for place in tmp_path.iterdir():
            place.unlink()
        for number, columns in enumerate(parts):
            pq.write_table(pa.table(columns), tmp_path / f"{name}{number}.parquet")
        return digests(tmp_path)

    whole = digest({"row": [1, 2], "value": [0.1, None]})
    assert list(whole) == ["x*.parquet"]
    in_parts = digest(
        {"row": [1], "value": [0.1]}, {"row": [2], "value": pa.array([None], "double")}
    )
    assert in_parts == whole
    assert digest({"row": [1, 2], "value": [0.1 + 2e-17, None]}) != whole
    assert digest({"row": [2, 1], "value": [None, 0.1]}) != whole
    timed = {"row": [1, 2], "value": [0.1, None], "seconds_per_epoch": [3.0, 4.0]}
    assert digest(timed) == whole
    rows = {"metric": ["brier", "seconds_per_epoch"], "mean": [0.1, 7.0]}
    assert digest(rows) == digest(rows | {"mean": [0.1, 8.0]})
    assert digest(rows) != digest(rows | {"mean": [0.2, 7.0]})
