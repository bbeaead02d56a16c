"""The network that judges plans: plain torch, and nothing of the network that planned.

It is built from the fitted object alone: its tables from the torch export, its inputs from
`fit_transform` and `transform`. Numbers are the judge's own: skewed ones as logarithms, scaled.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.stats import skew
from torch import Tensor, nn
from torch.nn import functional

from embedalloc.exporters import to_torch
from embedalloc.result import Allocation
from embedalloc.study.tables.protocol import Judge
from embedalloc.torch_inputs import InputTables

#: A number that is never negative and more skewed than this is read as its logarithm.
LARGEST_SKEWNESS = 2.0
#: Scaled numbers beyond this, up or down, are set to it.
LARGEST_NUMBER = 8.0

Matrix = NDArray[np.float64]


class Inputs(NamedTuple):
    """What a network reads of training and test rows: the plan's columns, numbers, target."""

    planned: tuple[Matrix, Matrix]
    numbers: tuple[Matrix, Matrix]
    target: tuple[Matrix, Matrix]


class Judged(NamedTuple):
    """Loss on the rows that chose the epoch, and on test rows."""

    validation: float
    test: float


class Network(nn.Module):
    """Tables, effects and numbers into hidden layers with dropout."""

    def __init__(
        self, allocation: Allocation, numbers: int, judge: Judge, deviation: float
    ) -> None:
        super().__init__()
        tables = to_torch(allocation)
        assert isinstance(tables, InputTables)  # no plan here has a common width
        self.tables = tables
        for table in self.tables.values():
            nn.init.normal_(table.weight, std=deviation)  # type: ignore[arg-type]
        width = sum(allocation.dimensions.values()) + self.tables.effects + numbers
        layers: list[nn.Module] = []
        for units in judge.hidden:
            layers += [nn.Linear(width, units), nn.ReLU(), nn.Dropout(judge.dropout)]
            width = units
        self.body = nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, planned: Tensor, numbers: Tensor) -> Tensor:
        """Return one output per row."""
        return self.body(torch.cat([self.tables(planned), numbers], dim=1)).squeeze(1)


def judge_plan(
    allocation: Allocation,
    inputs: Inputs,
    judge: Judge,
    *,
    task: str,
    deviation: float,
    seed: int,
) -> Judged:
    """Train the judge's network on the plan and return its losses."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        try:
            return _train(allocation, inputs, judge, task, deviation, seed)
        finally:
            torch.set_num_threads(threads)


def _train(
    allocation: Allocation, inputs: Inputs, judge: Judge, task: str, deviation: float, seed: int
) -> Judged:
    rng = np.random.default_rng(seed)
    network = Network(allocation, inputs.numbers[0].shape[1], judge, deviation)
    optimiser = torch.optim.AdamW(
        network.parameters(),
        lr=judge.learning_rate,
        weight_decay=judge.weight_decay,
        fused=True,  # a third of the time is the optimiser's otherwise
    )
    planned, numbers, target = (
        tuple(torch.tensor(each, dtype=torch.float32) for each in pair) for pair in inputs
    )

    def measure(rows: Tensor, part: int = 0) -> float:
        network.train(False)
        with torch.no_grad():
            outputs = network(planned[part][rows], numbers[part][rows])
            return float(_loss(outputs, target[part][rows], task))

    order = rng.permutation(len(target[0]))
    held_out = max(1, round(judge.validation_share * len(order)))
    validation, training = torch.from_numpy(order[:held_out]), order[held_out:]
    best, best_epoch, kept = np.inf, 0, network.state_dict()
    for epoch in range(judge.epochs):
        network.train()
        shuffled = torch.from_numpy(rng.permutation(training))
        for rows in torch.split(shuffled, judge.batch):
            optimiser.zero_grad()
            _loss(network(planned[0][rows], numbers[0][rows]), target[0][rows], task).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        loss = measure(validation)
        if loss < best:
            best, best_epoch = loss, epoch
            kept = {name: value.clone() for name, value in network.state_dict().items()}
        elif epoch - best_epoch >= judge.patience:
            break
    network.load_state_dict(kept)
    return Judged(best, measure(torch.arange(len(target[1])), part=1))


def _loss(outputs: Tensor, target: Tensor, task: str) -> Tensor:
    if task == "regression":
        return functional.mse_loss(outputs, target)
    return functional.binary_cross_entropy_with_logits(outputs, target)


def read_numbers(known: pd.DataFrame, new: pd.DataFrame) -> tuple[Matrix, Matrix]:
    """Return the numeric columns of training and test rows as the judge reads them."""
    columns = list(known.select_dtypes("number").columns)
    pairs = [_read_number(known[name], new[name]) for name in columns]
    if not pairs:
        return np.zeros((len(known), 0)), np.zeros((len(new), 0))
    return np.stack([a for a, _ in pairs], axis=1), np.stack([b for _, b in pairs], axis=1)


def _read_number(known: "pd.Series[float]", new: "pd.Series[float]") -> tuple[Matrix, Matrix]:
    median = known.median()
    first = np.asarray(known.fillna(median), dtype=np.float64)
    second = np.asarray(new.fillna(median), dtype=np.float64)
    if first.min() >= 0 and float(skew(first)) > LARGEST_SKEWNESS:
        first, second = np.log1p(first), np.log1p(np.maximum(second, 0.0))
    mean, deviation = float(first.mean()), float(first.std()) or 1.0

    def scale(values: Matrix) -> Matrix:
        return np.clip((values - mean) / deviation, -LARGEST_NUMBER, LARGEST_NUMBER)

    return scale(first), scale(second)


def encode_target(
    known: NDArray[np.generic], new: NDArray[np.generic], task: str
) -> tuple[Matrix, Matrix]:
    """Return the targets as numbers, those of a regression scaled by the training rows."""
    first, second = known.astype(np.float64), new.astype(np.float64)
    if task != "regression":
        return first, second
    mean, deviation = first.mean(), first.std()
    return (first - mean) / deviation, (second - mean) / deviation
