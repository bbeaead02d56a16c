"""Draw figure theory_allocation: closed form, integer projection and optimum of Theorem 3."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from embedalloc.study.exp3_looks import ALLOCATION_RULES
from embedalloc.study.settings.common import Predictor
from embedalloc.study.theory.contracts import BUDGETS, INSTANCES, OPTIMAL
from embedalloc.study.workflow import style
from embedalloc.study.workflow.job import job
from embedalloc.study.workflow.tables import read_table

PROPOSED = ALLOCATION_RULES["proposed"]
SOLUTIONS = {
    "closed_form": (
        style.Look("closed form (Theorem 3), real and without cap", style.PURPLE),
        "--",
    ),
    "projection": (style.Look("integer projection (Algorithm 1)", PROPOSED.color), "-"),
    "optimum": (style.Look("exact integer optimum", style.BLACK), "-"),
}
#: Lower end of the axis of gaps, in percent; what lies below is named in words.
LOWEST = -16.0
#: Of the numbers of predictors; without colours, which the legend gives to solutions.
MARKERS = ("o", "s", "D", "^")


def draw(
    solved: pd.DataFrame,
    instances: pd.DataFrame,
    predictors: list[Predictor],
    budgets: list[int],
) -> Figure:
    """Draw dimensions above; surrogate gaps and the share of optimal instances below."""
    figure, _ = style.new_figure(1, 1, height=4.9)
    figure.clear()
    count = len(predictors)
    grid = figure.add_gridspec(2, 2 * count)
    for j, predictor in enumerate(predictors, start=1):
        axis = figure.add_subplot(grid[0, 2 * j - 2 : 2 * j])
        draw_dimensions(axis, solved[solved["predictor"] == j], predictor)
        axis.set_ylabel("dimension $d_j$" if j == 1 else "")
        axis.set_title(f"predictor {j}: $N = {predictor.cardinality}$")
    wide = min(-(-4 * count // 3), 2 * count - 1)
    draw_gaps(figure.add_subplot(grid[1, :wide]), solved[solved["predictor"] == 1], budgets)
    draw_shares(figure.add_subplot(grid[1, wide:]), instances)
    handles = [style.legend_line(look.label, look.color, line) for look, line in SOLUTIONS.values()]
    handles += [
        style.legend_line(r"real optimum within $1 \leq d_j \leq r_j$", style.PURPLE, ":"),
        style.legend_line("cap $r_j$", style.SLATE, "-."),
        style.legend_line("budgets of Experiment 3", style.BLUE, "", marker="o"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def draw_dimensions(axis: Axes, rows: pd.DataFrame, predictor: Predictor) -> None:
    """Draw one predictor's dimension over the budget; only the closed form may pass its rank."""
    for solution, (look, linestyle) in SOLUTIONS.items():
        mine = rows[rows["solution"] == solution]
        steps = "default" if solution == "closed_form" else "steps-post"
        # A wide pale line under a thin one: both are seen where they agree.
        width, alpha = (2.6, 0.5) if solution == "projection" else (0.9, 1.0)
        axis.plot(
            mine["budget"], mine["dimension"], color=look.color, linestyle=linestyle,
            drawstyle=steps, linewidth=width, alpha=alpha,
        )  # fmt: skip
    top = rows["dimension"].max()
    if top > predictor.latent_rank:
        axis.axhline(predictor.latent_rank, color=style.SLATE, linestyle="-.", linewidth=1.0)
    axis.set_ylim(0, 1.05 * top)
    axis.set_xlabel("budget $B$")


def draw_gaps(axis: Axes, rows: pd.DataFrame, budgets: list[int]) -> None:
    """Draw how far each solution's Σ a/d is from the optimum, in percent."""
    gaps = rows.pivot(index="budget", columns="solution", values="gap") * 100
    for solution, (look, linestyle) in SOLUTIONS.items():
        steps = "default" if solution == "closed_form" else "steps-post"
        axis.plot(gaps[solution], color=look.color, linestyle=linestyle, drawstyle=steps)
    within = rows.drop_duplicates("budget").set_index("budget")["bound_gap"] * 100
    axis.plot(within, color=style.PURPLE, linestyle=":")
    mine, real = gaps["projection"], gaps["closed_form"]
    chosen = mine.reindex(sorted(budgets)).dropna()
    axis.plot(chosen, color=PROPOSED.color, marker="o", linestyle="")
    worst = mine.idxmax()
    axis.set(
        xlabel="budget $B$",
        ylabel=r"gap of $\sum a_j/d_j$ (%)",
        title=f"projection optimal at {100 * (mine <= 100 * OPTIMAL).mean():.0f} % of the budgets, "
        f"worst {mine[worst]:.0f} % at $B$ = {worst:,}",
        ylim=(LOWEST, max(5.0, 1.12 * float(mine.max()))),
    )
    if real.min() < LOWEST:
        words = f"closed form down to {real.min():.0f} % at $B$ = {real.idxmin():,}"
        style.write_note(axis, 0.12, 0.03, words.replace("-", "−"))


def draw_shares(axis: Axes, instances: pd.DataFrame) -> None:
    """Draw the share of random instances in which the integer projection is optimal."""
    shares = instances.groupby(["predictors", "budget_ratio"])["optimal"].mean() * 100
    by_count = shares.groupby(level="predictors")
    for marker, (m, share) in zip(itertools.cycle(MARKERS), by_count, strict=False):
        ratios = share.index.get_level_values("budget_ratio")
        axis.plot(ratios, share, color=style.SLATE, marker=marker)
        axis.text(ratios[0] / 1.2, share.iloc[0], f"$m$ = {m}", va="center", ha="right", fontsize=7)
    ratios = np.sort(instances["budget_ratio"].unique())
    axis.set(
        xscale="log",
        xlabel=r"$B\,/\sum N_j$",
        ylabel="optimal instances (%)",
        title="$m$ random predictors",
        ylim=(0, 104),
    )
    style.plain_log_ticks(axis.xaxis, ratios)
    axis.set_xlim(left=ratios[0] / 4)


if __name__ == "__main__":
    with job(snakemake):
        solved = read_table(snakemake.input.budgets, BUDGETS)
        instances = read_table(snakemake.input.instances, INSTANCES)
        predictors = [Predictor.model_validate(each) for each in snakemake.params.predictors]
        figure = draw(solved, instances, predictors, snakemake.params.budgets)
        style.save_figure(figure, **snakemake.output)
