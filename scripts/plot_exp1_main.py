"""Draw figure exp1_main: approximation error over d for each spectral design."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.exp1_contracts import PROFILES
from embedalloc.study.exp1_looks import spectrum_label
from embedalloc.study.settings.common import Spectrum
from embedalloc.study.settings.exp1 import Exp1Designs
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables

CURVES = {
    "reconstruction_error": (
        style.Look(r"error of the estimate $\|U - \hat U_d\|_F$", style.ORANGE),
        "-",
    ),
    "population_tail": (style.Look("population tail", style.BLACK), "--"),
    "empirical_tail": (style.Look("empirical tail", style.BLUE, "o"), "-"),
}


def draw(profiles: pd.DataFrame, designs: Mapping[str, Spectrum]) -> Figure:
    """Draw one panel per design."""
    figure, axes = style.new_figure(1, len(designs), height=2.5)
    for axis, (design, law) in zip(axes[0], designs.items(), strict=True):
        rows = profiles[profiles["design"] == design]
        for column, (look, linestyle) in CURVES.items():
            summary = style.mean_and_band(rows, "dimension", column)
            style.draw_curve(axis, summary, look, linestyle=linestyle)
        axis.set(title=spectrum_label(law), xlabel="dimension $d$")
        axis.set_ylim(bottom=0)
        style.dimension_ticks(axis, profiles["dimension"].max())
    axes[0, 0].set_ylabel("error (Frobenius norm)")
    handles, _ = axes[0, 0].get_legend_handles_labels()
    title = style.band_words(figure)
    figure.legend(handles=handles[::-1], loc="outside lower center", ncols=3, title=title)
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.profiles, PROFILES)
        designs = Exp1Designs.model_validate(snakemake.params.cell).designs
        style.save_figure(draw(table, designs), **snakemake.output)
