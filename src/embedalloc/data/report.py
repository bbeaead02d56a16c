"""What was decided for a table, why, and whether it matters."""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.data.case import Limits
from embedalloc.data.decision import Decision
from embedalloc.data.table import FieldData, TaskKind
from embedalloc.data.verdict import (
    Answer,
    Verdict,
    answer_beats_equal,
    answer_splitting,
    find_better_reference,
    recall,
)
from embedalloc.result import Allocation
from embedalloc.text import COLUMNS, bar, cut_name, paragraph, text_table
from embedalloc.visible import make_visible

#: A field has "no effect" only if a test of its effect has at least this p-value.
LARGEST_P_VALUE = 0.05

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
    dimension, table_rows
        d_j and the rows of its table; both 0 if it has none.
    effect
        Whether the effect of its level is an input.
    parameters, share
        What table and effect cost, and that as a share of the budget.
    smallest, largest
        The dimension over pilots; None where there is nothing to compare.
    explained
        Share of the target's variance that its shrunken effects explain beside the other fields;
        None if not measured.
    p_value
        Of the F test that its levels do not differ.
    why
        One phrase.
    """

    name: str
    levels: int
    rows: int
    dimension: int
    table_rows: int
    effect: bool
    parameters: int
    share: float
    smallest: int | None
    largest: int | None
    explained: float | None
    p_value: float | None
    why: str


@dataclass(frozen=True)
class CandidateReport:
    """One plan that was trained; the loss is the mean over its trainings."""

    label: str
    parameters: int
    validation_loss: float
    trainings: int


@dataclass(frozen=True)
class ReferenceReport:
    """A model without embeddings, on the validation rows of the first training.

    `change` is its loss against the plan's on the same rows, as a share of the latter.
    """

    label: str
    validation_loss: float
    change: float


@dataclass(frozen=True)
class Report:
    """What `EmbeddingAllocator` decided and how sure it is; `str` gives it for reading.

    Attributes
    ----------
    allocation_rule, task
        Which rule decided, and what is predicted.
    budget, spent
        Numbers that could be and were spent on tables and effects.
    budget_binds
        Whether a table is below its maximum and no further step is affordable.
    saturated
        Fields whose table has full rank: more dimensions cannot add anything.
    fields
        One entry per field, in the order of the data's columns.
    rows, rows_used
        Rows of the data, and rows sampled for training and validation.
    spectrum_ratio, spectrum_correlation, spectrum_is_initialisation
        Median of a_j after over before training of the pilots, the correlation of log a_j with
        its initial values over fields, and whether that means they learnt nothing.
    candidates, chosen
        What was trained and validated, and the label of the plan.
    references
        Models without embeddings, on the same rows.
    better_reference
        The one that clearly beats the plan, if there is one.
    beats_equal, splitting
        Whether the plan beats equal dimensions, and whether it matters how dimensions are split.
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
    candidates: tuple[CandidateReport, ...]
    chosen: str | None
    references: tuple[ReferenceReport, ...]
    better_reference: str | None
    beats_equal: Answer
    splitting: Answer

    def to_dict(self) -> dict[str, Any]:
        """Return plain types, for JSON; what is not a number is None."""
        return make_plain(asdict(self))

    @property
    def verdict(self) -> Verdict:
        """Whether the plan beats equal dimensions: yes, no, or cannot tell."""
        return self.beats_equal.verdict

    def __str__(self) -> str:
        answers = [
            paragraph(words)
            for words in (
                _write_answer(
                    "beats_equal", "Does the plan beat equal dimensions?", self.beats_equal
                ),
                _write_answer("splitting", "Does splitting dimensions matter?", self.splitting),
                self._reference_in_words(),
            )
            if words
        ]
        return "\n".join([self._table(), "", *self._facts(), "", *answers])

    def _reference_in_words(self) -> str:
        if self.better_reference is None:
            return ""
        changes = {each.label: each.change for each in self.references}
        return (
            f"A model without embeddings does better here: {self.better_reference}, with a "
            f"validation loss {-100 * changes[self.better_reference]:.1f} % lower than the planned "
            "network's."
        )

    def _table(self) -> str:
        """Return a line per field; columns that would be empty are left out."""
        fields = self.fields
        largest = max(each.share for each in fields) or 1.0
        columns: list[tuple[str, str, list[str]]] = [
            (" levels", ">", [f"{each.levels:,}" for each in fields]),
        ]
        if any(each.dimension and each.table_rows < each.levels for each in fields):
            columns.append(("rows", ">", [f"{each.table_rows:,}" for each in fields]))
        columns.append((" dim", ">", [f"{each.dimension:,}" for each in fields]))
        if any(each.smallest is not None for each in fields):
            ranges = [_write_range(each.smallest, each.largest) for each in fields]
            columns.append(("range", ">", ranges))
        if any(each.effect for each in fields):
            columns.append(("effect", "<", ["yes" if each.effect else "" for each in fields]))
        columns.append((" params", ">", [f"{each.parameters:,}" for each in fields]))
        bars = (" " * _BAR, "<", [bar(each.share / largest, _BAR) for each in fields])
        if any(each.explained is not None for each in fields):
            columns.append(("explains", ">", [_write_percent(each.explained) for each in fields]))
        columns.append(("why", "<", [each.why for each in fields]))
        taken = sum(1 + max(map(len, [head, *cells])) for head, _, cells in columns)
        longest = max(len(each.name) for each in fields)
        width = max(8, min(longest, COLUMNS - taken))
        if width + taken + _BAR < COLUMNS:  # bars are the first that a narrow terminal can miss
            columns.insert(-1, bars)
        names = ("field", "<", [cut_name(each.name, width) for each in fields])
        heads, signs, cells = zip(names, *columns, strict=True)
        return text_table(heads, list(zip(*cells, strict=True)), align="".join(signs), gap=" ")

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
        if self.candidates:
            lines.append("validation loss of what was trained, and of models without embeddings:")
            lines += [
                f"  {each.validation_loss:.5f}{' *' if each.label == self.chosen else '  '} "
                f"{each.label}, {each.parameters:,} parameters, "
                f"{'once' if each.trainings == 1 else f'{each.trainings} trainings'}"
                for each in self.candidates
            ]
            lines += [
                f"  {each.label}: {100 * each.change:+.1f} % against the plan on the same rows"
                for each in self.references
            ]
        return lines


def write_report(
    decision: Decision, *, data: FieldData, limits: Limits, frame: pd.DataFrame
) -> Report:
    """Return the report of what a rule decided for the rows `data` of the user's `frame`."""
    allocation, spectrum, plan = decision.allocation, decision.spectrum, decision.plan
    upper = {**limits.maximum, **limits.fixed}
    everything = sum(upper[name] * field.levels for name, field in plan.fields.items())
    better = find_better_reference(decision)
    return Report(
        allocation_rule=allocation.allocation_rule,
        task=data.task.kind,
        budget=allocation.budget,
        spent=allocation.cost,
        budget_binds=_binds(allocation, limits),
        saturated=tuple(
            name
            for name, field in plan.fields.items()
            if field.dimension >= field.rows - 1 and field.dimension
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
        candidates=tuple(
            CandidateReport(each.label, each.plan.cost, each.loss, each.tries)
            for each in decision.candidates
        ),
        chosen=decision.winner.label if decision.candidates else None,
        references=tuple(
            ReferenceReport(name, float(losses.mean()), _compare_reference(losses, decision))
            for name, losses in decision.references.items()
        ),
        better_reference=better[0] if better else None,
        beats_equal=answer_beats_equal(decision),
        splitting=answer_splitting(decision, pays_for_all=everything <= allocation.budget),
    )


def _compare_reference(losses: Floats, decision: Decision) -> float:
    own = float(decision.winner.losses[0].mean())
    return (float(losses.mean()) - own) / own if own else 0.0


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


def _describe_field(name: str, decision: Decision, limits: Limits, present: int) -> FieldReport:
    allocation, plan = decision.allocation, decision.plan.fields[name]
    effect = decision.effects.fields[name] if decision.effects else None
    low, high = decision.spread[name] if decision.spread else (None, None)
    return FieldReport(
        name=name,
        levels=plan.levels,
        rows=present,
        dimension=plan.dimension,
        table_rows=plan.rows if plan.dimension else 0,
        effect=plan.effect_columns > 0,
        parameters=plan.cost,
        share=plan.cost / allocation.budget if allocation.budget else 0.0,
        smallest=low,
        largest=high,
        explained=effect.explained if effect else None,
        p_value=effect.p_value if effect else None,
        why=_explain(name, decision, limits),
    )


def _explain(name: str, decision: Decision, limits: Limits) -> str:
    plan = decision.plan.fields[name]
    if name in limits.fixed:
        return "fixed by you"
    if not plan.dimension:
        return _explain_missing_table(name, decision, limits)
    if plan.dimension >= plan.rows - 1:
        return "full rank"
    if plan.dimension >= limits.maximum[name]:
        return "at your maximum"
    if plan.dimension <= max(limits.minimum[name], limits.multiple_of):
        return "at the minimum"
    if decision.candidates:
        return "equal"
    return "by the rule"


def _explain_missing_table(name: str, decision: Decision, limits: Limits) -> str:
    """Say why a field has no table; that it has no effect only if a test of it says so."""
    if decision.plan.fields[name].effect_columns:
        return "effect only"
    if name not in limits.droppable:
        return "not affordable"
    effect = decision.effects.fields[name] if decision.effects else None
    if effect is not None and effect.p_value > LARGEST_P_VALUE:
        return f"dropped: no effect (p = {effect.p_value:.2f})"
    return "dropped: did not help"


def _write_answer(key: str, question: str, answer: Answer) -> str:
    text = f"{question} {answer.verdict.capitalize()}: {answer.reason}."
    record = recall(key, answer.verdict)
    if record is None or answer.gain is None:
        return text
    return (
        f"{text} This answer was right in {record[0]} of {record[1]} runs on the tables that the "
        "rule was developed on; elsewhere expect less."
    )


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
