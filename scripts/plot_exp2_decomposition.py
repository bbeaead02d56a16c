"""Draw figure exp2_decomposition: the reconstruction error split in two, over d."""

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.exp2_contracts import PROFILES
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

EXACT = {
    "approximation": style.Look("approximation", style.BLUE, "o"),
    "estimation": style.Look("estimation", style.ORANGE, "s"),
    "total": style.Look("total", style.BLACK, "D"),
}
PRINTED = {
    "literal_approximation": style.Look(
        r"approximation as the paper prints it, $\|U - U_d\|_F^2$", style.BLUE
    ),
    "literal_estimation": style.Look(
        r"estimation as the paper prints it, $\|U_d - \hat U_d\|_F^2$", style.ORANGE
    ),
}


def draw(profiles: pd.DataFrame) -> Figure:
    """Draw one panel per sample size: the exact split, and the printed one dotted."""
    sizes = sorted(profiles["observations"].unique())
    figure, axes = style.new_figure(1, len(sizes), height=3.1)
    for axis, n in zip(axes[0], sizes, strict=True):
        rows = profiles[profiles["observations"] == n]
        for column, look in PRINTED.items():
            summary = style.mean_and_band(rows, "dimension", column)
            style.draw_curve(axis, summary, look, band=False, linestyle=":")
        for column, look in EXACT.items():
            style.draw_curve(axis, style.mean_and_band(rows, "dimension", column), look)
        best = style.mean_and_band(rows, "dimension", "total")["mean"].idxmin()
        axis.set(title=f"$n$ = {n:,}: least at $d$ = {best}", xlabel="dimension $d$")
        axis.set_ylim(bottom=0)
        style.dimension_ticks(axis, profiles["dimension"].max())
    axes[0, 0].set_ylabel("squared Frobenius norm")
    handles, _ = axes[0, 0].get_legend_handles_labels()
    figure.legend(
        handles=[*handles[len(PRINTED) :], *handles[: len(PRINTED)]],
        loc="outside lower center",
        ncols=2,
        title=style.band_words(figure),
    )
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.profiles, PROFILES)
        style.save_figure(draw(table), **snakemake.output)
