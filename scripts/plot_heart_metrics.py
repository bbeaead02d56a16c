"""Draw figure heart_metrics: distribution of each metric over splits, with the paper's value."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from embedalloc.study.heart.looks import MODELS as LOOKS
from embedalloc.study.heart.metrics import SCORES
from embedalloc.study.heart.table1 import MODELS, PAPER, PAPER_METRICS
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import BLACK, GREY, new_figure, save_figure
from embedalloc.study.workflow.tables import read_table

TITLES = {
    "accuracy": "accuracy",
    "f1": "F1",
    "precision": "precision",
    "mcc": "MCC",
    "validation_logloss": "validation logloss",
    "brier": "Brier score",
    "ece": "ECE (10 bins)",
    "test_logloss": "test logloss",
    "ece_15": "ECE (15 bins)",
    "calibration_debiased": "debiased calibration",
}


def draw(scores: pd.DataFrame) -> Figure:
    """Draw one panel per metric: 80 % and the middle half of the splits, median, paper's mark."""
    columns = 3
    rows = -(-len(TITLES) // columns)
    figure, axes = new_figure(rows, columns, height=1.75 * rows, sharey=True)
    place, colors = range(len(MODELS)), [LOOKS[model].color for model in MODELS]
    for axis, (metric, title) in zip(axes.flat, TITLES.items(), strict=False):
        wide = scores.pivot(index="split", columns="model", values=metric)[list(MODELS)]
        low, first, median, third, high = wide.quantile([0.1, 0.25, 0.5, 0.75, 0.9]).to_numpy()
        axis.hlines(place, low, high, color=colors, linewidth=1.2)
        axis.hlines(place, first, third, color=colors, linewidth=5, alpha=0.4)
        axis.scatter(median, place, color=colors, s=12, zorder=3)
        if metric in PAPER_METRICS:
            column = PAPER_METRICS.index(metric)
            for model, values in PAPER.items():
                axis.plot(
                    values[column],
                    MODELS.index(model),
                    marker="x",
                    color=BLACK,
                    markersize=6,
                    markeredgewidth=1.6,
                    zorder=4,
                )
        axis.set_title(title)
        axis.set_ylim(len(MODELS) - 0.5, -0.5)
        axis.axhline(len(PAPER) - 0.5, color=GREY, linewidth=0.8, linestyle=":")
    for axis in axes.flat[len(TITLES) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_yticks(place, [LOOKS[model].label for model in MODELS])
    handles = [
        Line2D([], [], color=GREY, marker="o", linestyle="none", label="median over splits"),
        Line2D([], [], color=GREY, linewidth=5, alpha=0.4, label="middle half"),
        Line2D([], [], color=GREY, linewidth=1.2, label="10th to 90th percentile"),
        Line2D(
            [],
            [],
            color=BLACK,
            marker="x",
            linestyle="none",
            label="the paper's figure, of one split",
        ),
    ]
    title = "above the dotted line: the paper's models\nbelow: other readings and controls"
    empty = axes.flat[len(TITLES)]
    words = empty.legend(handles=handles, loc="center left", title=title, alignment="left")
    words.set_in_layout(False)  # it may reach into the next empty place
    return figure


if __name__ == "__main__":
    with job(snakemake):
        save_figure(draw(read_table(snakemake.input.scores, SCORES)), **snakemake.output)
