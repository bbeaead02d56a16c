"""The picture of a frontier: loss over budgets with bands, and what a smaller budget costs."""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.frontier import EQUAL, Frontier

# Two of the colours of Okabe and Ito, told apart with every common form of colour blindness.
_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#8C8C8C"


def draw_frontier(found: Frontier, path: Path) -> None:
    """Draw loss over budgets, and for measured losses the difference to the full budget.

    The path's ending decides the format.
    """
    with mpl.rc_context({"font.size": 9, "pdf.fonttype": 42}):
        panels = 1 if found.is_surrogate else 2
        figure = Figure(figsize=(3.3 * panels, 2.9), layout="constrained")
        axes = np.atleast_1d(figure.subplots(1, panels))
        for curve in found.losses:
            _draw_curve(axes[0], found, curve, against_full=False)
        kind = "surrogate error (no data)" if found.is_surrogate else "held-out loss"
        axes[0].set_ylabel(kind)
        if not found.is_surrogate:
            for curve in found.losses:
                _draw_curve(axes[1], found, curve, against_full=True)
            axes[1].axhline(100 * found.margin, color=_GREY, linewidth=0.8, linestyle=":")
            axes[1].annotate(
                f"margin, {100 * found.margin:g} %",
                (found.budgets[-1], 100 * found.margin),
                xytext=(0, 2),
                textcoords="offset points",
                ha="right",
                color=_GREY,
            )
            axes[1].set_ylabel("loss against the full budget, %")
        for axis in axes:
            axis.spines[["top", "right"]].set_visible(False)
            axis.set_xscale("log", base=2)
            axis.set_xticks(found.budgets, [f"{each:,}" for each in found.budgets], rotation=45)
            axis.set_xlabel("parameters allowed")
        handles = axes[0].get_legend_handles_labels()
        figure.legend(*handles, loc="outside upper center", ncols=2, frameon=False)
        figure.savefig(path, dpi=150)


def _draw_curve(axis: Axes, found: Frontier, curve: str, *, against_full: bool) -> None:
    """Draw means with their band; what a budget does not pay is left out."""
    color, mark = (_ORANGE, "s") if curve == EQUAL else (_BLUE, "o")
    known = found.paid_budgets(curve)
    read = found.against_full if against_full else found.band
    scale = 100 if against_full else 1
    means, lows, highs = scale * np.array([read(curve, budget) for budget in known]).T
    label = "equal dimensions" if curve == EQUAL else f"plan ({curve})"
    axis.plot(known, means, color=color, marker=mark, markersize=4, label=label)
    if np.isfinite(lows).all():
        axis.fill_between(known, lows, highs, color=color, alpha=0.15, linewidth=0)
    best = found.smallest_equivalent(curve)
    if against_full and best is not None:
        axis.plot(best, means[known.index(best)], "o", markersize=9, mfc="none", color=color)
