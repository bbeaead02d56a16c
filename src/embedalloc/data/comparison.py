"""Rules against each other on the same splits of a table, with honest intervals.

Every rule has the same budget, rows, validation rows and initial weights. A rule that trains
several candidates keeps the best on validation, so beside it stands a control with as many tries:
equal dimensions started anew each time, the best on validation kept. Models without embeddings
show what a network is worth at all.
"""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.data.case import DataCase, make_case, set_limits
from embedalloc.data.comparison_result import RESTARTS, Comparison
from embedalloc.data.ordering import Rows
from embedalloc.data.parallel import run_all
from embedalloc.data.plan import Plan
from embedalloc.data.planned import train_plan
from embedalloc.data.rules import data_rule
from embedalloc.data.table import (
    FieldData,
    PredictionTask,
    RowNotes,
    check_row_count,
    find_task,
    learn_encoding,
    sample_rows,
)
from embedalloc.data.validation import hold_out_rows, read_notes
from embedalloc.data.yardsticks import Measured, measure, measure_yardsticks
from embedalloc.problem import build_problem
from embedalloc.streams import stream

#: Share of the rows on which the rules are judged.
TEST_SHARE = 0.25
#: Tries of the control where no rule has more than one.
FEWEST_TRIES = 3
#: With times, splits end at moments between this share of the rows and all of them.
FIRST_END = 0.5


class _Judged(NamedTuple):
    """What one split says: by rule and yardstick the loss and score, by rule its plan."""

    measured: Mapping[str, Measured]
    plans: Mapping[str, Plan]
    tries: int
    test_ratio: float


def compare_rules(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    budget: int,
    rules: Sequence[str],
    *,
    splits: int = 10,
    seed: int = 0,
    task: str = "auto",
    min_frequency: int = 1,
    epochs: int = 40,
    max_rows: int = 200_000,
    minutes: float | None = None,
    jobs: int = 1,
    sample_weight: Any = None,
    groups: Any = None,
    times: Any = None,
    done: Callable[[int, int], None] = lambda done, most: None,
    **limits: Any,
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
    seed, task, min_frequency, epochs, max_rows, sample_weight, groups, times, **limits
        As in `embedalloc.data.estimator.EmbeddingAllocator`.
    minutes
        After so many no further split is begun.
    jobs
        Splits at a time; the numbers are the same.
    done
        Called after each rule and yardstick of each split, with how many are done and how many
        there are; with several jobs after each split.
    """
    check_row_count(len(target))
    names = tuple(dict.fromkeys(["equal", *rules]))
    kind = find_task(target, task)
    about = read_notes(sample_weight, groups, times, len(target))
    learn = partial(learn_encoding, categorical=categorical, task=kind, min_frequency=min_frequency)
    _, whole = learn(frame, target)
    permitted = set_limits(whole.cardinalities, **limits)
    build_problem(whole.cardinalities, budget, **permitted.constraints())
    judge = partial(
        _judge,
        names=names,
        budget=budget,
        max_rows=max_rows,
        epochs=epochs,
        limits=limits,
        learn=learn,
    )
    begin = time.monotonic()
    steps = itertools.count(1)
    per_split = len(names) + 2

    def tell() -> None:
        done(next(steps), splits * per_split)

    if jobs == 1:
        judge = partial(judge, step=tell)
    judged: list[_Judged] = []
    parts = _list_splits(kind.encode(target), kind, about, splits, seed)
    for first in range(0, splits, jobs):
        if judged and minutes is not None and time.monotonic() - begin > 60 * minutes:
            break
        work = []
        for split in range(first, min(first + jobs, splits)):
            kept, held = parts[split]
            known = frame.iloc[kept], target[kept], about.take(kept)
            new = frame.iloc[held], target[held], about.take(held)
            work.append((known, new, seed * 100_003 + split, seed))
        for each in run_all(judge, work, jobs=jobs):
            judged.append(each)
            if jobs > 1:
                done(len(judged) * per_split, splits * per_split)
    return _put_together(judged, names, budget, kind, splits)


def _list_splits(
    target: NDArray[Any], task: PredictionTask, about: RowNotes, splits: int, seed: int
) -> list[tuple[Rows, Rows]]:
    """Return the rows that stay and those held out, by split."""
    parts = []
    if about.times is None:
        for label in (f"split {split}" for split in range(splits)):
            order = stream(seed, label).permutation(len(target))
            parts.append(
                hold_out_rows(target, task, about, TEST_SHARE, order, seed=seed, label=label)
            )
        return parts
    for end in np.linspace(FIRST_END, 1, splits) if splits > 1 else [1.0]:
        rows = np.flatnonzero(about.times <= np.quantile(about.times, end))
        kept, held = hold_out_rows(
            target[rows],
            task,
            about.take(rows),
            TEST_SHARE,
            np.arange(len(rows)),  # times decide
            seed=seed,
            label="split",
        )
        parts.append((rows[kept], rows[held]))
    return parts


def _judge(
    known: tuple[pd.DataFrame, NDArray[Any], RowNotes],
    new: tuple[pd.DataFrame, NDArray[Any], RowNotes],
    case_seed: int,
    sample_seed: int,
    *,
    names: Sequence[str],
    budget: int,
    max_rows: int,
    epochs: int,
    limits: Mapping[str, Any],
    learn: Callable[..., Any],
    step: Callable[[], None] = lambda: None,
) -> _Judged:
    """Let every rule decide on the known rows, and measure what it chose on the new ones."""
    encoder, data = learn(known[0], known[1], about=known[2])
    test = encoder.encode(*new)
    case = make_case(
        sample_rows(data, max_rows, seed=sample_seed),
        set_limits(data.cardinalities, **limits),
        seed=case_seed,
        epochs=epochs,
    )
    found = {}
    for name in names:
        rule = data_rule(name)
        found[name] = rule.decide(case, rule.gather(case), budget)
        step()
    plans = {name: decision.plan for name, decision in found.items()}
    tries = max(
        FEWEST_TRIES, *(sum(each.tries for each in one.candidates) for one in found.values())
    )
    measured = _measure_plans(case, plans, test)
    measured[RESTARTS] = _restart_equal(case, plans["equal"], tries, test)
    step()
    measured |= measure_yardsticks(case, test)
    step()
    return _Judged(measured, plans, tries, len(test) / len(data))


def _measure_plans(
    case: DataCase, plans: Mapping[str, Plan], test: FieldData
) -> dict[str, Measured]:
    """Return what every rule's plan is worth; what is the same is trained once."""
    known: list[tuple[Plan, Measured]] = []
    measured = {}
    for name, plan in plans.items():
        same = [worth for other, worth in known if other.fields == plan.fields]
        measured[name] = same[0] if same else measure(train_plan(case, plan).losses, test)
        known.append((plan, measured[name]))
    return measured


def _restart_equal(case: DataCase, equal: Plan, tries: int, test: FieldData) -> Measured:
    """Return what the best of so many equal networks on validation is worth."""
    labels = ["candidate", *(f"restart {k}" for k in range(1, tries))]
    models = (train_plan(case, equal, label) for label in labels)
    return measure(min(models, key=lambda model: model.validation_loss).losses, test)


def _put_together(
    judged: Sequence[_Judged],
    names: tuple[str, ...],
    budget: int,
    task: PredictionTask,
    wanted: int,
) -> Comparison:
    every = [each.plans for each in judged]
    same = []
    for one, two in itertools.combinations(names, 2):
        count = sum(plans[one].fields == plans[two].fields for plans in every)
        if count:
            same.append((one, two, count))
    spent = [{name: plan.cost for name, plan in plans.items()} for plans in every]
    return Comparison(
        budget=budget,
        task=task.kind,
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
