"""Embedding dimensions for categorical fields under a parameter budget.

Names are loaded on first use, so that one part neither pays for the others nor depends on them.
Public are these names and those of `embedalloc.audit`; all else may change with any version.

The core reads best in this order: `problem`, `greedy`, `allocation` (the paper's rule),
`proportional` (its rivals), `optimum` with `multiple_choice` and `choice_search`, `result`, `rules`
(all by name) and `from_cardinalities`; then `spectra`, `response`, `budgets`, `from_model`,
`frontier`, `model_frontier`, `exportable`, `allocation_json`, `exporters` and `programs`. `arrays`,
`checks`, `extras`, `intervals`, `memory`, `streams`, `text` and `weight_files` serve them and the
other rooms.
"""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embedalloc.allocation_json import from_json as from_json
    from embedalloc.allocation_json import to_json as to_json
    from embedalloc.data.counts_file import read_counts as read_counts
    from embedalloc.data.estimator import EmbeddingAllocator as EmbeddingAllocator
    from embedalloc.data.frontier import measure_frontier as measure_frontier
    from embedalloc.data.streaming import LevelCounts as LevelCounts
    from embedalloc.data.streaming import count_levels as count_levels
    from embedalloc.data.user_file import read_rows as read_rows
    from embedalloc.data.validation import hold_out_some as hold_out_some
    from embedalloc.exporters import effect_columns as effect_columns
    from embedalloc.exporters import module_key as module_key
    from embedalloc.exporters import to_fastai as to_fastai
    from embedalloc.exporters import to_keras as to_keras
    from embedalloc.exporters import to_projections as to_projections
    from embedalloc.exporters import to_pytorch_tabular as to_pytorch_tabular
    from embedalloc.exporters import to_pytorch_widedeep as to_pytorch_widedeep
    from embedalloc.exporters import to_torch as to_torch
    from embedalloc.exporters import to_torchrec as to_torchrec
    from embedalloc.from_cardinalities import allocate as allocate
    from embedalloc.from_cardinalities import optimal_dimensions as optimal_dimensions
    from embedalloc.from_model import allocate_from_model as allocate_from_model
    from embedalloc.frontier import Frontier as Frontier
    from embedalloc.memory import parse_budget as parse_budget
    from embedalloc.memory_plan.menus import TableChoice as TableChoice
    from embedalloc.memory_plan.plan import plan_memory as plan_memory
    from embedalloc.memory_plan.result import MemoryPlan as MemoryPlan
    from embedalloc.memory_plan.result import PlannedTable as PlannedTable
    from embedalloc.model_frontier import frontier_from_model as frontier_from_model
    from embedalloc.model_frontier import model_spectra as model_spectra
    from embedalloc.problem import BudgetError as BudgetError
    from embedalloc.result import Allocation as Allocation

#: The module where each name lives.
_HOMES = {
    "Allocation": "result",
    "LevelCounts": "data.streaming",
    "MemoryPlan": "memory_plan.result",
    "PlannedTable": "memory_plan.result",
    "TableChoice": "memory_plan.menus",
    "count_levels": "data.streaming",
    "hold_out_some": "data.validation",
    "parse_budget": "memory",
    "plan_memory": "memory_plan.plan",
    "read_counts": "data.counts_file",
    "read_rows": "data.user_file",
    "EmbeddingAllocator": "data.estimator",
    "Frontier": "frontier",
    "measure_frontier": "data.frontier",
    "frontier_from_model": "model_frontier",
    "model_spectra": "model_frontier",
    "effect_columns": "exporters",
    "from_json": "allocation_json",
    "module_key": "exporters",
    "to_fastai": "exporters",
    "to_json": "allocation_json",
    "to_keras": "exporters",
    "to_projections": "exporters",
    "to_pytorch_tabular": "exporters",
    "to_pytorch_widedeep": "exporters",
    "to_torch": "exporters",
    "to_torchrec": "exporters",
    "allocate": "from_cardinalities",
    "allocate_from_model": "from_model",
    "optimal_dimensions": "from_cardinalities",
    "BudgetError": "problem",
}

__all__ = sorted(_HOMES)

try:
    __version__ = version("embedalloc")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'embedalloc' has no attribute {name!r}")
    from embedalloc.extras import needed_for  # here, so that the package alone loads nothing

    with needed_for(name):
        return getattr(importlib.import_module(f"embedalloc.{_HOMES[name]}"), name)
