"""What decides the claims about the heart-disease study, its data and Table 1."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from embedalloc.study.claims.finding import (
    Finding,
    Findings,
    decided_by,
    list_values,
    undecidable,
)
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.heart.table1 import METRICS, PAPER_METRICS, SECONDS

#: Rivals of Table 1 as the paper treats them, and with as many tries as the proposed model.
RIVALS = {
    "one_try": ("one_hot", "unconstrained", "uniform", "cardinality"),
    "same_tries": ("one_hot_best", "unconstrained_best", "uniform_search", "cardinality"),
}
TEST_SHARE = 0.3
CITED_FILE = {"rows": 1025, "distinct": 302}


def heart_findings(
    *,
    table: pd.DataFrame,
    paired: pd.DataFrame,
    coefficients: pd.DataFrame,
    losses: pd.DataFrame,
) -> Findings:
    """Return the findings of every claim on Section 3.4, by claim and reading.

    Parameters
    ----------
    table, paired
        Table 1 and its paired comparison.
    coefficients
        The pilot's coefficients before and after training.
    losses
        One row per trained network.
    """
    return paired_findings(paired) | {
        "heart-one-hot-fastest": {"as stated": _fastest(table)},
        "heart-cardinality-worst": {
            "literal": _worst(table, "cardinality"),
            "per_dimension": _worst(table, "cardinality_per_dimension"),
        },
        "heart-cost": _cost(table, losses),
        "heart-pilot-informs": {"as stated": _pilot(coefficients)},
        "heart-balance": {"as stated": _balance(table)},
    }


def paired_findings(paired: pd.DataFrame) -> Findings:
    """Return the findings that the paired comparison of Table 1 decides.

    Readings whose rivals are not all compared are left out.
    """
    compared = set(paired["rival"])
    nothing = Advantage(math.nan, math.nan, math.nan, math.nan)
    every = {(rival, metric): nothing for rival in compared for metric in PAPER_METRICS}
    gains = every | advantages(paired)
    found: Findings = {}
    for reading, rivals in RIVALS.items():
        if not compared >= set(rivals):
            continue
        for metric in PAPER_METRICS:
            claim = f"heart-{metric.replace('_', '-')}"
            found.setdefault(claim, {})[reading] = _smallest(gains, metric, rivals)
        found.setdefault("heart-one-hot-weaker", {})[reading] = _weaker(gains, rivals[0])
        found.setdefault("heart-dominated", {})[reading] = _dominated(gains, rivals[1:3])
        found.setdefault("heart-systematic", {})[reading] = _systematic(gains, rivals)
    return found


def data_findings(audit: pd.DataFrame, patients: int) -> Findings:
    """Return the findings on the cited file and on Table 1's consistency.

    Parameters
    ----------
    audit
        Test sets and matrices that leave the fewest printed cells unexplained.
    patients
        Number of patients of the data used here.
    """
    return {
        "data-cited-file": {
            reading: _cited(audit, rows, patients) for reading, rows in CITED_FILE.items()
        },
        "data-table-consistent": {"as stated": _consistent(audit)},
    }


class Advantage(NamedTuple):
    """How far the proposed model is ahead of a rival on one metric; positive means better."""

    gain: float
    low: float
    high: float
    won: float


#: Advantages by rival and metric.
Gains = Mapping[tuple[str, str], Advantage]


def advantages(paired: pd.DataFrame) -> dict[tuple[str, str], Advantage]:
    """Return the proposed model's advantage by rival and metric of Table 1."""
    columns = ["rival", "metric", "difference", "corrected_low", "corrected_high", "won", "tied"]
    found = {}
    for rival, metric, difference, *ends, won, tied in zip(
        *(paired[column] for column in columns), strict=True
    ):
        sign = 1.0 if METRICS[metric] else -1.0
        low, high = sorted(sign * end for end in ends)
        found[rival, metric] = Advantage(sign * difference, low, high, won + tied / 2)
    return found


def _smallest(gains: Gains, metric: str, rivals: tuple[str, ...]) -> Finding:
    each = {rival: gains[rival, metric].gain for rival in rivals}
    rival = min(rivals, key=each.__getitem__)
    words = f"mean advantage over {list_values(each, '+.4f')}; smallest over {rival}"
    smallest = gains[rival, metric]
    known = all(math.isfinite(number) for rival in rivals for number in gains[rival, metric])
    return Finding(smallest.gain if known else math.nan, words, smallest.low, smallest.high)


def _weaker(gains: Gains, rival: str) -> Finding:
    each = {metric: gains[rival, metric] for metric in PAPER_METRICS}
    clear = sum(advantage.low > 0 for advantage in each.values())
    values = {metric: advantage.gain for metric, advantage in each.items()}
    return decided_by(
        (number for advantage in each.values() for number in advantage),
        clear / len(each),
        f"{rival}: better on average on {sum(gain > 0 for gain in values.values())} of "
        f"{len(each)} metrics, with an interval above 0 on {clear}; {list_values(values, '+.4f')}",
    )


def _dominated(gains: Gains, rivals: tuple[str, ...]) -> Finding:
    each = {(rival, metric): gains[rival, metric] for rival in rivals for metric in PAPER_METRICS}
    lost = [f"{rival} on {metric}" for (rival, metric), a in each.items() if not a.gain > 0]
    won = len(each) - len(lost)
    clear = sum(advantage.low > 0 for advantage in each.values())
    words = f"ahead in {won} of {len(each)} comparisons, {clear} of them separable from 0"
    words += f"; behind {', '.join(lost)}" if lost else ""
    numbers = (number for advantage in each.values() for number in advantage)
    return decided_by(numbers, won / len(each), words)


def _means(table: pd.DataFrame, metric: str, models: Sequence[str]) -> "pd.Series[float]":
    """Return a metric's means of some models, nan where there is none."""
    return table[table["metric"] == metric].set_index("model")["mean"].reindex(list(models))


def _worst(table: pd.DataFrame, heuristic: str) -> Finding:
    models = ["proposed", *RIVALS["one_try"][:3], heuristic]
    wanted = ("accuracy", "f1", "mcc")
    means = pd.DataFrame({metric: _means(table, metric, models) for metric in wanted})
    if means.isna().any(axis=None):
        return undecidable("models without one of the metrics")
    lowest = {metric: str(means[metric].idxmin()) for metric in wanted}
    share = float(np.mean([model == heuristic for model in lowest.values()]))
    values = means.loc[heuristic].to_dict()
    return Finding(
        share, f"lowest by metric: {list_values(lowest)}; its means {list_values(values, '.3f')}"
    )


def _fastest(table: pd.DataFrame) -> Finding:
    seconds = _means(table, SECONDS, ["proposed", *RIVALS["one_try"]])
    ratios = seconds.drop("one_hot") / seconds["one_hot"]
    words = f"time per epoch over that of one-hot: {list_values(ratios.to_dict(), '.2f')}"
    return decided_by(ratios, float(ratios.min()), words)


def _cost(table: pd.DataFrame, losses: pd.DataFrame) -> dict[str, Finding]:
    seconds = _means(table, SECONDS, ["proposed", *RIVALS["one_try"]])
    everyone = seconds["proposed"] / seconds.drop("proposed")
    searched = losses[losses["network"] == "proposed"].groupby("split").size().max()
    found = {
        reading: decided_by(
            ratios,
            float(ratios.max()),
            f"time over that of {list_values(ratios.to_dict(), '.2f')}",
        )
        for reading, ratios in (("embeddings", everyone.drop("one_hot")), ("everyone", everyone))
    }
    words = f"a pilot and {searched} networks, one per candidate budget"
    return found | {"whole": Finding(float(searched + 1), words)}


def _systematic(gains: Gains, rivals: tuple[str, ...]) -> Finding:
    shares = {f"{r} {m}": 100 * gains[r, m].won for r in rivals for m in ("accuracy", "ece")}
    words = f"per cent of the splits won against {list_values(shares, '.0f')}"
    return decided_by(shares.values(), min(shares.values()) / 100, words)


def _pilot(coefficients: pd.DataFrame) -> Finding:
    each = {
        predictor: float(rows["before"].corr(rows["after"]))
        for predictor, rows in coefficients.groupby("predictor")
    }
    words = f"correlation of the coefficient with its initial value: {list_values(each, '.2f')}"
    if coefficients[["before", "after"]].isna().any(axis=None):
        return undecidable("pilots without a coefficient")
    if coefficients["split"].nunique() < 3:
        return undecidable("two splits only, which always correlate")
    if missing := set(CATEGORICAL) - set(each):
        return undecidable(f"no coefficients of {', '.join(sorted(missing))}")
    return decided_by(each.values(), min(each.values()), words)


def _balance(table: pd.DataFrame) -> Finding:
    accuracy, error = (
        _means(table, metric, ["proposed"])["proposed"] for metric in ("accuracy", "ece")
    )
    seconds = _means(table, SECONDS, ["proposed", "one_hot"])
    ratio = seconds["proposed"] / seconds["one_hot"]
    return Finding(
        math.nan,
        f"proposed model: accuracy {accuracy:.3f}, ECE {error:.3f}, {ratio:.1f} times the time of "
        "one-hot; no weighing is given",
    )


def _cited(audit: pd.DataFrame, rows: int, patients: int) -> Finding:
    if audit.empty:
        return undecidable("no test set that explains the printed table")
    sizes = {math.floor(TEST_SHARE * rows), math.ceil(TEST_SHARE * rows)}
    fitting = sorted(set(audit["n"]))
    shown = ", ".join(map(str, fitting[:6])) + (", …" if len(fitting) > 6 else "")
    return Finding(
        float(len(sizes & set(fitting))),
        f"30 % of {rows:,} rows is {' or '.join(map(str, sorted(sizes)))}; the test sets that "
        f"explain the most cells have {shown} patients, and 30 % of the {patients} patients used "
        f"here is {TEST_SHARE * patients:.0f}; the cited file also lacks the data-source predictor",
    )


def _consistent(audit: pd.DataFrame) -> Finding:
    if set(audit["model"]) != {"proposed", *RIVALS["one_try"]}:
        return undecidable("no test set that is searched for every row of Table 1")
    # The fewest patients, and among these the fewest positives: they need not be the fewest of all.
    size, positives = min(zip(audit["n"], audit["positives"], strict=True))
    smallest = audit[(audit["n"] == size) & (audit["positives"] == positives)]
    if missing := set(audit["model"]) - set(smallest["model"]):
        return undecidable(f"no matrix of {', '.join(sorted(missing))} in its smallest test set")
    # A row that several matrices explain equally well counts once.
    count = smallest.groupby("model")["unexplained"].min().sum()
    cells = [f"{row.model}: {row.cells}" for row in smallest.itertuples() if row.cells]
    return Finding(
        float(count),
        f"smallest test set {size} with {positives} positives; "
        f"unexplained: {'; '.join(cells) or 'none'}",
    )
