"""A whole plan from a table beside one epoch of a plain torch loop and a fit of boosted trees.

The peers do other work, so only what can be equal is checked: the plan keeps its budget and is the
same in every turn, and the network of the torch loop has the tables of the equal rule at that
budget. Its layers are those that the planner trains.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from torch import nn

from embedalloc.arrays import Floats
from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.data.network import HIDDEN, LEARNING_RATE
from embedalloc.from_cardinalities import allocate
from embedalloc.streams import stream
from embedalloc.study.settings.benchmarks import Planner
from tests.benchmarks.measure import OURS, Case, Contestant, DisagreementError

EPOCH, TREES = "torch epoch", "boosted trees"
#: Rows of a batch of the torch loop.
BATCH = 1024
FEW = 4000
Table = tuple[pd.DataFrame, Any]


def cases(cell: Planner) -> list[Case]:
    """Return one comparison for each number of rows."""
    return [_case(rows, cell) for rows in cell.rows]


def _case(rows: int, cell: Planner) -> Case:
    table = draw(rows, cell.levels)
    seen: list[Any] = []

    def agree(results: Mapping[str, Any]) -> None:
        plan, parameters = results[OURS], results[EPOCH]
        spent = sum(each["rows"] * each["dimension"] for each in plan.values())
        if not 0 < spent <= cell.budget or not 0 < parameters <= cell.budget:
            raise DisagreementError(f"{spent} and {parameters} parameters of {cell.budget}")
        seen.append(plan)
        if seen[0] != plan:
            raise DisagreementError("two turns came to different plans")

    # First with few rows, so that imports and the libraries' own pages count for nobody.
    small = draw(FEW, cell.levels)
    contestants = [
        Contestant(
            OURS, lambda: plan(table, cell.budget), prepare=lambda: plan(small, cell.budget)
        ),
        Contestant(
            EPOCH,
            lambda: torch_epoch(table, cell.budget),
            prepare=lambda: torch_epoch(small, cell.budget),
        ),
        Contestant(
            TREES,
            lambda: boosted_trees(table),
            finish=lambda _: None,
            prepare=lambda: boosted_trees(small),
        ),
    ]
    return Case("plan", rows, contestants, agree)


def draw(rows: int, levels: tuple[int, ...]) -> Table:
    """Draw fields whose levels have effects, one whose levels have none, a number and a class."""
    rng = stream(1, "benchmark", "planner", rows)
    score, columns = rng.logistic(size=rows), {}
    for j, count in enumerate(levels):
        codes = rng.integers(count, size=rows)
        score += rng.normal(size=count)[codes]
        columns[f"signal{j}"] = pd.Categorical(codes)
    columns["noise"] = pd.Categorical(rng.integers(50, size=rows))
    number = rng.normal(size=rows)
    return pd.DataFrame({**columns, "number": number}), (score + number > 0).astype(np.int64)


def plan(table: Table, budget: int) -> Mapping[str, Any]:
    """Return the tables that our planner gives."""
    frame, target = table
    allocator = EmbeddingAllocator(budget, numeric=["number"], random_state=0)
    tables: Mapping[str, Any] = allocator.fit(frame, target).tables_
    return tables


def torch_epoch(table: Table, budget: int) -> int:
    """Train for one epoch by slices of tensors; return the parameters of the embeddings."""
    frame, target = table
    fields = [str(name) for name in frame if name != "number"]
    sizes = {name: len(frame[name].cat.categories) for name in fields}
    dimensions = allocate(sizes, budget=budget).dimensions
    codes = torch.tensor(np.stack([frame[name].cat.codes for name in fields], axis=1)).long()
    numbers = torch.tensor(frame[["number"]].to_numpy(), dtype=torch.float32)
    labels = torch.tensor(target, dtype=torch.float32)
    embeddings = nn.ModuleList(nn.Embedding(sizes[name], dimensions[name]) for name in fields)
    first, second = HIDDEN
    layers = nn.Sequential(
        nn.Linear(sum(dimensions.values()) + 1, first), nn.ReLU(),
        nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 1),
    )  # fmt: skip
    adam = torch.optim.Adam([*embeddings.parameters(), *layers.parameters()], lr=LEARNING_RATE)
    loss = nn.BCEWithLogitsLoss()
    for rows in torch.split(torch.randperm(len(labels)), BATCH):
        parts = [each(codes[rows, j]) for j, each in enumerate(embeddings)]
        logits = layers(torch.cat([*parts, numbers[rows]], dim=1)).squeeze(1)
        adam.zero_grad()
        loss(logits, labels[rows]).backward()
        adam.step()
    return sum(each.numel() for each in embeddings.parameters())


def boosted_trees(table: Table) -> Floats:
    """Fit scikit-learn's trees to the codes, which may be too many for its categories."""
    frame, target = table
    fields = [str(name) for name in frame if name != "number"]
    inputs = frame.assign(**{name: frame[name].cat.codes for name in fields}).to_numpy(float)
    fitted: Floats = HistGradientBoostingClassifier(random_state=0).fit(inputs, target).classes_
    return fitted
