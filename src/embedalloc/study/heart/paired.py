"""Table 1 with intervals, and the paired comparison of the proposed model with the others."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.intervals import corrected_p_value, holm, nadeau_bengio_share, t_interval
from embedalloc.study.heart.table1 import (
    METRICS,
    MODELS,
    PAIRED,
    PAPER,
    PAPER_METRICS,
    SECONDS,
    TABLE,
)


def tabulate_means(scores: pd.DataFrame, times: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and metric: our mean and interval beside the paper's figure."""
    printed = {
        (model, metric): figure
        for model, figures in PAPER.items()
        for metric, figure in zip((*PAPER_METRICS, SECONDS), figures, strict=True)
    }
    rows = []
    for model in MODELS:
        mine = scores[scores["model"] == model]
        for metric in METRICS:
            values = mine[metric].to_numpy()
            low, high = t_interval(values)
            paper = printed.get((model, metric), np.nan)
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
                    "percentile": np.nan if np.isnan(paper) else below,
                }
            )
    # A time is no mean over splits and has no interval.
    for model, seconds in zip(times["model"], times[SECONDS], strict=True):
        paper = printed.get((model, SECONDS), np.nan)
        rows.append({"model": model, "metric": SECONDS, "mean": seconds, "paper": paper})
    return pd.DataFrame(rows)[list(TABLE.columns)]


def rows_judged(splits: pd.DataFrame) -> dict[str, tuple[int, int]]:
    """Return the rows judged on and the rows used before, as `compare` takes them.

    All splits have the same sizes.
    """
    parts = ("training", "validation", "test")
    training, validation, test = (len(splits.iloc[0][part]) for part in parts)
    return {"test": (test, training + validation), "validation": (validation, training)}


def tabulate_pairs(
    scores: pd.DataFrame, *, test: tuple[int, int], validation: tuple[int, int]
) -> pd.DataFrame:
    """Return paired differences proposed − rival for every metric and every rival with scores.

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
    rivals, differences = split_differences(scores)
    return compare(rivals, differences, test=test, validation=validation)


def split_differences(scores: pd.DataFrame) -> tuple[list[str], Floats]:
    """Return the rivals, and proposed − rival by split, rival and metric."""
    wide = scores.pivot(index="split", columns="model", values=list(METRICS))
    models = [model for model in MODELS if model in set(scores["model"])]
    values = np.stack([wide.xs(model, axis=1, level="model") for model in models], axis=1)
    return models[1:], values[:, :1] - values[:, 1:]


def compare(
    rivals: Sequence[str],
    differences: Floats,
    *,
    test: tuple[int, int],
    validation: tuple[int, int],
) -> pd.DataFrame:
    """Return the paired table of differences by split, rival and metric; see `tabulate_pairs`."""
    # NOTE[PAPER] heart-intervals: the paper has one split and so no interval.
    ratios = [validation if metric == "validation_logloss" else test for metric in METRICS]
    shares = np.array([judged / used for judged, used in ratios])
    corrected = nadeau_bengio_share(len(differences), shares)
    sign = np.where(list(METRICS.values()), 1.0, -1.0)
    low, high = t_interval(differences)
    corrected_low, corrected_high = t_interval(differences, corrected)
    columns = {
        "difference": differences.mean(axis=0),
        "low": low,
        "high": high,
        "corrected_low": corrected_low,
        "corrected_high": corrected_high,
        "p_value": corrected_p_value(differences, corrected),
        "won": (sign * differences > 0).mean(axis=0),
        "tied": (differences == 0).mean(axis=0),
    }
    p_holm = holm(columns["p_value"].ravel())
    names = {"rival": np.repeat(rivals, len(METRICS)), "metric": list(METRICS) * len(rivals)}
    frame = pd.DataFrame(names | {name: values.ravel() for name, values in columns.items()})
    return frame.assign(p_holm=p_holm)[list(PAIRED.columns)]
