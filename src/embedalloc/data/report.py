"""What was decided for a table, why, and whether it matters."""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from embedalloc.data.case import Limits
from embedalloc.data.decision import Decision
from embedalloc.data.screening import DropPath
from embedalloc.data.table import FieldData, TaskKind
from embedalloc.result import Allocation
from embedalloc.text import COLUMNS, bar, cut_name, make_visible, text_table

Verdict = Literal["matters", "does not matter", "cannot tell"]

# Thresholds of the verdict, fixed before any result was looked at.
#: Below this share of the loss, what dimensions beyond the first add is too little to split a
#: budget over: retrained networks showed no difference there.
SMALLEST_HEADROOM = 0.005
#: A gain along the drop path counts from so many paired standard errors; above it, dropping paid
#: in retrained networks.
DROP_GAIN_STANDARD_ERRORS = 3.0
#: The same for the winner's validation loss against that of equal dimensions. Three and not two,
#: because the winner is the best of several.
WINNER_STANDARD_ERRORS = 3.0

_BAR = 10


@dataclass(frozen=True)
class FieldReport:
    """One field of the report.

    Attributes
    ----------
    name
        The field's column.
    levels
        N_j, the unseen level included.
    rows
        Rows of the data in which the field is not missing.
    dimension, parameters, share
        d_j, what it costs, and that as a share of the budget.
    smallest, largest
        The dimension over pilots, halves or seeds; None where there is nothing to compare.
    value
        How much the pilots' loss rises without the field, as a share; None if not measured.
    next_value
        How much one more dimension would save, as a share of the pilots' loss.
    why
        One phrase.
    """

    name: str
    levels: int
    rows: int
    dimension: int
    parameters: int
    share: float
    smallest: int | None
    largest: int | None
    value: float | None
    next_value: float | None
    why: str


@dataclass(frozen=True)
class CandidateReport:
    """One set of dimensions that was trained."""

    label: str
    dropped: tuple[str, ...]
    parameters: int
    validation_loss: float


@dataclass(frozen=True)
class Report:
    """What `EmbeddingAllocator` decided and how sure it is; `str` gives it for reading.

    Attributes
    ----------
    allocation_rule, task
        Which rule decided, and what is predicted.
    budget, spent
        Parameters that could be and were spent.
    budget_binds
        Whether a field with an embedding is below its maximum and no further step is affordable.
    saturated
        Fields at d ≥ N − 1: more dimensions cannot add anything.
    fields
        One entry per field, in the order of the data's columns.
    rows, rows_used
        Rows of the data, and rows sampled for training and validation.
    spectrum_ratio, spectrum_correlation, spectrum_is_initialisation
        Median of a_j after over before training of the pilots, the correlation of log a_j with
        its initial values over fields, and whether that means they learnt nothing.
    headroom
        What dimensions beyond each field's first can add, as a share of the loss.
    drop_gain, drop_gain_standard_errors
        Largest gain along the drop path, as a share of the loss, and over its standard error.
    winner_gain, winner_gain_standard_errors
        Validation loss of equal dimensions minus the winner's, likewise.
    candidates
        What was trained and validated.
    verdict, reason
        Whether allocation matters here, and the sentence that says why.
    """

    allocation_rule: str
    task: TaskKind
    budget: int
    spent: int
    budget_binds: bool
    saturated: tuple[str, ...]
    fields: tuple[FieldReport, ...]
    rows: int
    rows_used: int
    spectrum_ratio: float | None
    spectrum_correlation: float | None
    spectrum_is_initialisation: bool | None
    headroom: float | None
    drop_gain: float | None
    drop_gain_standard_errors: float | None
    winner_gain: float | None
    winner_gain_standard_errors: float | None
    candidates: tuple[CandidateReport, ...]
    verdict: Verdict
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain types, for JSON; what is not a number is None."""
        return make_plain(asdict(self))

    def __str__(self) -> str:
        last_words = textwrap.wrap(f"{self._verdict_in_words()}: {self.reason}.", COLUMNS)
        return "\n".join([self._table(), "", *self._facts(), "", *last_words])

    def _table(self) -> str:
        measured = any(each.value is not None for each in self.fields)
        taken = 32 + _BAR + 8 * measured + max(len(each.why) for each in self.fields)
        longest = max(len(each.name) for each in self.fields)
        width = max(8, min(longest, COLUMNS - taken))
        largest = max(each.share for each in self.fields) or 1.0
        # The cells of the head are the least widths of their columns.
        head = [f"{'field':<{width}}", " levels", " dim", "  range", "   params", " " * _BAR]
        rows = [
            [
                cut_name(each.name, width),
                f"{each.levels:,}",
                f"{each.dimension:,}",
                _write_range(each.smallest, each.largest),
                f"{each.parameters:,}",
                bar(each.share / largest, _BAR),
                *([_write_percent(each.value)] if measured else []),
                each.why,
            ]
            for each in self.fields
        ]
        head += ["  worth", "why"] if measured else ["why"]
        return text_table(head, rows, align="<>>>><><" if measured else "<>>>><<", gap=" ")

    def _facts(self) -> list[str]:
        share = 100 * self.spent / self.budget if self.budget else 0.0
        lines = [
            f"{self.allocation_rule}: {self.spent:,} of {self.budget:,} parameters "
            f"({share:.0f} %); the budget {'binds' if self.budget_binds else 'does not bind'}"
        ]
        if self.rows_used < self.rows:
            lines.append(f"trained on a sample of {self.rows_used:,} of {self.rows:,} rows")
        if self.saturated:
            lines += textwrap.wrap(
                f"at full rank (d ≥ N − 1): {', '.join(map(make_visible, self.saturated))}",
                COLUMNS,
            )
        if self.spectrum_ratio is not None:
            news = "nothing new" if self.spectrum_is_initialisation else "something new"
            lines.append(
                f"the pilots' a_j are × {self.spectrum_ratio:.2f} those of their initial tables: "
                f"{news}"
            )
        if self.headroom is not None:
            lines += [
                f"headroom beyond one dimension each: {100 * self.headroom:.2f} % of the loss",
                f"gain of dropping fields: {100 * (self.drop_gain or 0):.2f} % of the loss, "
                f"{self.drop_gain_standard_errors:.1f} standard errors",
            ]
        if self.candidates:
            lines.append("validation loss of what was trained:")
            best = min(each.validation_loss for each in self.candidates)
            lines += [
                f"  {each.validation_loss:.5f}{' *' if each.validation_loss == best else '  '} "
                f"{each.label}, {each.parameters:,} parameters"
                for each in self.candidates
            ]
        return lines

    def _verdict_in_words(self) -> str:
        if self.verdict == "cannot tell":
            return "Cannot tell whether allocation matters here"
        return f"Allocation {self.verdict} here"


def write_report(
    decision: Decision, *, data: FieldData, limits: Limits, frame: pd.DataFrame
) -> Report:
    """Return the report of what a rule decided for the rows `data` of the user's `frame`."""
    allocation, spectrum, screening = decision.allocation, decision.spectrum, decision.screening
    headroom, path = (screening.headroom, screening.path) if screening else (None, None)
    upper = {**limits.maximum, **limits.fixed}
    everything = sum(upper[name] * levels for name, levels in allocation.cardinalities.items())
    gain, errors = _measure_winner_gain(decision)
    verdict, reason = judge(
        pays_for_all=everything <= allocation.budget,
        headroom=headroom,
        path=path,
        dropped=any(
            dimension == 0 and limits.fixed.get(name) != 0
            for name, dimension in allocation.dimensions.items()
        ),
        winner_errors=errors,
    )
    return Report(
        allocation_rule=allocation.allocation_rule,
        task=data.task.kind,
        budget=allocation.budget,
        spent=allocation.cost,
        budget_binds=_binds(allocation, limits),
        saturated=tuple(
            name
            for name, dimension in allocation.dimensions.items()
            if dimension >= allocation.cardinalities[name] - 1
        ),
        fields=tuple(
            _describe_field(name, decision, limits, int(frame[name].notna().sum()))
            for name in allocation.dimensions
        ),
        rows=len(frame),
        rows_used=len(data),
        spectrum_ratio=spectrum.median_ratio if spectrum else None,
        spectrum_correlation=spectrum.correlation if spectrum else None,
        spectrum_is_initialisation=spectrum.is_initialisation if spectrum else None,
        headroom=headroom,
        drop_gain=path.gain / path.full_loss if path else None,
        drop_gain_standard_errors=path.gain_in_standard_errors if path else None,
        winner_gain=gain,
        winner_gain_standard_errors=errors,
        candidates=tuple(
            CandidateReport(each.label, each.dropped, each.allocation.cost, each.loss)
            for each in decision.candidates
        ),
        verdict=verdict,
        reason=reason,
    )


def judge(
    *,
    pays_for_all: bool,
    headroom: float | None,
    path: DropPath | None,
    dropped: bool,
    winner_errors: float | None,
) -> tuple[Verdict, str]:
    """Return the verdict and its reason.

    It matters if the winner beats equal dimensions on validation by three paired standard
    errors, or if the pilots gain that much by dropping fields and the winner drops some. It
    does not if neither holds and the headroom is below 0.5 % of the loss. Otherwise one sign
    contradicts another, and nobody can tell. Rules that do not validate cannot tell either,
    unless the budget pays for everything.
    """
    if headroom is None or path is None:
        if pays_for_all:
            return "does not matter", "the budget pays for full rank in every field"
        return "cannot tell", "this rule does not test it; the rule screened does"
    gains = path.gain_in_standard_errors > DROP_GAIN_STANDARD_ERRORS
    if winner_errors is not None and winner_errors > WINNER_STANDARD_ERRORS:
        return "matters", (
            f"on validation the chosen dimensions beat equal ones by {winner_errors:.1f} "
            "standard errors"
        )
    if gains and dropped:
        return "matters", (
            f"leaving fields out gains {path.gain_in_standard_errors:.1f} standard errors, and "
            "the retrained network confirms it"
        )
    if gains:
        return "cannot tell", (
            f"leaving fields out of the pilots gains {path.gain_in_standard_errors:.1f} standard "
            "errors, but no retrained network confirms it"
        )
    if headroom < SMALLEST_HEADROOM:
        return "does not matter", (
            f"dimensions beyond the first can add {100 * headroom:.2f} % of the loss, and no "
            "field is in the way; equal dimensions serve as well"
        )
    return "cannot tell", (
        f"dimensions beyond the first could add {100 * headroom:.1f} % of the loss, but no "
        "retrained network beats equal dimensions clearly"
    )


def _binds(allocation: Allocation, limits: Limits) -> bool:
    """Tell whether more budget would be spent by growing what has an embedding."""
    step = limits.multiple_of
    growing = [
        levels * step
        for name, levels in allocation.cardinalities.items()
        if name not in limits.fixed
        and 0 < allocation.dimensions[name] <= limits.maximum[name] - step
    ]
    return bool(growing) and min(growing) > allocation.leftover


def _measure_winner_gain(decision: Decision) -> tuple[float | None, float | None]:
    """Return what the winner gains over equal dimensions: share of the loss, standard errors."""
    equal = next((each for each in decision.candidates if each.label == "equal"), None)
    if equal is None:
        return None, None
    difference = equal.losses - decision.winner.losses
    if decision.winner is equal or len(difference) < 2:
        return 0.0, 0.0
    error = float(difference.std(ddof=1) / np.sqrt(len(difference)))
    gain = float(difference.mean())
    return gain / equal.loss, gain / error if error > 0 else 0.0


def _describe_field(name: str, decision: Decision, limits: Limits, present: int) -> FieldReport:
    allocation = decision.allocation
    dimension = allocation.dimensions[name]
    value = next_value = None
    if decision.screening:
        full = decision.screening.path.full_loss
        value = (decision.screening.path.removal_losses[name] - full) / full
        curve = decision.screening.curves[name]
        if dimension + 1 < len(curve):
            next_value = float(curve[dimension] - curve[dimension + 1]) / full
    low, high = decision.spread[name] if decision.spread else (None, None)
    return FieldReport(
        name=name,
        levels=allocation.cardinalities[name],
        rows=present,
        dimension=dimension,
        parameters=allocation.parameters[name],
        share=allocation.parameters[name] / allocation.budget if allocation.budget else 0.0,
        smallest=low,
        largest=high,
        value=value,
        next_value=next_value,
        why=_explain(name, decision, limits),
    )


def _explain(name: str, decision: Decision, limits: Limits) -> str:
    dimension = decision.allocation.dimensions[name]
    if name in limits.fixed:
        return "fixed by you"
    if dimension == 0:
        return "dropped: no signal" if name in limits.droppable else "not affordable"
    if dimension >= decision.allocation.cardinalities[name] - 1:
        return "full rank"
    if dimension >= limits.maximum[name]:
        return "at your maximum"
    if dimension <= max(limits.minimum[name], limits.multiple_of):
        return "at the minimum"
    if decision.candidates:
        return "equal" if decision.winner.label == "equal" else "by relevance"
    return "by the rule"


def _write_percent(share: float | None) -> str:
    text = "" if share is None else f"{100 * share:.1f} %"
    return "0.0 %" if text == "-0.0 %" else text


def _write_range(low: int | None, high: int | None) -> str:
    if low is None:
        return ""
    return f"{low}" if low == high else f"{low}–{high}"


def make_plain(value: Any) -> Any:
    """Return lists for tuples and None for what is not a finite number, all the way down."""
    if isinstance(value, dict):
        return {key: make_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
