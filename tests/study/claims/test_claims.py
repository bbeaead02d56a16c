"""The claims ledger: complete, decided by its own rules, and right on data with a known answer."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from embedalloc.study.claims.exp1 import exp1_findings
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.exp3 import exp3_findings
from embedalloc.study.claims.finding import Bootstrap, Finding
from embedalloc.study.claims.heart import RIVALS, advantages, data_findings, heart_findings
from embedalloc.study.claims.ledger import (
    Condition,
    LedgerError,
    check_evidence,
    describe_claims,
    judge,
    read_ledger,
    verdict_of,
)
from embedalloc.study.claims.theory import theory_findings
from embedalloc.study.claims.verdicts import CLAIMS, SECTIONS, count_verdicts
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.heart.table1 import METRICS, MODELS
from embedalloc.study.settings.common import Spectrum
from embedalloc.study.settings.exp1 import Exp1Designs
from embedalloc.study.settings.exp2 import Exp2Sizes
from embedalloc.study.settings.exp3 import Exp3Sizes
from embedalloc.study.workflow.document import as_markdown
from tests.places import ROOT

LEDGER = ROOT / "workflow/claims.yaml"
ENTRY = """
- id: one
  section: exp1
  place: Section 3.1
  statement: It falls.
  statistic: How much it falls.
  holds: [low > 0]
  partly: [estimate > 0]
  data: [results/exp1/*.parquet]
  figure: figures/exp1_main.pdf
"""


def bootstrap(draws=400):
    return Bootstrap(np.random.default_rng(1), draws)


def ledger_of(tmp_path, text):
    path = tmp_path / "claims.yaml"
    path.write_text(text)
    return read_ledger(path)


def test_the_ledger_covers_every_section():
    claims = read_ledger(LEDGER)
    assert {claim.section for claim in claims} == set(SECTIONS)
    assert len(claims) >= 47
    for claim in claims:
        assert claim.statement.endswith("."), claim.id
        assert claim.decision == "none" or "holds if" in claim.decision


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  place: Section 3.1\n", "", "lacks place"),
        ("section: exp1", "section: exp9", "'exp9' is not one of"),
        ("low > 0", "low is above 0", "is not a condition"),
        ("partly:", "partially:", "unknown key partially"),
        ("  holds: [low > 0]\n  partly: [estimate > 0]\n", "", "either holds or not_testable"),
        ("data: [results/exp1/*.parquet]", "data: []", "needs data and a figure"),
    ],
)
def test_a_wrong_entry_is_refused_by_name(tmp_path, old, new, message):
    with pytest.raises(LedgerError, match=message) as caught:
        ledger_of(tmp_path, ENTRY.replace(old, new))
    assert "(one)" in str(caught.value)


def test_two_claims_with_one_id_are_refused(tmp_path):
    with pytest.raises(LedgerError, match="more than one claim with the id 'one'"):
        ledger_of(tmp_path, ENTRY + ENTRY)


def test_evidence_that_does_not_exist_is_refused(tmp_path):
    claims = ledger_of(tmp_path, ENTRY)
    check_evidence(claims, ["results/exp1/profiles.parquet", "figures/exp1_main.pdf"])
    with pytest.raises(LedgerError, match=r"its evidence results/exp1/\*\.parquet does not exist"):
        check_evidence(claims, ["figures/exp1_main.pdf"])
    with pytest.raises(LedgerError, match=r"its evidence figures/exp1_main\.pdf does not exist"):
        check_evidence(claims, ["results/exp1/profiles.parquet"])


def test_a_claim_without_a_finding_is_refused(tmp_path):
    claims = ledger_of(tmp_path, ENTRY)
    with pytest.raises(LedgerError, match=r"one: readings \['as stated'\] in the ledger"):
        judge(claims, {})
    with pytest.raises(LedgerError, match="findings without a claim: two"):
        judge(claims, {"one": {"as stated": Finding(1, "it fell", 1, 1)}, "two": {}})


def test_a_decision_needs_the_interval_it_names(tmp_path):
    with pytest.raises(LedgerError, match="the decision needs low"):
        judge(ledger_of(tmp_path, ENTRY), {"one": {"as stated": Finding(1.0, "it fell")}})


@pytest.mark.parametrize(
    ("finding", "verdict"),
    [
        (Finding(2.0, "it fell", 1.0, 3.0), "reproduced"),
        (Finding(2.0, "it fell", -1.0, 5.0), "partly"),
        (Finding(0.0, "it did not", -1.0, 1.0), "not reproduced"),
    ],
)
def test_verdicts_follow_the_written_rule(tmp_path, finding, verdict):
    table = judge(ledger_of(tmp_path, ENTRY), {"one": {"as stated": finding}})
    CLAIMS.check(table, "claims")
    assert table["verdict"].tolist() == [verdict]
    assert count_verdicts(table)[verdict] == 1
    page = as_markdown(describe_claims(table))
    assert f"**{verdict}**" in page
    assert finding.evidence in page
    assert "holds if low > 0; partly if estimate > 0; fails otherwise" in page


def test_readings_that_disagree_depend_on_a_choice():
    assert verdict_of(["holds", "holds"]) == "reproduced"
    assert verdict_of(["holds", "fails"]) == "depends on an unstated choice"
    assert verdict_of(["partly", "fails"]) == "depends on an unstated choice"
    assert verdict_of(["not testable"]) == "not testable"


def test_conditions_compare_as_written():
    found = Finding(0.5, "half", 0.4, 0.6)
    cases = {
        "estimate <= 0.5": True,
        "estimate < 0.5": False,
        "low >= 0.4": True,
        "high > 1": False,
    }
    for text, expected in cases.items():
        assert Condition.parse(text, "here").met_by(found, "here") is expected


def test_the_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(300):
        rows = rng.standard_normal((60, 1)) + 2.0
        found = bootstrap(300).find({"x": rows}, lambda means: means["x"][..., 0], "mean")
        covered += found.low <= 2.0 <= found.high
    assert 0.90 <= covered / 300 <= 0.98


@pytest.mark.parametrize(
    ("text", "margin"),
    [
        ("estimate > 0", 0.6),
        ("low > 0", 2.5),
        ("high < 0", -1.2),
        ("low < 0", 1.5),
        ("high >= 0", -2.4),
    ],
)
def test_the_chance_of_a_condition_is_its_frequency_in_repetitions(text, margin):
    """Data whose mean lies the margin in standard errors above 0, then data like it, drawn anew."""
    condition = Condition.parse(text, "here")
    rng = np.random.default_rng(5)
    noise = rng.standard_normal((60, 1))
    noise = (noise - noise.mean()) / noise.std(ddof=1)

    def found(rows, draws=400):
        resampling = Bootstrap(rng, draws)
        return resampling.find({"x": rows}, lambda means: means["x"][..., 0], "mean")

    shift = margin / np.sqrt(60)
    chance = condition.chance(found(noise + shift, draws=4000).resampled)
    again = [
        condition.met_by(found(rng.standard_normal((60, 1)) + shift), "again") for _ in range(600)
    ]
    assert chance == pytest.approx(np.mean(again), abs=4 * np.sqrt(0.25 / 600))
    assert 0.05 < chance < 0.95


def test_steadiness_is_the_chance_of_the_outcome(tmp_path):
    entry = ENTRY.replace("[low > 0]", "[estimate >= 1]").replace("estimate > 0", "estimate >= 0.5")
    (claim,) = ledger_of(tmp_path, entry)
    resampled = np.array([1.0, 1.0, 0.8, 0.6, 0.4])
    for estimate, steadiness in {1.0: 2 / 5, 0.7: 2 / 5, 0.2: 1 / 5}.items():
        found = Finding(estimate, "so much", resampled=resampled)
        assert claim.steadiness(found) == pytest.approx(steadiness)
    (claim,) = ledger_of(tmp_path, ENTRY)
    clear = Finding(2.0, "it fell", 1.0, 3.0, resampled=np.linspace(1.0, 3.0, 100))
    assert claim.outcome(clear) == "holds"
    assert claim.steadiness(clear) == 1.0
    # Nine of ten resamples above 0: 1.28 standard errors, 0.68 short of what holding takes.
    unclear = Finding(2.0, "it fell", -1.0, 3.0, resampled=np.array([-1.0] + 9 * [2.0]))
    assert claim.outcome(unclear) == "partly"
    assert claim.steadiness(unclear) == pytest.approx(
        0.9 - norm.cdf(norm.ppf(0.9) - 1.96), abs=1e-3
    )
    # Three of ten above 0: failing is as likely as a mean at or below 0.
    behind = Finding(-1.0, "it rose", -2.0, 0.5, resampled=np.array(7 * [-1.0] + 3 * [0.5]))
    assert claim.outcome(behind) == "fails"
    assert claim.steadiness(behind) == pytest.approx(0.7)
    assert claim.steadiness(Finding(np.nan, "nothing to decide by")) == 1.0
    with pytest.raises(LedgerError, match="one: the steadiness needs resamples"):
        claim.steadiness(Finding(2.0, "it fell", 1.0, 3.0))


def profiles(curves, cell, values):
    """Return a frame of two replications around each curve: half below, half above."""
    rows = []
    for name, columns in curves.items():
        for replication, shift in enumerate((-0.001, 0.001)):
            for position in range(len(values)):
                rows.append(
                    {cell: name, "replication": replication, "dimension": values[position]}
                    | {column: curve[position] + shift for column, curve in columns.items()}
                )
    return pd.DataFrame(rows)


def test_experiment_1_on_curves_with_a_known_answer():
    falling = np.array([8.0, 4.0, 2.0, 1.0])
    turning = np.array([8.0, 4.0, 5.0, 6.0])
    slow = np.array([8.0, 7.0, 6.0, 5.0])
    columns = {
        "population_tail": falling,
        "empirical_tail": falling + np.array([0.0, 0.4, 0.2, 0.0]),
        "reconstruction_error": turning,
        "predictive_error_refit": falling / [1, 4, 8, 16],
        "predictive_error_known": turning,
    }
    frame = profiles(
        {
            "quick": columns,
            "slow": columns | {"population_tail": slow, "empirical_tail": slow,
                               "predictive_error_refit": slow},
        },
        "design",
        [1, 2, 3, 4],
    )  # fmt: skip
    fits = pd.DataFrame(
        {"design": ["quick"] * 2 + ["slow"] * 2, "replication": [0, 1] * 2,
         "coefficient": 1.0, "r_squared": [0.9, 0.8, 0.4, 0.6]}
    )  # fmt: skip
    designs = {
        "quick": Spectrum(decay="exponential", rate=1.0, scale=1.0),
        "slow": Spectrum(decay="polynomial", rate=1.0, scale=1.0),
    }
    settings = Exp1Designs(designs=designs)
    found = exp1_findings(frame, fits, settings=settings, bootstrap=bootstrap())

    def estimates(claim):
        return {reading: finding.estimate for reading, finding in found[claim].items()}

    assert estimates("exp1-error-falls") == {"population": 1.0, "estimated": pytest.approx(1 / 3)}
    assert estimates("exp1-exponential-faster")["population"] == pytest.approx((4 / 8) / (7 / 8))
    assert estimates("exp1-prediction-falls") == {"refit": 1.0, "known": pytest.approx(1 / 3)}
    assert estimates("exp1-prediction-faster")["refit"] == pytest.approx((1 / 8) / (4 / 8))
    small = estimates("exp1-gap-small")
    assert small["of_first"] == pytest.approx(0.4 / 8)
    assert small["of_same"] == pytest.approx(0.4 / 4, rel=1e-3)
    assert estimates("exp1-a-over-d") == {"as stated": pytest.approx(0.5)}
    # Gaps of the quick design: 0, 0.4, 0.2, 0, so two of three steps fall; slow: never above 0.
    assert estimates("exp1-gap-vanishes")["population"] == pytest.approx(0, abs=1e-12)
    tail, error = columns["empirical_tail"], columns["reconstruction_error"]
    quick = np.corrcoef(tail, error)[0, 1] ** 2
    slowly = np.corrcoef(slow, turning)[0, 1] ** 2
    assert estimates("exp1-tail-follows")["estimated"] == pytest.approx(min(quick, slowly))


def test_experiment_2_on_curves_with_a_known_answer():
    def curve(best, rise):
        return np.array([abs(d - best) * rise + 1.0 for d in range(1, 11)])

    falling = np.linspace(2, 1, 10)
    frame = profiles(
        {
            n: {"training_mse": falling, "test_mse": curve(best, rise), "total": curve(best, rise),
                "approximation": falling, "literal_approximation": falling,
                "estimation": -falling, "literal_estimation": curve(5, 1)}
            for n, best, rise in [(100, 2, 0.8), (200, 3, 0.4), (400, 5, 0.2)]
        },
        "observations",
        range(1, 11),
    )  # fmt: skip
    settings = Exp2Sizes(panel_observations=[100, 400], curve_observations=[100, 200, 400])
    found = exp2_findings(frame, settings=settings, bootstrap=bootstrap())
    estimates = {
        (claim, reading): finding.estimate
        for claim, readings in found.items()
        for reading, finding in readings.items()
    }
    assert estimates == {
        ("exp2-training-falls", "as stated"): 1.0,
        ("exp2-low-minimum", "as stated"): pytest.approx(0.2),
        ("exp2-minimum-moves", "as stated"): 3,
        ("exp2-flatter", "as stated"): pytest.approx((5 * 0.2) / (8 * 0.8)),
        ("exp2-approximation-falls", "exact"): 1.0,
        ("exp2-approximation-falls", "literal"): 1.0,
        ("exp2-estimation-rises", "exact"): 1.0,
        ("exp2-estimation-rises", "literal"): pytest.approx(5 / 9),
        ("exp2-total-turns", "as stated"): 1.0,
        ("exp2-strongest-smallest", "as stated"): pytest.approx((8 * 0.8) / (5 * 0.2)),
        ("exp2-optimal-rises", "as stated"): 1.0,
    }


def test_experiment_2_without_a_rise_is_decided():
    """Two curves that only fall are alike, and one that rises is far steeper than such a one."""
    falling, turning = np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])
    columns = ("training_mse", "approximation", "literal_approximation", "estimation",
               "literal_estimation")  # fmt: skip
    claims = {claim.id: claim for claim in read_ledger(LEDGER)}
    for small, expected in ((falling, (1.0, 1.0)), (turning, (1e-12, 1e12))):
        frame = profiles(
            {
                n: dict.fromkeys(columns, falling) | {"test_mse": curve, "total": curve}
                for n, curve in ((100, small), (400, falling))
            },
            "observations",
            [1, 2, 3],
        )
        settings = Exp2Sizes(panel_observations=[100, 400], curve_observations=[100, 400])
        found = exp2_findings(frame, settings=settings, bootstrap=bootstrap())
        names = ("exp2-flatter", "exp2-strongest-smallest")
        findings = [found[name]["as stated"] for name in names]
        assert [finding.estimate for finding in findings] == pytest.approx(expected, rel=1e-9)
        table = judge([claims[name] for name in names], {name: found[name] for name in names})
        CLAIMS.check(table, "claims")
        assert set(table["outcome"]) == {"holds" if small is turning else "fails"}


def test_experiment_3_on_errors_with_a_known_answer():
    # Errors by rule (proposed, equal, cardinality, mass) for rivals floored; spending helps equal.
    floored = {10: (9, 9, 9, 9), 20: (4, 8, 9, 5), 30: (2, 3, 9, 2.5)}
    grown = {100: (4, 8, 9, 5), 200: (3, 4, 8, 5), 400: (2, 3, 7, 2.5)}
    rows = []
    for n, budget, errors in [
        *((100, b, e) for b, e in floored.items()),
        *((n, 20, e) for n, e in grown.items() if n != 100),
    ]:
        for replication in range(3):
            for rule, error in zip(
                ("proposed", "equal", "cardinality", "spectral_mass"), errors, strict=True
            ):
                for leftover in ("spent",) if rule == "proposed" else ("floored", "spent"):
                    spent = leftover == "spent" and rule == "equal"
                    rows.append(
                        {"observations": n, "replication": replication, "budget": budget,
                         "allocation_rule": rule, "leftover": leftover,
                         "risk": float(min(errors) if spent else error)}
                    )  # fmt: skip
    settings = Exp3Sizes(
        budgets=[10, 20, 30],
        budget_observations=100,
        curve_observations=[100, 200, 400],
        curve_budget=20,
    )
    found = exp3_findings(
        pd.DataFrame(rows), settings=settings, cardinalities=[4, 6], bootstrap=bootstrap()
    )
    first = {claim: next(iter(readings.values())).estimate for claim, readings in found.items()}
    assert first == {
        "exp3-proposed-lowest": 0.0,
        "exp3-low-middle": pytest.approx((0 + (1 - 4 / (22 / 3))) / 2 - (1 - 2 / (14.5 / 3))),
        "exp3-equal-inefficient": 1.0,
        "exp3-cardinality-weaker": 1.0,
        "exp3-mass-competitive": 1.0,
        "exp3-samplesize-lowest": 1.0,
        "exp3-gain-over-blind": pytest.approx(2 / 3),
        "exp3-all-improve": pytest.approx(7 / 8),
        "exp3-ranking-stable": pytest.approx(1 / 3),
    }
    assert found["exp3-low-middle"]["floored_difference"].estimate == pytest.approx(
        (22 / 3 - 4) / 2 - (14.5 / 3 - 2)
    )
    assert found["exp3-equal-inefficient"]["spent"].estimate == 0.0
    assert found["exp3-samplesize-lowest"]["spent"].estimate == 0.0
    assert found["exp3-mass-competitive"]["floored"].low == 1.0


def paired_rows(differences):
    return pd.DataFrame(
        [
            {"rival": rival, "metric": metric, "difference": value, "low": value, "high": value,
             "corrected_low": value - 0.1, "corrected_high": value + 0.2, "p_value": 0.5,
             "p_holm": 1.0, "won": 0.6, "tied": 0.1}
            for rival in MODELS[1:]
            for metric in METRICS
            for value in [differences(rival, metric)]
        ]
    )  # fmt: skip


def heart_inputs(differences):
    table = pd.DataFrame(
        [
            {"model": model, "metric": metric, "mean": (10.0 - k) / 20}
            for k, model in enumerate(MODELS)
            for metric in (*METRICS, "seconds_per_epoch")
        ]
    )
    coefficients = pd.DataFrame(
        {"split": [0, 1, 2] * 9, "predictor": np.repeat(CATEGORICAL, 3),
         "before": [1.0, 2.0, 3.0] * 9, "after": [1.0, 2.0, 3.0] * 8 + [3.0, 2.0, 1.0]}
    )  # fmt: skip
    losses = pd.DataFrame({"split": [0, 0, 0, 1], "network": ["proposed"] * 3 + ["one_hot"]})
    return {
        "table": table,
        "paired": paired_rows(differences),
        "coefficients": coefficients,
        "losses": losses,
    }


def test_heart_signs_make_every_advantage_positive():
    gains = advantages(paired_rows(lambda rival, metric: 0.3 if METRICS[metric] else -0.3))
    assert all(advantage.gain == 0.3 for advantage in gains.values())
    assert np.allclose(gains["one_hot", "accuracy"][1:3], [0.2, 0.5])
    # For a metric where less is better the interval turns round: −(−0.3 + 0.2), −(−0.3 − 0.1).
    assert np.allclose(gains["one_hot", "brier"][1:3], [0.1, 0.4])
    assert np.allclose([advantage.won for advantage in gains.values()], 0.65)


def test_heart_findings_on_a_table_with_a_known_answer():
    def differences(rival, metric):
        sign = 1 if METRICS[metric] else -1
        return sign * (-0.5 if rival == "unconstrained_best" else 0.3)

    found = heart_findings(**heart_inputs(differences))
    assert found["heart-accuracy"]["one_try"].estimate == 0.3
    assert found["heart-ece"]["same_tries"].estimate == -0.5
    assert "smallest over unconstrained_best" in found["heart-ece"]["same_tries"].evidence
    assert found["heart-one-hot-weaker"]["one_try"].estimate == 1.0
    assert found["heart-dominated"]["one_try"].estimate == 1.0
    assert found["heart-dominated"]["same_tries"].estimate == 0.5
    # Means and times fall along the list of models: cardinality is the last of the five.
    assert found["heart-cardinality-worst"]["literal"].estimate == 1.0
    assert found["heart-one-hot-fastest"]["as stated"].estimate == pytest.approx(6 / 9)
    assert found["heart-cost"]["embeddings"].estimate == pytest.approx(10 / 6)
    assert found["heart-cost"]["whole"].estimate == 4.0
    assert found["heart-systematic"]["one_try"].estimate == pytest.approx(0.65)
    assert found["heart-pilot-informs"]["as stated"].estimate == pytest.approx(-1.0)


def audited(positives=170):
    """An audit of two test sets; in the smaller one two matrices explain a row."""
    models = ["proposed", *RIVALS["one_try"]]
    rows = [(276, 153, model, 1, "mcc printed 0.620" if k == 0 else "") for k, model in
            enumerate([*models, models[1]])]  # fmt: skip
    rows += [(307, positives, model, 1, "") for model in models]
    frame = pd.DataFrame(rows, columns=["n", "positives", "model", "tp", "cells"])
    return frame.assign(fp=0, fn=0, tn=0, unexplained=(frame["cells"] != "").astype(int))


def test_the_smallest_test_set_need_not_have_the_fewest_positives():
    found = data_findings(audited(positives=100), patients=920)["data-table-consistent"]
    assert found["as stated"].estimate == 1.0
    assert "smallest test set 276 with 153" in found["as stated"].evidence


def test_data_findings_read_the_audit():
    found = data_findings(audited(), patients=920)
    assert found["data-cited-file"]["rows"].estimate == 1.0  # 307 is 30 % of 1,025, rounded down
    assert found["data-cited-file"]["distinct"].estimate == 0.0
    assert found["data-table-consistent"]["as stated"].estimate == 1.0
    assert "smallest test set 276 with 153" in found["data-table-consistent"]["as stated"].evidence


def test_theory_findings_on_tables_with_a_known_answer():
    closed = [
        {"budget": budget, "solution": solution, "predictor": j + 1, "coefficient": a,
         "dimension": factor * budget * np.sqrt(a / n) / (np.sqrt(4 * 10) + np.sqrt(1 * 90))}
        for solution, factor in (("closed_form", 1), ("projection", 0.9), ("optimum", 0.9))
        for budget in (100, 200)
        for j, (a, n) in enumerate([(4.0, 10), (1.0, 90)])
    ]  # fmt: skip
    found = theory_findings(
        approximation=pd.DataFrame(
            {"balance": ["balanced", "imbalanced"], "exact": [0.1, 0.8], "bound": [1.0, 1.0]}
        ),
        paths=pd.DataFrame(
            {"loss": ["squared"] * 3 + ["logistic"], "scheme": ["plain"] * 3 + ["accelerated"],
             "start": 0, "round": [0, 2, 1, 0], "objective": [3.0, 2.5, 2.0, 1.0]}
        ),
        runs=pd.DataFrame(
            {"loss": ["squared", "squared", "logistic", "squared"],
             "scheme": ["plain", "plain", "plain", "accelerated"],
             "start": [0, 1, 2, 1], "rounds": 5, "converged": [False, True, False, False],
             "gradient_norm": 1e-9, "rotation_change": [1e-16, 2e-16, 0, 0]}
        ),
        gaps=pd.DataFrame(
            [
                {"loss": loss, "cardinality": 5, "observations": 100, "dimension": d,
                 "replication": replication, "gap": 0.1 * np.sqrt(d)}
                for d in (1, 2, 4) for replication in range(4) for loss in ("bounded", "squared")
            ]
        ),
        scaling=pd.DataFrame(
            {"loss": ["squared", "bounded"], "envelope": [0.3, 0.2], "looseness": 40.0,
             "categories_exponent": 1.0, "size_exponent": -1.0}
        ),
        budgets=pd.DataFrame(closed),
        cardinalities=[10, 90],
        bootstrap=bootstrap(),
    )  # fmt: skip
    estimates = {claim: readings["as stated"].estimate for claim, readings in found.items()}
    assert estimates == {
        "prop1-rotation": 0.0,
        "prop2-bound": 0.8,
        "theorem1-descent": pytest.approx(0.5 / 2.5),
        "theorem1-stationary": 0.5,
        "theorem2-bound": 0.2,
        "theorem2-growth": pytest.approx(0.5),
        "theorem3-closed-form": pytest.approx(0.0, abs=1e-12),
    }


def test_a_configuration_that_lacks_the_subject_makes_a_claim_untestable(tmp_path):
    curve = np.array([3.0, 2.0, 1.0])
    columns = ("training_mse", "test_mse", "total", "approximation", "literal_approximation",
               "estimation", "literal_estimation")  # fmt: skip
    frame = profiles({100: dict.fromkeys(columns, curve)}, "observations", [1, 2, 3])
    settings = Exp2Sizes(panel_observations=[100], curve_observations=[100])
    found = exp2_findings(frame, settings=settings, bootstrap=bootstrap())
    table = judge(ledger_of(tmp_path, ENTRY), {"one": found["exp2-optimal-rises"]})
    assert table["verdict"].tolist() == ["not testable"]
    assert table["why"].tolist() == ["this configuration has one sample size only"]
