"""One cell of a sweep, a split at a budget, and what many of them say together."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from embedalloc.data.comparison_result import RESTARTS, paired_difference
from embedalloc.data.contest import prepare_contest
from embedalloc.data.frontier import draw_together
from embedalloc.data.response import RESPONSE_AWARE
from embedalloc.data.screened import SCREENED
from embedalloc.data.spectral import FREQUENCY_WEIGHTED, PAPER
from embedalloc.data.table import DataError
from embedalloc.data.user_file import read_user_file
from embedalloc.frontier import EQUAL, Frontier
from embedalloc.input_file import read_content
from embedalloc.study.settings.errors import ConfigError
from embedalloc.study.sweep.protocol import Cell, Sweep
from embedalloc.study.workflow.document import Part
from embedalloc.study.workflow.tables import Column, Contract

#: The registry names these as text; imported, an edit of one is an edit of the sweep.
LEARNING_RULES = (SCREENED, PAPER, FREQUENCY_WEIGHTED, RESPONSE_AWARE)

LOSSES = Contract(
    "sweep_losses",
    {
        "split": Column("integer", "number of the split", low=0),
        "dimensions": Column("number", "dimensions on average that the budget pays", low=0),
        "budget": Column("integer", "parameters allowed", low=1),
        "contestant": Column("text", "rule, control or model without embeddings"),
        "loss": Column("number", "loss on held-out rows"),
        "score": Column("number", "AUC, accuracy or R²", may_be_missing=True),
        "parameters": Column("number", "parameters spent", low=0, may_be_missing=True),
        "test_ratio": Column("number", "test rows over training rows", low=0),
    },
    key=("split", "dimensions", "contestant"),
)


def run_cell(place: Path, cell: Cell, split: int, dimensions: float) -> pd.DataFrame:
    """Return the losses of every rule, control and yardstick on one split at one budget.

    Equal dimensions and their restarts are left out where the budget pays less than one each.
    """
    try:
        found = read_user_file(read_content(place), place.name, target=cell.target, task=cell.task)
        contest = prepare_contest(
            found.frame,
            found.target,
            found.roles.tables,
            splits=split + 1,  # each split is drawn by itself
            seed=cell.seed,
            task=cell.task,
            epochs=cell.epochs,
            max_rows=cell.max_rows,
        )
    except DataError as error:
        raise ConfigError(f"{place}: {error}") from None
    budget = max(1, int(dimensions * sum(contest.cardinalities.values())))
    names = [n for n in dict.fromkeys([EQUAL, *cell.rules]) if contest.can_pay(n, budget)]
    if not names:
        contest.check_budget(budget)  # says what is too small
    judged = contest.judge(split, budget, names, controls=EQUAL in names)
    spent = {name: float(plan.cost) for name, plan in judged.plans.items()}
    if EQUAL in spent:
        spent[RESTARTS] = spent[EQUAL]
    return pd.DataFrame(
        [
            {
                "split": split,
                "dimensions": dimensions,
                "budget": budget,
                "contestant": name,
                "loss": each.loss,
                "score": each.score,
                "parameters": spent.get(name, float("nan")),
                "test_ratio": judged.test_ratio,
            }
            for name, each in judged.measured.items()
        ]
    )


def gather_frontier(losses: pd.DataFrame, sweep: Sweep) -> Frontier:
    """Return the curves of the last rule and of equal dimensions."""
    by_cell: dict[tuple[int, int], dict[str, float]] = {}
    spent: dict[tuple[int, int], dict[str, float]] = {}
    for row in losses.to_dict("records"):
        cell = int(row["split"]), int(row["budget"])
        by_cell.setdefault(cell, {})[row["contestant"]] = row["loss"]
        spent.setdefault(cell, {})[row["contestant"]] = row["parameters"]
    ratio = float(losses["test_ratio"].mean())
    return draw_together(
        by_cell, spent, rule=sweep.rules[-1], margin=sweep.margin, test_ratio=ratio
    )


def describe_sweep(losses: pd.DataFrame, sweep: Sweep) -> list[Part]:
    """Return the page: the curves in words, and a comparison at every budget."""
    found = gather_frontier(losses, sweep)
    parts = [Part(f"Sweep of {Path(sweep.data).name}", 1, found.sentences)]
    for budget, own in losses.groupby("budget"):
        parts.append(
            Part(
                f"{budget:,} parameters",
                head=["contestant", "loss", "against equal, %", "95 % interval"],
                rows=_compare(own),
                align=["---", "---:", "---:", "---:"],
            )
        )
    return parts


def _compare(losses: pd.DataFrame) -> Sequence[Sequence[str]]:
    """Return the contestants at one budget, the best first, paired with equal dimensions."""
    table = losses.pivot(index="split", columns="contestant", values="loss")
    ratio = float(losses["test_ratio"].mean())
    rows = []
    for name in table.mean().sort_values(kind="stable").index:
        cells = ["–", "–"]
        if EQUAL in table and name != EQUAL:
            base = float(table[EQUAL].mean())
            each = paired_difference((table[name] - table[EQUAL]).to_numpy(), ratio)
            low, high = (100 * end / base for end in each.corrected)
            cells = [f"{100 * each.mean / base:+.2f}", f"{low:+.2f} to {high:+.2f}"]
        rows.append([str(name), f"{table[name].mean():.5f}", *cells])
    return rows
