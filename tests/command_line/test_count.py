"""`embedalloc count`: a file of counts and a sample, from files larger than memory."""

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from embedalloc import read_counts
from embedalloc.command_line import main
from embedalloc.data import streaming
from embedalloc.data.parquet_files import open_files
from tests.oracles.criteo_like import write_files


def run(*words):
    return CliRunner().invoke(main, ["count", *map(str, words)])


def test_counts_and_a_sample_come_from_several_files(tmp_path):
    files = write_files(tmp_path / "data", 5000, levels=(20, 300), files=3)
    out, sample = tmp_path / "counts.parquet", tmp_path / "sample.parquet"
    done = run(*files, "--output", out, "--sample", sample, "--sample-rows", 800, "--jobs", 2)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[0] == "5,000 rows, 322 levels"
    assert done.stdout.splitlines()[2].split()[:2] == ["C2", "300"]
    assert "column 3 of at most 3 done" in done.stderr
    frame = pd.concat(map(pd.read_parquet, files))
    assert {name: each.tolist() for name, each in read_counts(out).items()} == {
        name: frame[name].value_counts().tolist() for name in ("click", "C1", "C2")
    }
    assert pq.read_table(sample).shape == (800, 3)
    few = run(*files, "--output", out, "--sample", sample, "--field", "C1", "--sample-rows", 10**6)
    assert few.stdout.splitlines()[0] == "5,000 rows, 20 levels"
    assert pq.read_table(sample).num_rows == 5000


def test_a_table_without_rows_is_refused(tmp_path):
    source = tmp_path / "empty.parquet"
    pd.DataFrame({"town": pd.Series([], dtype="str")}).to_parquet(source)
    done = run(source, "--output", tmp_path / "counts.parquet")
    assert (done.exit_code, done.stderr) == (2, f"Error: {source}: no rows\n")


def test_a_damaged_column_is_refused_and_nothing_written(tmp_path, monkeypatch):
    """The end of the file, which says how many rows there are, and the column do not agree."""
    source, out = tmp_path / "towns.parquet", tmp_path / "counts.parquet"
    pd.DataFrame({"town": ["a", "b", "a"]}).to_parquet(source)
    monkeypatch.setattr(streaming, "open_files", lambda paths: open_files(paths)._replace(rows=40))
    done = run(source, "--output", out)
    assert done.exit_code == 2
    assert "column 'town' has 3 values in 40 rows: a file is damaged" in done.stderr
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no.parquet", "--output", "c.parquet"], "no.parquet: not a parquet file"),
        (["rows.parquet", "--output", "c.csv"], "--output: c.csv is none of .parquet"),
        (["rows.parquet", "--output", "no/c.parquet"], "--output: no is not a folder"),
        (["rows.parquet", "--output", "c.parquet", "--field", "x"], "no column 'x'; there are 'a'"),
    ],
)
def test_mistakes_end_in_one_line(tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": ["x", "y"]}).to_parquet("rows.parquet")
    done = run(*words)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["rows.parquet"]
