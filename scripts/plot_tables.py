"""Draw figure tables: the mean difference of every contestant to equal dimensions."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.tables.summary import BASE, DECIDING, DIFFERENCES
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import BLACK, BLUE, VERMILLION, new_figure, save_figure
from embedalloc.study.workflow.tables import read_table

TICKS = (-500, -100, -20, 0, 20, 100)


def draw(differences: pd.DataFrame) -> Figure:
    """Draw means over tables with two standard errors, a panel per initialisation."""
    starts = sorted(differences["initialisation"].unique(), key=lambda each: each != DECIDING)
    order = differences[differences["initialisation"] == starts[0]].sort_values("mean")
    names = [name for name in order["contestant"] if name != BASE]
    figure, axes = new_figure(1, len(starts), height=0.6 + 0.19 * len(names), sharey=True)
    for axis, start in zip(axes[0], starts, strict=True):
        own = differences[differences["initialisation"] == start].set_index("contestant")
        own = own.loc[names[::-1]]
        places = range(len(names))
        colors = [BLUE if name == "screened" else BLACK for name in own.index]
        axis.axvline(0, color=VERMILLION, linewidth=0.8)
        for place, color, mean, error in zip(
            places, colors, own["mean"], own["error"].fillna(0), strict=True
        ):
            axis.errorbar(mean, place, xerr=2 * error, fmt="o", color=color, capsize=2)
        axis.set_yticks(list(places), list(own.index))
        axis.set_xscale("symlog", linthresh=20)
        axis.set_xticks(TICKS, [f"{tick:+d}" if tick else "0" for tick in TICKS])
        axis.set_title(f"{start} initialisation of the judge")
    figure.supxlabel(
        "per mille of the loss against equal dimensions (mean and two standard errors over tables)",
        fontsize=8,
    )
    return figure


if __name__ == "__main__":
    with job(snakemake):
        save_figure(draw(read_table(snakemake.input.differences, DIFFERENCES)), **snakemake.output)
