"""Draw figure heart_pilot: coefficients of the pilot after training against before."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

from embedalloc.study.heart.looks import PREDICTORS
from embedalloc.study.heart.networks import COEFFICIENTS
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import BLUE, SLATE, legend_line, new_figure, save_figure
from embedalloc.study.workflow.tables import read_tables


def draw(coefficients: pd.DataFrame) -> Figure:
    """Draw one panel per predictor, one point per split."""
    figure, axes = new_figure(3, 3, height=6.0, sharex=True, sharey=True)
    top = coefficients[["before", "after"]].to_numpy().max() * 1.05
    for axis, name in zip(axes.flat, CATEGORICAL, strict=True):
        rows = coefficients[coefficients["predictor"] == name]
        axis.plot([0, top], [0, top], color=SLATE, linewidth=0.9, linestyle="--")
        sns.scatterplot(
            rows, x="before", y="after", s=7, color=BLUE, alpha=0.45, linewidth=0, ax=axis
        )
        correlation = np.corrcoef(rows["before"], rows["after"])[0, 1]
        axis.set_title(f"{PREDICTORS[name]}: $r$ = {correlation:.2f}")
        axis.set(xlim=(0, top), ylim=(0, top), xlabel="", ylabel="")
    for axis in axes[-1]:
        axis.set_xlabel(r"$\hat a_j$ at initialisation")
    for axis in axes[:, 0]:
        axis.set_ylabel(r"$\hat a_j$ after training")
    handles = [
        legend_line("one split, with the correlation $r$ over all", BLUE, "", marker="o"),
        legend_line("where training leaves the coefficient as it was", SLATE, "--"),
    ]
    title = (
        "coefficient $\\hat a_j$ of each table in the pilot model, before and after its training:\n"
        "a point near the dashed line was decided by the random start, not by the data"
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=2, title=title)
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.coefficients, COEFFICIENTS)
        save_figure(draw(table), **snakemake.output)
