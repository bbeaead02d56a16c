"""Draw figure heart_budget: validation and test logloss over the candidate budgets."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.intervals import normal_interval
from embedalloc.study.heart.looks import MODELS
from embedalloc.study.heart.metrics import LOSSES
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table

#: Networks trained at every budget, with the factor that sets their bars apart, and the others.
OVER_BUDGETS = {"proposed": 0.98, "uniform": 1.0, "unit_coefficients": 1.02}
WITHOUT_BUDGET = {"unconstrained": "--", "one_hot": ":"}
PARTS = {"validation": "validation rows, which select the budget", "test": "test rows"}


def mean_with_interval(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the mean over splits and its interval for each budget."""
    grouped = rows.groupby("budget", sort=True)[column]
    mean = grouped.mean()
    low, high = normal_interval(mean, grouped.std(), grouped.count())
    return pd.DataFrame({"mean": mean, "low": low, "high": high})


def draw(losses: pd.DataFrame) -> Figure:
    """Draw mean losses with the 95 % interval of the mean; models without budget as lines."""
    figure, axes = style.new_figure(2, 1, height=4.6, sharex=True)
    budgets = sorted(set(losses["budget"]) - {0})
    for axis, (part, title) in zip(axes[:, 0], PARTS.items(), strict=True):
        column = f"{part}_logloss"
        for network, shift in OVER_BUDGETS.items():
            rows = losses[losses["network"] == network]
            summary = mean_with_interval(rows, column)
            style.draw_intervals(axis, summary, MODELS[network], shift=shift)
        for network, linestyle in WITHOUT_BUDGET.items():
            rows = losses[(losses["network"] == network) & (losses["restart"] == 0)]
            look = MODELS[network]
            axis.axhline(
                rows[column].mean(), color=look.color, linestyle=linestyle, label=look.label
            )
        axis.set(xscale="log", title=title, ylabel="logloss")
        style.plain_log_ticks(axis.xaxis, budgets)
    axes[-1, 0].set_xlabel("budget $B$")
    title = (
        "means over splits; bars: 95 % interval of the mean; flat lines: models without a budget"
    )
    handles = [
        style.legend_line(MODELS[name].label, MODELS[name].color, marker=MODELS[name].marker)
        for name in OVER_BUDGETS
    ]
    handles += [
        style.legend_line(MODELS[name].label, MODELS[name].color, line)
        for name, line in WITHOUT_BUDGET.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, title=title)
    return figure


if __name__ == "__main__":
    with job(snakemake):
        style.save_figure(draw(read_table(snakemake.input.losses, LOSSES)), **snakemake.output)
