"""Draw figure multiverse_choices: how much of each claim's outcome every choice explains."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.claims.verdicts import SECTIONS
from embedalloc.study.multiverse.summary import EFFECTS
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import GREY, new_figure, save_figure
from embedalloc.study.workflow.tables import read_table


def draw(effects: pd.DataFrame) -> Figure:
    """Draw one panel per experiment: choices by claims, shares of variance as numbers."""
    experiments = list(dict.fromkeys(effects["experiment"]))
    figure, axes = new_figure(1, len(experiments), width=9.0, height=4.0)
    for axis, experiment in zip(axes[0], experiments, strict=True):
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
        names = [claim.removeprefix(f"{experiment}-") for claim in claims]
        axis.set_xticks(range(len(claims)), names, rotation=40, ha="right")
        axis.set_yticks(range(len(choices)), [name.replace("_", " ") for name in choices])
        axis.set_title(SECTIONS[experiment].replace(" (", "\n("))
        axis.grid(visible=False)
        axis.tick_params(length=0)
    figure.supxlabel(
        "per cent of the variance of the outcome (holds 1, partly ½, fails 0) between the values "
        "of a choice, beyond chance\n(a few per cent can be chance, as the draws are not balanced);"
        " – where the outcome is always the same",
        fontsize=7,
    )
    return figure


if __name__ == "__main__":
    with job(snakemake.log[0]):
        save_figure(draw(read_table(snakemake.input.effects, EFFECTS)), **snakemake.output)
