"""Draw figure exp2_train_test: training and test MSE over d, one panel per sample size."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.exp2_contracts import PROFILES
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

CURVES = {
    "training_mse": style.Look("training MSE", style.ORANGE, "s"),
    "test_mse": style.Look("test MSE", style.BLUE, "o"),
}


def draw(profiles: pd.DataFrame) -> Figure:
    """Draw one panel per sample size with the minimum of the test curve marked."""
    sizes = sorted(profiles["observations"].unique())
    figure, axes = style.new_figure(1, len(sizes), height=2.6)
    for axis, n in zip(axes[0], sizes, strict=True):
        rows = profiles[profiles["observations"] == n]
        for column, look in CURVES.items():
            style.draw_curve(axis, style.mean_and_band(rows, "dimension", column), look)
        test = style.mean_and_band(rows, "dimension", "test_mse")["mean"]
        best = test.idxmin()
        axis.plot(
            [best],
            [test[best]],
            marker="*",
            markersize=10,
            color=style.BLACK,
            markeredgecolor="white",
            linestyle="none",
            label="minimum of the mean test MSE",
            zorder=5,
        )
        axis.set(title=f"$n$ = {n:,}: best at $d$ = {best}", xlabel="dimension $d$")
        style.dimension_ticks(axis, profiles["dimension"].max())
    axes[0, 0].set_ylabel("MSE per coordinate")
    style.legend_below(figure, axes[0, 0], columns=3, title=style.band_words(figure))
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.profiles, PROFILES)
        style.save_figure(draw(table), **snakemake.output)
