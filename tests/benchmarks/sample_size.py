"""Experiments 1 and 2 over the number of observations: ours should not notice it."""

from collections.abc import Mapping
from typing import Any

from tests.benchmarks.experiments import EXPERIMENTS, comparison, settings_of
from tests.benchmarks.measure import Case


def cases(cell: Mapping[str, Any]) -> list[Case]:
    """Return one comparison with the literal version for each sample size."""
    return [
        comparison(name, settings_of(name, cell), observations, cell, peers=("literal",))
        for name in EXPERIMENTS
        for observations in cell["observations"]
    ]
