"""How our own cost grows with rows, levels, fields and budgets; the other three stay the first."""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.data.effects import fit_effects
from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.data.streaming import count_levels
from embedalloc.streams import stream
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    compile_kernel,
    draw_schedule,
    draw_weights,
)
from embedalloc.study.settings.benchmarks import Growth
from tests.benchmarks.effects import draw
from tests.benchmarks.measure import OURS, Case, Contestant, DisagreementError
from tests.benchmarks.networks import Task, train_ours
from tests.benchmarks.summary import AXES, GROWING
from tests.oracles.heart_like import training_with


class Size(NamedTuple):
    """Of a table, and the parameters of its embeddings."""

    rows: int
    levels: int
    fields: int
    budgets: int


def cases(cell: Growth) -> list[Case]:
    """Return every work over everything that it depends on."""
    compile_kernel()
    first = Size(*(getattr(cell, axis)[0] for axis in AXES))
    return [
        _case(work, axis, first._replace(**{axis: value}))
        for work in GROWING
        for axis in AXES
        if axis != "budgets" or work in ("plan", "training")  # the others have none
        for value in getattr(cell, axis)
    ]


def _case(work: str, axis: str, size: Size) -> Case:
    prepared: dict[str, Callable[[Size], Callable[[], Any]]] = {
        "plan": prepare_plan,
        "effects": prepare_effects,
        "counts": prepare_counts,
        "training": prepare_training,
    }
    contestant = Contestant(OURS, prepared[work](size))
    return Case(f"{work}, by {axis}", getattr(size, axis), [contestant], partial(agree, work, size))


def prepare_plan(size: Size) -> Callable[[], int]:
    """Return a function that plans, and returns what its tables cost."""
    data = draw(size.rows, size.fields, size.levels)
    frame = pd.DataFrame({name: pd.Categorical(codes) for name, codes in data.codes.items()})

    def plan() -> int:
        allocator = EmbeddingAllocator(size.budgets, random_state=0).fit(frame, data.target)
        return sum(each["rows"] * each["dimension"] for each in allocator.tables_.values())

    return plan


def prepare_effects(size: Size) -> Callable[[], int]:
    """Return a function that fits effects, and returns how many."""
    data = draw(size.rows, size.fields, size.levels)
    return lambda: sum(len(each.values) for each in fit_effects(data).fields.values())


def prepare_counts(size: Size) -> Callable[[], int]:
    """Return a function that counts levels in a file, and returns the sum of the counts."""
    data = draw(size.rows, size.fields, size.levels)
    file = tempfile.NamedTemporaryFile(suffix=".parquet")  # noqa: SIM115 (lives with the function)
    pd.DataFrame(data.codes).to_parquet(file.name)
    return lambda: sum(int(each.sum()) for each in count_levels(file.name).counts.values())


def prepare_training(size: Size) -> Callable[[], Floats]:
    """Return a function that trains the study's network for an epoch."""
    rng = stream(1, "benchmark", "growth")
    dimension = max(1, size.budgets // (size.levels * size.fields))
    shape = NetworkShape((size.levels,) * size.fields, (dimension,) * size.fields, 1)
    data = draw(size.rows, size.fields, size.levels)
    rows = Rows(
        np.stack(list(data.codes.values()), axis=1),
        rng.normal(size=(size.rows, 1)),
        (data.target > 0).astype(np.int64),
    )
    settings = training_with(epochs=1, patience=1)
    few = Rows(rows.codes[:100], rows.numbers[:100], rows.labels[:100])
    task = Task(shape, draw_weights(shape, rng), rows, few, settings)
    schedule = draw_schedule(rng, size.rows, 1, shape.hidden, settings.dropout)
    return lambda: train_ours(task, schedule)


def agree(work: str, size: Size, results: Mapping[str, Any]) -> None:
    """Refuse what cannot be: plans beyond their budget, lost levels or rows, no probabilities."""
    found = results[OURS]
    right: dict[str, Callable[[], bool]] = {
        "plan": lambda: 0 <= found <= size.budgets,
        "effects": lambda: found == size.levels * size.fields,
        "counts": lambda: found == size.rows * size.fields,
        "training": lambda: bool(((found > 0) & (found < 1)).all()),
    }
    if not right[work]():
        raise DisagreementError(f"{work} of {size}: {found}")
