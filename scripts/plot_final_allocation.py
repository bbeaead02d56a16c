"""Draw figure final_allocation: dimensions by predictor at the selected budget."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from embedalloc.study.heart.looks import PREDICTORS
from embedalloc.study.heart.metrics import SCORES
from embedalloc.study.heart.networks import COEFFICIENTS
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import BLACK, BLUE, new_figure, plain_log_ticks, save_figure
from embedalloc.study.workflow.tables import read_table, read_tables


def draw(scores: pd.DataFrame, coefficients: pd.DataFrame) -> Figure:
    """Draw median, middle half and 80 % of the dimensions over splits, with the rank limit."""
    chosen = scores[scores["model"] == "proposed"]
    dimensions = np.stack(chosen["dimensions"])
    low, first, median, third, high = np.quantile(dimensions, (0.1, 0.25, 0.5, 0.75, 0.9), axis=0)
    cardinality = coefficients.groupby("predictor")["cardinality"].max()[list(CATEGORICAL)]
    figure, axes = new_figure(width=5.4, height=3.5)
    axis, place = axes[0, 0], np.arange(len(CATEGORICAL))
    axis.hlines(place, low, high, color=BLUE, linewidth=1.2)
    axis.hlines(place, first, third, color=BLUE, linewidth=5, alpha=0.5)
    axis.plot(median, place, "o", color=BLUE)
    axis.vlines(cardinality - 1, place - 0.35, place + 0.35, color=BLACK, linewidth=2)
    names = [f"{PREDICTORS[name]}, {n} categories" for name, n in cardinality.items()]
    axis.set_yticks(place, names)
    axis.set_ylim(len(CATEGORICAL) - 0.4, -0.6)
    axis.set(xscale="log", xlabel="dimension $d_j$ of the proposed model")
    axis.set_xlim(left=1)  # no table has fewer
    plain_log_ticks(axis.xaxis)
    axis.grid(visible=False, axis="y")
    least, middle, most = chosen["budget"].quantile([0.1, 0.5, 0.9]).astype(int)
    handles = [
        Line2D([], [], color=BLUE, marker="o", linestyle="none", label="median over splits"),
        Line2D([], [], color=BLUE, linewidth=5, alpha=0.5, label="middle half"),
        Line2D([], [], color=BLUE, linewidth=1.2, label="10th to 90th percentile"),
        Line2D([], [], color=BLACK, marker="|", markersize=9, markeredgewidth=2, linestyle="none",
               label="rank limit: beyond it, more parameters alone"),
    ]  # fmt: skip
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=2,
        title=f"selected budget: median {middle:,}, 80 % between {least:,} and {most:,}",
    )
    return figure


if __name__ == "__main__":
    with job(snakemake):
        tables = (
            read_table(snakemake.input.scores, SCORES),
            read_tables(snakemake.input.coefficients, COEFFICIENTS),
        )
        save_figure(draw(*tables), **snakemake.output)
