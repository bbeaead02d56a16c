"""Draw figure theory_approximation: Proposition 2's exact error and bounds over d."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.study.theory.contracts import ERRORS
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table

CURVES = {
    "bound": (style.Look(r"the paper's bound: tail of $U$", style.VERMILLION), "-"),
    "weighted_bound": (style.Look(r"$\sqrt{\max\pi}$ × tail of $U$", style.ORANGE), "--"),
    "truncated": (style.Look(r"$U$ truncated to rank $d$", style.SKY, "s"), "-"),
    "exact": (style.Look(r"exact: tail of diag$(\sqrt{\pi})\,U$", style.BLACK), ":"),
}
BALANCES = {
    "balanced": (r"balanced: $\pi_c = 1/N$", style.Look("balanced", style.SLATE, "o")),
    "imbalanced": (r"imbalanced: $\pi$ ~ Dirichlet", style.Look("imbalanced", style.SLATE, "^")),
}


def draw(errors: pd.DataFrame) -> Figure:
    """Draw errors for both kinds of probabilities and how far the bound is above the exact one."""
    last = errors["dimension"].max()
    # At d = r every error is zero, which a log scale cannot show.
    rows = errors[(errors["dimension"] >= 1) & (errors["dimension"] < last)]
    figure, axes = style.new_figure(1, 3, height=2.7)
    for axis, (balance, (title, _)) in zip(axes[0], BALANCES.items(), strict=False):
        for column, (look, linestyle) in CURVES.items():
            summary = style.mean_and_band(rows[rows["balance"] == balance], "dimension", column)
            width = 2.0 if column == "exact" else 1.2
            style.draw_curve(axis, summary, look, linestyle=linestyle, linewidth=width)
        axis.set(title=title, yscale="log")
    low = min(axis.get_ylim()[0] for axis in axes[0, :2])
    high = max(axis.get_ylim()[1] for axis in axes[0, :2])
    for axis in axes[0, :2]:
        axis.set_ylim(low, high)
        axis.set_ylabel("weighted error")
    style.write_note(axes[0, 0], 0.05, 0.05, "all but the bound coincide")
    draw_ratio(axes[0, 2], rows)
    for axis in axes[0]:
        axis.set_xlabel("dimension $d$")
        style.dimension_ticks(axis, last)
    style.legend_below(figure, axes[0, 0], columns=2, title=style.band_words(figure))
    return figure


def draw_ratio(axis: Axes, rows: pd.DataFrame) -> None:
    """Draw bound over exact value; with equal probabilities it is √N at every d."""
    for balance, (_, look) in BALANCES.items():
        mine = rows[rows["balance"] == balance]
        ratio = mine.assign(ratio=mine["bound"] / mine["exact"])
        style.draw_curve(axis, style.mean_and_band(ratio, "dimension", "ratio"), look)
    constant = (rows["bound"] / rows["exact"])[rows["balance"] == "balanced"].mean()
    axis.set(title="bound over exact value", yscale="log", ylabel="ratio")
    axis.set_ylim(bottom=min(5.0, float(np.floor(constant))))
    style.plain_log_ticks(axis.yaxis)
    style.write_note(axis, 0.97, 0.04, rf"balanced: $\sqrt{{N}} = {constant:.3g}$", ha="right")
    axis.legend(loc="upper left")


if __name__ == "__main__":
    with job(snakemake):
        table = read_table(snakemake.input.errors, ERRORS)
        style.save_figure(draw(table), **snakemake.output)
