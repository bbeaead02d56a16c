"""The heart-disease data and their preprocessing."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from embedalloc.streams import stream
from embedalloc.study.heart.bench import split_patients
from embedalloc.study.heart.patients import (
    CATEGORICAL,
    CSV_COLUMNS,
    CSV_WORDS,
    NUMERIC,
    PATIENTS,
    read_patients,
)
from embedalloc.study.heart.preprocess import Preprocessor, stratified_split
from embedalloc.study.workflow.tables import TableError
from tests.places import ROOT, read_settings

DATA = ROOT / "workflow/resources/heart_disease"


@pytest.fixture(scope="module")
def patients():
    return read_patients(DATA, cholesterol_zero_is_missing=False)


# ------------------------------------------------------------------ data


def test_the_shipped_files_hold_the_known_patients(patients):
    PATIENTS.check(patients, "shipped")
    assert patients["source"].value_counts().tolist() == [303, 294, 200, 123]
    assert patients["disease"].sum() == 509
    assert (patients["chol"] == 0).sum() == 172
    assert patients.drop(columns="patient").duplicated().sum() == 2
    blank = read_patients(DATA, cholesterol_zero_is_missing=True)
    assert blank["chol"].isna().sum() == 30 + 172


def test_a_changed_byte_stops_with_the_file_and_both_digests(tmp_path):
    copy = shutil.copytree(DATA, tmp_path / "copy")
    victim = copy / "processed.va.data"
    victim.write_bytes(victim.read_bytes().replace(b"63,1,4", b"64,1,4", 1))
    with pytest.raises(TableError) as caught:
        read_patients(copy, cholesterol_zero_is_missing=False)
    assert "processed.va.data" in str(caught.value)
    assert "e7c93d8d0d2acdadfa4c5e8de768e2191e7f618b952e29623f1f0d5949ff6b8f" in str(caught.value)
    victim.unlink()
    with pytest.raises(TableError, match=r"processed\.va\.data: no such file"):
        read_patients(copy, cholesterol_zero_is_missing=False)


def csv_rows(patients):
    """The patients in the words of heart_disease_uci.csv."""
    names = {"dataset": "source", "thalch": "thalach"}
    words = {column: {v: k for k, v in table.items()} for column, table in CSV_WORDS.items()}
    rows = [list(CSV_COLUMNS)]
    for record in patients.to_dict("records"):
        row = []
        for column in rows[0]:
            value = {"id": record["patient"] + 1, "num": record["disease"]}.get(
                column, record.get(names.get(column, column))
            )
            missing = isinstance(value, float) and np.isnan(value)
            row.append("" if missing else words[column][value] if column in words else f"{value}")
        rows.append(row)
    return rows


def write_csv(path, rows):
    with path.open("w", newline="") as target:
        csv.writer(target).writerows(rows)
    return path


def test_the_csv_form_gives_the_same_patients(patients, tmp_path):
    path = write_csv(tmp_path / "heart_disease_uci.csv", csv_rows(patients))
    again = read_patients(path, cholesterol_zero_is_missing=False)
    pd.testing.assert_frame_equal(again, patients)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[:-1], "919 rows where the collection has 920"),
        (lambda rows: rows + rows[1:106], "1,025 rows where the collection has 920"),
        (lambda rows: [[*r[:3], *r[4:]] for r in rows], "the 1,025-row file has no data source"),
        (lambda rows: [[*rows[0][:-1], "target"], *rows[1:]], r"\['num', 'target'\]"),
        (lambda rows: [rows[0], [*rows[1][:2], "M", *rows[1][3:]], *rows[2:]],
         "line 2: 'M' in column 'sex'; known are Female, Male"),
        (lambda rows: [rows[0], rows[1][:-1], *rows[2:]], "line 2: 15 cells where 16"),
        (lambda rows: [], "not heart_disease_uci.csv"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_with_the_reason(patients, tmp_path, change, message):
    path = write_csv(tmp_path / "wrong.csv", change(csv_rows(patients)))
    with pytest.raises(TableError, match=message):
        read_patients(path, cholesterol_zero_is_missing=False)


def test_the_known_mislabelled_patient_of_the_csv_form_is_mended(patients, tmp_path):
    rows = csv_rows(patients)
    assert rows[304][3] == "Hungary"
    rows[304][3] = "Cleveland"
    again = read_patients(
        write_csv(tmp_path / "known.csv", rows), cholesterol_zero_is_missing=False
    )
    pd.testing.assert_frame_equal(again, patients)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [rows[0], [rows[1][0], "99", *rows[1][2:]], *rows[2:]], "columns age"),
        (lambda rows: [rows[0], *rows[:0:-1]], "another order; columns age"),
        (lambda rows: [rows[0], [*rows[1][:3], "Hungary", *rows[1][4:]], *rows[2:]],
         "columns source"),
        (lambda rows: [rows[0], [*rows[1][:3], "", *rows[1][4:]], *rows[2:]], "columns source"),
        (lambda rows: [*rows[:304], [*rows[304][:3], "", *rows[304][4:]], *rows[305:]],
         "columns source"),
        (lambda rows: [rows[0], [*rows[1][:5], "", *rows[1][6:]], *rows[2:]], "columns trestbps"),
        (lambda rows: [rows[0], [*rows[1][:-1], "1"], *rows[2:]], "columns disease"),
        (lambda rows: [rows[0], [*rows[1][:-1], ""], *rows[2:]], "columns disease"),
    ],
)  # fmt: skip
def test_cells_that_differ_from_the_original_are_noticed(patients, tmp_path, change, message):
    path = write_csv(tmp_path / "edited.csv", change(csv_rows(patients)))
    with pytest.raises(TableError, match=message):
        read_patients(path, cholesterol_zero_is_missing=False)


def test_a_binary_file_and_a_missing_one_are_refused(tmp_path):
    path = tmp_path / "binary.csv"
    path.write_bytes(bytes(range(128, 256)))
    with pytest.raises(TableError, match="not a CSV file"):
        read_patients(path, cholesterol_zero_is_missing=False)
    with pytest.raises(TableError, match=r"heart\.data in the config names it"):
        read_patients(tmp_path / "nowhere", cholesterol_zero_is_missing=False)


# ------------------------------------------------------------------ preprocessing


def test_preprocessing_agrees_with_scikit_learn(patients):
    rng = np.random.default_rng(0)
    training, other = stratified_split(rng, np.arange(920), patients["disease"].to_numpy(), 0.4)
    fitted = Preprocessor(patients.iloc[training])
    impute = SimpleImputer(strategy="most_frequent").fit(patients.iloc[training][list(CATEGORICAL)])
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=99).fit(
        impute.transform(patients.iloc[training][list(CATEGORICAL)])
    )
    median = SimpleImputer(strategy="median").fit(patients.iloc[training][list(NUMERIC)])
    scale = StandardScaler().fit(median.transform(patients.iloc[training][list(NUMERIC)]))
    for rows in (training, other):
        frame = patients.iloc[rows]
        expected = encode.transform(impute.transform(frame[list(CATEGORICAL)]))
        np.testing.assert_array_equal(fitted.codes(frame), expected)
        expected = scale.transform(median.transform(frame[list(NUMERIC)]))
        np.testing.assert_array_equal(fitted.numbers(frame), expected)
    assert fitted.cardinalities == (3, 5, 3, 4, 3, 4, 5, 4, 5)


def test_levels_not_seen_in_training_get_the_reserved_code(patients):
    training = patients[patients["cp"] != 2.0]
    fitted = Preprocessor(training)
    codes = fitted.codes(patients)
    assert fitted.cardinalities[1] == 4
    assert (codes[patients["cp"] == 2.0, 1] == 3).all()
    assert (codes[patients["cp"] == 4.0, 1] == 2).all()


def test_splits_have_the_sizes_of_the_paper(patients):
    labels = patients["disease"].to_numpy()
    for s in range(5):
        training, validation, test = split_patients(
            patients, read_settings().heart, stream(1, "t", s)
        )
        assert (len(training), len(validation), len(test)) == (515, 129, 276)
        assert labels[test].sum() == 153
        assert labels[validation].sum() == 71
        assert sorted([*training, *validation, *test]) == list(range(920))
