"""All benchmarks by name."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from embedalloc.study.settings.benchmarks import (
    Decomposition,
    Dimensions,
    Effects,
    Growth,
    Networks,
    Planner,
    TableSet,
)
from embedalloc.study.settings.common import Settings
from tests.benchmarks import (
    decomposition,
    dimensions,
    effects,
    experiments,
    growth,
    networks,
    planner,
    refits,
    table_set,
    whole_workflow,
)
from tests.benchmarks.cells import ExperimentsCell, RefitsCell, WorkflowCell
from tests.benchmarks.measure import Case, measure

#: The settings that each takes, and its comparisons.
CASES: Mapping[str, tuple[type[Settings], Callable[[Any], list[Case]]]] = {
    "experiments": (ExperimentsCell, experiments.cases),
    "sample_size": (ExperimentsCell, experiments.cases_by_sample_size),
    "decomposition": (Decomposition, decomposition.cases),
    "refits": (RefitsCell, refits.cases),
    "networks": (Networks, networks.cases),
    "dimensions": (Dimensions, dimensions.cases),
    "table_set": (TableSet, table_set.cases),
    "effects": (Effects, effects.cases),
    "planner": (Planner, planner.cases),
    "growth": (Growth, growth.cases),
}


def run(work: str, settings: dict[str, Any], repetitions: int) -> pd.DataFrame:
    """Return the measurements of one benchmark; differing results raise an error.

    Everyone computes with one thread: Snakemake tells a job that has all cores to use them, and
    threads that wait for each other burn CPU time.
    """
    if work == "workflow":
        return whole_workflow.measurements(WorkflowCell.model_validate(settings))
    kind, cases = CASES[work]
    torch.set_num_threads(1)
    with threadpool_limits(limits=1):
        return measure(work, cases(kind.model_validate(settings)), repetitions)
