"""Draw figure exp3_allocations: dimensions by predictor over budgets, one panel per rule."""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from embedalloc.study.exp3_contracts import PERFORMANCE
from embedalloc.study.exp3_looks import (
    ALLOCATION_RULES,
    LEFTOVER_SPENT,
    PREDICTORS,
    exp3_words,
)
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables


def draw(performance: pd.DataFrame, budgets: list[int], cardinalities: list[int]) -> Figure:
    """Draw mean dimensions; rivals floored as solid and with the leftover spent as dotted lines."""
    rows = performance[performance["budget"].isin(budgets)]
    dimensions = pd.DataFrame(np.stack(rows["dimensions"]), index=rows.index)
    figure, axes = style.new_figure(1, len(ALLOCATION_RULES), height=2.7, sharey=True)
    for axis, (rule, look) in zip(axes[0], ALLOCATION_RULES.items(), strict=True):
        for leftover, linestyle in (("floored", "-"), ("spent", ":")):
            chosen = (rows["allocation_rule"] == rule) & (rows["leftover"] == leftover)
            if not chosen.any():
                continue
            # The proposed rule spends the leftover by definition: its only line is solid.
            line = "-" if rule == "proposed" else linestyle
            for j, predictor in enumerate(PREDICTORS[: len(cardinalities)]):
                values = rows[chosen].assign(dimension=dimensions[chosen][j])
                summary = style.mean_and_band(values, "budget", "dimension")
                style.draw_curve(axis, summary, predictor, linestyle=line, band=line == "-")
        words = f"{look.label}, spends all" if rule == "proposed" else look.label
        axis.set(title=words, xlabel="budget $B$")
        axis.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("dimension $d_j$")
    handles = [
        style.legend_line(f"predictor {j}, $N = {n}$", p.color, marker=p.marker)
        for j, (p, n) in enumerate(zip(PREDICTORS, cardinalities, strict=False), start=1)
    ]
    handles.append(style.legend_line("rivals that round down", style.BLACK))
    handles.append(style.legend_line(LEFTOVER_SPENT, style.BLACK, ":"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3, title=exp3_words(figure))
    return figure


if __name__ == "__main__":
    with job(snakemake):
        table = read_tables(snakemake.input.performance, PERFORMANCE)
        params = snakemake.params
        style.save_figure(draw(table, params.budgets, params.cardinalities), **snakemake.output)
