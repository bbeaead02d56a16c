"""Draw figure exp1_loglog: tails and predictive errors on log axes, and the fit of a/d."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.study.exp1_contracts import FITS, PROFILES
from embedalloc.study.exp1_looks import spectrum_label
from embedalloc.study.settings.common import Spectrum
from embedalloc.study.settings.exp1 import Exp1Designs
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

CURVES = {
    "population_tail": (style.Look("population tail", style.BLACK), "--"),
    "empirical_tail": (style.Look("empirical tail", style.BLUE, "o"), "-"),
    "predictive_error_refit": (style.Look("predictive error, refitted", style.GREEN, "D"), "-"),
    "predictive_error_known": (
        style.Look(r"predictive error, $\beta$ known", style.PURPLE, "v"),
        ":",
    ),
}


def draw(profiles: pd.DataFrame, fits: pd.DataFrame, designs: Mapping[str, Spectrum]) -> Figure:
    """Draw one row per design: errors on the left, the fit on the right."""
    figure, axes = style.new_figure(len(designs), 2, height=1.9 * len(designs) + 0.5, sharex=True)
    last = profiles["dimension"].max()
    for (left, right), (design, law) in zip(axes, designs.items(), strict=True):
        rows = profiles[profiles["design"] == design]
        draw_errors(left, rows, last)
        draw_fit(right, rows, fits[fits["design"] == design], last)
        for axis in (left, right):
            axis.set(xscale="log", yscale="log")
            style.plain_log_ticks(axis.xaxis)
            style.plain_log_ticks(axis.yaxis)
        left.set(ylabel="error", title=spectrum_label(law))
        right.set(ylabel="empirical tail", title=f"{spectrum_label(law)}: fit of $a/d$")
    for axis in axes[-1]:
        axis.set_xlabel("dimension $d$")
    errors, fit = (axis.get_legend_handles_labels()[0] for axis in axes[0])
    figure.legend(handles=[*errors, *fit[1:]], loc="outside lower center", ncols=3)
    return figure


def draw_errors(axis: Axes, rows: pd.DataFrame, last: int) -> None:
    """Draw the tails, which end at zero and so before the last dimension, and the errors."""
    for column, (look, linestyle) in CURVES.items():
        summary = style.mean_and_band(rows, "dimension", column)
        if column.endswith("tail"):
            summary = summary[summary.index < last]
        style.draw_curve(axis, summary, look, linestyle=linestyle)


def draw_fit(axis: Axes, rows: pd.DataFrame, fits: pd.DataFrame, last: int) -> None:
    """Draw the empirical tail beside a/d with the mean coefficient."""
    summary = style.mean_and_band(rows, "dimension", "empirical_tail")
    style.draw_curve(axis, summary[summary.index < last], CURVES["empirical_tail"][0])
    dimensions = np.arange(1, last)
    coefficient, r_squared = fits["coefficient"].mean(), fits["r_squared"].mean()
    axis.plot(
        dimensions, coefficient / dimensions, color=style.VERMILLION, label=r"fitted $\hat a/d$"
    )
    words = rf"$\hat a = {coefficient:.1f}$, $R^2 = {r_squared:.2f}$"
    style.write_note(axis, 0.04, 0.06, words)


if __name__ == "__main__":
    with job(snakemake):
        profiles = read_tables(snakemake.input.profiles, PROFILES)
        fits = read_tables(snakemake.input.fits, FITS)
        designs = Exp1Designs.model_validate(snakemake.params.cell).designs
        style.save_figure(draw(profiles, fits, designs), **snakemake.output)
