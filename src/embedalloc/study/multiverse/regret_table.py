"""The regret of every rule in Experiment 3 as tables: over budgets, sample sizes and settings."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.intervals import t_interval, wilson
from embedalloc.study.multiverse.regret import RULES

WORDS = {
    "proposed": "proposed",
    "equal": "equal, floored",
    "cardinality": "cardinality, floored",
    "spectral_mass": "spectral mass, floored",
    "equal_spent": "equal, leftover spent",
    "cardinality_spent": "cardinality, leftover spent",
    "spectral_mass_spent": "spectral mass, leftover spent",
    "unit_coefficients": "proposed with all a = 1",
    "exact_surrogate": "exact optimum of Σ a/d",
    "noise_corrected": "proposed with noise-corrected a",
    "relevance_weighted": "relevance-weighted tail",
    "response_aware": "response-aware (uses y)",
}


def mean_excess(regret: pd.DataFrame, over: str) -> pd.DataFrame:
    """Return mean and 95 % interval of the excess by rule and by `over`, over replications.

    What is not named is averaged within a replication first, so that a replication counts once.
    """
    return _intervals({value: _by_replication(rows) for value, rows in regret.groupby(over)}, over)


def mean_gain(regret: pd.DataFrame, over: str) -> pd.DataFrame:
    """Return the paired gain on the proposed rule: its excess minus the other's, by rule."""
    tables = {}
    for value, rows in regret.groupby(over):
        table = _by_replication(rows)
        tables[value] = {rule: table["proposed"] - excess for rule, excess in table.items()}
    return _intervals(tables, over)


def _by_replication(rows: pd.DataFrame) -> dict[str, Floats]:
    """Return each rule's mean excess, one number per replication."""
    wide = rows.pivot_table(index="replication", columns="allocation_rule", values="excess")
    return {rule: wide[rule].to_numpy(np.float64) for rule in RULES}


def _intervals(tables: Mapping[Any, Mapping[str, Floats]], over: str) -> pd.DataFrame:
    rows = []
    for value, table in tables.items():
        for rule, numbers in table.items():
            low, high = t_interval(numbers)
            mean = float(numbers.mean())
            rows.append(
                {"allocation_rule": rule, over: value, "mean": mean, "low": low, "high": high}
            )
    return pd.DataFrame(rows)


def over_settings(draws: pd.DataFrame) -> pd.DataFrame:
    """Return by rule how its mean excess is distributed over settings, against the proposed one.

    Parameters
    ----------
    draws
        As in the contract `embedalloc.study.multiverse.runs.REGRET`.
    """
    table = _by_setting(draws)
    rows = []
    for rule, values in table.items():
        gain = table["proposed"] - values
        better, worse = int((gain > 0).sum()), int((gain < 0).sum())
        low, high = wilson(better, len(values))
        rows.append(
            {
                "allocation_rule": rule,
                "settings": len(values),
                "mean": float(values.mean()),
                "median": float(np.median(values)),
                "ninetieth": float(np.quantile(values, 0.9)),
                "worst": float(values.max()),
                "better": better,
                "worse": worse,
                "better_share": better / len(values),
                "low": low,
                "high": high,
                "largest_loss": max(0.0, float(-gain.min())),
            }
        )
    return pd.DataFrame(rows)


def as_markdown(regret: pd.DataFrame, draws: pd.DataFrame, *, budget_observations: int) -> str:
    """Return all tables as one page."""
    sizes = sorted(set(regret["observations"]))
    budgets = sorted(set(regret["budget"]))
    at_size = regret[regret["observations"] == budget_observations]
    replications = regret["replication"].nunique()
    lines = [
        "# Regret in Experiment 3",
        "",
        "The oracle is the allocation with the least true risk among all that the budget can pay "
        "(all are listed, 1 ≤ d_j ≤ r_j). Excess: risk of a rule over the oracle's, minus 1, in "
        f"per cent; mean over {replications} replications with its 95 % interval, all rules on the "
        "same draws. Settings chosen so that the paper's findings can hold.",
        "",
        "The proposed rule and its rivals look at no response; the relevance-weighted and the "
        "response-aware rule use y of the training sample, and the noise-corrected and the "
        "relevance-weighted rule the noise of the latent samples.",
        "",
        "## Mean over the budgets, by sample size",
        "",
        *_grid(mean_excess(regret, "observations"), "observations", sizes, "n"),
        "",
        "Gain on the proposed rule (its excess minus the other's, in points, paired):",
        "",
        *_grid(mean_gain(regret, "observations"), "observations", sizes, "n", RULES[1:]),
        "",
        f"## By budget, at n = {budget_observations:,}",
        "",
        *_grid(mean_excess(at_size, "budget"), "budget", budgets, "B"),
        "",
        "## The response-aware rule: gain on the proposed rule, by budget and sample size",
        "",
        *_gain_grid(regret, sizes, budgets),
        "",
        "## Over random settings",
        "",
        f"{draws['number'].nunique()} settings of `workflow/multiverse.yaml` (read-out refitted), "
        "mean over the budgets; better and worse than the proposed rule, with Wilson's 95 % "
        "interval, and the largest loss against it in points.",
        "",
        "| rule | mean | median | 90th percentile | worst | better in | worse in | largest loss |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in over_settings(draws).to_dict("records"):
        mine = row["allocation_rule"] == "proposed"
        better = (
            f"{100 * row['better_share']:.0f} % ({100 * row['low']:.0f} to {100 * row['high']:.0f})"
        )
        worse = f"{100 * row['worse'] / row['settings']:.0f} %"
        numbers = (row[key] for key in ("mean", "median", "ninetieth", "worst"))
        lines.append(
            f"| {WORDS[row['allocation_rule']]} | "
            + " | ".join(f"{100 * number:.1f}" for number in numbers)
            + (" | | | |" if mine else f" | {better} | {worse} | {100 * row['largest_loss']:.1f} |")
        )
    return "\n".join([*lines, ""])


def _grid(
    table: pd.DataFrame, over: str, at: Sequence[int], sign: str, rules: Sequence[str] = RULES
) -> list[str]:
    lines = [
        "| rule | " + " | ".join(f"{sign} = {value:,}" for value in at) + " |",
        "|---|" + "---|" * len(at),
    ]
    cells = _cells(table, over)
    for rule in rules:
        row = " | ".join(cells[rule, value] for value in at)
        lines.append(f"| {WORDS[rule]} | {row} |")
    return lines


def _cells(table: pd.DataFrame, over: str) -> dict[tuple[str, int], str]:
    return {
        (row["allocation_rule"], row[over]): _cell(row["mean"], row["low"], row["high"])
        for row in table.to_dict("records")
    }


def _cell(mean: float, low: float, high: float) -> str:
    if mean == low == high:
        return f"{100 * mean:.1f}"
    return f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _gain_grid(regret: pd.DataFrame, sizes: Sequence[int], budgets: Sequence[int]) -> list[str]:
    lines = [
        "| n | " + " | ".join(f"B = {budget:,}" for budget in budgets) + " |",
        "|---|" + "---|" * len(budgets),
    ]
    for size in sizes:
        cells = _cells(mean_gain(regret[regret["observations"] == size], "budget"), "budget")
        row = " | ".join(cells["response_aware", budget] for budget in budgets)
        lines.append(f"| {size:,} | {row} |")
    return lines


def quantiles(draws: pd.DataFrame) -> dict[str, Floats]:
    """Return by rule the 10th, 25th, 50th, 75th and 90th percentile of its mean excess."""
    at = [0.1, 0.25, 0.5, 0.75, 0.9]
    return {rule: np.quantile(values, at) for rule, values in _by_setting(draws).items()}


def _by_setting(draws: pd.DataFrame) -> dict[str, Floats]:
    """Return each rule's mean excess over the budgets, one number per setting."""
    wide = draws.pivot_table(index="number", columns="allocation_rule", values="excess")
    return {rule: wide[rule].to_numpy(np.float64) for rule in RULES}
