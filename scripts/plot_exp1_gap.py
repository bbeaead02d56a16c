"""Draw figure exp1_gap: empirical tail minus population error over d."""

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

GAPS = {
    "population_tail": style.Look(r"error = population tail $\|U - U_d\|_F$", style.BLUE, "o"),
    "reconstruction_error": style.Look(
        r"error = that of the estimate $\|U - \hat U_d\|_F$", style.ORANGE, "s"
    ),
}


def draw(profiles: pd.DataFrame, designs: Mapping[str, Spectrum]) -> Figure:
    """Draw one panel per design with both readings."""
    figure, axes = style.new_figure(1, len(designs), height=2.5, sharey=True)
    for axis, (design, law) in zip(axes[0], designs.items(), strict=True):
        rows = profiles[profiles["design"] == design]
        axis.axhline(0.0, color="black", linewidth=0.8)
        for column, look in GAPS.items():
            gap = rows.assign(gap=rows["empirical_tail"] - rows[column])
            style.draw_curve(axis, style.mean_and_band(gap, "dimension", "gap"), look)
        axis.set(title=spectrum_label(law), xlabel="dimension $d$")
        style.dimension_ticks(axis, profiles["dimension"].max())
    axes[0, 0].set_ylabel("empirical tail minus error")
    style.legend_below(figure, axes[0, 0], columns=2, title=style.band_words(figure))
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.profiles, PROFILES)
        designs = Exp1Designs.model_validate(snakemake.params.cell).designs
        style.save_figure(draw(table, designs), **snakemake.output)
