"""One split of one table: every rule and every control at every budget, judged on test rows."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from threadpoolctl import threadpool_limits

from embedalloc.data.effects import cross_fit_effects, fit_effects
from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.data.response import RESPONSE_AWARE
from embedalloc.data.screened import SCREENED
from embedalloc.data.spectral import FREQUENCY_WEIGHTED, PAPER
from embedalloc.result import Allocation
from embedalloc.rules import TABLE_RULES
from embedalloc.study.tables.judge import (
    Inputs,
    Judged,
    encode_target,
    judge_plan,
    read_numbers,
)
from embedalloc.study.tables.outcomes import RESTARTS, SPLIT
from embedalloc.study.tables.protocol import Protocol
from embedalloc.study.tables.sources import Table

#: The registry names these as text; imported, an edit of one is an edit of this study.
LEARNING_RULES = (SCREENED, PAPER, FREQUENCY_WEIGHTED, RESPONSE_AWARE)
#: Minimum counts that the control with pooled levels tries.
MINIMUM_COUNTS = (3, 10, 30)
#: Controls beside the rules.
CONTROLS = (
    SPLIT,
    RESTARTS,
    "equal, pooled",
    "equal, largest field dropped",
    "effects only",
    "one-hot ridge",
    "gradient boosting",
)


class Contestant(NamedTuple):
    """A plan to judge: its allocation, its columns of training and test rows, and its price."""

    allocation: Allocation
    planned: tuple[Any, Any]
    trainings: int = 0
    seconds: float = 0.0
    chosen: str = ""
    verdict: str = ""
    gain: float = np.nan
    splitting: str = ""
    split: Allocation | None = None


class Split:
    """Training and test rows of a table, and the judge's network for them."""

    def __init__(self, table: Table, protocol: Protocol, number: int) -> None:
        self.protocol, self.task, self.number = protocol, table.task, number
        known, new = train_test_split(
            np.arange(len(table.target)),
            test_size=protocol.test_share,
            random_state=protocol.seed + number,
            stratify=table.target if table.task == "classification" else None,
        )
        self.known, self.new = table.frame.iloc[known], table.frame.iloc[new]
        self.target = table.target[known], table.target[new]
        self.numbers = read_numbers(self.known, self.new)
        self.goals = encode_target(*self.target, table.task)
        self.fields = list(self.known.select_dtypes(exclude="number").columns)
        self._judged: dict[Any, Judged] = {}

    @property
    def levels(self) -> int:
        """Levels of all fields, the unseen ones included."""
        return sum(self.known[name].nunique(dropna=False) + 1 for name in self.fields)

    def plan(self, budget: int, rule: str, **words: Any) -> Contestant:
        """Plan with a rule, as any user would."""
        begin = time.perf_counter()
        done: list[int] = []
        allocator = EmbeddingAllocator(
            budget,
            rule,
            task=self.task,
            random_state=self.number,
            progress=lambda count, most: done.append(count),
            **words,
        ).set_output(transform="pandas")
        known = allocator.fit_transform(self.known, self.target[0])
        report = allocator.report_
        return Contestant(
            allocator.allocation_,
            (known.to_numpy(np.float64), allocator.transform(self.new).to_numpy(np.float64)),
            len(done),
            time.perf_counter() - begin,
            report.chosen or "",
            report.beats_equal.verdict if report.chosen else "",
            np.nan if report.beats_equal.gain is None else report.beats_equal.gain,
            report.splitting.verdict if report.chosen else "",
            _split_allocation(allocator),
        )

    def judge(self, contestant: Contestant, initialisation: str, start: int = 0) -> Judged:
        """Judge a plan; plans that are the same are judged once."""
        allocation = contestant.allocation
        key = (
            tuple(allocation.dimensions.items()),
            tuple(allocation.cardinalities.items()),
            tuple(allocation.effects.items()),
            contestant.planned[0].tobytes(),
            initialisation,
            start,
        )
        if key not in self._judged:
            self._judged[key] = judge_plan(
                allocation,
                Inputs(contestant.planned, self.numbers, self.goals),
                self.protocol.judge,
                task=self.task,
                deviation=self.protocol.initialisations[initialisation],
                seed=1000 * self.number + start,
            )
        return self._judged[key]


def run_split(name: str, table: Table, protocol: Protocol, number: int) -> pd.DataFrame:
    """Return the losses of all contestants on one split."""
    split = Split(table, protocol, number)
    without_network = list(_run_models(split))
    rows = []
    for multiple in protocol.budgets:
        budget = int(multiple * split.levels)
        plans = {rule: split.plan(budget, rule) for rule in TABLE_RULES}
        for initialisation in protocol.initialisations:
            judge = _judging(split, initialisation)
            losses = {rule: (plan, judge(plan).test) for rule, plan in plans.items()}
            losses |= dict(_run_controls(split, plans, budget, initialisation))
            for contestant, (plan, loss) in losses.items():
                rows.append(_row(name, number, multiple, contestant, initialisation, plan, loss))
            for contestant, loss in without_network:
                nothing = Contestant(Allocation(contestant, {}, {}, {}, budget), ((), ()))
                rows.append(_row(name, number, multiple, contestant, initialisation, nothing, loss))
    return pd.DataFrame(rows)


def _split_allocation(allocator: EmbeddingAllocator) -> Allocation | None:
    """Return the plan with split dimensions: the same tables, codes and effects."""
    own, found = allocator.allocation_, allocator.outcome_.find("split")
    if found is None:
        return None
    return replace(
        own,
        allocation_rule=SPLIT,
        dimensions={name: found.plan.fields[name].dimension for name in own.dimensions},
        parameters={name: found.plan.fields[name].cost for name in own.dimensions},
    )


def _judging(split: Split, initialisation: str) -> Callable[[Contestant], Judged]:
    return lambda contestant: split.judge(contestant, initialisation)


def _row(
    name: str,
    number: int,
    multiple: float,
    contestant: str,
    initialisation: str,
    plan: Contestant,
    loss: float,
) -> dict[str, Any]:
    return {
        "table": name,
        "split": number,
        "budget": multiple,
        "contestant": contestant,
        "initialisation": initialisation,
        "loss": loss,
        "parameters": plan.allocation.cost,
        "trainings": plan.trainings,
        "seconds": plan.seconds,
        "chosen": plan.chosen,
        "verdict": plan.verdict,
        "gain": plan.gain,
        "splitting": plan.splitting,
    }


def _run_controls(
    split: Split, plans: dict[str, Contestant], budget: int, initialisation: str
) -> Iterator[tuple[str, tuple[Contestant, float]]]:
    """Yield controls that the judge's own validation rows choose, and plans without choice."""
    equal, own = plans["equal"], plans["screened"]
    other = own._replace(allocation=own.split or own.allocation, verdict="", splitting="")
    yield SPLIT, (other, split.judge(other, initialisation).test)
    tries = max(plans["screened"].trainings, 1)
    starts = [split.judge(equal, initialisation, start) for start in range(tries)]
    best = min(starts, key=lambda each: each.validation)
    yield RESTARTS, (equal._replace(trainings=tries), best.test)
    pooled = [split.plan(budget, "equal", min_frequency=count) for count in MINIMUM_COUNTS]
    judged = [(each, split.judge(each, initialisation)) for each in [equal, *pooled]]
    plan, found = min(judged, key=lambda each: each[1].validation)
    yield "equal, pooled", (plan._replace(trainings=len(judged)), found.test)
    largest = max(split.fields, key=lambda name: int(split.known[name].nunique()))
    dropped = split.plan(budget, "equal", fixed={largest: 0})
    yield (
        "equal, largest field dropped",
        (dropped, split.judge(dropped, initialisation).test),
    )
    effects = _plan_effects(split, equal, budget)
    yield "effects only", (effects, split.judge(effects, initialisation).test)


def _plan_effects(split: Split, equal: Contestant, budget: int) -> Contestant:
    """Return the plan without tables: the effect of every field is an input."""
    allocator = EmbeddingAllocator(10**9, "equal", task=split.task, random_state=split.number).fit(
        split.known, split.target[0]
    )
    known = allocator.encoder_.encode(split.known, split.target[0])
    new = allocator.encoder_.encode(split.new)
    fitted = fit_effects(known)
    inputs = cross_fit_effects(known, fitted, known.names, seed=split.number)
    columns = {name: (f"{name}__effect",) for name in known.names}
    allocation = Allocation(
        "effects only",
        dict.fromkeys(known.names, 0),
        dict(known.cardinalities),
        dict(known.cardinalities),
        max(budget, sum(known.cardinalities.values())),
        effects=columns,
    )
    read = [fitted.fields[name].read(new.codes[name]) for name in known.names]
    return Contestant(allocation, (np.hstack(list(inputs.values())), np.hstack(read)))


def _run_models(split: Split) -> Iterator[tuple[str, float]]:
    """Yield the losses of scikit-learn's models, untuned."""
    regression = split.task == "regression"
    fields = [each[split.fields].astype(str) for each in (split.known, split.new)]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    levels = one_hot.fit_transform(fields[0]), one_hot.transform(fields[1])
    encoder = TargetEncoder(target_type="continuous" if regression else "binary")
    encoded = encoder.fit_transform(fields[0], split.goals[0]), encoder.transform(fields[1])
    linear = Ridge() if regression else LogisticRegression(max_iter=300)
    boosting = (HistGradientBoostingRegressor if regression else HistGradientBoostingClassifier)(
        random_state=split.number
    )
    with threadpool_limits(1):
        for name, model, inputs in (
            ("one-hot ridge", linear, levels),
            ("gradient boosting", boosting, encoded),
        ):
            known, new = (np.hstack(pair) for pair in zip(inputs, split.numbers, strict=True))
            model.fit(known, split.goals[0])
            if regression:
                yield name, float(((model.predict(new) - split.goals[1]) ** 2).mean())
            else:
                yield name, float(log_loss(split.goals[1], model.predict_proba(new)))


def run_decoys(name: str, table: Table, protocol: Protocol, number: int) -> pd.DataFrame:
    """Return which decoys the recommended rule keeps: copies of the field with most levels.

    One is permuted, one corrupted in a share of its rows, and one is combined with the field
    that has the second most levels.
    """
    split = Split(table, protocol, number)
    rng = np.random.default_rng(protocol.seed + number)
    by_levels = sorted(split.fields, key=lambda each: -int(split.known[each].nunique()))
    first, second = (split.known[each].astype(str).to_numpy() for each in by_levels[:2])
    corrupted = first.copy()
    chosen = np.flatnonzero(rng.random(len(first)) < protocol.corrupted_share)
    corrupted[chosen] = first[rng.permutation(chosen)]
    decoys = {
        "permuted": rng.permutation(first),
        "corrupted": corrupted,
        "combined": np.char.add(np.char.add(first.astype(str), " & "), second.astype(str)),
    }
    frame = split.known.assign(**{f"decoy {what}": each for what, each in decoys.items()})
    budget = int(3 * (split.levels + sum(len(np.unique(each)) + 1 for each in decoys.values())))
    plan = EmbeddingAllocator(budget, task=split.task, random_state=number)
    plan.fit(frame, split.target[0])
    return pd.DataFrame(
        {
            "table": name,
            "split": number,
            "decoy": what,
            "has_table": f"decoy {what}" in plan.tables_,
            "has_effect": f"decoy {what}" in plan.plan_.effects,
            "chosen": plan.report_.chosen,
        }
        for what in decoys
    )
