"""Held-out loss over budgets: the recommended plan beside equal dimensions, on the same splits."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.checks import real_number, whole_number
from embedalloc.data.auto_budget import list_budgets
from embedalloc.data.case import set_limits
from embedalloc.data.contest import Contest, Judged, prepare_contest
from embedalloc.data.parallel import run_all
from embedalloc.data.table import DataError
from embedalloc.frontier import EQUAL, MARGIN, Frontier

#: A split and a budget.
Cell = tuple[int, int]


def measure_frontier(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    budgets: Sequence[int] | None = None,
    *,
    rule: str = "screened",
    splits: int = 5,
    margin: float = MARGIN,
    minutes: float | None = None,
    jobs: int = 1,
    done: Callable[[int, int], None] = lambda done, most: None,
    **words: Any,
) -> Frontier:
    """Plan and train at every budget on every split, and measure the loss on held-out rows.

    Parameters
    ----------
    frame, target, categorical
        The data; columns that are not categorical are numbers.
    budgets
        Numbers of parameters; by default what pays 1, 2, 4, …, 32 dimensions of every field. The
        largest is the full one.
    rule
        Beside equal dimensions.
    splits
        As in `embedalloc.data.comparison.compare_rules`; one gives no intervals.
    margin
        As a share of the loss: what a budget may lose that counts as equivalent to the full one.
    minutes
        After so many no further split is begun.
    jobs
        Budgets at a time; the numbers are the same.
    done
        Called after each budget of each split, with how many are done and how many there are.
    **words
        seed, task, min_frequency, epochs, max_rows, sample_weight, groups, times and limits, as
        in `EmbeddingAllocator`.

    Returns
    -------
    Frontier
        The curves of the rule and of equal dimensions, which have a row per finished split.

    Examples
    --------
    >>> towns = ["a", "b", "c", "d"] * 25
    >>> data, target = pd.DataFrame({"town": towns}), np.array([0, 0, 1, 1] * 25)
    >>> words = {"rule": "equal", "splits": 2, "epochs": 1}
    >>> frontier = measure_frontier(data, target, ["town"], [5, 10], **words)
    >>> frontier.budgets, frontier.losses["equal"].shape  # two splits, two budgets
    ((5, 10), (2, 2))
    """
    share = real_number(margin, "margin")
    contest = prepare_contest(frame, target, categorical, splits=splits, **words)
    amounts = choose_budgets(contest, budgets, rule)
    begin = time.monotonic()
    losses: dict[Cell, dict[str, float]] = {}
    spent: dict[Cell, dict[str, float]] = {}
    ratio = 0.0
    for split in range(splits):
        if losses and minutes is not None and time.monotonic() - begin > 60 * minutes:
            break
        work = [(contest, split, budget, rule) for budget in amounts]
        for budget, judged in zip(amounts, run_all(judge_cell, work, jobs=jobs), strict=True):
            losses[split, budget] = {name: each.loss for name, each in judged.measured.items()}
            spent[split, budget] = {name: each.cost for name, each in judged.plans.items()}
            ratio = judged.test_ratio
            done(len(losses), splits * len(amounts))
    return draw_together(losses, spent, rule=rule, margin=share, test_ratio=ratio)


def choose_budgets(contest: Contest, budgets: Sequence[int] | None, rule: str) -> list[int]:
    """Return the budgets, the smallest first; the full one must pay all rules."""
    limits = set_limits(contest.cardinalities, **contest.limits)
    if budgets is None:
        return list_budgets(contest.cardinalities, limits)
    amounts = sorted({whole_number(each, "budgets", least=1) for each in budgets})
    if len(amounts) < 2:
        raise DataError(f"budgets: {len(amounts)} is too few for a curve; give two or more")
    contest.check_budget(amounts[-1])
    for amount in amounts:
        if not contest.can_pay(rule, amount):
            contest.check_budget(amount)
    return amounts


def judge_cell(contest: Contest, split: int, budget: int, rule: str) -> Judged:
    """Judge the rule and equal dimensions on one split at one budget, where it pays them."""
    names = [name for name in dict.fromkeys([rule, EQUAL]) if contest.can_pay(name, budget)]
    return contest.judge(split, budget, names, controls=False)


def draw_together(
    losses: Mapping[Cell, Mapping[str, float]],
    spent: Mapping[Cell, Mapping[str, float]],
    *,
    rule: str,
    margin: float,
    test_ratio: float,
) -> Frontier:
    """Return curves from losses and parameters by split and budget; what is not there is nan."""
    splits, budgets = (sorted({key[place] for key in losses}) for place in (0, 1))

    def fill(values: Mapping[Cell, Mapping[str, float]], name: str) -> NDArray[Any]:
        rows = [[values[split, b].get(name, np.nan) for b in budgets] for split in splits]
        return np.array(rows, dtype=np.float64)

    names = list(dict.fromkeys([rule, EQUAL]))
    return Frontier(
        tuple(budgets),
        {name: fill(losses, name) for name in names},
        {name: fill(spent, name).mean(axis=0) for name in names},
        margin,
        test_ratio,
    )
