"""One look for all figures: sizes, fonts, colours, and curves with their bands."""

import errno
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import FillBetweenPolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator, ScalarFormatter

from embedalloc.study.workflow.files import whole_file
from embedalloc.study.workflow.legibility import find_flaws

FONT = "DejaVu Sans"
#: Width of the paper's text block, and of a figure with one panel, in inches.
TEXT_WIDTH, PANEL_WIDTH = 6.3, 4.4
#: Share of the replications inside a band.
BAND = (0.1, 0.9)
#: Height in points from which a band is seen beside the marks of its curve.
SEEN = 5.0


@dataclass(frozen=True)
class Look:
    """How one quantity is drawn wherever it appears."""

    label: str
    color: str
    marker: str = ""


# The colours of Okabe and Ito, told apart with every common form of colour blindness.
BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK, GREY = "#CC79A7", "#56B4E9", "#000000", "#8C8C8C"
#: Of curves that stand beside a legend whose colours mean something else.
SLATE = "#595959"


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
            "legend.handlelength": 2.6,
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


def draw_intervals(
    axes: Axes, summary: pd.DataFrame, look: Look, *, shift: float = 1.0, **line: Any
) -> None:
    """Draw a mean curve with an upright bar per interval: bars stay apart where bands merge.

    Parameters
    ----------
    axes, summary, look
        As in `draw_curve`.
    shift
        Factor by which the curve is moved along a log axis, so that bars stand side by side.
    line
        Further properties of the line.
    """
    axes.errorbar(
        summary.index.to_numpy() * shift,
        summary["mean"],
        yerr=(summary["mean"] - summary["low"], summary["high"] - summary["mean"]),
        elinewidth=0.8,
        **{"color": look.color, "marker": look.marker, "label": look.label} | line,
    )


def tallest_band(figure: Figure) -> float:
    """Return the greatest height of a band in points, as the axes stand now."""
    heights = [0.0]
    for axes in figure.axes:
        axes.get_ylim()  # limits that are still to be found
        for band in axes.collections:
            if isinstance(band, FillBetweenPolyCollection):
                [outline] = band.get_paths()
                corners = pd.DataFrame(axes.transData.transform(outline.vertices))
                across = corners.groupby(corners[0].round(3))[1]
                heights.append(float((across.max() - across.min()).max()))
    return max(heights) * 72 / figure.dpi


def band_words(figure: Figure) -> str:
    """Return what curves and bands are; of bands that no line lets through, nothing is said."""
    if tallest_band(figure) < SEEN:
        return "means over the replications"
    return "means over the replications; bands: their 10th to 90th percentile"


def legend_below(figure: Figure, axes: Axes, *, columns: int, title: str) -> None:
    """Put the legend of one panel below all panels, which share their curves."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, title=title)


def legend_line(label: str, color: str, linestyle: Any = "-", **line: Any) -> Line2D:
    """Return a line that stands in a legend only."""
    return Line2D([], [], label=label, color=color, linestyle=linestyle, **line)


def write_note(axes: Axes, x: float, y: float, text: str, **alignment: Any) -> None:
    """Write a few words into a panel, at a place given in shares of its width and height."""
    axes.text(x, y, text, transform=axes.transAxes, fontsize=7, **alignment)


def dimension_ticks(axes: Axes, largest: int) -> None:
    """Put ticks at 1 and at multiples of five: dimensions start at one and have no halves."""
    axes.xaxis.set_major_locator(FixedLocator([1, *range(5, largest + 1, 5)]))


def plain_log_ticks(axis: Axis, at: Iterable[float] | None = None) -> None:
    """Label a log axis with plain numbers, at 1, 2 and 5 of each decade or at given values."""
    axis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0)) if at is None else FixedLocator(sorted(at))
    )
    axis.set_major_formatter(FuncFormatter(lambda value, _: _with_commas(value)))
    axis.set_minor_locator(NullLocator())


def _with_commas(value: float) -> str:
    """Write millions out too: six digits would make powers of ten of them."""
    return f"{value:,.7g}"


class ThousandsFormatter(ScalarFormatter):
    """Matplotlib's own numbers, with a comma after the thousands."""

    def __call__(self, value: float, pos: int | None = None) -> str:
        """Return the label of a tick."""
        text: str = super().__call__(value, pos)
        return _with_commas(value).replace("-", "−") if abs(value) >= 1000 else text


def save_figure(figure: Figure, *, pdf: str | Path, png: str | Path) -> None:
    """Write both formats, complete or not at all, with the same bytes for the same picture."""
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            if type(axis.get_major_formatter()) is ScalarFormatter:
                axis.set_major_formatter(ThousandsFormatter())
    figure.draw_without_rendering()  # the layout is settled once and serves both formats
    figure.set_layout_engine(None)  # with "none" each format would be drawn twice
    for flaw in find_flaws(figure, widest=TEXT_WIDTH):
        print(f"{Path(pdf).name}: {flaw}")
    with whole_file(pdf) as partial:
        figure.savefig(partial, metadata={"CreationDate": None})
    with whole_file(png) as partial:
        figure.savefig(partial, dpi=200, metadata={"Software": None})
    mpl.rcdefaults()
