"""Embedding dimensions for categorical predictors under a parameter budget.

Names are loaded on first use, so that importing one part neither pays for the others nor
depends on them.
"""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embedalloc.allocation import Allocation, continuous_dimensions, integer_dimensions
    from embedalloc.budget import BudgetSelection, select_budget, select_budget_by_holdout
    from embedalloc.heuristics import ALLOCATION_RULES, allocation_rule
    from embedalloc.optimum import optimal_dimensions
    from embedalloc.problem import BudgetError
    from embedalloc.spectra import (
        fit_coefficient,
        goodness_of_fit,
        singular_values,
        spectral_tails,
    )

_HOMES = {
    "ALLOCATION_RULES": "heuristics",
    "Allocation": "allocation",
    "BudgetError": "problem",
    "BudgetSelection": "budget",
    "allocation_rule": "heuristics",
    "continuous_dimensions": "allocation",
    "fit_coefficient": "spectra",
    "goodness_of_fit": "spectra",
    "integer_dimensions": "allocation",
    "optimal_dimensions": "optimum",
    "select_budget": "budget",
    "select_budget_by_holdout": "budget",
    "singular_values": "spectra",
    "spectral_tails": "spectra",
}

try:
    __version__ = version("embedalloc")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "ALLOCATION_RULES",
    "Allocation",
    "BudgetError",
    "BudgetSelection",
    "allocation_rule",
    "continuous_dimensions",
    "fit_coefficient",
    "goodness_of_fit",
    "integer_dimensions",
    "optimal_dimensions",
    "select_budget",
    "select_budget_by_holdout",
    "singular_values",
    "spectral_tails",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'embedalloc' has no attribute {name!r}")
    return getattr(importlib.import_module(f"embedalloc.{_HOMES[name]}"), name)
