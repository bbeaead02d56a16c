"""Rules against each other on the same splits of a table, with honest intervals.

Every rule has the same budget, rows, validation rows and initial weights. A rule that trains
several candidates keeps the best on validation, so beside it stands a control with as many tries:
equal dimensions started anew each time, the best on validation kept. Models without embeddings
show what a network is worth at all.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase, make_case, set_limits
from embedalloc.data.ordering import Rows
from embedalloc.data.parallel import run_all
from embedalloc.data.plan import Plan
from embedalloc.data.planned import train_plan
from embedalloc.data.report import make_plain
from embedalloc.data.rules import data_rule
from embedalloc.data.table import (
    FieldData,
    PredictionTask,
    RowNotes,
    TaskKind,
    check_row_count,
    find_task,
    learn_encoding,
    sample_rows,
)
from embedalloc.data.validation import hold_out_rows, read_notes
from embedalloc.data.yardsticks import SCORES, Measured, measure, measure_yardsticks
from embedalloc.intervals import CONFIDENCE, nadeau_bengio_share, t_interval
from embedalloc.problem import build_problem
from embedalloc.streams import stream
from embedalloc.text import cut_name, paragraph, text_table

#: Longer names of rules are cut, so that the table has 80 columns.
LONGEST_NAME = 18
#: Share of the rows on which the rules are judged.
TEST_SHARE = 0.25
#: Name of the control in results.
RESTARTS = "equal, restarts"
#: Tries of the control where no rule has more than one.
FEWEST_TRIES = 3
#: With times, splits end at moments between this share of the rows and all of them.
FIRST_END = 0.5
#: Fields whose dimensions are listed by rule.
MOST_FIELDS = 12


@dataclass(frozen=True)
class Difference:
    """A rule's mean loss minus that of equal dimensions, paired over splits.

    Attributes
    ----------
    mean
        Below 0 where the rule is better.
    interval
        By Student's t, as if the splits were independent.
    corrected
        After Nadeau and Bengio (2003), who allow for the overlap of the training rows.
    """

    mean: float
    interval: tuple[float, float]
    corrected: tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """Held-out losses of rules and of models without embeddings.

    Attributes
    ----------
    budget, task
        The same for all.
    rules
        Names of the rules; the other columns are yardsticks.
    losses, scores
        One row per split, one column per rule or yardstick; the control is called
        ``equal, restarts``. The score is the AUC, the accuracy or R².
    parameters
        Embedding parameters spent, by split and rule.
    dimensions
        By rule and field, of the first split.
    same
        Pairs of rules that chose the same tables in every split.
    tries
        Networks among which the control chose, by split.
    test_ratio
        Test rows over training rows.
    wanted
        Splits that were asked for.
    """

    budget: int
    task: TaskKind
    rules: tuple[str, ...]
    losses: pd.DataFrame
    scores: pd.DataFrame
    parameters: pd.DataFrame
    dimensions: Mapping[str, Mapping[str, int]]
    same: tuple[tuple[str, str], ...]
    tries: tuple[int, ...]
    test_ratio: float
    wanted: int

    def difference(self, rule: str) -> Difference:
        """Return a rule's loss minus that of equal dimensions."""
        differences = self.losses[rule] - self.losses["equal"]
        return paired_difference(differences.to_numpy(), self.test_ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return plain types, for JSON; what is not a number is None."""
        return make_plain(
            {
                "budget": self.budget,
                "losses": self.losses.to_dict("list"),
                "scores": {"name": SCORES[self.task]} | self.scores.to_dict("list"),
                "parameters": self.parameters.to_dict("list"),
                "dimensions": {rule: dict(each) for rule, each in self.dimensions.items()},
                "same": self.same,
                "tries": self.tries,
                "differences": {
                    rule: asdict(self.difference(rule)) for rule in self.losses.columns
                },
            }
        )

    def __str__(self) -> str:
        return "\n\n".join(
            [self._table(), self._explain(), self._list_dimensions(), self.conclusions]
        )

    def _table(self) -> str:
        width = min(max(len(name) for name in self.losses.columns), LONGEST_NAME)
        percent = f"{100 * CONFIDENCE:.0f} %"
        base = float(self.losses["equal"].mean())
        head = [
            "rule",
            "   loss",
            f"{SCORES[self.task]:>6}",
            "  mean",
            f"{percent + ' corrected':>16}",
        ]
        rows = []
        for name in self.losses.mean().sort_values(kind="stable").index:
            each = self.difference(name)
            cells = [f"{100 * each.mean / base:+.2f}", _write_interval(each.corrected, base)]
            spent = f"{self.parameters[name].mean():,.0f}" if name in self.parameters else ""
            rows.append(
                [
                    cut_name(name, width),
                    f"{self.losses[name].mean():.5f}",
                    f"{self.scores[name].mean():.3f}",
                    *(cells if name != "equal" else [""] * 2),
                    spent,
                ]
            )
        above = f"{'':<{width}}  {'':>7}  {'':>6}  {'loss against equal, %':>24}"
        return "\n".join([above.rstrip(), text_table([*head, "params"], rows)])

    def _explain(self) -> str:
        done = len(self.losses)
        fewer = (
            f" of {self.wanted} that were asked for; the time was up" if done < self.wanted else ""
        )
        tries = sum(self.tries) / max(len(self.tries), 1)
        lines = [
            f"loss of rows that were held out, mean of {done} splits{fewer}; budget "
            f"{self.budget:,} for every rule. The intervals (Nadeau and Bengio) allow for "
            "training rows that splits share.",
            f"Yardsticks: {RESTARTS} is the best of {tries:.0f} starts of equal dimensions; "
            "effects only, one-hot ridge and gradient boosting have no embeddings.",
        ]
        return "\n".join(map(paragraph, lines))

    def _list_dimensions(self) -> str:
        fields = list(self.dimensions["equal"])[:MOST_FIELDS]
        more = len(self.dimensions["equal"]) - len(fields)
        rows = [
            [cut_name(name), *(f"{self.dimensions[rule][name]}" for rule in self.rules)]
            for name in fields
        ]
        heads = ["dimension of", *(cut_name(rule, LONGEST_NAME) for rule in self.rules)]
        lines = [text_table(heads, rows)]
        if more:
            lines.append(f"and {more} more fields")
        lines += [
            paragraph(f"{two} and {one} chose the same tables in every split.")
            for one, two in self.same
        ]
        return "\n".join(lines)

    @property
    def conclusions(self) -> str:
        """Which rules and yardsticks differ from equal dimensions by their corrected intervals."""
        corrected = {
            name: self.difference(name).corrected for name in self.losses.columns if name != "equal"
        }
        better = [name for name, (_, high) in corrected.items() if high < 0]
        worse = [name for name, (low, _) in corrected.items() if low > 0]
        words = [
            paragraph(f"{how} than equal dimensions: {', '.join(names)}.")
            for how, names in (("Better", better), ("Worse", worse))
            if names
        ]
        return "\n".join(words) or "No rule differs clearly from equal dimensions here."


def _write_interval(interval: tuple[float, float], base: float) -> str:
    low, high = (100 * each / base for each in interval)
    return "" if math.isnan(low) else f"{low:+.2f} to {high:+.2f}"  # of one split there is none


def paired_difference(differences: Floats, test_ratio: float) -> Difference:
    """Return mean and intervals of differences over splits."""
    mean = float(differences.mean())
    count = len(differences)
    if count < 2:
        unknown = (math.nan, math.nan)
        return Difference(mean, unknown, unknown)
    corrected = t_interval(differences, nadeau_bengio_share(count, test_ratio))
    return Difference(mean, t_interval(differences), corrected)


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
        Called after each split, with how many are done and how many there are.
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
            done(len(judged), splits)
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
    plans = {name: decision.plan for name, decision in found.items()}
    tries = max(
        FEWEST_TRIES, *(sum(each.tries for each in one.candidates) for one in found.values())
    )
    measured = _measure_plans(case, plans, test)
    measured[RESTARTS] = _restart_equal(case, plans["equal"], tries, test)
    measured |= measure_yardsticks(case, test)
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
    same = tuple(
        (one, two)
        for place, two in enumerate(names)
        for one in names[:place]
        if all(plans[one].fields == plans[two].fields for plans in every)
    )
    spent = [{name: plan.cost for name, plan in plans.items()} for plans in every]
    return Comparison(
        budget=budget,
        task=task.kind,
        rules=names,
        losses=pd.DataFrame([{k: m.loss for k, m in each.measured.items()} for each in judged]),
        scores=pd.DataFrame([{k: m.score for k, m in each.measured.items()} for each in judged]),
        parameters=pd.DataFrame([each | {RESTARTS: each["equal"]} for each in spent]),
        dimensions={name: plan.dimensions for name, plan in every[0].items()},
        same=same,
        tries=tuple(each.tries for each in judged),
        test_ratio=judged[-1].test_ratio,
        wanted=wanted,
    )
