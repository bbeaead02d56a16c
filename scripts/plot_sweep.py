"""Draw figure sweep: held-out loss over budgets, for a rule and for equal dimensions."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.frontier import EQUAL
from embedalloc.study.sweep.cells import LOSSES, gather_frontier
from embedalloc.study.sweep.protocol import Sweep, read_sweep
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import BLUE, VERMILLION, legend_below, new_figure, save_figure
from embedalloc.study.workflow.tables import read_tables


def draw(losses: pd.DataFrame, sweep: Sweep) -> Figure:
    """Draw the loss against that of the full budget, paired by split, with 95 % bands."""
    found = gather_frontier(losses, sweep)
    figure, axes = new_figure(1, 1, height=2.6)
    axis = axes[0, 0]
    axis.axhline(100 * found.margin, color="0.5", linewidth=0.8, linestyle=":")
    for curve in found.losses:
        known = found.paid_budgets(curve)
        bands = [found.against_full(curve, budget) for budget in known]
        color, label = (VERMILLION, "equal dimensions") if curve == EQUAL else (BLUE, curve)
        means, lows, highs = ([100 * band[k] for band in bands] for k in range(3))
        axis.plot(known, means, color=color, marker="o", label=label)
        axis.fill_between(known, lows, highs, color=color, alpha=0.15, linewidth=0)
    axis.set_xscale("log", base=2)
    axis.set_xticks(found.budgets, [f"{each:,}" for each in found.budgets])
    axis.set_xlabel("parameters allowed")
    axis.set_ylabel("loss against the full budget, %")
    legend_below(figure, axis, columns=2, title="")
    return figure


if __name__ == "__main__":
    with job(snakemake):
        losses = read_tables(snakemake.input.losses, LOSSES)
        save_figure(draw(losses, read_sweep(snakemake.input.sweep)), **snakemake.output)
