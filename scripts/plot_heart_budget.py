"""Draw figure heart_budget: validation and test logloss over the candidate budgets."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.intervals import normal_interval
from embedalloc.study.heart.looks import MODELS
from embedalloc.study.heart.metrics import LOSSES
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table

#: Networks trained at every budget, then those that have none.
OVER_BUDGETS = ("proposed", "uniform", "unit_coefficients")
WITHOUT_BUDGET = ("unconstrained", "one_hot")


def mean_with_interval(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the mean over splits and its interval for each budget."""
    grouped = rows.groupby("budget", sort=True)[column]
    mean = grouped.mean()
    low, high = normal_interval(mean, grouped.std(), grouped.count())
    return pd.DataFrame({"mean": mean, "low": low, "high": high})


def draw(losses: pd.DataFrame) -> Figure:
    """Draw mean losses with the 95 % interval of the mean; models without budget as lines."""
    figure, axes = style.new_figure(1, 2, height=2.9, sharey=True)
    budgets = sorted(set(losses["budget"]) - {0})
    for axis, part in zip(axes[0], ("validation", "test"), strict=True):
        column = f"{part}_logloss"
        for network in OVER_BUDGETS:
            rows = losses[losses["network"] == network]
            style.draw_curve(axis, mean_with_interval(rows, column), MODELS[network])
        for network, linestyle in zip(WITHOUT_BUDGET, ("--", ":"), strict=True):
            rows = losses[(losses["network"] == network) & (losses["restart"] == 0)]
            look = MODELS[network]
            axis.axhline(
                rows[column].mean(), color=look.color, linestyle=linestyle, label=look.label
            )
        axis.set(xscale="log", xlabel="budget $B$", title=f"{part} rows")
        style.plain_log_ticks(axis.xaxis, budgets)
        axis.tick_params(axis="x", labelrotation=60)
    axes[0, 0].set_ylabel("logloss")
    title = "mean over splits; bands: 95 % interval of the mean"
    style.legend_below(figure, axes[0, 0], columns=5, title=title)
    return figure


if __name__ == "__main__":
    with job(snakemake.log[0]):
        style.save_figure(draw(read_table(snakemake.input.losses, LOSSES)), **snakemake.output)
