"""The heart-disease study: data, preprocessing, training, metrics and tables."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats
from sklearn import metrics as sk
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OrdinalEncoder, StandardScaler

from embedalloc.study import heart
from embedalloc.study.heart_data import (
    _CSV_COLUMNS,
    _WORDS,
    CATEGORICAL,
    NUMERIC,
    PATIENTS,
    read_patients,
)
from embedalloc.study.heart_metrics import (
    METRICS,
    MODELS,
    calibration_error,
    confusion_metrics,
    debiased_calibration_error,
    held_out_metrics,
    score,
)
from embedalloc.study.heart_preprocess import fit_preprocessor, stratified_split
from embedalloc.study.heart_table import (
    PAPER,
    corrected_p_value,
    holm,
    mean_table,
    paired_table,
    t_interval,
)
from embedalloc.study.plain_network import train_plain
from embedalloc.study.streams import stream
from embedalloc.study.tables import TableError

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "workflow/resources/heart_disease"
CONFIG = yaml.safe_load((ROOT / "config.yaml").read_text())["heart"]
QUICK = CONFIG | {"epochs": 4, "budgets": [64, 128, 256], "restarts": 2, "folds": 2}


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
    words = {column: {v: k for k, v in table.items()} for column, table in _WORDS.items()}
    rows = [list(_CSV_COLUMNS)]
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
        (lambda rows: [rows[0], [*rows[1][:-1], "1"], *rows[2:]], "510 patients with disease"),
        (lambda rows: [rows[0], [*rows[1][:5], "", *rows[1][6:]], *rows[2:]],
         "column 'trestbps' lacks 60 values, the original 59"),
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
        (lambda rows: [rows[0], [*rows[1][:-1], ""], *rows[2:]], "without data source or diag"),
        (lambda rows: [rows[0], [*rows[1][:3], "", *rows[1][4:]], *rows[2:]],
         "without data source or diag"),
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
    fitted = fit_preprocessor(patients.iloc[training])
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
        np.testing.assert_allclose(fitted.numbers(frame), expected)
    assert fitted.cardinalities == (3, 5, 3, 4, 3, 4, 5, 4, 5)


def test_levels_not_seen_in_training_get_the_reserved_code(patients):
    training = patients[patients["cp"] != 2.0]
    fitted = fit_preprocessor(training)
    codes = fitted.codes(patients)
    assert fitted.cardinalities[1] == 4
    assert (codes[patients["cp"] == 2.0, 1] == 3).all()
    assert (codes[patients["cp"] == 4.0, 1] == 2).all()


def test_splits_have_the_sizes_of_the_paper(patients):
    labels = patients["disease"].to_numpy()
    for s in range(5):
        training, validation, test = heart.split_patients(patients, CONFIG, stream(1, "t", s))
        assert (len(training), len(validation), len(test)) == (515, 129, 276)
        assert labels[test].sum() == 153
        assert labels[validation].sum() == 71
        assert sorted([*training, *validation, *test]) == list(range(920))


# ------------------------------------------------------------------ training


@pytest.fixture(scope="module")
def two_splits(patients):
    return heart.run_splits(patients, QUICK, seed=3, first=0, last=2)


def test_tables_keep_their_contracts_and_hold_every_network(two_splits):
    trained, splits, coefficients = two_splits
    for frame, contract in zip(
        two_splits, (heart.TRAINED, heart.SPLITS, heart.COEFFICIENTS), strict=True
    ):
        contract.check(frame, contract.name)
    assert len(trained) == 2 * (3 * 3 + 2 * 2 + 2)
    assert (trained["embedding_parameters"] <= trained["budget"])[trained["budget"] > 0].all()
    assert len(coefficients) == 18
    assert set(splits["selected_budget"]) <= {64, 128, 256}


def test_the_selected_budget_is_the_smallest_within_the_tolerance(two_splits):
    trained, splits, _ = two_splits
    for network, column in [
        ("proposed", "selected_budget"),
        ("uniform", "selected_budget_uniform"),
        ("unit_coefficients", "selected_budget_unit"),
    ]:
        for split in splits.to_dict("records"):
            mine = trained[(trained["split"] == split["split"]) & (trained["network"] == network)]
            losses = mine.set_index("budget")["validation_logloss"]
            good = losses.index[losses <= losses.min() + QUICK["tolerance"]]
            assert split[column] == min(good)


def test_a_split_does_not_depend_on_its_company(patients, two_splits):
    alone = heart.run_splits(patients, QUICK, seed=3, first=1, last=2)
    for together, single in zip(two_splits, alone, strict=True):
        same = together[together["split"] == 1].reset_index(drop=True)
        for column in single:
            for a, b in zip(same[column], single[column], strict=True):
                np.testing.assert_array_equal(a, b)


def test_test_rows_and_labels_reach_nothing_that_is_learned(patients, two_splits, monkeypatch):
    """Scrambled test rows change the test probabilities and nothing else."""
    _, splits, _ = two_splits
    rows = [np.asarray(splits.loc[0, part]) for part in ("training", "validation", "test")]
    scrambled = patients.copy()
    rng = np.random.default_rng(1)
    for column in patients.columns[1:]:
        scrambled.loc[rows[2], column] = rng.permutation(patients.loc[rows[2], column].to_numpy())
    scrambled.loc[rows[2], "disease"] = 1 - scrambled.loc[rows[2], "disease"]
    monkeypatch.setattr(heart, "split_patients", lambda *_: tuple(rows))
    again, again_splits, again_coefficients = heart.run_splits(
        scrambled, QUICK, seed=3, first=0, last=1
    )
    first = two_splits[0][two_splits[0]["split"] == 0].reset_index(drop=True)
    learned = [c for c in first if c not in ("test_probabilities", "validation_probabilities")]
    pd.testing.assert_frame_equal(again[learned], first[learned], check_exact=True)
    for a, b in zip(
        again["validation_probabilities"], first["validation_probabilities"], strict=True
    ):
        np.testing.assert_array_equal(a, b)
    assert (again_splits["selected_budget"] == splits["selected_budget"][:1]).all()
    expected = two_splits[2][two_splits[2]["split"] == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(again_coefficients, expected, check_exact=True)
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(again["test_probabilities"], first["test_probabilities"], strict=True)
    )


def test_networks_of_the_study_equal_the_plain_loop(patients):
    """The proposed and the one-hot network of a real split, trained by torch's autograd."""

    def named(*parts):
        return stream(3, "heart", 0, *parts)

    training, validation, test = heart.split_patients(patients, QUICK, named("rows"))
    bench = heart.Bench(patients, training, validation, QUICK | {"epochs": 8}, named)
    for dimensions in ((5, 4, 2, 4, 4, 3, 3, 3, 4), None):
        ours = bench.fit(dimensions)
        plain = train_plain(
            bench.shape(dimensions),
            bench.start(dimensions, 0),
            bench._plans[0],
            bench.training,
            bench.validation,
            heart.training_settings(QUICK | {"epochs": 8}),
        )
        assert (ours.best_epoch, ours.epochs_run) == (plain.best_epoch, plain.epochs_run)
        difference = heart.predict(ours, bench.rows(test)) - plain.predict(bench.rows(test))
        assert np.abs(difference).max() < 1e-10


def test_selection_by_folds_keeps_its_contract_and_selects_one_budget(patients):
    frame = heart.select_by_folds(patients, QUICK, seed=3, first=0, last=2)
    heart.FOLDS.check(frame, "folds")
    assert frame.groupby("split")["selected"].sum().tolist() == [1, 1]
    for _, rows in frame.groupby("split"):
        best = rows.loc[rows["mean_loss"].idxmin()]
        good = rows[rows["mean_loss"] <= best["mean_loss"] + best["standard_error"]]
        assert rows.loc[rows["selected"], "budget"].item() == good["budget"].min()


# ------------------------------------------------------------------ metrics


def test_metrics_agree_with_scikit_learn():
    rng = np.random.default_rng(4)
    for _ in range(20):
        p = rng.beta(0.7, 0.7, 276)
        y = (rng.random(276) < p).astype(np.int64)
        found, guess = held_out_metrics(y, p), p > 0.5
        assert found["accuracy"] == pytest.approx(sk.accuracy_score(y, guess))
        assert found["f1"] == pytest.approx(sk.f1_score(y, guess))
        assert found["precision"] == pytest.approx(sk.precision_score(y, guess))
        assert found["mcc"] == pytest.approx(sk.matthews_corrcoef(y, guess))
        assert found["test_logloss"] == pytest.approx(sk.log_loss(y, p))
        assert found["brier"] == pytest.approx(sk.brier_score_loss(y, p))
        for bins, name in ((10, "ece"), (15, "ece_15")):
            total = 0.0
            for k in range(bins):
                upper = (p < (k + 1) / bins) if k < bins - 1 else (p <= 1)
                inside = (p >= k / bins) & upper
                if inside.any():
                    total += inside.mean() * abs(y[inside].mean() - p[inside].mean())
            assert found[name] == pytest.approx(total)


def test_matrices_implied_by_the_paper_give_its_figures():
    """All but one printed figure: the unconstrained model's MCC is printed as 0.620."""
    matrices = {
        "proposed": (129, 21, 24, 102),
        "one_hot": (126, 27, 27, 96),
        "unconstrained": (127, 25, 26, 98),
        "uniform": (132, 29, 21, 94),
        "cardinality": (104, 18, 49, 105),
    }
    off = []
    for model, matrix in matrices.items():
        for name, printed in zip(
            ("accuracy", "f1", "precision", "mcc"), PAPER[model], strict=False
        ):
            if round(confusion_metrics(*matrix)[name], 3) != printed:
                off.append((model, name))
    assert off == [("unconstrained", "mcc")]
    assert confusion_metrics(*matrices["unconstrained"])["mcc"] == pytest.approx(0.626, abs=5e-4)


def test_undefined_metrics_count_as_zero():
    assert confusion_metrics(0, 0, 5, 5) == {"accuracy": 0.5, "f1": 0, "precision": 0, "mcc": 0}


def test_the_debiased_calibration_error_has_no_bias():
    """A calibrated forecast looks miscalibrated by the plain error and not by the debiased one."""
    rng = np.random.default_rng(8)
    plain, debiased = [], []
    for _ in range(1000):
        p = rng.random(276)
        y = (rng.random(276) < p).astype(np.int64)
        place = np.minimum((p * 10).astype(int), 9)
        terms = []
        for k in range(10):
            inside = place == k
            rate, n = y[inside].mean(), inside.sum()
            gap = (rate - p[inside].mean()) ** 2
            terms.append(inside.mean() * (gap - rate * (1 - rate) / (n - 1)))
        total = sum(terms)
        assert debiased_calibration_error(y, p, 10) == pytest.approx(np.sqrt(max(total, 0)))
        debiased.append(total)
        plain.append(calibration_error(y, p, 10))
    assert np.mean(plain) > 0.03
    assert abs(np.mean(debiased)) < 4.5 * np.std(debiased) / np.sqrt(1000) + 2e-4


def test_every_model_is_scored_and_controls_are_the_best_tries(patients, two_splits):
    trained, splits, _ = two_splits
    scores, losses = score(trained, splits, patients)
    assert scores.groupby("split")["model"].apply(list).tolist() == [list(MODELS)] * 2
    assert len(losses) == len(trained)
    for split in (0, 1):
        mine = scores[scores["split"] == split].set_index("model")["validation_logloss"]
        tries = trained[(trained["split"] == split) & (trained["network"] == "one_hot")]
        assert mine["one_hot_best"] == tries["validation_logloss"].min()
        assert mine["one_hot"] == tries["validation_logloss"].iloc[0]
        assert mine["unconstrained_best"] <= mine["unconstrained"]


# ------------------------------------------------------------------ tables


def made_up_scores(splits=40):
    rng = np.random.default_rng(0)
    rows = []
    for split in range(splits):
        for i, model in enumerate(MODELS):
            values = {m: 0.5 + 0.01 * i + 0.05 * rng.random() for m in METRICS}
            rows.append({"split": split, "model": model, "budget": 1, "dimensions": "1"} | values)
    return pd.DataFrame(rows)


def test_intervals_are_those_of_scipy():
    values = np.random.default_rng(1).normal(size=30)
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert t_interval(values, 1 / 30) == pytest.approx((expected.low, expected.high))
    assert corrected_p_value(values, 1 / 30) == pytest.approx(stats.ttest_1samp(values, 0).pvalue)
    assert corrected_p_value(np.zeros(5), 0.2) == 1.0


def test_the_paired_table_by_hand():
    scores = made_up_scores()
    table = paired_table(scores, test=(276, 644), validation=(129, 515))
    table = table.set_index(["rival", "metric"])
    wide = scores.pivot(index="split", columns="model", values="validation_logloss")
    d = (wide["proposed"] - wide["one_hot"]).to_numpy()
    half = stats.t.ppf(0.975, 39) * d.std(ddof=1) * np.sqrt(1 / 40 + 129 / 515)
    row = table.loc[("one_hot", "validation_logloss")]
    assert row["corrected_high"] - row["difference"] == pytest.approx(half)
    wide = scores.pivot(index="split", columns="model", values="brier")
    d = (wide["proposed"] - wide["uniform"]).to_numpy()
    row = table.loc[("uniform", "brier")]
    assert row["difference"] == pytest.approx(d.mean())
    half = stats.t.ppf(0.975, 39) * d.std(ddof=1) * np.sqrt(1 / 40 + 276 / 644)
    assert row["corrected_low"] == pytest.approx(d.mean() - half)
    assert row["corrected_high"] == pytest.approx(d.mean() + half)
    assert row["won"] == pytest.approx((d < 0).mean())
    accuracy = scores.pivot(index="split", columns="model", values="accuracy")
    better = (accuracy["proposed"] > accuracy["uniform"]).mean()
    assert table.loc[("uniform", "accuracy"), "won"] == pytest.approx(better)
    assert len(table) == 9 * len(METRICS)


def test_holm_by_hand():
    assert holm(np.array([0.01, 0.04, 0.03, 0.005])) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.9, 0.8])) == pytest.approx([1.0, 1.0])


def test_the_mean_table_places_the_papers_figures(two_splits):
    scores = made_up_scores()
    times = pd.DataFrame(
        {"model": MODELS, "dimensions": "1", "seconds_per_epoch": 0.1, "cpu_seconds_per_epoch": 0.1}
    )
    table = mean_table(scores, times).set_index(["model", "metric"])
    row = table.loc[("proposed", "accuracy")]
    mine = scores[scores["model"] == "proposed"]["accuracy"]
    assert row["mean"] == pytest.approx(mine.mean())
    assert row["paper"] == 0.837
    assert row["percentile"] == 100.0
    assert np.isnan(table.loc[("proposed", "test_logloss"), "paper"])
    assert np.isnan(table.loc[("unit_coefficients", "accuracy"), "percentile"])
    assert table.loc[("one_hot", "seconds_per_epoch"), "paper"] == 0.029
