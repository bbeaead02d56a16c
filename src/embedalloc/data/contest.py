"""Splits of a table on which rules are judged: the same rows, and no rule sees what judges it."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.data.case import DataCase, make_case, set_limits
from embedalloc.data.comparison_result import RESTARTS
from embedalloc.data.ordering import Rows
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
from embedalloc.problem import BudgetError, build_problem
from embedalloc.streams import stream

#: Share of the rows on which the rules are judged.
TEST_SHARE = 0.25
#: Tries of the control where no rule has more than one.
FEWEST_TRIES = 3
#: With times, splits end at moments between this share of the rows and all of them.
FIRST_END = 0.5


class Judged(NamedTuple):
    """What one split says: by rule and yardstick the loss and score, by rule its plan."""

    measured: Mapping[str, Measured]
    plans: Mapping[str, Plan]
    tries: int
    test_ratio: float


class Contest(NamedTuple):
    """A table and its splits, on which rules are judged at any budget.

    Attributes
    ----------
    frame, target, about
        The rows, and what is known of them.
    task
        What is predicted.
    cardinalities
        Levels of all rows, by field.
    learn
        How rows become codes.
    limits
        Permitted dimensions, as words of `set_limits`.
    parts
        By split the rows that stay and those held out.
    seed, epochs, max_rows
        As in `embedalloc.data.estimator.EmbeddingAllocator`.
    """

    frame: pd.DataFrame
    target: NDArray[Any]
    about: RowNotes
    task: PredictionTask
    cardinalities: Mapping[str, int]
    learn: Callable[..., Any]
    limits: Mapping[str, Any]
    parts: Sequence[tuple[Rows, Rows]]
    seed: int
    epochs: int
    max_rows: int

    def can_pay(self, rule: str, budget: int) -> bool:
        """Tell whether a budget is large enough for a rule."""
        try:
            self.check_budget(budget)
        except BudgetError:
            return data_rule(rule).fits_small_budgets
        return True

    def check_budget(self, budget: int) -> None:
        """Refuse limits that cannot be, and a budget that does not pay the smallest dimensions."""
        permitted = set_limits(self.cardinalities, **self.limits)
        build_problem(self.cardinalities, budget, **permitted.constraints())

    def judge(
        self,
        split: int,
        budget: int,
        rules: Sequence[str],
        *,
        controls: bool,
        step: Callable[[], None] = lambda: None,
    ) -> Judged:
        """Let rules decide on the rows of a split that stay, and measure it on the others.

        Parameters
        ----------
        split
            Its number.
        budget
            The same for all.
        rules
            Names; with controls equal dimensions must be among them.
        controls
            Whether to measure restarts of equal dimensions and models without embeddings too.
        step
            Called after each rule and control.
        """
        kept, held = self.parts[split]
        encoder, data = self.learn(
            self.frame.iloc[kept], self.target[kept], about=self.about.take(kept)
        )
        test = encoder.encode(self.frame.iloc[held], self.target[held], self.about.take(held))
        case = make_case(
            sample_rows(data, self.max_rows, seed=self.seed),
            set_limits(data.cardinalities, **self.limits),
            seed=self.seed * 100_003 + split,
            epochs=self.epochs,
        )
        found = {}
        for name in rules:
            rule = data_rule(name)
            found[name] = rule.decide(case, rule.gather(case), budget)
            step()
        plans = {name: decision.plan for name, decision in found.items()}
        tries = max(
            FEWEST_TRIES, *(sum(each.tries for each in one.candidates) for one in found.values())
        )
        measured = _measure_plans(case, plans, test)
        if controls:
            measured[RESTARTS] = _restart_equal(case, plans["equal"], tries, test)
            step()
            measured |= measure_yardsticks(case, test)
            step()
        return Judged(measured, plans, tries, len(test) / len(data))


def prepare_contest(
    frame: pd.DataFrame,
    target: NDArray[Any],
    categorical: Sequence[str],
    *,
    splits: int = 10,
    seed: int = 0,
    task: str = "auto",
    min_frequency: int = 1,
    epochs: int = 40,
    max_rows: int = 200_000,
    sample_weight: Any = None,
    groups: Any = None,
    times: Any = None,
    **limits: Any,
) -> Contest:
    """Check a table and draw its splits; the words are those of `compare_rules`."""
    check_row_count(len(target))
    kind = find_task(target, task)
    about = read_notes(sample_weight, groups, times, len(target))
    learn = partial(learn_encoding, categorical=categorical, task=kind, min_frequency=min_frequency)
    _, whole = learn(frame, target)
    return Contest(
        frame,
        target,
        about,
        kind,
        whole.cardinalities,
        learn,
        limits,
        _list_splits(kind.encode(target), kind, about, splits, seed),
        seed,
        epochs,
        max_rows,
    )


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
