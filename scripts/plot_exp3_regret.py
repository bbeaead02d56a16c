"""Draw figure exp3_regret: excess of every rule over the oracle."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from embedalloc.study.exp3_looks import ALLOCATION_RULES, LEFTOVER_SPENT
from embedalloc.study.multiverse.regret import REGRET
from embedalloc.study.multiverse.regret_table import average_excess, find_quantiles
from embedalloc.study.multiverse.runs import DRAWN_REGRET
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import (
    BLACK,
    BLUE,
    GREY,
    PURPLE,
    SKY,
    Look,
    draw_curve,
    draw_intervals,
    new_figure,
    plain_log_ticks,
    save_figure,
)
from embedalloc.study.workflow.tables import read_tables

RIVALS = ("equal", "cardinality", "spectral_mass")
#: Rules beyond the paper; the exact optimum of its surrogate has the colour of its rule.
RULES_BEYOND = {
    "unit_coefficients": Look("all coefficients 1", SKY, "D"),
    "exact_surrogate": Look("exact optimum of Σ a/d", BLUE, "x"),
    "noise_corrected": Look("noise-corrected a", PURPLE, "v"),
    "relevance_weighted": Look("relevance-weighted tail", GREY, "X"),
    "response_aware": Look("response-aware", BLACK, "P"),
}
SPENT = {f"{rule}_spent": ALLOCATION_RULES[rule] for rule in RIVALS}
LOOKS = {**ALLOCATION_RULES, **SPENT, **RULES_BEYOND}
#: Excess in per cent at and below which the axes are linear, so that 0 has a place.
LINEAR = 0.1


def draw(regret: pd.DataFrame, draws: pd.DataFrame, budget_observations: int) -> Figure:
    """Draw the excess over budgets, over sample sizes and over random settings."""
    figure, _ = new_figure(height=6.6)
    figure.clear()
    axes = figure.subplot_mosaic([["paper", "beyond", "sizes"], ["settings"] * 3])
    by_budget = average_excess(regret[regret["observations"] == budget_observations], "budget")
    by_size = average_excess(regret, "observations")
    beyond = {"proposed": ALLOCATION_RULES["proposed"], **RULES_BEYOND}
    n = f"$n$ = {budget_observations:,}"
    draw_rules(axes["paper"], by_budget, "budget", {**ALLOCATION_RULES, **SPENT})
    axes["paper"].set(xlabel="budget $B$", title=f"the paper's rules, {n}")
    draw_rules(axes["beyond"], by_budget, "budget", beyond)
    axes["beyond"].set(xlabel="budget $B$", title=f"rules beyond it, {n}")
    draw_rules(axes["sizes"], by_size, "observations", LOOKS)
    axes["sizes"].set(xlabel="sample size $n$", title="mean over the budgets")
    for name, over in (("paper", by_budget["budget"]), ("beyond", by_budget["budget"]),
                       ("sizes", by_size["observations"])):  # fmt: skip
        axes[name].set_xscale("log")
        plain_log_ticks(axes[name].xaxis, few(over))
        scale_percent(axes[name], "y")
    axes["paper"].set_ylabel("excess over the oracle, %")
    draw_settings(axes["settings"], draws)
    handles = [
        Line2D([], [], color=look.color, marker=look.marker, label=look.label,
               linestyle="--" if rule == "exact_surrogate" else "-")
        for rule, look in {**ALLOCATION_RULES, **RULES_BEYOND}.items()
    ]  # fmt: skip
    handles.append(Line2D([], [], color=BLACK, linestyle=":", label=LEFTOVER_SPENT))
    title = (
        "settings above chosen so that the paper's findings can hold, random below;\n"
        "upright bars: 95 % interval of the mean"
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=3, title=title)
    return figure


def few(values: pd.Series) -> list[int]:
    """Return the ends of a range and one value between: as many as a small panel can label."""
    known = sorted(set(values))
    return sorted({known[0], known[len(known) // 2], known[-1]})


def draw_rules(axis: Axes, table: pd.DataFrame, over: str, looks: dict[str, Look]) -> None:
    """Draw the mean excess of some rules in per cent, with the interval of the mean."""
    for place, (rule, look) in enumerate(looks.items()):
        mine = table[table["allocation_rule"] == rule].set_index(over).sort_index()
        percent = 100 * mine[["mean", "low", "high"]]
        if rule in SPENT:
            draw_curve(axis, percent, look, band=False, linestyle=":", marker="")
            continue
        line = "--" if rule == "exact_surrogate" else "-"
        order = 4 if rule == "proposed" else 3
        draw_intervals(axis, percent, look, shift=1.01**place, linestyle=line, zorder=order)


def scale_percent(axis: Axes, which: str) -> None:
    """Make an axis of per cent logarithmic above its linear part."""
    last = min(1000, 1.6 * getattr(axis.dataLim, f"{which}1"))
    ticks = [tick for tick in (0, 0.1, 1, 10, 100, 1000) if tick <= last]
    getattr(axis, f"set_{which}scale")("symlog", linthresh=LINEAR)
    getattr(axis, f"set_{which}lim")(0, last)
    getattr(axis, f"set_{which}ticks")(ticks, [f"{tick:,g}" for tick in ticks])
    axis.minorticks_off()


def draw_settings(axis: Axes, draws: pd.DataFrame) -> None:
    """Draw the distribution of each rule's mean excess over random settings."""
    table = {rule: 100 * values for rule, values in find_quantiles(draws).items()}
    for place, (rule, (low, first, median, third, high)) in enumerate(table.items()):
        look, line = LOOKS[rule], ":" if rule in SPENT else "-"
        axis.hlines(place, low, high, color=look.color, linewidth=1.2, linestyle=line)
        axis.hlines(place, first, third, color=look.color, linewidth=5, alpha=0.4)
        axis.plot(median, place, color=look.color, marker=look.marker)
    names = [LOOKS[rule].label + (", leftover spent" if rule in SPENT else "") for rule in table]
    axis.set_yticks(range(len(table)), names)
    axis.set_ylim(len(table) - 0.5, -0.5)
    axis.axhline(6.5, color=GREY, linewidth=0.8, linestyle=":")
    scale_percent(axis, "x")
    count = draws["number"].nunique()
    axis.set(xlabel="excess over the oracle, % (median, middle half, 80 %)",
             title=f"{count:,} random settings, mean over the budgets")  # fmt: skip


if __name__ == "__main__":
    with job(snakemake):
        figure = draw(
            read_tables(snakemake.input.regret, REGRET),
            read_tables(snakemake.input.draws, DRAWN_REGRET),
            snakemake.params.budget_observations,
        )
        save_figure(figure, **snakemake.output)
