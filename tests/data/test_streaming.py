"""Counts and samples from files beyond memory, beside pandas, a formula, and DuckDB."""

import collections
import itertools
import re
import time

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import chisquare

from embedalloc import count_levels, read_counts
from embedalloc.data import parquet_files
from embedalloc.data.spilling import add_up, hash_levels
from embedalloc.data.streaming import draw_rows
from embedalloc.data.table import DataError
from tests.oracles.criteo_like import NAMES, draw_levels, write_files
from tests.places import ROOT

LEVELS = (20, 3, 5000)
ROWS = 40_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("rows")
    write_files(place, ROWS, levels=LEVELS, files=3, block=7_000)
    return place


def sorted_counts(values):
    return sorted(collections.Counter(values).values(), reverse=True)


@pytest.mark.parametrize("jobs", [1, 3])
def test_counts_are_those_of_the_formula_that_made_the_rows(folder, jobs):
    found = count_levels(folder, NAMES[:3], jobs=jobs)
    assert found.rows == ROWS
    edges = [*np.linspace(0, ROWS, 4).astype(int)]
    for field, name in enumerate(NAMES[:3]):
        drawn = np.concatenate(
            [
                draw_levels(field, first, min(7_000, end - first), ROWS, LEVELS)
                for begin, end in itertools.pairwise(edges)
                for first in range(begin, end, 7_000)
            ]
        )
        assert found.counts[name].dtype == np.int64
        assert found.counts[name].tolist() == sorted_counts(drawn.tolist())
        assert len(found.counts[name]) == LEVELS[field]


def test_every_kind_of_column_is_counted_as_pandas_does(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "text": pd.Series(rng.choice(["a", "b", "", None, "ä"], 5000), dtype="object"),
            "code": rng.integers(0, 300, 5000),
            "flag": rng.random(5000) < 0.3,
            "gap": pd.array(rng.integers(0, 9, 5000), dtype="Int64"),
            "group": pd.Categorical(rng.choice(list("xyz"), 5000)),
            "number": rng.normal(size=5000),
        }
    )
    frame.loc[rng.random(5000) < 0.1, "gap"] = pd.NA
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    out = tmp_path / "counts.parquet"
    found = count_levels(tmp_path / "rows.parquet", output=out).counts
    assert list(found) == ["text", "code", "flag", "gap", "group"]  # and no measured number
    clean = frame.replace({"text": {"": None}})
    for name, counts in found.items():
        expected = clean[name].value_counts(dropna=False).tolist()
        assert counts.tolist() == sorted(expected, reverse=True)
    again = read_counts(out)
    assert {name: each.tolist() for name, each in again.items()} == {
        name: each.tolist() for name, each in found.items()
    }
    written = pd.read_parquet(out)
    town = written[written["field"] == "text"].set_index("level")["rows"]
    assert town["ä"] == (frame["text"] == "ä").sum()
    assert town[town.index.isna()].tolist() == [(clean["text"].isna()).sum()]


def test_what_does_not_fit_waits_on_disk_and_nothing_stays_there(tmp_path):
    rng = np.random.default_rng(1)
    drawn = rng.zipf(1.2, size=60_000) % 30_000
    names = pd.Series(drawn).map("level {}".format)
    expected = sorted_counts(names.tolist())
    batches = [
        pa.table({"level": counts.index.to_list(), "rows": counts.to_numpy()})
        for counts in (names[k : k + 2000].value_counts() for k in range(0, 60_000, 2000))
    ]
    most = []
    for limit in (10**9, 100_000, 4_000):  # all in memory, one division, several
        tables = []
        for table in add_up(batches, tmp_path, limit):
            most.append(table.nbytes)
            tables.append(table)
        whole = pa.concat_tables(tables).to_pandas()
        assert not whole["level"].duplicated().any()
        assert sorted(whole["rows"], reverse=True) == expected
        assert max(each.nbytes for each in tables) <= limit
        assert not list(tmp_path.iterdir())
    assert len(tables) > 32  # the files of one division are divided again


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", None, "a"],
        [1, 2, None, 1],
        [True, False, None, True],
        [1.5, 2.5, None, 1.5],
        pd.to_datetime(["2020-01-01", "2021-01-01", None, "2020-01-01"]),
    ],
)
def test_equal_levels_have_equal_hashes(values):
    first, second, missing, again = hash_levels(pa.array(values, from_pandas=True))
    assert first == again
    assert first != second
    assert missing == 0


def test_the_sample_holds_the_drawn_rows_with_all_their_columns(folder, monkeypatch):
    monkeypatch.setattr(parquet_files, "BATCH", 1500)  # batches that end inside row groups
    found = count_levels(folder, ["C2"], sample_rows=3000, seed=5, jobs=2)
    rows = draw_rows(ROWS, 3000, 5)
    expected = pa.concat_tables([pq.read_table(each) for each in sorted(folder.iterdir())])
    assert found.sample.to_pandas().equals(expected.take(pa.array(rows)).to_pandas())


def test_nothing_is_read_ahead_of_slow_work(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_files, "BATCH", 10_000)
    names = [f"level {k:012}" for k in range(400_000)]
    pq.write_table(pa.table({"town": names}), tmp_path / "rows.parquet", row_group_size=10_000)
    before = pa.total_allocated_bytes()
    batches = parquet_files.open_files(tmp_path).scan("town")
    first = next(batches)
    time.sleep(0.5)  # the work, in which a reader in the background would go on
    assert first.nbytes > 200_000
    assert pa.total_allocated_bytes() - before < 5 * first.nbytes
    assert sum(map(len, batches)) == 390_000


def test_rows_are_drawn_once_and_with_equal_chances():
    count = np.zeros(40, dtype=int)
    for seed in range(3000):
        rows = draw_rows(40, 11, seed)
        assert len(set(rows.tolist())) == 11
        assert (np.diff(rows) > 0).all()
        count[rows] += 1
    assert chisquare(count).pvalue > 1e-3
    assert draw_rows(40, 40, 0).tolist() == list(range(40))
    assert draw_rows(40, 0, 0).tolist() == []


def statement(engine):
    """The statement of the documentation for an engine."""
    page = (ROOT / "docs/scale.md").read_text()
    return re.search(rf"{engine}:\n\n```sql\n(.*?)```", page, flags=re.DOTALL)[1]


def test_the_documented_statement_gives_the_same_file_in_duckdb(folder, tmp_path):
    out = tmp_path / "counts.parquet"
    text = statement("DuckDB").replace("data/*.parquet", f"{folder}/*.parquet")
    text = text.replace("counts.parquet", str(out)).replace("town, item", "C1, C2, C3")
    duckdb.sql(text)
    ours = tmp_path / "ours.parquet"
    found = count_levels(folder, NAMES[:3], output=ours)
    by_engine = read_counts(out)
    assert {name: each.tolist() for name, each in by_engine.items()} == {
        name: each.tolist() for name, each in found.counts.items()
    }
    order = ["field", "level"]
    left, right = (pd.read_parquet(each).sort_values(order) for each in (out, ours))
    assert left.reset_index(drop=True).astype(str).equals(right.reset_index(drop=True).astype(str))


def test_duckdb_counts_missing_levels_too(tmp_path):
    frame = pd.DataFrame({"town": ["a", None, "a", "", None], "item": [1, 2, None, 2, 2]})
    frame.astype({"item": "Int64"}).to_parquet(tmp_path / "rows.parquet")
    out = tmp_path / "counts.parquet"
    text = statement("DuckDB").replace("data/*.parquet", str(tmp_path / "rows.parquet"))
    duckdb.sql(text.replace("counts.parquet", str(out)))
    found = read_counts(out)
    assert found["town"].tolist() == [3, 2]  # two missing and one empty, and two of a
    assert found["item"].tolist() == [3, 1, 1]
    ours = count_levels(tmp_path / "rows.parquet").counts
    assert {name: each.tolist() for name, each in ours.items()} == {
        name: each.tolist() for name, each in found.items()
    }


def test_all_engines_have_the_same_statement():
    words = {engine: statement(engine).split() for engine in ("DuckDB", "Spark", "BigQuery")}
    for text in words.values():
        joined = " ".join(text)
        assert "SELECT field, level, count(*) AS rows" in joined.replace("`rows`", "rows")
        assert "GROUP BY field, level" in joined


def test_counts_come_from_csv_too(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("field,level,rows\ntown,a,2\ntown,,3\nsex,f,11\ntown,b,9\n")
    assert {k: v.tolist() for k, v in read_counts(path).items()} == {"town": [9, 3, 2], "sex": [11]}


def test_levels_may_look_like_numbers_at_first(tmp_path):
    path = tmp_path / "counts.csv"
    lines = [f"user,{number},1\n" for number in range(200_000)]  # more than arrow looks at first
    path.write_text("field,level,rows\n" + "".join(lines) + "user,x7,5\n")
    counts = read_counts(path)["user"]
    assert (len(counts), counts[0], counts.sum()) == (200_001, 5, 200_005)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("field,level\ntown,a\n", "no column 'rows'; it needs field, level, rows"),
        ("field,level,rows\ntown,a,0\n", "rows: 0 is not a whole number of at least 1"),
        ("field,level,rows\ntown,a,1.5\n", "rows: 1.5 is not a whole number of at least 1"),
        ("field,level,rows\n", "no rows"),
    ],
)
def test_files_of_counts_that_make_no_sense(tmp_path, content, message):
    path = tmp_path / "counts.csv"
    path.write_text(content)
    with pytest.raises(DataError, match=re.escape(message)):
        read_counts(path)


def test_files_that_do_not_fit_together_are_refused_before_work_starts(tmp_path):
    pd.DataFrame({"a": ["x"], "b": [1]}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(DataError, match=r"fields: no column 'c'; there are 'a', 'b'"):
        count_levels(tmp_path, ["c"])
    with pytest.raises(DataError, match=r"sample_rows: 2 of 1 rows cannot be drawn"):
        count_levels(tmp_path, sample_rows=2)
    pd.DataFrame({"a": [1], "b": [1]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2.parquet: column 'a' holds int64, in .*1.parquet"):
        count_levels(tmp_path)
    pd.DataFrame({"a": ["x"]}).to_parquet(tmp_path / "2.parquet")
    with pytest.raises(DataError, match=r"2.parquet: no column 'b', which .*1.parquet has"):
        count_levels(tmp_path)
    (tmp_path / "2.parquet").write_text("nothing")
    with pytest.raises(DataError, match=r"2.parquet: not a parquet file, or damaged"):
        count_levels(tmp_path)
    with pytest.raises(DataError, match=r"no.parquet: not a parquet file"):
        count_levels(tmp_path / "no.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: no file in this folder ends in .parquet"):
        count_levels(tmp_path / "empty")
    pd.DataFrame({"a": pd.Series([], dtype=str)}).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(DataError, match=r"none.parquet: no rows"):
        count_levels(tmp_path / "none.parquet")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    table = pa.table({"a": pa.array([b"x", b"\xff"]), "b": pa.array([b"x", b"x"])})
    pq.write_table(table, tmp_path / "rows.parquet")
    assert count_levels(tmp_path, ["b"]).counts["b"].tolist() == [2]
    with pytest.raises(DataError, match=r"column 'a' cannot be read \(.*UTF8"):
        count_levels(tmp_path, ["a"])


def test_a_full_disk_is_no_fault_of_the_file(folder, tmp_path, monkeypatch):
    def full(*words):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("embedalloc.data.streaming.add_up", full)
    with pytest.raises(OSError, match="No space left"):
        count_levels(folder, output=tmp_path / "counts.parquet")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_damaged_inside_leaves_no_counts(tmp_path):
    path, out = tmp_path / "rows.parquet", tmp_path / "counts.parquet"
    pd.DataFrame({"a": [f"{k}" for k in range(5000)]}).to_parquet(path)
    content = bytearray(path.read_bytes())
    content[200:2000] = b"\xff" * 1800
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"column 'a' cannot be read"):
        count_levels(path, output=out)
    assert [each.name for each in tmp_path.iterdir()] == ["rows.parquet"]
