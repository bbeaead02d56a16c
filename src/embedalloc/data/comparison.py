"""Rules against each other on the same splits of a table, with honest intervals.

Every rule has the same budget, rows, validation rows and initial weights. A rule that trains
several candidates keeps the best on validation, so beside it stands a control with as many tries:
equal dimensions started anew each time, the best on validation kept. Models without embeddings
show what a network is worth at all.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from embedalloc.data.comparison_result import RESTARTS, Comparison
from embedalloc.data.contest import Judged, prepare_contest
from embedalloc.data.parallel import run_all
from embedalloc.data.table import TaskKind


def compare_rules(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    budget: int,
    rules: Sequence[str],
    *,
    splits: int = 10,
    minutes: float | None = None,
    jobs: int = 1,
    done: Callable[[int, int], None] = lambda done, most: None,
    **words: Any,
) -> Comparison:
    """Train every rule's dimensions on splits and measure the loss on held-out rows.

    Which rows a split holds out follows their order in the data.

    Parameters
    ----------
    frame, target, categorical
        The data; columns that are not categorical are numbers.
    budget
        Embedding parameters for every rule.
    rules
        Names of rules; equal dimensions are always among them.
    splits
        Splits into three quarters for training (a fifth of that for validation) and a quarter for
        judging: random rows, or whole groups; with times the last rows up to a moment, which is
        another one in every split.
    minutes
        After so many no further split is begun.
    jobs
        Splits at a time; the numbers are the same.
    done
        Called after each rule and yardstick of each split, with how many are done and how many
        there are; with several jobs after each split.
    **words
        seed, task, min_frequency, epochs, max_rows, sample_weight, groups, times and limits, as
        in `embedalloc.data.estimator.EmbeddingAllocator`.
    """
    names = tuple(dict.fromkeys(["equal", *rules]))
    contest = prepare_contest(frame, target, categorical, splits=splits, **words)
    contest.check_budget(budget)
    begin = time.monotonic()
    steps = itertools.count(1)
    per_split = len(names) + 2

    def tell() -> None:
        done(next(steps), splits * per_split)

    judge = partial(contest.judge, budget=budget, rules=names, controls=True)
    if jobs == 1:
        judge = partial(judge, step=tell)
    judged: list[Judged] = []
    for first in range(0, splits, jobs):
        if judged and minutes is not None and time.monotonic() - begin > 60 * minutes:
            break
        work = [(split,) for split in range(first, min(first + jobs, splits))]
        for each in run_all(judge, work, jobs=jobs):
            judged.append(each)
            if jobs > 1:
                done(len(judged) * per_split, splits * per_split)
    return put_together(judged, names, budget, contest.task.kind, splits)


def put_together(
    judged: Sequence[Judged],
    names: tuple[str, ...],
    budget: int,
    task: TaskKind,
    wanted: int,
) -> Comparison:
    """Return what splits found as one comparison."""
    every = [each.plans for each in judged]
    same = []
    for one, two in itertools.combinations(names, 2):
        count = sum(plans[one].fields == plans[two].fields for plans in every)
        if count:
            same.append((one, two, count))
    spent = [{name: plan.cost for name, plan in plans.items()} for plans in every]
    return Comparison(
        budget=budget,
        task=task,
        rules=names,
        losses=pd.DataFrame([{k: m.loss for k, m in each.measured.items()} for each in judged]),
        scores=pd.DataFrame([{k: m.score for k, m in each.measured.items()} for each in judged]),
        parameters=pd.DataFrame([each | {RESTARTS: each["equal"]} for each in spent]),
        dimensions={name: plan.dimensions for name, plan in every[0].items()},
        same=tuple(same),
        tries=tuple(each.tries for each in judged),
        test_ratio=judged[-1].test_ratio,
        wanted=wanted,
    )
