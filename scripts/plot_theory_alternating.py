"""Draw figure theory_alternating: objective and gradient over the rounds of Theorem 1's scheme."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.study.theory.contracts import LOSSES, PATHS, RUNS, ZERO_START
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table

SCHEMES = {
    "plain": (style.Look("the paper's scheme", style.BLUE), "-"),
    "accelerated": (
        style.Look("accelerated: intercept and scale move too", style.VERMILLION),
        "--",
    ),
}
ROWS = {"excess": "objective − best value", "gradient_norm": "norm of the gradient"}
#: Differences of objectives below this are rounding.
ROUNDING = 1e-15


def draw(paths: pd.DataFrame, runs: pd.DataFrame, tolerance: float) -> Figure:
    """Draw one line per start: losses side by side, objective above gradient."""
    figure, axes = style.new_figure(2, 2, height=4.3, sharex="col")
    for column, loss in enumerate(LOSSES):
        last = paths.loc[paths["loss"] == loss, "round"].max()
        for row, (quantity, label) in enumerate(ROWS.items()):
            axis = axes[row, column]
            draw_paths(axis, paths[paths["loss"] == loss], quantity)
            axis.set(xscale="log", yscale="log", xlim=(0.8, 1.3 * last))
            axis.set_ylabel(label if column == 0 else "")
            style.plain_log_ticks(axis.xaxis, [10**k for k in range(7)])
        mine = runs[runs["loss"] == loss]
        draw_saddle(axes[0, column], mine)
        axes[0, column].set_ylim(bottom=ROUNDING / 3)
        axes[0, column].set_title(f"{loss} loss\n{rounds_words(mine)}")
        axes[1, column].axhline(tolerance, color=style.SLATE, linewidth=1.0, linestyle="-.")
        axes[1, column].set_xlabel("rounds")
    handles = [style.legend_line(look.label, look.color, line) for look, line in SCHEMES.values()]
    handles += [
        style.legend_line("tables of zeros: stationary, not a minimum", style.BLACK, ":"),
        style.legend_line(f"tolerance ${power_of_ten(tolerance)}$", style.SLATE, "-."),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def draw_paths(axis: Axes, paths: pd.DataFrame, quantity: str) -> None:
    """Draw every run from a random start, as far as it stands above rounding."""
    floor = ROUNDING if quantity == "excess" else 0.0
    shown = paths[(paths["start"] != ZERO_START) & (paths["round"] >= 1)]
    shown = shown[shown[quantity] > floor]
    for scheme, (look, linestyle) in SCHEMES.items():
        for _, run in shown[shown["scheme"] == scheme].groupby("start"):
            axis.plot(
                run["round"], run[quantity], color=look.color, linestyle=linestyle, linewidth=0.9
            )


def draw_saddle(axis: Axes, runs: pd.DataFrame) -> None:
    """Draw the value at which tables of zeros stay for ever."""
    stuck = runs.loc[runs["start"] == ZERO_START, "excess"].max()
    if stuck > ROUNDING:
        axis.axhline(stuck, color=style.BLACK, linestyle=":", linewidth=1.3)


def rounds_words(runs: pd.DataFrame) -> str:
    """Return how many rounds the schemes took, as a title."""
    words = []
    for scheme in SCHEMES:
        mine = runs[(runs["scheme"] == scheme) & (runs["start"] != ZERO_START)]
        low, high = mine["rounds"].min(), mine["rounds"].max()
        count = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        words.append(count if mine["converged"].all() else f"more than {high:,}")
    return f"{words[0]} rounds, {words[1]} accelerated"


def power_of_ten(value: float) -> str:
    """Return a small number as a formula, with one digit."""
    digit, exponent = f"{value:.0e}".split("e")
    return ("" if digit == "1" else rf"{digit} \cdot ") + f"10^{{{int(exponent)}}}"


if __name__ == "__main__":
    with job(snakemake):
        paths = read_table(snakemake.input.paths, PATHS)
        runs = read_table(snakemake.input.runs, RUNS)
        style.save_figure(draw(paths, runs, snakemake.params.tolerance), **snakemake.output)
