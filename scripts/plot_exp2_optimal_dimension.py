"""Draw figure exp2_optimal_dimension: the empirically optimal dimension over n."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from embedalloc.study.exp2_contracts import PROFILES
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables


def draw(profiles: pd.DataFrame) -> Figure:
    """Draw the minimiser of each replication's test MSE, and that of the mean curve."""
    place = profiles.groupby(["observations", "replication"])["test_mse"].idxmin()
    best = profiles.loc[place, ["observations", "dimension"]]
    mean_curve = profiles.groupby(["observations", "dimension"])["test_mse"].mean()
    of_mean = mean_curve.groupby("observations").idxmin().map(lambda key: key[1])

    figure, axes = style.new_figure(width=style.PANEL_WIDTH, height=3.1)
    axis = axes[0, 0]
    look = style.Look("best $d$ of each replication", style.BLUE, "o")
    style.draw_curve(axis, style.mean_and_band(best, "observations", "dimension"), look)
    axis.plot(
        of_mean.index,
        of_mean,
        linestyle="none",
        marker="_",
        markersize=11,
        markeredgewidth=1.6,
        color=style.BLACK,
        label="best $d$ for the mean of the test MSE",
    )
    axis.set(xscale="log", xlabel="training sample size $n$", ylabel="best dimension $d$")
    axis.set_ylim(bottom=0)
    style.plain_log_ticks(axis.xaxis, of_mean.index)
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    style.legend_below(figure, axis, columns=2, title=style.band_words(figure))
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.profiles, PROFILES)
        style.save_figure(draw(table), **snakemake.output)
