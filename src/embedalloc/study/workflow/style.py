"""One look for all figures: sizes, fonts, and one colour and marker per allocation rule."""

import errno
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

from embedalloc.study.heart.table1 import MODEL_LABELS
from embedalloc.study.settings.common import Spectrum
from embedalloc.study.workflow.files import whole_file

FONT = "DejaVu Sans"
#: Width of the paper's text block, in inches.
TEXT_WIDTH = 6.3
#: Share of the replications inside a band.
BAND = (0.1, 0.9)
BAND_WORDS = "bands (often narrower than the lines): 10th to 90th percentile of the replications"
#: Experiment 3 says wherever it is shown how its settings came about.
EXP3_WORDS = f"settings chosen so that the paper's findings can hold;\n{BAND_WORDS}"


@dataclass(frozen=True)
class Look:
    """How one quantity is drawn wherever it appears."""

    label: str
    color: str
    marker: str = ""


# The colours of Okabe and Ito, told apart with every common form of colour blindness.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#8C8C8C"

ALLOCATION_RULES: Mapping[str, Look] = {
    "proposed": Look("proposed", BLUE, "o"),
    "equal": Look("equal", ORANGE, "s"),
    "cardinality": Look("cardinality", VERMILLION, "^"),
    "spectral_mass": Look("spectral mass", GREEN, "D"),
}

#: Rules beyond the paper; the exact optimum of its surrogate has the colour of its rule.
RULES_BEYOND: Mapping[str, Look] = {
    "unit_coefficients": Look("all coefficients 1", SKY, "D"),
    "exact_surrogate": Look("exact optimum of Σ a/d", BLUE, "x"),
    "noise_corrected": Look("noise-corrected a", PURPLE, "v"),
    "relevance_weighted": Look("relevance-weighted tail", GREY, "X"),
    "response_aware": Look("response-aware", BLACK, "P"),
}

#: Models of Table 1; rules that occur in Experiment 3 keep their colour.
MODELS: Mapping[str, Look] = {
    model: Look(MODEL_LABELS[model], color, marker)
    for model, color, marker in (
        ("proposed", BLUE, "o"),
        ("one_hot", BLACK, "P"),
        ("unconstrained", PURPLE, "v"),
        ("uniform", ORANGE, "s"),
        ("cardinality", VERMILLION, "^"),
        ("cardinality_per_dimension", VERMILLION, "2"),
        ("uniform_search", ORANGE, "X"),
        ("one_hot_best", BLACK, "*"),
        ("unconstrained_best", PURPLE, "<"),
        ("unit_coefficients", SKY, "D"),
    )
}

#: The predictors of Experiment 3; sizes of the tables, so a scale from light to dark.
PREDICTORS = (
    Look("predictor 1", SKY, "o"),
    Look("predictor 2", PURPLE, "s"),
    Look("predictor 3", BLACK, "^"),
)


def new_figure(
    rows: int = 1,
    columns: int = 1,
    *,
    width: float = TEXT_WIDTH,
    height: float = 2.4,
    **sharing: Any,
) -> tuple[Figure, Any]:
    """Return a figure and a two-dimensional array of axes in the house style."""
    _check_font()
    mpl.rcdefaults()  # whatever a user's own matplotlibrc says
    mpl.rcParams.update(
        {
            "font.family": FONT,
            "font.size": 8,
            "axes.axisbelow": True,
            "axes.edgecolor": "#262626",
            "axes.linewidth": 1.0,
            "text.color": "#262626",
            "axes.labelcolor": "#262626",
            "xtick.color": "#262626",
            "ytick.color": "#262626",
            "axes.titlesize": 8,
            "axes.labelsize": 8,
            "xtick.labelsize": 7,
            "ytick.labelsize": 7,
            "legend.fontsize": 7,
            "legend.frameon": False,
            "legend.title_fontsize": 7,
            "lines.linewidth": 1.3,
            "lines.markersize": 3.5,
            "axes.grid": True,
            "grid.color": "#E6E6E6",
            "grid.linewidth": 0.6,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "pdf.fonttype": 42,
            "svg.hashsalt": "embedalloc",
        },
    )
    # Made without pyplot: no window system is asked for and nothing is kept after saving.
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **sharing)


def _check_font() -> None:
    """Refuse to draw in another font, which would move labels without a word."""
    try:
        findfont(FONT, fallback_to_default=False)
    except ValueError:
        message = "the font is missing, although it comes with matplotlib; install that again"
        raise FileNotFoundError(errno.ENOENT, message, FONT) from None


def mean_and_band(frame: pd.DataFrame, by: str, value: str) -> pd.DataFrame:
    """Return mean, low and high of a column for each value of `by`, over replications."""
    grouped = frame.groupby(by, sort=True)[value]
    return pd.DataFrame(
        {
            "mean": grouped.mean(),
            "low": grouped.quantile(BAND[0]),
            "high": grouped.quantile(BAND[1]),
        }
    )


def draw_curve(
    axes: Axes, summary: pd.DataFrame, look: Look, *, band: bool = True, **line: Any
) -> None:
    """Draw a mean curve with its band over the summary's index."""
    style = {"color": look.color, "marker": look.marker, "label": look.label} | line
    axes.plot(summary.index, summary["mean"], **style)
    if band:
        axes.fill_between(
            summary.index,
            summary["low"],
            summary["high"],
            color=look.color,
            alpha=0.15,
            linewidth=0,
        )


def draw_rule_comparison(axes: Axes, rows: pd.DataFrame, over: str, noise_floor: float) -> None:
    """Draw the risk of each allocation rule of Experiment 3 over budgets or sample sizes.

    Rivals are solid where they stop at their floored dimensions and dotted where they too spend
    the leftover; the proposed rule spends it by definition.
    """
    for rule, look in ALLOCATION_RULES.items():
        mine = rows[rows["allocation_rule"] == rule]
        main = mine[mine["leftover"] == ("spent" if rule == "proposed" else "floored")]
        order = 4 if rule == "proposed" else 3
        draw_curve(axes, mean_and_band(main, over, "risk"), look, zorder=order)
        if rule != "proposed":
            spent = mean_and_band(mine[mine["leftover"] == "spent"], over, "risk")
            draw_curve(
                axes, spent, look, band=False, linestyle=":", marker="", label=None, zorder=5
            )
    axes.axhline(noise_floor, color=GREY, linewidth=1.0, linestyle="--")
    # A log scale: the rules differ by small factors near the floor and by large ones above.
    axes.set_yscale("log")
    plain_log_ticks(axes.yaxis)
    handles, _ = axes.get_legend_handles_labels()
    handles += [
        Line2D([], [], color=BLACK, linestyle=":", label="rivals, leftover spent"),
        Line2D([], [], color=GREY, linestyle="--", label=f"noise floor {noise_floor:g}"),
    ]
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    figure.legend(handles=handles, loc="outside lower center", ncols=3, title=EXP3_WORDS)


def legend_below(figure: Figure, axes: Axes, *, columns: int, title: str) -> None:
    """Put the legend of one panel below all panels, which share their curves."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=title)


def spectrum_label(law: Spectrum) -> str:
    """Return a decay law as a formula for titles."""
    if law.decay == "polynomial":
        return rf"$\sigma_k = {law.scale:g}\,k^{{-{law.rate:g}}}$"
    steps = f"(k-{law.offset:g})" if law.offset else r"\,k"
    return rf"$\sigma_k = {law.scale:g}\,e^{{-{law.rate:g}{steps}}}$"


def dimension_ticks(axes: Axes, largest: int) -> None:
    """Put ticks at 1 and at multiples of five: dimensions start at one and have no halves."""
    axes.xaxis.set_major_locator(FixedLocator([1, *range(5, largest + 1, 5)]))


def plain_log_ticks(axis: Axis, at: Iterable[float] | None = None) -> None:
    """Label a log axis with plain numbers, at 1, 2 and 5 of each decade or at given values."""
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0)) if at is None else FixedLocator(sorted(at))
    )
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
    axis.set_minor_locator(NullLocator())


def save_figure(figure: Figure, *, pdf: str | Path, png: str | Path) -> None:
    """Write both formats, complete or not at all, with the same bytes for the same picture."""
    figure.draw_without_rendering()  # the layout is settled once and serves both formats
    figure.set_layout_engine("none")
    with whole_file(pdf) as partial:
        figure.savefig(partial, metadata={"CreationDate": None})
    with whole_file(png) as partial:
        figure.savefig(partial, dpi=200, metadata={"Software": None})
    mpl.rcdefaults()
