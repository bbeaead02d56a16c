"""What decides the claims about the heart-disease study, its data and Table 1."""

import math

import numpy as np
import pandas as pd

from embedalloc.study.claims.finding import Finding, listed
from embedalloc.study.table1 import METRICS, PAPER_METRICS, SECONDS

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
) -> dict[str, dict[str, Finding]]:
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


def paired_findings(paired: pd.DataFrame) -> dict[str, dict[str, Finding]]:
    """Return the findings of the claims that the paired comparison of Table 1 decides."""
    gains = advantages(paired)
    by_metric = {
        f"heart-{metric.replace('_', '-')}": {
            reading: _smallest(gains, metric, rivals) for reading, rivals in RIVALS.items()
        }
        for metric in PAPER_METRICS
    }
    return by_metric | {
        "heart-one-hot-weaker": {
            reading: _weaker(gains, rivals[0]) for reading, rivals in RIVALS.items()
        },
        "heart-dominated": {
            reading: _dominated(gains, rivals[1:3]) for reading, rivals in RIVALS.items()
        },
        "heart-systematic": {
            reading: _systematic(gains, rivals) for reading, rivals in RIVALS.items()
        },
    }


def data_findings(audit: pd.DataFrame, patients: int) -> dict[str, dict[str, Finding]]:
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


def advantages(paired: pd.DataFrame) -> pd.DataFrame:
    """Return the proposed model's advantage by rival and metric; positive means better."""
    rows = paired[paired["metric"].isin(PAPER_METRICS)].set_index(["rival", "metric"])
    sign = np.where([METRICS[metric] for _, metric in rows.index], 1.0, -1.0)
    ends = np.sort(rows[["corrected_low", "corrected_high"]].mul(sign, axis=0).to_numpy(), axis=1)
    return pd.DataFrame(
        {
            "gain": rows["difference"] * sign,
            "low": ends[:, 0],
            "high": ends[:, 1],
            "won": rows["won"] + rows["tied"] / 2,
        },
        index=rows.index,
    )


def _smallest(gains: pd.DataFrame, metric: str, rivals: tuple[str, ...]) -> Finding:
    rows = gains.xs(metric, level="metric").loc[list(rivals)]
    rival = str(rows["gain"].idxmin())
    row = {name: rows[name].to_dict()[rival] for name in ("gain", "low", "high")}
    words = f"mean advantage over {listed(rows['gain'].to_dict(), '+.4f')}; smallest over {rival}"
    return Finding(float(row["gain"]), words, float(row["low"]), float(row["high"]))


def _weaker(gains: pd.DataFrame, rival: str) -> Finding:
    rows = gains.loc[rival].loc[list(PAPER_METRICS)]
    clear = rows["low"] > 0
    return Finding(
        float(clear.mean()),
        f"{rival}: better on average on {int((rows['gain'] > 0).sum())} of {len(rows)} metrics, "
        f"with an interval above 0 on {int(clear.sum())}; {listed(rows['gain'].to_dict(), '+.4f')}",
    )


def _dominated(gains: pd.DataFrame, rivals: tuple[str, ...]) -> Finding:
    rows = gains.loc[list(rivals)]
    won = rows["gain"] > 0
    lost = [f"{rival} on {metric}" for rival, metric in rows.index[~won]]
    clear = int((rows["low"] > 0).sum())
    words = (
        f"ahead in {int(won.sum())} of {len(rows)} comparisons, {clear} of them separable from 0"
    )
    return Finding(float(won.mean()), words + (f"; behind {', '.join(lost)}" if lost else ""))


def _means(table: pd.DataFrame, metric: str) -> "pd.Series[float]":
    return table[table["metric"] == metric].set_index("model")["mean"]


def _worst(table: pd.DataFrame, heuristic: str) -> Finding:
    models = ["proposed", *RIVALS["one_try"][:3], heuristic]
    wanted = ("accuracy", "f1", "mcc")
    lowest = {metric: str(_means(table, metric)[models].idxmin()) for metric in wanted}
    share = float(np.mean([model == heuristic for model in lowest.values()]))
    values = {metric: _means(table, metric)[heuristic] for metric in wanted}
    return Finding(share, f"lowest by metric: {listed(lowest)}; its means {listed(values, '.3f')}")


def _fastest(table: pd.DataFrame) -> Finding:
    seconds = _means(table, SECONDS)[["proposed", *RIVALS["one_try"]]]
    ratios = seconds.drop("one_hot") / seconds["one_hot"]
    words = f"time per epoch over that of one-hot: {listed(ratios.to_dict(), '.2f')}"
    return Finding(float(ratios.min()), words)


def _cost(table: pd.DataFrame, losses: pd.DataFrame) -> dict[str, Finding]:
    seconds = _means(table, SECONDS)
    everyone = seconds["proposed"] / seconds[list(RIVALS["one_try"])]
    embeddings = everyone.drop("one_hot")
    searched = losses[losses["network"] == "proposed"].groupby("split").size().max()
    return {
        "embeddings": Finding(
            float(embeddings.max()), f"time over that of {listed(embeddings.to_dict(), '.2f')}"
        ),
        "everyone": Finding(
            float(everyone.max()), f"time over that of {listed(everyone.to_dict(), '.2f')}"
        ),
        "whole": Finding(
            float(searched + 1), f"a pilot and {searched} networks, one per candidate budget"
        ),
    }


def _systematic(gains: pd.DataFrame, rivals: tuple[str, ...]) -> Finding:
    won = gains["won"].to_dict()
    shares = {f"{r} {m}": 100 * won[r, m] for r in rivals for m in ("accuracy", "ece")}
    words = f"per cent of the splits won against {listed(shares, '.0f')}"
    return Finding(min(shares.values()) / 100, words)


def _pilot(coefficients: pd.DataFrame) -> Finding:
    each = {
        predictor: float(rows["before"].corr(rows["after"]))
        for predictor, rows in coefficients.groupby("predictor")
    }
    words = f"correlation of the coefficient with its initial value: {listed(each, '.2f')}"
    return Finding(min(each.values()), words)


def _balance(table: pd.DataFrame) -> Finding:
    accuracy, error = (_means(table, metric)["proposed"] for metric in ("accuracy", "ece"))
    ratio = _means(table, SECONDS)["proposed"] / _means(table, SECONDS)["one_hot"]
    return Finding(
        math.nan,
        f"proposed model: accuracy {accuracy:.3f}, ECE {error:.3f}, {ratio:.1f} times the time of "
        "one-hot; no weighing is given",
    )


def _cited(audit: pd.DataFrame, rows: int, patients: int) -> Finding:
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
    size, positives = audit[["n", "positives"]].min()
    smallest = audit[(audit["n"] == size) & (audit["positives"] == positives)]
    # A row that several matrices explain equally well counts once.
    count = smallest.groupby("model")["unexplained"].min().sum()
    cells = [f"{row.model}: {row.cells}" for row in smallest.itertuples() if row.cells]
    return Finding(
        float(count),
        f"smallest test set {size} with {positives} positives; "
        f"unexplained: {'; '.join(cells) or 'none'}",
    )
