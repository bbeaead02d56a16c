"""Draw figure exp3_performance: out-of-sample MSE over the budget."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.exp3_contracts import PERFORMANCE
from embedalloc.study.exp3_looks import draw_rule_comparison
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import new_figure, save_figure
from embedalloc.study.workflow.tables import read_tables


def draw(performance: pd.DataFrame, budgets: list[int], response_noise: float) -> Figure:
    """Draw the risk of every rule, rivals floored and with the leftover spent."""
    figure, axes = new_figure(width=5.4, height=3.4)
    rows = performance[performance["budget"].isin(budgets)]
    draw_rule_comparison(axes[0, 0], rows, "budget", response_noise**2)
    axes[0, 0].set(xlabel="total embedding budget $B$", ylabel="out-of-sample MSE")
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.performance, PERFORMANCE)
        params = snakemake.params
        save_figure(draw(table, params.budgets, params.response_noise), **snakemake.output)
