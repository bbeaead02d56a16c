"""Draw figure exp3_performance_samplesize: out-of-sample MSE over n at one budget."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.exp3_contracts import PERFORMANCE
from embedalloc.study.exp3_looks import draw_rule_comparison
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables


def draw(performance: pd.DataFrame, budget: int, response_noise: float) -> Figure:
    """Draw the risk of every rule, rivals floored and with the leftover spent."""
    figure, axes = style.new_figure(width=5.4, height=3.4)
    axis = axes[0, 0]
    rows = performance[performance["budget"] == budget]
    draw_rule_comparison(axis, rows, "observations", response_noise**2)
    axis.set(
        xscale="log",
        xlabel="training sample size $n$",
        ylabel="out-of-sample MSE",
        title=f"$B$ = {budget:,}",
    )
    style.plain_log_ticks(axis.xaxis, rows["observations"].unique())
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.performance, PERFORMANCE)
        params = snakemake.params
        style.save_figure(draw(table, params.budget, params.response_noise), **snakemake.output)
