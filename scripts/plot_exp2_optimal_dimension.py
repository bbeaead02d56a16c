"""Draw figure exp2_optimal_dimension: the empirically optimal dimension over n."""

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from embedalloc.study.exp2 import PROFILES
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables


def draw(profiles: pd.DataFrame) -> Figure:
    """Draw the minimiser of each replication's test MSE, and that of the mean curve."""
    place = profiles.groupby(["observations", "replication"])["test_mse"].idxmin()
    best = profiles.loc[place, ["observations", "dimension"]]
    mean_curve = profiles.groupby(["observations", "dimension"])["test_mse"].mean()
    of_mean = mean_curve.groupby("observations").idxmin().map(lambda key: key[1])

    figure, axes = style.new_figure(width=4.4, height=2.9)
    axis = axes[0, 0]
    look = style.Look("mean over replications of the best $d$", style.BLUE, "o")
    style.draw_curve(axis, style.mean_and_band(best, "observations", "dimension"), look)
    axis.plot(
        of_mean.index,
        of_mean,
        linestyle="none",
        marker="_",
        markersize=11,
        markeredgewidth=1.6,
        color=style.VERMILLION,
        label="best $d$ for the mean test MSE",
    )
    axis.set(xscale="log", xlabel="training sample size $n$", ylabel="optimal dimension")
    axis.set_ylim(bottom=0)
    style.plain_log_ticks(axis.xaxis, of_mean.index)
    axis.tick_params(axis="x", labelrotation=45)
    axis.yaxis.set_major_locator(MaxNLocator(integer=True))
    axis.legend(loc="upper left", title=style.BAND_WORDS, alignment="left")
    return figure


if __name__ == "__main__":
    with job(snakemake.log[0]):
        table = read_tables(snakemake.input.profiles, PROFILES)
        style.save_figure(draw(table), **snakemake.output)
