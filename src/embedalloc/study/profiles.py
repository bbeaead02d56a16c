"""Errors over the embedding dimension, replication by replication (Experiments 1 and 2)."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.streams import stream
from embedalloc.study.settings.common import ReplicatedCell

#: Replications computed together: few enough for the cache; changes no number.
STACK = 10


def simulate_profiles(
    cell: ReplicatedCell[Any],
    experiment: str,
    condition: tuple[str, str | int],
    compute: Callable[[list[np.random.Generator]], Mapping[str, Floats]],
) -> pd.DataFrame:
    """Return one row per replication of the cell and dimension d = 1 … r.

    Parameters
    ----------
    cell
        Says which replications.
    experiment, condition
        What names the random streams: the experiment, and the column and value that all rows
        share.
    compute
        Draws one replication per generator and returns errors by name, shape (replications, r).
    """
    column, value = condition
    stacks = []
    for start in range(cell.first, cell.last, STACK):
        replications = range(start, min(start + STACK, cell.last))
        stacks.append(compute([stream(cell.seed, experiment, value, r) for r in replications]))
    errors = {name: np.concatenate([stack[name] for stack in stacks]) for name in stacks[0]}
    count, rank = next(iter(errors.values())).shape
    return pd.DataFrame(
        {
            column: value,
            "replication": np.repeat(np.arange(cell.first, cell.last), rank),
            "dimension": np.tile(np.arange(1, rank + 1), count),
            **{name: values.reshape(-1) for name, values in errors.items()},
        }
    )
