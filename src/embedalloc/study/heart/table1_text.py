"""Table 1 and its paired comparison as one prints them: cells, and what a reader must know.

Everything that a setting decides is computed from the tables and the settings, never typed.
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import pandas as pd

from embedalloc.study.heart.networks import square_root_dimensions
from embedalloc.study.heart.paired import rows_judged
from embedalloc.study.heart.table1 import (
    METRIC_LABELS,
    METRICS,
    MODEL_LABELS,
    MODELS,
    PAPER,
    PAPER_METRICS,
    SECONDS,
)
from embedalloc.study.workflow.document import Part

Row = Mapping[Hashable, Any]
_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
#: Correlations with the initial coefficients above this are called close.
_CLOSE = 0.8


def print_means(means: pd.DataFrame, notes: list[str]) -> Part:
    """Return Table 1: for each model our means and, below, the paper's figures."""
    labels = [METRIC_LABELS[metric] for metric in (*METRICS, SECONDS)]
    cells = {(row["model"], row["metric"]): row for row in means.to_dict("records")}
    fastest = cells["one_hot", SECONDS]
    rows = []
    for model in MODELS:
        mine = [cells[model, metric] for metric in METRICS]
        seconds = cells[model, SECONDS]
        ours = [f"{row['mean']:.3f} ({row['low']:.3f}, {row['high']:.3f})" for row in mine]
        rows.append([MODEL_LABELS[model], "ours", *ours, _with_ratio(seconds, fastest, "mean")])
        if model in PAPER:
            printed = mine[: len(PAPER_METRICS)]
            theirs = [f"{row['paper']:.3f} [{row['percentile']:.0f}]" for row in printed]
            empty = [""] * (len(mine) - len(printed))
            rows.append(["", "paper", *theirs, *empty, _with_ratio(seconds, fastest, "paper")])
    return _part(["model", "", *labels], rows, notes)


def _with_ratio(seconds: Row, fastest: Row, whose: str) -> str:
    return f"{seconds[whose]:.3f} ({seconds[whose] / fastest[whose]:.1f}x)"


def print_pairs(paired: pd.DataFrame, notes: list[str]) -> Part:
    """Return the paired comparison of the proposed model with every rival."""
    rows = [
        [
            MODEL_LABELS[row["rival"]],
            METRIC_LABELS[row["metric"]],
            f"{row['difference']:+.4f}",
            f"({row['low']:+.4f}, {row['high']:+.4f})",
            f"({row['corrected_low']:+.4f}, {row['corrected_high']:+.4f})",
            f"{row['p_value']:.3f}",
            f"{row['p_holm']:.3f}",
            f"{100 * row['won']:.0f} %",
            f"{100 * row['tied']:.0f} %",
        ]
        for row in paired.to_dict("records")
    ]
    compared = ["rival", "metric", "proposed − rival", "95 % interval", "Nadeau–Bengio"]
    return _part([*compared, "p", "p (Holm)", "won", "tied"], rows, notes)


def _part(head: list[str], rows: list[list[str]], notes: list[str]) -> Part:
    return Part(head=head, rows=rows, align=[" --- "] * len(head), notes=notes)


def table_notes(
    splits: pd.DataFrame,
    folds: pd.DataFrame,
    coefficients: pd.DataFrame,
    *,
    budgets: Sequence[int],
    restarts: int,
) -> list[str]:
    """Return what a reader of Table 1 must know, and how often the two selections agree."""
    patients = sum(len(splits.iloc[0][part]) for part in ("training", "validation", "test"))
    sizes = coefficients.groupby("predictor")["cardinality"].max()
    unconstrained = sum(n * d for n, d in zip(sizes, square_root_dimensions(sizes), strict=True))
    full_rank = int((sizes * (sizes - 1)).sum())
    correlation = coefficients.groupby("predictor")[["before", "after"]].corr().iloc[::2, 1]
    low, high = correlation.min(), correlation.max()
    close = "are close to" if low > _CLOSE else "are compared with"
    by_folds = folds[folds["selected"]].set_index("split")["budget"]
    by_holdout = splits.set_index("split")["selected_budget"][by_folds.index]
    agree = int((by_folds == by_holdout).sum())
    return [
        f"Ours: mean over {len(splits)} stratified splits with its 95 % interval over splits; "
        f"the splits share patients, so the intervals speak of these {patients} patients only.",
        "Paper: the printed figure, in square brackets its percentile among our splits.",
        "s/epoch: CPU seconds of a plain PyTorch loop on one thread at the first split's "
        "dimensions, median over turns, with the ratio to one-hot.",
        f"The proposed model is the best of {_in_words(len(budgets))} budgets by the validation "
        f"logloss that is printed; {_tries(len(budgets), restarts)}.",
        f"The unconstrained model has {unconstrained} embedding parameters; full rank for every "
        f"predictor costs {full_rank}, so {_affordable(budgets, full_rank)} can afford it.",
        f"The pilot's coefficients {close} what its tables were initialised with: over splits "
        f"their correlation is {low:.2f} to {high:.2f} by predictor.",
        f"Budget selection: Algorithm 2 and the holdout agree on {agree} of {len(by_folds)} "
        f"splits; median budget {by_folds.median():.0f} by Algorithm 2 and "
        f"{by_holdout.median():.0f} by holdout there.",
    ]


def _in_words(count: int) -> str:
    return _WORDS[count] if count < len(_WORDS) else str(count)


def _tries(budgets: int, restarts: int) -> str:
    if restarts == budgets:
        return "'own search' and 'best of restarts' give its rivals as many tries"
    words = _in_words(restarts)
    return f"'own search' gives its rivals as many tries, 'best of restarts' {words}"


def _affordable(budgets: Sequence[int], parameters: int) -> str:
    enough = sum(budget >= parameters for budget in budgets)
    if enough == len(budgets):
        return "every candidate budget"
    return f"{enough or 'none'} of the {len(budgets)} candidate budgets"


def paired_notes(splits: pd.DataFrame) -> list[str]:
    """Return what a reader of the paired comparison must know."""
    judged = {name: f"{rows}/{used}" for name, (rows, used) in rows_judged(splits).items()}
    return [
        "Paired over splits; a difference in favour of the proposed model is positive for "
        "accuracy, F1, precision and MCC and negative for the others.",
        f"Nadeau–Bengio: variance of the mean inflated by n_test/n_train ({judged['test']}, and "
        f"{judged['validation']} for the validation logloss), as the splits overlap; p is of that "
        "test, and Holm's adjustment runs over all rivals and metrics.",
        "The validation rows also stopped the training and selected the budget, so a difference "
        "in validation logloss is no evidence about new patients.",
    ]
