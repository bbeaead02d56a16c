"""Table 1 with intervals, and the paired comparison of the proposed model with the others."""

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit

from embedalloc.problem import Floats
from embedalloc.study.table1 import (
    METRICS,
    MODELS,
    PAIRED,
    PAPER,
    PAPER_METRICS,
    SECONDS,
    TABLE,
)


def mean_table(scores: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and metric: our mean and interval beside the paper's figure."""
    rows = []
    for model in MODELS:
        mine = scores[scores["model"] == model]
        printed = _printed(model)
        for metric in METRICS:
            values = mine[metric].to_numpy()
            low, high = t_interval(values, 1 / len(values))
            paper = printed.get(metric, np.nan)
            # Ties count half.
            below = 50 * ((values < paper).mean() + (values <= paper).mean())
            rows.append(
                {
                    "model": model,
                    "metric": metric,
                    "mean": values.mean(),
                    "low": low,
                    "high": high,
                    "deviation": values.std(ddof=1),
                    "paper": paper,
                    "percentile": np.nan if np.isnan(paper) else float(below),
                }
            )
    for row in times.to_dict("records"):
        rows.append(
            {"model": row["model"], "metric": SECONDS, "mean": row[SECONDS]}
            | dict.fromkeys(("low", "high", "deviation", "percentile"), np.nan)
            | {"paper": _printed(row["model"]).get(SECONDS, np.nan)}
        )
    return pd.DataFrame(rows)[list(TABLE.columns)]


def _printed(model: str) -> dict[str, float]:
    """Return the paper's figures for a model by metric; none for our controls."""
    return dict(zip((*PAPER_METRICS, SECONDS), PAPER[model], strict=True)) if model in PAPER else {}


def t_interval(values: Floats, variance_share: float) -> tuple[float, float]:
    """Return the 95 % t interval of a mean whose variance is that share of the sample's."""
    half = stdtrit(len(values) - 1, 0.975) * values.std(ddof=1) * np.sqrt(variance_share)
    return float(values.mean() - half), float(values.mean() + half)


def paired_table(
    scores: pd.DataFrame, *, test: tuple[int, int], validation: tuple[int, int]
) -> pd.DataFrame:
    """Return paired differences proposed − rival for every rival and metric.

    Splits overlap, so their differences are not independent; the interval of Nadeau and Bengio
    (2003) inflates the variance of the mean from 1/J to 1/J + n_test/n_train.

    Parameters
    ----------
    scores
        As in the contract `SCORES`.
    test, validation
        Rows judged on and rows used before: by the metrics of the test rows, for which training
        and validation rows were used, and by the validation logloss.
    """
    # NOTE[PAPER] heart-intervals: the paper has one split and so no interval.
    wide = scores.pivot(index="split", columns="model")
    rows = []
    for rival in MODELS[1:]:
        for metric, more_is_better in METRICS.items():
            difference = (wide[metric]["proposed"] - wide[metric][rival]).to_numpy()
            better = difference > 0 if more_is_better else difference < 0
            count = len(difference)
            judged, used = validation if metric == "validation_logloss" else test
            corrected = 1 / count + judged / used
            low, high = t_interval(difference, 1 / count)
            corrected_low, corrected_high = t_interval(difference, corrected)
            rows.append(
                {
                    "rival": rival,
                    "metric": metric,
                    "difference": difference.mean(),
                    "low": low,
                    "high": high,
                    "corrected_low": corrected_low,
                    "corrected_high": corrected_high,
                    "p_value": corrected_p_value(difference, corrected),
                    "won": better.mean(),
                    "tied": (difference == 0).mean(),
                }
            )
    frame = pd.DataFrame(rows)
    return frame.assign(p_holm=holm(frame["p_value"].to_numpy()))[list(PAIRED.columns)]


def corrected_p_value(difference: Floats, variance_share: float) -> float:
    """Return the two-sided p-value of a t test with the given variance of the mean."""
    spread = difference.std(ddof=1)
    if spread == 0:
        return 1.0 if difference.mean() == 0 else 0.0
    t = difference.mean() / (spread * np.sqrt(variance_share))
    return float(2 * stdtr(len(difference) - 1, -abs(t)))


def holm(p_values: Floats) -> Floats:
    """Return Holm's step-down adjusted p-values."""
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
