"""Files as data frames: every format gives the same columns, and no cell changes its meaning."""

import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from embedalloc.data.delimited import find_separator
from embedalloc.data.numerals import read_numbers
from embedalloc.data.reading import read_table
from embedalloc.data.table import DataError
from embedalloc.input_file import read_content

CODES = ["007", "07", "7", "NA", " b ", None]


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path, content, **words):
    content = content if isinstance(content, bytes) else content.encode()
    return read_table(content, path.name, **words)


def read_file(path):
    return read_table(path.read_bytes(), path.name)


def test_text_stays_text(tmp_path):
    frame, notes, *_ = read(tmp_path / "t.csv", "code, n\n007,1\n07,1.0\n7,NA\n NA ,\n,1e3\n")
    assert frame.columns.tolist() == ["code", "n"]
    assert frame["code"].tolist()[:4] == ["007", "07", "7", "NA"]
    assert frame["n"].tolist()[:3] == ["1", "1.0", "NA"]
    assert frame.isna().sum().tolist() == [1, 1]
    assert notes == ()
    again, *_ = read(tmp_path / "t.csv", "code\n007\nNA\n?\n", missing=["NA", "?"])
    assert again["code"].isna().tolist() == [False, True, True]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_cells_in_quotes_and_empty_lines(tmp_path, end):
    text = end.join(["", 'a, "b, c"', '"x ""y""", 1', "", '"one\ntwo",2', ""])
    frame, *_ = read(tmp_path / "t.csv", text)
    assert frame.to_dict("list") == {"a": ['x "y"', "one\ntwo"], "b, c": ["1", "2"]}


@pytest.mark.parametrize(
    ("content", "words", "note"),
    [
        ("größe,b\nä,1\n".encode("utf-8-sig"), {}, None),
        ("größe,b\nä,1\n".encode("utf-16"), {}, None),
        ("größe,b\nä,1\n".encode("latin-1"), {}, "not UTF-8"),
        ("größe,b\nä,1\n".encode("utf-32-le"), {"encoding": "utf-32-le"}, None),
        ("größe;b\nä;1\n".encode(), {}, "semicolons"),
        ("größe\tb\nä\t1\n".encode(), {}, "tabs"),
        ("größe|b\nä|1\n".encode(), {}, "bars"),
        ("größe:b\nä:1\n".encode(), {"separator": ":"}, None),
        ("größe\tb\nä\t1\n".encode(), {"separator": r"\t"}, None),
    ],
)
def test_encodings_and_separators(tmp_path, content, words, note):
    frame, notes, *_ = read(tmp_path / "t.csv", content, **words)
    assert frame.to_dict("list") == {"größe": ["ä"], "b": ["1"]}
    assert len(notes) == (note is not None)
    assert note is None or note in notes[0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_it_does_not_show_where_a_text_is_cut_into_lines(tmp_path, monkeypatch, end):
    text = end.join(["a,b", f'"1{end}2",x', "", f'y,"z{end}{end}"', "last,row"])
    whole = read(tmp_path / "t.csv", text)[0]
    assert len(whole) == 3
    for characters in range(1, len(text)):
        monkeypatch.setattr("embedalloc.data.delimited._CHARACTERS_AT_ONCE", characters)
        pd.testing.assert_frame_equal(read(tmp_path / "t.csv", text)[0], whole)


def test_a_lone_carriage_return_is_part_of_a_cell():
    """So pandas writes it, without quotes, where lines end in a newline."""
    frame = read_table(b"a,b\nfirst\rsecond,1\nthird,2\n", "raw.csv").frame
    assert frame["a"].tolist() == ["first second", "third"]


def test_a_separator_in_quotes_separates_nothing():
    assert find_separator('"a;b;c;d",e\n') == ","
    assert find_separator("\n\none\n") == ","


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        ("a,b\n1,2\n1,2,3\n", {}, "line 3 has 3 cells, the header has 2"),
        ('a,b\n"1\n2",2\n\n1\n', {}, "line 5 has 1 cells, the header has 2"),
        ('a,b\n1,"2\n3,4\n', {}, "line 3: unexpected end of data"),
        ('a,b\n"1"2,3\n', {}, "line 2: ',' expected after '\"'"),
        ("a, a\n1,2\n", {}, "column 'a' is there twice"),
        (",\n1,2\n", {"missing": []}, None),
        ("\n \n", {}, "the file is empty"),
        ("a,b\n", {}, "no rows"),
        (b"a,b\n\x00,1\n", {}, "character 4 is a null character"),
        (b"a,b\n\xff,1\n", {"encoding": "utf-8"}, "byte 4 is not utf-8"),
        ("a,b\n1,2\n", {"encoding": "klingon"}, "'klingon' is not an encoding"),
        ("a,b\n1,2\n", {"encoding": "base64"}, "'base64' is not an encoding"),
        ("a,b\n1,2\n", {"separator": "ab"}, "'ab' is not one character"),
        ("a,b\n1,2\n", {"separator": ""}, "'' is not one character"),
        ("a,b\n1,2\n", {"separator": '"'}, "is not one character"),
    ],
)
def test_faults_are_named_with_their_place(tmp_path, content, words, message):
    if message is None:
        frame, *_ = read(tmp_path / "t.csv", content, **words)
        assert frame.columns.tolist() == ["column 1", "column 2"]
        return
    with pytest.raises(DataError) as caught:
        read(tmp_path / "t.csv", content, **words)
    assert message in str(caught.value)


def test_every_format_gives_the_same_columns(tmp_path):
    columns = {"code": ["007", "7", None], "n": [1, 2, 3], "x": [0.5, None, 2.5]}
    table = pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "t.feather")
    lines = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    write(tmp_path / "t.jsonl", "\n".join(map(json.dumps, lines)))
    expected, *_ = read_file(tmp_path / "t.parquet")
    assert expected["code"].tolist()[:2] == ["007", "7"]
    for ending in ("feather", "jsonl"):
        frame, *_ = read_file(tmp_path / f"t.{ending}")
        pd.testing.assert_frame_equal(frame, expected)


def test_types_of_other_programs(tmp_path):
    table = pa.table(
        {
            "bytes": pa.array([b"p", b"q"]),
            "price": pa.array(["1.5", "2.25"]).cast(pa.decimal128(9, 2)),
            "day": pa.array(["2020-01-31", "2021-02-01"]).cast(pa.date32()),
            "time": pa.array([3600, 60], pa.time32("s")),
            "span": pa.array([5, 6], pa.duration("s")),
            "level": pa.array(["u", "v"]).dictionary_encode(),
            "__index_level_0__": [4, 9],
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    frame, *_ = read_file(tmp_path / "t.parquet")
    assert frame["bytes"].tolist() == ["p", "q"]
    assert frame["price"].tolist() == [1.5, 2.25]
    assert frame["day"].dt.month.tolist() == [1, 2]
    assert frame["time"].tolist() == ["01:00:00.000", "00:01:00.000"]
    assert frame["span"].tolist() == [5.0, 6.0]
    assert frame["level"].tolist() == ["u", "v"]
    assert frame["index"].tolist() == [4, 9]
    pq.write_table(pa.table({"raw": pa.array([b"\xff"])}), tmp_path / "t.parquet")
    with pytest.raises(DataError, match=r"damaged .*UTF8"):
        read_file(tmp_path / "t.parquet")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("t.parquet", "not a parquet file, though its name ends in .parquet"),
        ("t.csv.gz", "not a gzip file, though its name ends in .gz"),
        ("t.xlsx", "not a Excel file"),
        ("t.jsonl", "not a JSON lines file"),
        ("t.json", "not a JSON lines file"),
    ],
)
def test_a_name_that_promises_something_else(tmp_path, name, message):
    with pytest.raises(DataError, match=message):
        read(tmp_path / name, "a,b\n1,2\n")


def test_damaged_offsets_in_feather_do_not_end_the_process(tmp_path):
    pyarrow.feather.write_feather(
        pa.table({"a": ["one", "two", "three"]}), tmp_path / "t.feather", compression="uncompressed"
    )
    content = (tmp_path / "t.feather").read_bytes()
    ends = np.array([0, 3, 6, 11], np.int32).tobytes()
    assert content.count(ends) == 1
    damaged = content.replace(ends, np.array([0, 3, 2**30, 11], np.int32).tobytes())
    with pytest.raises(DataError, match="not a feather file, or damaged"):
        read(tmp_path / "t.feather", damaged)


def test_nonsense_in_json_lines(tmp_path):
    with pytest.raises(DataError, match="not a JSON lines file, or damaged"):
        read(tmp_path / "t.jsonl", '{"a": 1}\n{"a": \n')


def test_an_excel_file_keeps_its_types(tmp_path):
    pytest.importorskip("openpyxl", reason="the extra that Excel files need is not installed")
    frame = pd.DataFrame(
        {
            "code": ["007", "7"] * 5,
            "mixed": ["A1", 7] * 5,
            "x": [1.5, 2.0, None, 4.0, 5.0] * 2,
            "day": pd.date_range("2020-01-01", periods=10),
        }
    )
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    found, *_ = read_file(tmp_path / "t.xlsx")
    assert found["code"].tolist() == frame["code"].tolist()
    assert found["mixed"].tolist() == ["A1", "7"] * 5
    pd.testing.assert_series_equal(found["x"], frame["x"])
    assert (found["day"] == frame["day"]).all()


def test_excel_needs_a_package_that_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "")
    with pytest.raises(DataError, match="openpyxl"):
        read(tmp_path / "t.xlsx", file.getvalue())


def test_a_file_that_is_too_large_or_changes_is_refused(tmp_path, monkeypatch):
    path = write(tmp_path / "t.csv", "a,b\n1,2\n")
    with pytest.raises(OSError, match="more than 5 bytes are too many"):
        read_content(path, most=5)
    whole = read_content(path)

    def grow(file, most):
        with path.open("ab") as other:
            other.write(b"3,4\n")
        return whole

    monkeypatch.setattr("embedalloc.input_file.read_at_most", grow)
    with pytest.raises(OSError, match="changed while it was read"):
        read_content(path)


@pytest.mark.parametrize(
    ("texts", "numbers", "style"),
    [
        (["1", "2.5", "-3e4", "+.5", None], [1, 2.5, -3e4, 0.5, None], ""),
        (["$5,452.66", "$12", "-$1,000,000"], [5452.66, 12, -1e6], "with commas for thousands"),
        (["12.3%", "4 %"], [12.3, 4], ""),
        (["1.234,5", "12,5", "7"], [1234.5, 12.5, 7], "with a decimal comma"),
        (["1.234,50 €", "0,99 €"], [1234.5, 0.99], "with a decimal comma"),
        (["1", "NA", "?", "3"], [1, None, None, 3], ""),
        (["($5,452.66)", "$1.50", "($3)"], [-5452.66, 1.5, -3.0], "with commas for thousands"),
        (["(5)", "7"], [-5, 7], ""),
        (
            ["1 234.5", "12", "1\u00a0234\u202f567"],
            [1234.5, 12, 1234567],
            "with blanks for thousands",
        ),
        (
            ["1 234,5 €", "-12 €", "0,25 €"],
            [1234.5, -12, 0.25],
            "with blanks for thousands and a decimal comma",
        ),
    ],
)
def test_numbers_as_people_write_them(texts, numbers, style):
    found = read_numbers(pd.Series(texts, dtype="str"))
    assert found.style == style
    expected = pd.Series(numbers, dtype="float64")
    pd.testing.assert_series_equal(found.values.astype("float64"), expected)


def test_whole_numbers_with_gaps_stay_whole(tmp_path):
    """In every format; pandas alone would make floats of them, which are quantities."""
    whole = pd.DataFrame({"code": pd.array([3, None, 5], "Int64"), "x": [1.5, 2.0, None]})
    # By hand: pandas 2 writes 3.0 here.
    lines = ['{"code": 3, "x": 1.5}', '{"code": null, "x": 2.0}', '{"code": 5, "x": null}']
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    whole.to_excel(tmp_path / "t.xlsx", index=False)
    whole.to_parquet(tmp_path / "t.parquet")
    for name in ("t.jsonl", "t.xlsx", "t.parquet"):
        found = read_file(tmp_path / name).frame
        assert found.dtypes.astype(str).tolist() == ["Int64", "float64"]
        pd.testing.assert_series_equal(found["code"], whole["code"])
    for text in (["3", "", "5"], ["3.0", None, "5.0"]):  # as pandas writes gaps
        texts = pd.Series(text, dtype="str").replace("", None)
        pd.testing.assert_series_equal(read_numbers(texts).values, whole["code"], check_names=False)
    assert read_numbers(pd.Series(["3", "5"], dtype="str")).values.dtype == "int64"
    assert read_numbers(pd.Series(["3.5", "5"], dtype="str")).values.dtype == "float64"


@pytest.mark.parametrize(
    "texts",
    [
        ["007", "8"],
        ["1", "x"],
        ["NA", "?"],
        [None],
        ["$1", "1"],
        ["$1", "€1"],
        ["1,23,4"],
        ["0x10"],
        ["1_0"],
        ["٣"],
        ["inf"],
        ["1.2.3"],
        ["12:30"],
        ["2020-01-01"],
        ["1,234.5", "1.234,5"],
        ["1 234.5", "1,234"],
        ["12 34"],
        ["044 123 456"],
        ["(-5)", "4"],
        ["(5", "4"],
        ["12345678901234567890", "12345678901234567891"],
    ],
)
def test_what_is_not_all_numbers_of_one_unit_stays_text(texts):
    assert read_numbers(pd.Series(texts, dtype="str")) is None
