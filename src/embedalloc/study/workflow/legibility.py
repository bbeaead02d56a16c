"""What keeps a figure from being read in print: found by a machine, once its layout is settled."""

import itertools
import re
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.transforms import Bbox, BboxBase

#: Least size of letters in points at the printed width.
SMALLEST = 7.0
#: Least difference in brightness, from 0 to 1, of two entries that differ in nothing else.
GREYS_APART = 0.2
#: Pixels by which boxes may touch: they are a little larger than their letters.
SLACK = 1.0
BARE_THOUSANDS = re.compile(r"(?<![\d.,])\d{4,}")


def find_flaws(figure: Figure, *, widest: float) -> list[str]:
    """Return every flaw of a figure in words; none if it can be read.

    Parameters
    ----------
    figure
        Drawn once, so that everything has its place.
    widest
        Width in inches to which it is printed: a wider figure shrinks, and its letters with it.
    """
    width = figure.get_figwidth()
    shrunk = min(1.0, widest / width)
    texts = list(_texts(figure))
    boxes = [text.get_window_extent() for text in texts]
    return [
        *_small(texts, shrunk),
        *_slanted(texts),
        *_bare_thousands(texts),
        *_outside(figure, texts, boxes),
        *_overlapping(texts, boxes),
        *_alike(figure),
    ]


def _texts(figure: Figure) -> Iterator[Text]:
    """Yield all texts that are seen; ticks outside the limits exist but are not drawn."""
    ticks = {
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for label in axis.get_ticklabels(which="both")
    }
    drawn = {label for axes in figure.axes for label in _drawn_ticks(axes)}
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and (text not in ticks or text in drawn):
            yield text


def _drawn_ticks(axes: Axes) -> Iterator[Text]:
    if not axes.axison:
        return
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_transform().transform(axis.get_view_interval()))
        margin = 1e-9 * (high - low)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if low - margin <= axis.get_transform().transform(tick.get_loc()) <= high + margin:
                yield from (tick.label1, tick.label2)


def _small(texts: list[Text], shrunk: float) -> Iterator[str]:
    for text in texts:
        size = float(text.get_fontsize()) * shrunk
        if size < SMALLEST - 1e-9:
            yield f"{_quote(text)} is printed in {size:.1f} points, less than {SMALLEST:g}"


def _slanted(texts: list[Text]) -> Iterator[str]:
    for text in texts:
        if text.get_rotation() % 90:
            yield f"{_quote(text)} is slanted"


def _bare_thousands(texts: list[Text]) -> Iterator[str]:
    for text in texts:
        if BARE_THOUSANDS.search(text.get_text()):
            yield f"{_quote(text)} has a number without a comma after its thousands"


def _outside(figure: Figure, texts: list[Text], boxes: list[Bbox]) -> Iterator[str]:
    for text, box in zip(texts, boxes, strict=True):
        if not _within(box, figure.bbox):
            yield f"{_quote(text)} leaves the figure"
    for axes in figure.axes:
        for note in filter(Text.get_visible, axes.texts):
            if not _within(note.get_window_extent(), axes.bbox):
                yield f"{_quote(note)} leaves its panel"
        legend = axes.get_legend()
        if legend is not None and axes.axison:
            box = legend.get_window_extent()
            hangs_below = box.y1 < axes.bbox.y0
            if not hangs_below and not _within(box, axes.bbox):
                yield f"the legend of {legend.get_texts()[0].get_text()!r} leaves its panel"


def _within(box: BboxBase, frame: BboxBase) -> bool:
    return bool(
        box.x0 >= frame.x0 - SLACK
        and box.y0 >= frame.y0 - SLACK
        and box.x1 <= frame.x1 + SLACK
        and box.y1 <= frame.y1 + SLACK
    )


def _overlapping(texts: list[Text], boxes: list[Bbox]) -> Iterator[str]:
    for (a, one), (b, other) in itertools.combinations(zip(texts, boxes, strict=True), 2):
        across = min(one.x1, other.x1) - max(one.x0, other.x0)
        along = min(one.y1, other.y1) - max(one.y0, other.y0)
        if across > SLACK and along > SLACK:
            yield f"{_quote(a)} overlaps {_quote(b)}"


def _alike(figure: Figure) -> Iterator[str]:
    legends = [*figure.legends, *filter(None, (axes.get_legend() for axes in figure.axes))]
    for legend in legends:
        names = [text.get_text() for text in legend.get_texts()]
        pairs = itertools.combinations(zip(names, legend.legend_handles, strict=True), 2)
        for (one, a), (other, b) in pairs:
            if isinstance(a, Line2D) and isinstance(b, Line2D) and not _apart(a, b):
                yield f"{one!r} and {other!r} look alike without colour"


def _apart(a: Line2D, b: Line2D) -> bool:
    """Whether two entries of a legend differ without their hue."""
    if a.get_linestyle() != b.get_linestyle() or a.get_marker() != b.get_marker():
        return True
    if max(a.get_linewidth(), b.get_linewidth()) >= 2 * min(a.get_linewidth(), b.get_linewidth()):
        return True
    face = abs(_grey(a.get_markerfacecolor()) - _grey(b.get_markerfacecolor()))
    return max(face, abs(_grey(a.get_color()) - _grey(b.get_color()))) >= GREYS_APART


def _grey(color: object) -> float:
    """Return how bright a colour is in grey, as photographs are converted."""
    if isinstance(color, str) and color == "none":
        return 1.0
    return float(np.dot(to_rgb(color), (0.299, 0.587, 0.114)))  # type: ignore[arg-type]


def _quote(text: Text) -> str:
    return repr(" ".join(text.get_text().split()))
