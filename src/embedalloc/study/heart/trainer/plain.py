"""The network of `network` as a user of torch writes it: second witness and peer.

`train_plain` takes the same weights, row orders and dropout masks as `network.train`
and must come to the same result; `seconds_per_epoch` times the loop that one finds in tutorials.
"""

import math
import statistics
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from embedalloc.arrays import Floats
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Plan,
    Rows,
    TrainingSettings,
    initial_weights,
    split_weights,
)


class PlainNetwork(nn.Module):
    """Embeddings or one-hot inputs beside the numeric ones, two hidden layers, one logit.

    Parameters
    ----------
    shape
        Sizes of the network.
    weights
        Flat weight vector in the order of `embedalloc.study.heart.trainer.network.split_weights`.
    dropout
        Probability of `nn.Dropout` in training mode; leave it at 0 where masks are given.
    dtype
        Type of the parameters.
    """

    def __init__(
        self,
        shape: NetworkShape,
        weights: Floats,
        *,
        dropout: float = 0.0,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        self.cardinalities = shape.cardinalities
        self.one_hot = shape.dimensions is None
        self.used = [j for j, columns in enumerate(shape.columns) if columns > 0]
        first, second = shape.hidden
        self.embeddings = nn.ModuleList(
            nn.Embedding(n, d)
            for n, d in zip(shape.cardinalities, shape.dimensions or (), strict=not self.one_hot)
            if d > 0
        )
        self.first = nn.Linear(shape.inputs, first)
        self.second = nn.Linear(first, second)
        self.last = nn.Linear(second, 1)
        self.dropout = nn.Dropout(dropout)
        self.to(dtype)
        self._set_weights(shape, weights)

    def _set_weights(self, shape: NetworkShape, weights: Floats) -> None:
        tables, layers = split_weights(shape, weights)
        inputs = np.concatenate([layers.fields, layers.numeric])
        values = [*(table for table in tables if table.size), inputs.T, layers.first_bias]
        values += [layers.second, layers.second_bias, layers.last[None], layers.last_bias]
        with torch.no_grad():
            for parameter, value in zip(self.parameters(), values, strict=True):
                parameter.copy_(torch.tensor(value))

    def forward(
        self, codes: Tensor, numbers: Tensor, kept: tuple[Tensor, Tensor] | None = None
    ) -> Tensor:
        """Return the logits; given masks hold 1 / (1 - dropout) for kept units, 0 for others."""
        if self.one_hot:
            parts = [
                nn.functional.one_hot(codes[:, j], n).to(numbers.dtype)
                for j, n in enumerate(self.cardinalities)
            ]
        else:
            parts = [
                table(codes[:, j]) for j, table in zip(self.used, self.embeddings, strict=True)
            ]
        hidden = torch.relu(self.first(torch.cat([*parts, numbers], dim=1)))
        hidden = self.dropout(hidden) if kept is None else hidden * kept[0]
        hidden = torch.relu(self.second(hidden))
        hidden = self.dropout(hidden) if kept is None else hidden * kept[1]
        logits: Tensor = self.last(hidden)
        return logits.squeeze(1)


@dataclass(frozen=True)
class PlainTraining:
    """What `network.TrainedNetwork` holds, with a torch module for the weights."""

    model: PlainNetwork
    best_epoch: int
    epochs_run: int
    validation_logloss: Floats
    validation_error: Floats

    def predict(self, rows: Rows) -> Floats:
        """Return the probability of label 1 for each row, without dropout."""
        codes, numbers, _ = tensors(rows, torch.float64)
        with torch.no_grad():
            probabilities: Floats = torch.sigmoid(self.model(codes, numbers)).numpy()
        return probabilities


def train_plain(
    shape: NetworkShape,
    weights: Floats,
    plan: Plan,
    training: Rows,
    validation: Rows,
    settings: TrainingSettings | None = None,
) -> PlainTraining:
    """Train a `PlainNetwork` in float64 by autograd and `torch.optim.Adam`.

    Arguments and result mean the same as those of `embedalloc.study.heart.trainer.network.train`.
    """
    settings = settings or TrainingSettings()
    model = PlainNetwork(shape, weights)
    adam = adam_for(model, settings)
    loss = nn.BCEWithLogitsLoss()
    codes, numbers, labels = tensors(training, torch.float64)
    held_codes, held_numbers, held_labels = tensors(validation, torch.float64)
    scale = 1 / (1 - plan.dropout)
    best, best_epoch, best_state = math.inf, 0, _copy_of_state(model)
    history = []
    for epoch in range(settings.epochs):
        order = torch.tensor(plan.orders[epoch])
        for start in range(0, len(order), settings.batch):
            batch = slice(start, start + settings.batch)
            rows = order[batch]
            kept = (
                torch.tensor(scale * plan.kept_first[epoch, batch]),
                torch.tensor(scale * plan.kept_second[epoch, batch]),
            )
            adam.zero_grad()
            loss(model(codes[rows], numbers[rows], kept), labels[rows]).backward()
            adam.step()
        with torch.no_grad():
            logits = model(held_codes, held_numbers)
        wrong = (logits > 0) != (held_labels > 0.5)
        history.append((loss(logits, held_labels).item(), wrong.double().mean().item()))
        value = history[-1][settings.watch == "error"]
        if value < best:
            best, best_epoch, best_state = value, epoch + 1, _copy_of_state(model)
        elif epoch + 1 - best_epoch >= settings.patience:
            break
    if settings.restore_best:
        model.load_state_dict(best_state)
    logloss, error = np.array(history).T
    return PlainTraining(model, best_epoch, len(history), logloss, error)


class EpochSeconds(NamedTuple):
    """Seconds per epoch on the wall clock and of the CPU."""

    wall: float
    cpu: float


def seconds_per_epoch(
    shape: NetworkShape,
    rows: Rows,
    *,
    settings: TrainingSettings,
    epochs: int,
    rng: np.random.Generator,
) -> EpochSeconds:
    """Time the loop of the tutorials: float32, `nn.Dropout` and a shuffling `DataLoader`.

    One epoch of warm-up is left out; the medians over the other `epochs` epochs are returned. An
    epoch is one pass over the training rows, without any validation. Torch runs on one thread.
    """
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs}")
    weights, seed = initial_weights(shape, rng), int(rng.integers(2**63))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            times = _epoch_times(shape, weights, rows, settings, epochs + 1)
    finally:
        torch.set_num_threads(threads)
    wall, cpu = zip(*times[1:], strict=True)
    return EpochSeconds(statistics.median(wall), statistics.median(cpu))


def _epoch_times(
    shape: NetworkShape, weights: Floats, rows: Rows, settings: TrainingSettings, epochs: int
) -> list[EpochSeconds]:
    model = PlainNetwork(shape, weights, dropout=settings.dropout, dtype=torch.float32)
    adam = adam_for(model, settings)
    loss = nn.BCEWithLogitsLoss()
    data = TensorDataset(*tensors(rows, torch.float32))
    loader = DataLoader(data, batch_size=settings.batch, shuffle=True)
    times = []
    for _ in range(epochs):
        wall, cpu = time.perf_counter(), time.process_time()
        for codes, numbers, labels in loader:
            adam.zero_grad()
            loss(model(codes, numbers), labels).backward()
            adam.step()
        times.append(EpochSeconds(time.perf_counter() - wall, time.process_time() - cpu))
    return times


def adam_for(model: PlainNetwork, settings: TrainingSettings) -> torch.optim.Adam:
    """Return Adam for all parameters of a model."""
    return torch.optim.Adam(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )


def _copy_of_state(model: PlainNetwork) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def tensors(rows: Rows, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return codes, numbers and labels as tensors; labels that are missing count as 0."""
    labels = np.zeros(len(rows.codes)) if rows.labels is None else rows.labels
    return (
        torch.tensor(rows.codes),
        torch.tensor(rows.numbers, dtype=dtype),
        torch.tensor(labels, dtype=dtype),
    )
