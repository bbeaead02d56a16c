"""Draw figure benchmarks: CPU time over sizes with fitted exponents, and ratios with aims."""

import re
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_tables
from tests.benchmarks.measure import MEASUREMENTS, OURS
from tests.benchmarks.summary import (
    AXES,
    GROWING,
    PEAK,
    PRODUCT,
    RATIO_AIMS,
    growth,
    ratio,
    ratio_aim,
)

LOOKS = {
    OURS: style.Look("ours", style.BLUE, "o"),
    "ours, two processes": style.Look("ours, two processes", style.SKY, "."),
    "literal": style.Look("by definition", style.VERMILLION, "s"),
    "numpy SVD": style.Look("numpy SVD", style.VERMILLION, "s"),
    "scipy svdvals": style.Look("scipy svdvals", style.ORANGE, "^"),
    "randomized SVD": style.Look("randomized SVD", style.PURPLE, "D"),
    PRODUCT: style.Look("one product", style.BLACK, "+"),
    PEAK: style.Look("square product", style.GREY, "x"),
    "naive scan": style.Look("naive scan", style.VERMILLION, "s"),
    "scipy milp": style.Look("scipy milp", style.ORANGE, "^"),
    "scipy SLSQP": style.Look("scipy SLSQP", style.PURPLE, "D"),
    "DataLoader": style.Look("DataLoader", style.VERMILLION, "s"),
    "tensor slicing": style.Look("tensor slicing", style.ORANGE, "^"),
    "torch.func.vmap": style.Look("torch.func.vmap", style.GREEN, "D"),
    # Of cases without a peer, by work.
    "plan": style.Look("plan", style.BLUE, "o"),
    "effects": style.Look("effects", style.VERMILLION, "s"),
    "counts": style.Look("counts", style.ORANGE, "^"),
    "training": style.Look("training", style.GREEN, "D"),
}
LINES = ("-", "--", ":", "-.")
#: Sizes that are written below a panel.
TICKS = 4


class Panel(NamedTuple):
    """Where a panel's curves come from: cases of a work and their names in the legend."""

    work: str
    cases: dict[str, str]
    title: str
    unit: str


PANELS = (
    Panel("sample_size", {"exp1": "Exp. 1", "exp2": "Exp. 2"}, "Experiments 1 and 2",
          "observations $n$"),
    Panel("dimensions", {"greedy": "greedy", "optimum": "optimum", "continuous": "real"},
          "allocation", "predictors $m$"),
    Panel("decomposition", {"rows": ""}, "singular values, by rows", "rows $N$"),
    Panel("decomposition", {"columns": ""}, "singular values, by columns", "columns $r$"),
    Panel("networks", {"uniform": ""}, "training, per model and epoch", "embedding parameters"),
    *(
        Panel("growth", {f"{each}, by {axis}": "" for each in GROWING}, f"our cost by {axis}", axis)
        for axis in AXES
    ),
)  # fmt: skip


def draw(frame: pd.DataFrame) -> Figure:
    """Draw the growth panels and the ratios."""
    uniform = frame["case"].str.startswith("budget ")
    frame = frame.assign(panel=frame["case"].mask(uniform, "uniform"))
    figure, axes = style.new_figure(5, 2, height=15.6)
    *places, aims, last = axes.flat  # long labels stand on the left, where legends have room then
    for axis, panel in zip([*places, last], PANELS, strict=True):
        _curves(axis, frame[frame["work"] == panel.work], panel)
    _aims(aims, frame)
    return figure


def _curves(axis: Axes, frame: pd.DataFrame, panel: Panel) -> None:
    for line, (case, words) in zip(LINES, panel.cases.items(), strict=False):
        mine = frame[frame["panel"] == case].assign(case=case)
        for contestant, rows in mine.groupby("contestant", sort=False):
            look = LOOKS[case.partition(",")[0] if panel.work == "growth" else str(contestant)]
            times = rows.groupby("size")["cpu_seconds"]
            exponent = growth(mine, case, str(contestant))
            label = " ".join(part for part in (look.label, words) if part)
            label += "" if exponent is None else f": {exponent:.2f}".replace("-", "−")
            middle = times.median()
            axis.plot(middle.index, middle, color=look.color, marker=look.marker,
                      linestyle=line, label=label)  # fmt: skip
            axis.fill_between(
                middle.index, times.min(), times.max(), color=look.color, alpha=0.15, linewidth=0
            )
    axis.set(xscale="log", yscale="log", title=panel.title, xlabel=panel.unit)
    axis.set_ylabel("CPU seconds")
    sizes = sorted(frame[frame["panel"].isin(panel.cases)]["size"].unique())
    style.plain_log_ticks(axis.xaxis, sizes[:: -(-len(sizes) // TICKS)])
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.legend(
        ncols=2, loc="upper center", bbox_to_anchor=(0.2, -0.2), columnspacing=0.6,
        handlelength=1.4, title="exponent, larger half of the sizes",
    )  # fmt: skip


def _aims(axis: Axes, frame: pd.DataFrame) -> None:
    """Draw the ratios that have an aim, with their spread, and the aims."""
    labels = []
    for work, contestant in RATIO_AIMS:
        mine = frame[frame["work"] == work]
        for case in mine["case"].unique():
            sizes = mine[(mine["case"] == case) & (mine["contestant"] == contestant)]["size"]
            found, place = ratio(mine, case, int(sizes.max()), contestant), len(labels)
            aim = ratio_aim(work, case, contestant)
            face = style.SLATE if found.median >= aim else "white"
            axis.plot([found.low, found.high], [place, place], color=style.SLATE, linewidth=2.5)
            axis.plot(found.median, place, color=style.SLATE, marker="o", markerfacecolor=face)
            axis.plot([aim, aim], [place - 0.35, place + 0.35], color=style.BLACK)
            peer = LOOKS[contestant].label if contestant in LOOKS else contestant
            words = re.sub(r"\d+", lambda found: f"{int(found[0]):,}", case)
            labels.append(f"{words}, {peer}")
    axis.set_yticks(range(len(labels)), labels)
    axis.invert_yaxis()
    axis.set(
        xscale="log",
        title="ratios, filled at their aim (bar)",
        xlabel="CPU time over ours",
    )
    low, high = axis.get_xlim()
    axis.set_xticks([x for x in (1, 3, 10, 30, 100, 300, 1000) if low <= x <= high])
    axis.xaxis.set_major_formatter("{x:g}×")
    axis.xaxis.set_minor_formatter(NullFormatter())


if __name__ == "__main__":
    with job(snakemake):
        measured = read_tables(snakemake.input.measurements, MEASUREMENTS)
        style.save_figure(draw(measured), **snakemake.output)
