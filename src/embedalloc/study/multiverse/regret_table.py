"""The regret of every rule in Experiment 3 as tables: over budgets, sample sizes and settings."""

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.intervals import t_interval, wilson
from embedalloc.study.multiverse.regret import RULES
from embedalloc.study.workflow.document import Part

WORDS = {
    "proposed": "proposed",
    "equal": "equal, rounded down",
    "cardinality": "cardinality, rounded down",
    "spectral_mass": "spectral mass, rounded down",
    "equal_spent": "equal, leftover spent",
    "cardinality_spent": "cardinality, leftover spent",
    "spectral_mass_spent": "spectral mass, leftover spent",
    "unit_coefficients": "proposed with all a = 1",
    "exact_surrogate": "exact optimum of Σ a/d",
    "noise_corrected": "proposed with noise-corrected a",
    "relevance_weighted": "relevance-weighted tail",
    "response_aware": "response-aware (uses y)",
}


def average_excess(regret: pd.DataFrame, over: str, *, gain: bool = False) -> pd.DataFrame:
    """Return mean and 95 % interval of the excess by rule and by `over`, over replications.

    What is not named is averaged within a replication first, so that a replication counts once.

    Parameters
    ----------
    regret, over
        As in the contract `REGRET`, and one of its columns.
    gain
        Whether to return the paired gain on the proposed rule instead: its excess minus the other.
    """
    rows = []
    for value, mine in regret.groupby(over):
        table = _mean_excess(mine, "replication")
        for rule, excess in table.items():
            numbers = table["proposed"] - excess if gain else excess
            low, high = t_interval(numbers)
            found = {"mean": float(numbers.mean()), "low": low, "high": high}
            rows.append({"allocation_rule": rule, over: value, **found})
    return pd.DataFrame(rows)


def _mean_excess(rows: pd.DataFrame, by: str) -> dict[str, Floats]:
    """Return each rule's mean excess, one number per replication, or per number of a setting."""
    wide = rows.pivot_table(index=by, columns="allocation_rule", values="excess")
    return {rule: wide[rule].to_numpy(np.float64) for rule in RULES}


def describe_regret(
    regret: pd.DataFrame, draws: pd.DataFrame, *, budget_observations: int
) -> list[Part]:
    """Return all tables as one document.

    Parameters
    ----------
    regret, draws
        Results of Experiment 3's own setting, and of random ones.
    budget_observations
        Sample size of the table over budgets.
    """
    sizes, budgets = sorted(set(regret["observations"])), sorted(set(regret["budget"]))
    at_size = {size: regret[regret["observations"] == size] for size in sizes}
    return [
        Part(
            "Regret in Experiment 3",
            1,
            [
                "The oracle is the allocation with the least true risk among all that the budget "
                "can pay (all are listed, 1 ≤ d_j ≤ r_j). Excess: risk of a rule over the "
                f"oracle's, minus 1, in per cent; mean over {regret['replication'].nunique()} "
                "replications with its 95 % interval, all rules on the same draws. Settings chosen "
                "so that the paper's findings can hold.",
                "The proposed rule and its rivals look at no response; the relevance-weighted and "
                "the response-aware rule use y of the training sample, and the noise-corrected and "
                "the relevance-weighted rule the noise of the latent samples.",
            ],
        ),
        _grid(average_excess(regret, "observations"), "n", "Mean over the budgets, by sample size"),
        _grid(
            average_excess(regret, "observations", gain=True),
            "n",
            "Gain on the proposed rule, by sample size",
            paragraphs=["The proposed rule's excess minus the other's, in points, paired."],
            rules=RULES[1:],
        ),
        _grid(
            average_excess(at_size[budget_observations], "budget"),
            "B",
            f"By budget, at n = {budget_observations:,}",
        ),
        Part(
            "The response-aware rule: gain on the proposed rule, by budget and sample size",
            head=["n", *(f"B = {budget:,}" for budget in budgets)],
            rows=[
                [f"{size:,}", *_cells(average_excess(mine, "budget", gain=True), "response_aware")]
                for size, mine in at_size.items()
            ],
        ),
        Part(
            "Over random settings",
            paragraphs=[
                f"{draws['number'].nunique()} settings of `workflow/multiverse.yaml` (read-out "
                "refitted), mean over the budgets; better and worse than the proposed rule, with "
                "Wilson's 95 % interval, and the largest loss against it in points."
            ],
            head=["rule", "mean", "median", "90th percentile", "worst", "better in", "worse in",
                  "largest loss"],
            rows=_compare_settings(draws),
        ),
    ]  # fmt: skip


def _grid(
    table: pd.DataFrame,
    sign: str,
    title: str,
    *,
    paragraphs: Sequence[str] = (),
    rules: Iterable[str] = RULES,
) -> Part:
    """Return one row per rule and one column per value of the second column."""
    at = sorted(set(table.iloc[:, 1]))
    return Part(
        title,
        paragraphs=paragraphs,
        head=["rule", *(f"{sign} = {value:,}" for value in at)],
        rows=[[WORDS[rule], *_cells(table, rule)] for rule in rules],
    )


def _cells(table: pd.DataFrame, rule: str) -> list[str]:
    """Return a rule's means with their intervals, in per cent and in the table's order."""
    mine = table[table["allocation_rule"] == rule]
    cells = (
        f"{100 * mean:.1f}"
        if mean == low == high
        else f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"
        for mean, low, high in zip(mine["mean"], mine["low"], mine["high"], strict=True)
    )
    return [cell.replace("-", "−") for cell in cells]


def _compare_settings(draws: pd.DataFrame) -> list[list[str]]:
    """Return each rule's excess over random settings, and how it compares with the proposed one."""
    table = _mean_excess(draws, "number")
    rows = []
    for rule, values in table.items():
        spread = (values.mean(), np.median(values), np.quantile(values, 0.9), values.max())
        gain, count = table["proposed"] - values, len(values)
        better, worse = int((gain > 0).sum()), int((gain < 0).sum())
        low, high = wilson(better, count)
        against = [
            f"{100 * better / count:.0f} % ({100 * low:.0f} to {100 * high:.0f})",
            f"{100 * worse / count:.0f} %",
            f"{100 * max(0.0, -gain.min()):.1f}",
        ]
        numbers = [f"{100 * number:.1f}" for number in spread]
        rows.append([WORDS[rule], *numbers, *([""] * 3 if rule == "proposed" else against)])
    return rows


def find_quantiles(draws: pd.DataFrame) -> dict[str, Floats]:
    """Return by rule the 10th, 25th, 50th, 75th and 90th percentile of its mean excess."""
    at = [0.1, 0.25, 0.5, 0.75, 0.9]
    return {rule: np.quantile(values, at) for rule, values in _mean_excess(draws, "number").items()}
