"""What a comparison of rules found: losses, scores and dimensions, for reading and as JSON."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.data.report import make_plain
from embedalloc.data.table import TaskKind
from embedalloc.data.yardsticks import SCORES
from embedalloc.intervals import CONFIDENCE, nadeau_bengio_share, t_interval
from embedalloc.text import cut_name, paragraph, text_table

#: Longer names of rules are cut, so that the table has 80 columns.
LONGEST_NAME = 18
#: Name of the control in results.
RESTARTS = "equal, restarts"
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
        Pairs of rules that chose the same tables, and in how many splits.
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
    same: tuple[tuple[str, str, int], ...]
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
                    _write_score(float(self.scores[name].mean())),
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
        if self.task == "multiclass":
            lines.append("With hundreds of classes, gradient boosting takes fewer rounds.")
        if len(set(self.dimensions["equal"].values())) > 1:
            lines.append(
                "Equal dimensions are equal but for limits, and where the rest of the budget pays "
                "for more."
            )
        return "\n".join(map(paragraph, lines))

    def _list_dimensions(self) -> str:
        fields = list(self.dimensions["equal"])[:MOST_FIELDS]
        more = len(self.dimensions["equal"]) - len(fields)
        rows = [
            [cut_name(name), *(f"{self.dimensions[rule][name]}" for rule in self.rules)]
            for name in fields
        ]
        heads = ["dimension of", *(cut_name(rule, LONGEST_NAME) for rule in self.rules)]
        lines = [text_table(heads, rows), "These are the dimensions of the first split."]
        if more:
            lines.append(f"and {more} more fields")
        lines += [
            paragraph(f"{two} and {one} chose the same tables in {self._count(splits)}.")
            for one, two, splits in self.same
        ]
        return "\n".join(lines)

    def _count(self, splits: int) -> str:
        done = len(self.losses)
        return "every split" if splits == done else f"{splits} of {done} splits"

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


def _write_score(score: float) -> str:
    return "–" if math.isnan(score) else f"{score:.3f}"  # test rows of one class have no AUC


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
