"""Rules against each other on the same splits of a table, with honest intervals.

Every rule has the same budget, rows, validation rows and initial weights. The screened rule
trains several candidates and keeps the best on validation, so beside it stands a control with
the same number of tries: equal dimensions started anew each time, the best on validation kept.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.data.case import DataCase, make_case, set_limits
from embedalloc.data.decision import Decision
from embedalloc.data.plan import Plan
from embedalloc.data.planned import train_plan
from embedalloc.data.report import make_plain
from embedalloc.data.rules import data_rule
from embedalloc.data.table import (
    FieldData,
    check_row_count,
    find_task,
    learn_encoding,
    sample_rows,
    split_rows,
)
from embedalloc.intervals import CONFIDENCE, nadeau_bengio_share, t_interval
from embedalloc.problem import build_problem
from embedalloc.text import cut_name, text_table

#: Longer names of rules are cut, so that the table has 80 columns.
LONGEST_NAME = 18
#: Networks are trained on a sample of at most so many rows.
MOST_ROWS = 200_000
#: Share of the rows on which the rules are judged.
TEST_SHARE = 0.25
#: Name of the control in results.
RESTARTS = "equal, restarts"


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
    """Held-out losses of rules.

    Attributes
    ----------
    budget
        The same for all.
    losses
        One row per split, one column per rule; the control is called ``equal, restarts``.
    parameters
        Embedding parameters spent, in the same form.
    tries
        Networks among which the screened rule and the control chose, by split.
    test_ratio
        Test rows over training rows.
    """

    budget: int
    losses: pd.DataFrame
    parameters: pd.DataFrame
    tries: tuple[int, ...]
    test_ratio: float

    def difference(self, rule: str) -> Difference:
        """Return a rule's loss minus that of equal dimensions."""
        differences = self.losses[rule] - self.losses["equal"]
        return paired_difference(differences.to_numpy(), self.test_ratio)

    def to_dict(self) -> dict[str, Any]:
        """Return plain types, for JSON; what is not a number is None."""
        return {
            "budget": self.budget,
            "losses": self.losses.to_dict("list"),
            "parameters": self.parameters.to_dict("list"),
            "tries": list(self.tries),
            "differences": make_plain(
                {rule: asdict(self.difference(rule)) for rule in self.losses.columns}
            ),
        }

    def __str__(self) -> str:
        splits = len(self.losses)
        lines = [
            self._table(),
            "",
            f"held-out loss over {splits} splits, budget {self.budget:,} for every rule",
        ]
        if self.tries:
            tries = sum(self.tries) / len(self.tries)
            lines.append(
                f"{RESTARTS}: equal with as many tries as screened ({tries:.1f} on average)"
            )
        return "\n".join([*lines, "", self._last_words()])

    def _table(self) -> str:
        width = min(max(len(name) for name in self.losses.columns), LONGEST_NAME)
        percent = f"{100 * CONFIDENCE:.0f} %"
        base = float(self.losses["equal"].mean())
        # The cells of the head are the least widths of their columns.
        head = ["rule", "   loss", "   mean"]
        head += [f"{f'{percent} {how}':>16}" for how in ("(t)", "corrected")]
        rows = []
        for name in self.losses.mean().sort_values(kind="stable").index:
            each = self.difference(name)
            cells = [
                f"{100 * each.mean / base:+.2f}",
                _write_interval(each.interval, base),
                _write_interval(each.corrected, base),
            ]
            rows.append(
                [
                    cut_name(name, width),
                    f"{self.losses[name].mean():.5f}",
                    *(cells if name != "equal" else [""] * 3),
                    f"{self.parameters[name].mean():,.0f}",
                ]
            )
        above = f"{'':<{width}}  {'':>7}  {'difference to equal, in % of its loss':>39}"
        return "\n".join([above, text_table([*head, "params"], rows)])

    def _last_words(self) -> str:
        """Say which rules differ from equal dimensions by their corrected intervals."""
        corrected = {
            name: self.difference(name).corrected for name in self.losses.columns if name != "equal"
        }
        better = [name for name, (_, high) in corrected.items() if high < 0]
        worse = [name for name, (low, _) in corrected.items() if low > 0]
        words = [
            f"{how} than equal dimensions: {', '.join(names)}."
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
    done: Callable[[], None] = lambda: None,
    **limits: Any,
) -> Comparison:
    """Train every rule's dimensions on random splits and measure the loss on held-out rows.

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
        Random splits into three quarters for training (a fifth of that for validation) and a
        quarter for judging.
    seed, task, min_frequency, epochs, **limits
        As in `embedalloc.data.estimator.EmbeddingAllocator`.
    done
        Called after each rule of each split.
    """
    check_row_count(len(target))
    chosen = {name: data_rule(name) for name in dict.fromkeys(["equal", *rules])}
    kind = find_task(target, task)
    learn = partial(learn_encoding, categorical=categorical, task=kind, min_frequency=min_frequency)
    _, whole = learn(frame, target)
    permitted = set_limits(whole.cardinalities, **limits)
    build_problem(whole.cardinalities, budget, **permitted.constraints())
    encoded = kind.encode(target)
    losses, parameters, tries, ratio = [], [], [], 0.0
    for split in range(splits):
        kept, held_out = split_rows(encoded, kind, TEST_SHARE, seed=seed, label=f"split {split}")
        encoder, data = learn(frame.iloc[kept], target[kept])
        test = encoder.encode(frame.iloc[held_out], target[held_out])
        case = make_case(
            sample_rows(data, MOST_ROWS, seed=seed),
            set_limits(data.cardinalities, **limits),
            seed=seed * 100_003 + split,
            epochs=epochs,
        )
        found = {}
        for name, rule in chosen.items():
            found[name] = rule.decide(case, rule.gather(case), budget)
            done()
        row = _measure_losses(case, found, test)
        spent = {name: decision.allocation.cost for name, decision in found.items()}
        if "screened" in found:
            tries.append(sum(each.tries for each in found["screened"].candidates))
            row[RESTARTS] = _restart_equal(case, budget, tries[-1], test)
            spent[RESTARTS] = spent["equal"]
            done()
        losses.append(row)
        parameters.append(spent)
        ratio = len(held_out) / len(kept)
    return Comparison(budget, pd.DataFrame(losses), pd.DataFrame(parameters), tuple(tries), ratio)


def _measure_losses(
    case: DataCase, found: Mapping[str, Decision], test: FieldData
) -> dict[str, float]:
    """Return the test loss of every rule's plan; what is the same is trained once."""
    losses: list[tuple[Plan, float]] = []
    measured = {}
    for name, decision in found.items():
        known = [loss for plan, loss in losses if plan.fields == decision.plan.fields]
        measured[name] = known[0] if known else train_plan(case, decision.plan).loss(test)
        losses.append((decision.plan, measured[name]))
    return measured


def _restart_equal(case: DataCase, budget: int, tries: int, test: FieldData) -> float:
    """Return the test loss of the best of so many equal networks on validation."""
    dimensions = case.allocate("equal", budget).dimensions
    labels = ["candidate", *(f"restart {k}" for k in range(1, tries))]
    models = (case.train(dimensions, label) for label in labels)
    return min(models, key=lambda model: model.validation_loss).loss(test)
