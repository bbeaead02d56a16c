"""The picture of a report: dimensions with their range over pilots, and where the budget goes."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from embedalloc.data.report import FieldReport, Report
from embedalloc.text import cut_name

# Two of the colours of Okabe and Ito, told apart with every common form of colour blindness.
_BLUE, _GREY = "#0072B2", "#8C8C8C"
#: More fields than this are not drawn: the names would not be readable.
MOST_FIELDS = 40


def draw_report(report: Report, path: Path) -> None:
    """Draw dimensions and parameters per field, beyond 40 of the most expensive ones only.

    The path's ending decides the format.
    """
    fields = list(report.fields)
    if len(fields) > MOST_FIELDS:
        costly = sorted(fields, key=lambda each: -each.parameters)[:MOST_FIELDS]
        fields = [each for each in fields if each in costly]
    fields.reverse()  # the first field at the top
    places = range(len(fields))
    # A dollar sign in a column's name is a dollar sign, not the start of a formula.
    with mpl.rc_context({"font.size": 9, "pdf.fonttype": 42, "text.parse_math": False}):
        figure = Figure(figsize=(6.3, 1.3 + 0.24 * len(fields)), layout="constrained")
        left, right = figure.subplots(1, 2, sharey=True)
        for axes in (left, right):
            axes.spines[["top", "right", "left"]].set_visible(False)
            axes.tick_params(axis="y", length=0)
        left.barh(places, [each.dimension for each in fields], color=_BLUE, height=0.7)
        for place, each in zip(places, fields, strict=True):
            reach = max(each.dimension, each.largest or 0)
            if each.smallest is not None and each.largest is not None:
                left.plot([each.smallest, each.largest], [place, place], color="black", lw=1.2)
            label = _label(each)
            left.annotate(
                label,
                (reach, place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                color=_GREY if each.dimension == 0 else "black",
            )
        left.set_yticks(list(places), [cut_name(each.name) for each in fields])
        spread = any(each.smallest is not None for each in fields)
        left.set_xlabel("dimension (line: range over pilots)" if spread else "dimension")
        right.barh(places, [100 * each.share for each in fields], color=_BLUE, height=0.7)
        right.set_xlabel("share of the budget, %")
        for axes in (left, right):
            axes.margins(x=0.18)
            axes.set_xlim(left=0)
        figure.suptitle(
            f"{report.allocation_rule}: {report.spent:,} of {report.budget:,} parameters; "
            f"better than equal dimensions: {report.verdict}",
            fontsize=9,
        )
        figure.savefig(path, dpi=150)


def _label(field: FieldReport) -> str:
    """Return what stands behind a field's bar."""
    if field.dimension:
        return f"{field.dimension}, effect" if field.effect else f"{field.dimension}"
    return "effect only" if field.effect else "dropped"
