"""Draw figure theory_generalisation: the measured gap beside the form of Theorem 2's bound."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.study.theory.contracts import GAPS, SCALING, average_gaps
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table

#: How each dimension is drawn.
Marks = dict[int, dict[str, Any]]
#: From few dimensions to many; a smaller mark lies on a larger one.
MARKS = (
    {"color": style.SKY, "marker": "o", "markersize": 7.0},
    {"color": style.BLUE, "marker": "s", "markersize": 5.5},
    {"color": style.PURPLE, "marker": "D", "markersize": 4.0},
    {"color": style.BLACK, "marker": "^", "markersize": 2.5},
)
NAMES = {"squared": "squared loss", "bounded": "bounded loss"}


def draw(gaps: pd.DataFrame, scaling: pd.DataFrame) -> Figure:
    """Draw mean gaps over the bound's variable on the left, over free effects on the right."""
    means = average_gaps(gaps)
    looks = dict(zip(sorted(means["dimension"].unique()), MARKS, strict=False))
    figure, axes = style.new_figure(len(NAMES), 2, height=5.2, sharey="row")
    for (left, right), (loss, name) in zip(axes, NAMES.items(), strict=True):
        mine = means[means["loss"] == loss]
        fit = scaling[scaling["loss"] == loss].iloc[0]
        draw_bound(left, mine, fit, looks)
        draw_law(right, mine, looks)
        left.set_ylabel(f"mean gap, {name}")
        for axis in (left, right):
            axis.set(xscale="log", yscale="log")
            style.plain_log_ticks(axis.xaxis)
            style.plain_log_ticks(axis.yaxis)
        style.write_note(right, 0.04, 0.93, exponents(fit), va="top")
    axes[-1, 0].set_xlabel(r"$\sqrt{\sum N_j d_j\,/\,n}$")
    axes[-1, 1].set_xlabel(r"first-order law, $\propto (\sum N_j - m + 1)\,/\,n$")
    axes[0, 0].set_title("over the rate in Theorem 2's bound")
    axes[0, 1].set_title("over the first-order law, without $d$")
    handles = [style.legend_line(f"$d_j$ = {d}", linestyle="", **look) for d, look in looks.items()]
    handles += [
        style.legend_line("fitted $C$", style.VERMILLION),
        style.legend_line("smallest $C$ above all points", style.VERMILLION, "--"),
        style.legend_line("first-order law", style.GREEN, "-."),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, title=looseness(scaling))
    return figure


def draw_points(axis: Axes, x: Any, means: pd.DataFrame, looks: Marks) -> None:
    """Draw one mark per point of the grid."""
    for d, look in looks.items():
        chosen = (means["dimension"] == d).to_numpy()
        axis.plot(x[chosen], means["gap"].to_numpy()[chosen], linestyle="", **look)


def draw_bound(axis: Axes, means: pd.DataFrame, fit: Any, looks: Marks) -> None:
    """Draw gaps over the bound's variable, with the fitted and the smallest valid multiple."""
    x = np.sqrt(means["parameters"] / means["observations"]).to_numpy()
    draw_points(axis, x, means, looks)
    ends = np.array([x.min(), x.max()])
    axis.plot(ends, fit["constant"] * ends, color=style.VERMILLION)
    axis.plot(ends, fit["envelope"] * ends, color=style.VERMILLION, linestyle="--")
    words = f"fitted $C$ = {fit['constant']:.2g}, above all points {fit['envelope']:.2g}"
    style.write_note(axis, 0.04, 0.93, words, va="top")


def draw_law(axis: Axes, means: pd.DataFrame, looks: Marks) -> None:
    """Draw gaps over the first-order law, which is the diagonal."""
    x = means["expected"].to_numpy()
    draw_points(axis, x, means, looks)
    ends = np.array([x.min(), x.max()])
    axis.plot(ends, ends, color=style.GREEN, linestyle="-.")


def exponents(fit: Any) -> str:
    """Return the measured exponents beside the bound's."""
    values = (fit[f"{name}_exponent"] for name in ("categories", "dimension", "size"))
    shown = ", ".join(f"{round(value, 2) + 0.0:.2f}".replace("-", "−") for value in values)
    return f"exponents of $\\sum N_j$, $d$, $n$: {shown}\n(the bound has 0.50, 0.50, −0.50)"


def looseness(scaling: pd.DataFrame) -> str:
    """Return how loose the bound is, in one sentence."""
    worst = scaling.set_index("loss")["looseness"]
    return (
        "with the smallest $C$ above all points the bound is up to "
        f"{worst['squared']:,.0f} times the gap (squared loss), {worst['bounded']:,.0f} (bounded)"
    )


if __name__ == "__main__":
    with job(snakemake):
        gaps = read_table(snakemake.input.gaps, GAPS)
        scaling = read_table(snakemake.input.scaling, SCALING)
        style.save_figure(draw(gaps, scaling), **snakemake.output)
