"""The heart-disease study: training, metrics and tables."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn import metrics as sk

from embedalloc.intervals import corrected_p_value, holm, t_interval
from embedalloc.study.claims.heart import RIVALS
from embedalloc.study.heart import bench as bench_module
from embedalloc.study.heart.bench import prepare_split
from embedalloc.study.heart.folds import select_by_folds
from embedalloc.study.heart.metrics import (
    calibration_error,
    confusion_metrics,
    debiased_calibration_error,
    held_out_metrics,
    score,
)
from embedalloc.study.heart.networks import COEFFICIENTS, FOLDS, SPLITS, TRAINED
from embedalloc.study.heart.paired import tabulate_means, tabulate_pairs
from embedalloc.study.heart.patients import (
    read_patients,
)
from embedalloc.study.heart.splits import run_splits
from embedalloc.study.heart.table1 import METRICS, MODELS, PAPER
from embedalloc.study.heart.table1_text import paired_notes, table_notes
from embedalloc.study.heart.trainer.network import predict
from embedalloc.study.workflow.document import Part, as_markdown
from tests.oracles.plain_training import train_plain
from tests.places import ROOT, changed, read_settings

DATA = ROOT / "workflow/resources/heart_disease"
QUICK = changed(read_settings().heart, epochs=4, budgets=[64, 128, 256], restarts=2, folds=2)


def cell(*splits):
    return QUICK.cell(3, range(*splits))


@pytest.fixture(scope="module")
def patients():
    return read_patients(DATA, cholesterol_zero_is_missing=False)


# ------------------------------------------------------------------ training


@pytest.fixture(scope="module")
def two_splits(patients):
    return run_splits(patients, cell(0, 2))


def test_tables_keep_their_contracts_and_hold_every_network(two_splits):
    trained, splits, coefficients = two_splits
    for frame, contract in zip(two_splits, (TRAINED, SPLITS, COEFFICIENTS), strict=True):
        contract.check(frame, contract.name)
    assert len(trained) == 2 * (3 * 3 + 2 * 2 + 2)
    sizes = {split: rows["cardinality"].to_numpy() for split, rows in coefficients.groupby("split")}
    for row in trained[trained["budget"] > 0].itertuples():
        assert row.dimensions @ sizes[row.split] <= row.budget
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
            good = losses.index[losses <= losses.min() + QUICK.tolerance]
            assert split[column] == min(good)


def test_a_split_does_not_depend_on_its_company(patients, two_splits):
    alone = run_splits(patients, cell(1, 2))
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
    monkeypatch.setattr(bench_module, "split_patients", lambda *_: bench_module.Parts(*rows))
    again, again_splits, again_coefficients = run_splits(scrambled, cell(0, 1))
    first = two_splits[0][two_splits[0]["split"] == 0].reset_index(drop=True)
    learned = [column for column in first if column != "test_probabilities"]
    pd.testing.assert_frame_equal(again[learned], first[learned], check_exact=True)
    assert (again_splits["selected_budget"] == splits["selected_budget"][:1]).all()
    expected = two_splits[2][two_splits[2]["split"] == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(again_coefficients, expected, check_exact=True)
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(again["test_probabilities"], first["test_probabilities"], strict=True)
    )


def test_networks_of_the_study_equal_the_plain_loop(patients):
    """The proposed and the one-hot network of a real split, trained by torch's autograd."""

    settings = changed(QUICK, epochs=8)
    bench, parts = prepare_split(patients, settings, seed=3, split=0)
    test = bench.rows(parts.test)
    for dimensions in ((5, 4, 2, 4, 4, 3, 3, 3, 4), None):
        ours = bench.fit(dimensions)
        plain = train_plain(
            bench.shape(dimensions),
            bench.start(dimensions, 0),
            bench.schedule(0),
            bench.training,
            bench.validation,
            settings,
        )
        assert (ours.best_epoch, ours.epochs_run) == (plain.best_epoch, plain.epochs_run)
        assert np.abs(predict(ours, test) - plain.predict(test)).max() < 1e-10


def test_selection_by_folds_keeps_its_contract_and_selects_one_budget(patients):
    frame = select_by_folds(patients, QUICK.folds_cell(3, range(2)))
    FOLDS.check(frame, "folds")
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


@pytest.mark.parametrize("rivals", RIVALS.values(), ids=RIVALS)
def test_a_few_models_score_as_among_all(patients, two_splits, rivals):
    models = ("proposed", *rivals)
    some, splits, _ = run_splits(patients, cell(0, 2), models=models)
    assert len(some) < len(two_splits[0])
    expected, _ = score(*two_splits[:2], patients)
    found, _ = score(some, splits, patients, models)
    found, expected = (frame.set_index(["split", "model"]) for frame in (found, expected))
    assert set(found.index.get_level_values("model")) == set(models)
    pd.testing.assert_frame_equal(found, expected.loc[found.index])


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
    table = tabulate_pairs(scores, test=(276, 644), validation=(129, 515))
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
    times = pd.DataFrame({"model": MODELS, "dimensions": "1", "seconds_per_epoch": 0.1})
    table = tabulate_means(scores, times).set_index(["model", "metric"])
    row = table.loc[("proposed", "accuracy")]
    mine = scores[scores["model"] == "proposed"]["accuracy"]
    assert row["mean"] == pytest.approx(mine.mean())
    assert row["paper"] == 0.837
    assert row["percentile"] == 100.0
    assert np.isnan(table.loc[("proposed", "test_logloss"), "paper"])
    assert np.isnan(table.loc[("unit_coefficients", "accuracy"), "percentile"])
    assert table.loc[("one_hot", "seconds_per_epoch"), "paper"] == 0.029


# ------------------------------------------------------------------ words


def notes_of(tables, splits, **settings):
    folds = pd.DataFrame({"split": [0, 1], "budget": [64, 64], "selected": True})
    return "\n".join(table_notes(splits, folds, tables, **settings))


def test_notes_follow_the_settings(two_splits):
    _, splits, coefficients = two_splits
    text = notes_of(coefficients, splits, budgets=range(128, 138), restarts=10)
    assert "mean over 2 stratified splits" in text
    assert "these 920 patients only" in text
    assert "best of ten budgets" in text
    assert "'own search' and 'best of restarts' give its rivals as many tries" in text
    assert "87 embedding parameters; full rank for every predictor costs 114" in text
    assert "so every candidate budget can afford it" in text
    text = notes_of(coefficients, splits, budgets=[64, 128, 256], restarts=2)
    assert "best of three budgets" in text
    assert "'own search' gives its rivals as many tries, 'best of restarts' two." in text
    assert "2 of the 3 candidate budgets can afford it" in text
    fewer = splits.assign(test=splits["test"].map(lambda rows: rows[:100]))
    assert "these 744 patients only" in notes_of(coefficients, fewer, budgets=[64], restarts=1)
    assert "(276/644, and 129/515 for the validation logloss)" in "".join(paired_notes(splits))
    assert "(100/644, and 129/515 for the validation logloss)" in "".join(paired_notes(fewer))


def test_weak_correlations_are_not_called_close(two_splits):
    _, splits, coefficients = two_splits
    turned = coefficients.assign(after=-coefficients["before"])
    assert "coefficients are close to" not in notes_of(turned, splits, budgets=[64], restarts=1)


def test_a_printed_table_in_markdown():
    head, rows = ["rival", "95 % interval"], [["one_hot", "−0.1 – 0.2"]]
    table = Part(head=head, rows=rows, notes=["A note."])
    assert as_markdown([table]).splitlines()[2:] == ["| one_hot | −0.1 – 0.2 |", "", "- A note."]
