"""Allocation rules that read data: each proposes dimensions from pilots or by validation.

A rule first gathers evidence, which costs training and does not depend on the budget, and then
decides for a budget. Rules that need cardinalities only are those of `embedalloc.allocate`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from embedalloc.data.case import DataCase
from embedalloc.data.decision import Decision
from embedalloc.data.response import decide_response_aware, gather_response
from embedalloc.data.screened import decide_screened, gather_screening
from embedalloc.data.spectral import decide_by_spectra, gather_spectra
from embedalloc.rule_catalogue import RULE_DESCRIPTIONS


@dataclass(frozen=True)
class DataRule:
    """A rule by its two halves: what it measures, and how it decides for a budget."""

    gather: Callable[[DataCase], Any]
    decide: Callable[[DataCase, Any, int], Decision]


#: Rules that read data, by name.
DATA_RULES: Mapping[str, DataRule] = {
    "screened": DataRule(gather_screening, decide_screened),
    "paper": DataRule(
        partial(gather_spectra, weighted=False), partial(decide_by_spectra, name="paper")
    ),
    "frequency_weighted": DataRule(
        partial(gather_spectra, weighted=True),
        partial(decide_by_spectra, name="frequency_weighted"),
    ),
    "response_aware": DataRule(gather_response, decide_response_aware),
}


def rule_names() -> tuple[str, ...]:
    """Return every rule that `data_rule` knows, the recommended one first."""
    plain = [each.name for each in RULE_DESCRIPTIONS if each.needs == "cardinalities"]
    return (*DATA_RULES, *plain)


def data_rule(name: str) -> DataRule:
    """Return a rule by name; cardinality rules gather nothing."""
    if name in DATA_RULES:
        return DATA_RULES[name]
    if name not in rule_names():
        raise ValueError(f"unknown allocation rule {name!r}; there are {', '.join(rule_names())}")
    return DataRule(
        lambda case: None,
        lambda case, _, budget: Decision(case.allocate(name, budget)),
    )
