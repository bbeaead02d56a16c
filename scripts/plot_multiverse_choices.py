"""Draw figure multiverse_choices: how much of each claim's outcome every choice explains."""

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.claims.verdicts import SECTIONS
from embedalloc.study.multiverse.summary import EFFECTS
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import GREY, new_figure, save_figure
from embedalloc.study.workflow.tables import read_table

COLUMNS = 2


def draw(effects: pd.DataFrame) -> Figure:
    """Draw one panel per experiment: choices by claims, shares of variance as numbers."""
    experiments = list(dict.fromkeys(effects["experiment"]))
    rows = -(-len(experiments) // COLUMNS)
    figure, axes = new_figure(rows, COLUMNS, height=3.2 * rows + 0.5)
    for axis in axes.flat[len(experiments) :]:
        axis.set_axis_off()
    for axis, experiment in zip(axes.flat, experiments, strict=False):
        mine = effects[effects["experiment"] == experiment].drop_duplicates(["claim", "choice"])
        claims = list(dict.fromkeys(mine["claim"]))
        choices = list(dict.fromkeys(mine["choice"]))
        table = mine.pivot(index="choice", columns="claim", values="variance_share")
        values = table.loc[choices, claims].to_numpy()
        axis.imshow(np.nan_to_num(values), cmap="Greys", vmin=0, vmax=1, aspect="auto")
        for (i, j), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{100 * value:.0f}"
            faint = np.isnan(value) or value < 0.005
            color = GREY if faint else "white" if value > 0.5 else "black"
            axis.text(j, i, text, ha="center", va="center", color=color, fontsize=7)
        names = [claim.removeprefix(f"{experiment}-").replace("-", " ") for claim in claims]
        axis.set_xticks(range(len(claims)), [fill(name, 12) for name in names], rotation=90)
        axis.set_yticks(range(len(choices)), [name.replace("_", " ") for name in choices])
        axis.set_title(SECTIONS[experiment])
        axis.grid(visible=False)
        axis.tick_params(length=0)
    figure.supxlabel(
        "per cent of the variance of a claim's outcome (holds 1, partly ½, fails 0) that lies\n"
        "between the values of a choice, beyond chance; – where the outcome is always the same",
        fontsize=7,
    )
    return figure


if __name__ == "__main__":
    with job(snakemake):
        save_figure(draw(read_table(snakemake.input.effects, EFFECTS)), **snakemake.output)
