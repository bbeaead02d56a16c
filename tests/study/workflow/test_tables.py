"""Parquet contracts: what is written and read is checked, and files are whole or absent."""

import errno
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from embedalloc.study.workflow.tables import (
    Column,
    Contract,
    TableError,
    digest_of,
    read_table,
    read_tables,
    write_table,
)
from tests.digests import provenance_of

CONTRACT = Contract(
    "demo",
    {
        "name": Column("text", "who", values=("a", "b")),
        "row": Column("integer", "which", low=0, high=99),
        "score": Column("number", "how much", low=0.0, may_be_missing=True),
        "good": Column("flag", "whether"),
    },
    key=("name", "row"),
)
FRAME = pd.DataFrame(
    {
        "name": ["a", "b"] * 50,
        "row": np.repeat(np.arange(50), 2),
        "score": [np.nan, *np.linspace(0, 9, 99)],
        "good": [True, False] * 50,
    }
)


@pytest.fixture
def path(tmp_path):
    target = tmp_path / "deep" / "demo.parquet"
    write_table(target, FRAME, CONTRACT, settings={"n": 3}, seed=11)
    return target


def test_round_trip_keeps_values_and_provenance(path):
    pd.testing.assert_frame_equal(read_table(path, CONTRACT), FRAME)
    assert provenance_of(path) == {
        "contract": "demo",
        "contract_digest": CONTRACT.digest,
        "config_digest": digest_of({"n": 3}),
        "seed": 11,
    }
    assert [entry.name for entry in path.parent.iterdir()] == ["demo.parquet"]


def test_lists_of_numbers_are_checked_entry_by_entry(tmp_path):
    contract = Contract(
        "lists",
        {"row": Column("integer", "which"), "p": Column("numbers", "chances", low=0, high=1)},
        key=("row",),
    )
    frame = pd.DataFrame({"row": [0, 1], "p": [[0.5, 1.0], [0.25]]})
    target = tmp_path / "lists.parquet"
    write_table(target, frame, contract, settings={}, seed=0)
    assert [list(p) for p in read_table(target, contract)["p"]] == [[0.5, 1.0], [0.25]]
    for bad, message in (([[0.5], [1.5]], "1.5 is above 1"), ([[0.5], [np.nan]], "missing value")):
        with pytest.raises(TableError, match=f"inside the lists: {message}"):
            write_table(target, frame.assign(p=bad), contract, settings={}, seed=0)


def test_same_content_same_bytes(path, tmp_path):
    again = tmp_path / "again.parquet"
    write_table(again, FRAME, CONTRACT, settings={"n": 3}, seed=11)
    assert again.read_bytes() == path.read_bytes()


def test_several_files_are_read_in_order(path, tmp_path):
    other = tmp_path / "other.parquet"
    write_table(other, FRAME.assign(row=FRAME["row"] + 50), CONTRACT, settings={}, seed=1)
    together = read_tables([other, path], CONTRACT)
    assert together["row"].tolist() == [*(FRAME["row"] + 50), *FRAME["row"]]


def test_parts_that_repeat_rows_are_refused(path, tmp_path):
    other = tmp_path / "other.parquet"
    write_table(other, FRAME.assign(row=FRAME["row"] + 49), CONTRACT, settings={}, seed=1)
    with pytest.raises(
        TableError, match=rf"{other}: repeats {{'name': 'a', 'row': 49}} of another"
    ):
        read_tables([path, other], CONTRACT)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="good"), r"missing \['good'\]"),
        (lambda f: f.assign(extra=1), r"unknown \['extra'\]"),
        (lambda f: f[["row", "name", "score", "good"]], "columns do not match"),
        (lambda f: f.head(0), "empty"),
        (lambda f: f.assign(row=f["row"] - 1), "column 'row': -1 is below 0"),
        (lambda f: f.assign(row=f["row"] + 60), "column 'row': 109 is above 99"),
        (lambda f: f.assign(row=f["row"] * 1.0), "type float64 where integer is expected"),
        (lambda f: f.assign(score=-1.0), "column 'score': -1.0 is below 0.0"),
        (lambda f: f.assign(score=np.inf), "column 'score': infinite value"),
        (lambda f: f.assign(name="c"), "column 'name': 'c' is not one of a, b"),
        (lambda f: f.assign(name=None), "column 'name': missing value in row 0"),
        (lambda f: f.assign(good="yes"), "where flag is expected"),
        (lambda f: f.assign(row=3), "more than one row for {'name': 'a', 'row': 3}"),
    ],
)
def test_a_frame_that_breaks_the_contract_is_not_written(tmp_path, change, message):
    target = tmp_path / "demo.parquet"
    with pytest.raises(TableError, match=message):
        write_table(target, change(FRAME), CONTRACT, settings={}, seed=1)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    before = path.read_bytes()

    def fail(where, content):
        where.open("wb").write(content[:10])
        raise OSError(errno.ENOSPC, "No space left on device", str(where))

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match=r"No space left on device\): '.*deep/demo\.parquet'"):
        write_table(path, FRAME, CONTRACT, settings={}, seed=1)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


def expect_refusal(path, message):
    with pytest.raises(TableError) as caught:
        read_table(path, CONTRACT)
    text = str(caught.value)
    assert str(path) in text
    assert message in text
    assert f"snakemake --cores 1 --force {path}" in text


def test_truncated_emptied_and_foreign_files_are_refused_with_the_way_out(path):
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:-1], b"", b"not parquet at all"):
        path.write_bytes(damaged)
        expect_refusal(path, "damaged or not parquet")
    pq.write_table(pa.table({"name": ["a"]}), path)
    expect_refusal(path, "not written by embedalloc")
    path.unlink()
    expect_refusal(path, "no such file")


def test_a_place_that_cannot_be_read_is_refused(path):
    path.unlink()
    path.mkdir()
    expect_refusal(path, "cannot be read (Is a directory)")


def test_every_byte_counts(path):
    """One flipped bit in each byte of the file, footer and digest included: each is noticed."""
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for place, bit in enumerate(rng.integers(0, 8, len(content))):
        damaged = bytearray(content)
        damaged[place] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(TableError, match="damaged") as caught:
            read_table(path, CONTRACT)
        assert str(path) in str(caught.value)
        assert "snakemake --cores 1 --force" in str(caught.value)


def test_cut_swapped_and_overwritten_files_are_noticed(path):
    content = path.read_bytes()
    rng = np.random.default_rng(2)
    for case in range(2000):
        start, length = rng.integers(0, len(content)), int(rng.integers(1, 200))
        end = min(start + length, len(content))
        damaged = bytearray(content)
        if case % 4 == 0:
            del damaged[start:end]
        elif case % 4 == 1:
            damaged[start:end] = bytes(end - start)
        elif case % 4 == 2:
            damaged[start:end] = rng.bytes(length)
        else:
            damaged[start:start] = rng.bytes(length)
        path.write_bytes(damaged)
        if bytes(damaged) == content:
            pd.testing.assert_frame_equal(read_table(path, CONTRACT), FRAME)
            continue
        with pytest.raises(TableError, match=re.escape(str(path))):
            read_table(path, CONTRACT)


def test_any_parquet_reader_reads_the_files(path):
    for read in (pd.read_parquet, lambda p: pq.read_table(p).to_pandas()):
        pd.testing.assert_frame_equal(read(path), FRAME)
    source = pq.ParquetFile(path, page_checksum_verification=True)
    pd.testing.assert_frame_equal(source.read().to_pandas(), FRAME)


def test_outdated_and_misplaced_files_are_refused(path):
    newer = Contract("demo", CONTRACT.columns | {"more": Column("number", "new")}, CONTRACT.key)
    with pytest.raises(TableError, match="older contract of 'demo'; rebuild it with"):
        read_table(path, newer)
    other = Contract("other", CONTRACT.columns, CONTRACT.key)
    with pytest.raises(TableError, match="holds 'demo', not 'other'"):
        read_table(path, other)


def test_digests_do_not_depend_on_the_order_of_keys():
    assert digest_of({"a": 1, "b": [1, 2]}) == digest_of({"b": [1, 2], "a": 1})
    assert digest_of({"a": 1}) != digest_of({"a": 2})
