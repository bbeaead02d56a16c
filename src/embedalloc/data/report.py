"""What was decided for a table, why, and whether it matters."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.data.auto_budget import BudgetSearch, BudgetTry
from embedalloc.data.case import Limits
from embedalloc.data.decision import Decision
from embedalloc.data.page import write_fragment
from embedalloc.data.plan import Plan
from embedalloc.data.planned import compare
from embedalloc.data.report_text import list_answers, write_text
from embedalloc.data.table import FieldData, TaskKind
from embedalloc.data.verdict import (
    Answer,
    Verdict,
    answer_beats_equal,
    answer_splitting,
    find_better_reference,
)
from embedalloc.result import Allocation
from embedalloc.text import cut_name

#: A field has "no effect" only if a test of its effect has at least this p-value.
LARGEST_P_VALUE = 0.05


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
    worth
        By what share the validation loss of a linear model rises if it is not told the field
        (see `embedalloc.data.worth`); None if not measured.
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
    worth: float | None
    p_value: float | None
    why: str


@dataclass(frozen=True)
class CandidateReport:
    """One plan that was trained; the loss is the mean over its trainings.

    `change` is its loss against that of the first plan, equal dimensions where they can be paid,
    over the trainings that both had, as a share.
    """

    label: str
    description: str
    parameters: int
    validation_loss: float
    trainings: int
    change: float


@dataclass(frozen=True)
class ReferenceReport:
    """A model without embeddings, on the validation rows of the first training.

    `change` is its loss against that of the first plan on the same rows, as a share.
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
    better_reference, better_reference_lead
        The one that clearly beats the plan, if there is one, and by what share of its loss.
    beats_equal, splitting
        Whether the plan beats equal dimensions, and whether it matters how dimensions are split.
    budgets
        Budgets that were tried, where the budget was searched.
    rounds_left_out
        Rounds of trainings for which there was no time.
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
    better_reference_lead: float | None
    beats_equal: Answer
    splitting: Answer
    budgets: tuple[BudgetTry, ...] = ()
    rounds_left_out: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return plain types, for JSON; what is not a number is None."""
        return make_plain(asdict(self))

    @property
    def verdict(self) -> Verdict:
        """Whether the plan beats equal dimensions: yes, no, or cannot tell."""
        return self.beats_equal.verdict

    @property
    def conclusions(self) -> str:
        """The verdicts alone, for reading."""
        return "\n".join(list_answers(self))

    def __str__(self) -> str:
        return write_text(self)

    def _repr_html_(self) -> str:
        """Return the report for a notebook."""
        return write_fragment(self)


def write_report(
    decision: Decision,
    *,
    data: FieldData,
    limits: Limits,
    frame: pd.DataFrame,
    search: BudgetSearch | None = None,
    worth: Mapping[str, float] | None = None,
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
            _describe_field(
                name,
                decision,
                limits,
                present=int(frame[name].notna().sum()),
                worth=(worth or {}).get(name),
            )
            for name in allocation.dimensions
        ),
        rows=len(frame),
        rows_used=len(data),
        spectrum_ratio=spectrum.median_ratio if spectrum else None,
        spectrum_correlation=spectrum.correlation if spectrum else None,
        spectrum_is_initialisation=spectrum.is_initialisation if spectrum else None,
        candidates=tuple(
            CandidateReport(
                each.label,
                describe_plan(each.plan, limits),
                each.plan.cost,
                each.loss,
                each.tries,
                compare(each, decision.candidates[0]).mean / (decision.candidates[0].loss or 1.0),
            )
            for each in decision.candidates
        ),
        chosen=decision.winner.label if decision.candidates else None,
        references=tuple(
            ReferenceReport(name, float(losses.mean()), _compare_reference(losses, decision))
            for name, losses in decision.references.items()
        ),
        better_reference=better[0] if better else None,
        better_reference_lead=better[1] if better else None,
        beats_equal=answer_beats_equal(decision),
        splitting=answer_splitting(decision, pays_for_all=everything <= allocation.budget),
        budgets=search.tries if search else (),
        rounds_left_out=decision.rounds_left_out,
    )


def _compare_reference(losses: Floats, decision: Decision) -> float:
    first = float(decision.candidates[0].losses[0].mean())
    return (float(losses.mean()) - first) / (first or 1.0)


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


def _describe_field(
    name: str, decision: Decision, limits: Limits, *, present: int, worth: float | None
) -> FieldReport:
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
        worth=worth,
        p_value=effect.p_value if effect else None,
        why=_explain(name, decision, limits),
    )


def _explain(name: str, decision: Decision, limits: Limits) -> str:
    """Say in a phrase what was decided for a field."""
    plan = decision.plan.fields[name]
    if name in limits.fixed:
        return "fixed by you"
    if not plan.dimension:
        return _explain_missing_table(name, decision, limits)
    if plan.dimension >= plan.rows - 1:
        return "full: more cannot help"
    if plan.dimension >= limits.maximum[name]:
        return "at your maximum"
    if plan.dimension <= max(limits.minimum[name], limits.multiple_of):
        return "at the minimum"
    if name in find_larger(decision.plan, limits)[1]:
        return "more: the rest of the budget"
    if decision.candidates:
        return "what the budget pays"
    return "by the rule"


def _explain_missing_table(name: str, decision: Decision, limits: Limits) -> str:
    """Say why a field has no table; that it has no effect only if a test of it says so."""
    if decision.plan.fields[name].effect_columns:
        return "effect only"
    if name not in limits.droppable:
        return "not affordable"
    effect = decision.effects.fields[name] if decision.effects else None
    if effect is not None and effect.p_value > LARGEST_P_VALUE:
        return f"left out: no effect (p = {effect.p_value:.2f})"
    return "left out: did not help"


def find_larger(plan: Plan, limits: Limits) -> tuple[int, tuple[str, ...]]:
    """Return what equal dimensions are, and the fields with more from the rest of the budget."""
    if plan.label != "equal":
        return 0, ()
    free = {name: d for name, d in plan.dimensions.items() if name not in limits.fixed}
    step = limits.multiple_of
    able = [d for name, d in free.items() if d + step <= limits.maximum[name]]
    if not able:
        return 0, ()  # every field is at its limit
    least = min(able)
    return least, tuple(name for name, d in free.items() if d > max(least, limits.smallest(name)))


def describe_plan(plan: Plan, limits: Limits) -> str:
    """Return what a plan does, by the names of the fields."""
    least, larger = find_larger(plan, limits)
    words = []
    if plan.label == "equal":
        words.append("equal dimensions for all levels")
    if larger:
        words.append(f"{least} each, and the rest of the budget for {_list_fields(larger)}")
    if plan.label == "split":
        words.append("dimensions by what each field explains")
    for what, names in (
        ("without", plan.dropped),
        ("rare levels pooled in", plan.pooled),
        ("effects of", plan.effects),
    ):
        if names:
            words.append(f"{what} {_list_fields(names)}")
    return "; ".join(words) or plan.label


def _list_fields(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(cut_name(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def make_plain(value: Any) -> Any:
    """Return lists for tuples and None for what is not a finite number, all the way down."""
    if isinstance(value, dict):
        return {key: make_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [make_plain(each) for each in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
