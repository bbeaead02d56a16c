"""Draw figure multiverse_curves: every claim's statistic over the settings, in rising order."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from embedalloc.study.claims.ledger import Claim, read_ledger
from embedalloc.study.multiverse.space import POINT_OUTCOMES, find_settled
from embedalloc.study.multiverse.summary import SHARES
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.style import BLACK, GREY, new_figure, save_figure
from embedalloc.study.workflow.tables import read_table, read_tables

COLUMNS = 3
#: Filled, half and hollow: no colour, because colours stand for allocation rules.
FACES = {"holds": BLACK, "partly": GREY, "fails": "white"}
SETTLED_MARK, UNSETTLED_MARK = "o", "^"
SIZES = {SETTLED_MARK: 7, UNSETTLED_MARK: 14}


def draw(outcomes: pd.DataFrame, shares: pd.DataFrame, claims: dict[str, Claim]) -> Figure:
    """Draw one panel per claim: statistic of each setting, its outcome and the default."""
    rows = -(-len(shares) // COLUMNS)
    figure, axes = new_figure(rows, COLUMNS, height=1.5 * rows + 0.6)
    for axis, share in zip(axes.flat, shares.to_dict("records"), strict=False):
        claim = claims[share["claim"]]
        mine = outcomes[(outcomes["claim"] == claim.id) & (outcomes["repeat"] == 0)]
        draw_curve(axis, mine, claim)
        axis.set_title(
            f"{name_claim(claim.id)}\nholds in {100 * share['share']:.0f} % "
            f"({100 * share['low']:.0f}–{100 * share['high']:.0f} %)"
        )
    for axis in list(axes.flat)[len(shares) :]:
        axis.set_axis_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("statistic")
    handles = [
        Line2D([], [], marker="o", linestyle="none", color=BLACK, markerfacecolor=face, label=name)
        for name, face in FACES.items()
    ]
    handles += [
        Line2D([], [], marker=UNSETTLED_MARK, linestyle="none", color=BLACK,
               markerfacecolor="white", label="unsettled"),
        Line2D([], [], marker="*", linestyle="none", color=BLACK, markersize=8,
               label="default setting"),
        Line2D([], [], color=GREY, linestyle="--", label="threshold of holding"),
    ]  # fmt: skip
    title = "one mark per random setting, in the order of the claim's statistic (95 % interval)"
    figure.legend(handles=handles, loc="outside lower center", ncols=6, title=title)
    return figure


def name_claim(claim: str) -> str:
    """Return the id of a claim in words.

    Examples
    --------
    >>> name_claim("exp1-error-falls")
    'Exp. 1: error falls'
    """
    experiment, words = claim.split("-", 1)
    return f"{experiment.replace('exp', 'Exp. ').capitalize()}: {words.replace('-', ' ')}"


def draw_curve(axis: Axes, rows: pd.DataFrame, claim: Claim) -> None:
    """Draw the settings in the order of the statistic; intervals may leave the panel."""
    drawn = rows[rows["kind"] == "draw"].sort_values("estimate", kind="stable")
    place = pd.Series(range(len(drawn)), index=drawn.index)
    default = float(rows[rows["kind"] == "default"]["estimate"].iloc[0])
    axis.vlines(place, drawn["low"], drawn["high"], color=GREY, linewidth=0.5, alpha=0.6)
    firm = find_settled(drawn)
    for outcome, face in FACES.items():
        for marker, these in ((SETTLED_MARK, firm), (UNSETTLED_MARK, ~firm)):
            here = (drawn["outcome"] == outcome) & these
            axis.scatter(place[here], drawn["estimate"][here], s=SIZES[marker], marker=marker,
                         color=face, edgecolor=BLACK, linewidth=0.4, zorder=3)  # fmt: skip
    axis.plot((drawn["estimate"] < default).sum(), default, marker="*", markersize=9,
              color=BLACK, markeredgecolor="white", zorder=4)  # fmt: skip
    thresholds = [condition.threshold for condition in claim.holds]
    for threshold in thresholds:
        axis.axhline(threshold, color=GREY, linewidth=0.9, linestyle="--")
    low = min(drawn["estimate"].min(), default, *thresholds)
    high = max(drawn["estimate"].max(), default, *thresholds)
    room = 0.08 * (high - low) if high > low else 0.05 * max(math.fabs(high), 1.0)
    axis.set_ylim(low - room, high + room)
    axis.set_xticks([])
    axis.grid(axis="x", visible=False)


if __name__ == "__main__":
    with job(snakemake):
        figure = draw(
            read_tables(snakemake.input.outcomes, POINT_OUTCOMES),
            read_table(snakemake.input.shares, SHARES),
            {claim.id: claim for claim in read_ledger(snakemake.input.ledger)},
        )
        save_figure(figure, **snakemake.output)
