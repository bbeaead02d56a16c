"""All benchmarks by name."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
import torch
from threadpoolctl import threadpool_limits

from tests.benchmarks import (
    decomposition,
    dimensions,
    experiments,
    networks,
    refits,
    table_set,
    whole_workflow,
)
from tests.benchmarks.measure import Case, measure

CASES: Mapping[str, Callable[[Mapping[str, Any]], list[Case]]] = {
    "experiments": experiments.cases,
    "sample_size": experiments.cases_by_sample_size,
    "decomposition": decomposition.cases,
    "refits": refits.cases,
    "networks": networks.cases,
    "dimensions": dimensions.cases,
    "table_set": table_set.cases,
}


def run(work: str, settings: Mapping[str, Any], repetitions: int) -> pd.DataFrame:
    """Return the measurements of one benchmark; differing results raise an error.

    Everyone computes with one thread: Snakemake tells a job that has all cores to use them, and
    threads that wait for each other burn CPU time.
    """
    if work == "workflow":
        return whole_workflow.measurements(settings, settings["repetitions"])
    torch.set_num_threads(1)
    with threadpool_limits(limits=1):
        return measure(work, CASES[work](settings), repetitions)
