"""How the figures of Experiment 3 show its rules and predictors."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.study.workflow.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Look,
    band_words,
    draw_curve,
    legend_line,
    mean_and_band,
    plain_log_ticks,
)

#: Rivals may round down, or go on to spend what is left of the budget, as the proposed rule does.
LEFTOVER_SPENT = "rivals that spend the leftover budget, too"

ALLOCATION_RULES: Mapping[str, Look] = {
    "proposed": Look("proposed", BLUE, "o"),
    "equal": Look("equal", ORANGE, "s"),
    "cardinality": Look("cardinality", VERMILLION, "^"),
    "spectral_mass": Look("spectral mass", GREEN, "D"),
}

#: The predictors of Experiment 3; sizes of the tables, so a scale from light to dark.
PREDICTORS = (
    Look("predictor 1", SKY, "o"),
    Look("predictor 2", PURPLE, "s"),
    Look("predictor 3", BLACK, "^"),
)


def exp3_words(figure: Figure) -> str:
    """Return what Experiment 3 says wherever it is shown: how its settings came about."""
    return f"settings chosen so that the paper's findings can hold;\n{band_words(figure)}"


def draw_rule_comparison(axes: Axes, rows: pd.DataFrame, over: str, noise_floor: float) -> None:
    """Draw the risk of each allocation rule of Experiment 3 over budgets or sample sizes.

    Rivals are solid where they round down and dotted where they too spend
    the leftover; the proposed rule spends it by definition.
    """
    for rule, look in ALLOCATION_RULES.items():
        mine = rows[rows["allocation_rule"] == rule]
        main = mine[mine["leftover"] == ("spent" if rule == "proposed" else "floored")]
        order = 4 if rule == "proposed" else 3
        draw_curve(axes, mean_and_band(main, over, "risk"), look, zorder=order)
        if rule != "proposed":
            spent = mean_and_band(mine[mine["leftover"] == "spent"], over, "risk")
            # Hollow marks, for readers without colours.
            hollow = {"markerfacecolor": "white", "markersize": 3, "linestyle": ":"}
            draw_curve(axes, spent, look, band=False, label=None, zorder=2.5, **hollow)
    axes.axhline(noise_floor, color=GREY, linewidth=1.0, linestyle="--")
    # A log scale: the rules differ by small factors near the floor and by large ones above.
    axes.set_yscale("log")
    plain_log_ticks(axes.yaxis)
    handles, _ = axes.get_legend_handles_labels()
    handles += [
        legend_line(LEFTOVER_SPENT, BLACK, ":"),
        legend_line(f"noise floor {noise_floor:g}", GREY, "--"),
    ]
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, title=exp3_words(figure))
