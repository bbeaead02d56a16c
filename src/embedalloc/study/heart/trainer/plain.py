"""The network of `network` as a user of torch writes it, and the time that its loop takes."""

import time
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from embedalloc.arrays import Floats
from embedalloc.streams import stream
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    draw_weights,
    split_weights,
)
from embedalloc.study.settings.heart import Training


class PlainNetwork(nn.Module):
    """Embeddings or one-hot inputs beside the numeric ones, two hidden layers, one logit.

    Parameters
    ----------
    shape
        Sizes of the network.
    weights
        Flat weight vector in the order of `embedalloc.study.heart.trainer.network.split_weights`.
    dropout
        Probability of `nn.Dropout` in training mode.
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
        first, second = shape.hidden
        self.embeddings = nn.ModuleList(
            nn.Embedding(n, d)
            for n, d in zip(shape.cardinalities, shape.dimensions or (), strict=not self.one_hot)
        )
        self.first = nn.Linear(shape.inputs, first)
        self.second = nn.Linear(first, second)
        self.last = nn.Linear(second, 1)
        self.dropout = nn.Dropout(dropout)
        self.to(dtype)
        self._set_weights(shape, weights)

    def _set_weights(self, shape: NetworkShape, weights: Floats) -> None:
        tables, layers = split_weights(shape, weights)
        inputs = np.concatenate([layers.categorical, layers.numeric])
        values = [*tables, inputs.T, layers.first_bias]
        values += [layers.second, layers.second_bias, layers.last[None], layers.last_bias]
        with torch.no_grad():
            for parameter, value in zip(self.parameters(), values, strict=True):
                parameter.copy_(torch.tensor(value))

    def forward(self, codes: Tensor, numbers: Tensor) -> Tensor:
        """Return the logits."""
        if self.one_hot:
            parts = [
                nn.functional.one_hot(codes[:, j], n).to(numbers.dtype)
                for j, n in enumerate(self.cardinalities)
            ]
        else:
            parts = [table(codes[:, j]) for j, table in enumerate(self.embeddings)]
        hidden = self.dropout(torch.relu(self.first(torch.cat([*parts, numbers], dim=1))))
        hidden = self.dropout(torch.relu(self.second(hidden)))
        logits: Tensor = self.last(hidden)
        return logits.squeeze(1)


def time_in_turns(
    shapes: Sequence[NetworkShape], rows: Rows, settings: Training, turns: int
) -> list[float]:
    """Return the median CPU seconds per epoch of each network.

    The networks take turns, and no clock on the wall is read: beside other jobs it would decide
    by chance which network is the fastest.
    """
    times = [
        [_seconds_per_epoch(shape, rows, settings, stream(0, "timing", turn)) for shape in shapes]
        for turn in range(turns)
    ]
    medians: list[float] = np.median(times, axis=0).tolist()
    return medians


def _seconds_per_epoch(
    shape: NetworkShape, rows: Rows, settings: Training, rng: np.random.Generator
) -> float:
    """Time the loop of the tutorials: float32, `nn.Dropout` and a shuffling `DataLoader`.

    One epoch of warm-up is left out; the median CPU seconds of two more are returned. An epoch is
    one pass over the training rows, without any validation. Torch runs on one thread.
    """
    weights, seed = draw_weights(shape, rng), int(rng.integers(2**63))
    threads, times = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            model = PlainNetwork(shape, weights, dropout=settings.dropout, dtype=torch.float32)
            adam, loss = adam_for(model, settings), nn.BCEWithLogitsLoss()
            data = TensorDataset(*tensors(rows, torch.float32))
            loader = DataLoader(data, batch_size=settings.batch, shuffle=True)
            for _ in range(3):
                begin = time.process_time()
                for codes, numbers, labels in loader:
                    adam.zero_grad()
                    loss(model(codes, numbers), labels).backward()
                    adam.step()
                times.append(time.process_time() - begin)
    finally:
        torch.set_num_threads(threads)
    return float(np.median(times[1:]))


def adam_for(model: PlainNetwork, settings: Training) -> torch.optim.Adam:
    """Return Adam for all parameters of a model."""
    return torch.optim.Adam(
        model.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
    )


def tensors(rows: Rows, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    """Return codes, numbers and labels as tensors."""
    return (
        torch.tensor(rows.codes),
        torch.tensor(rows.numbers, dtype=dtype),
        torch.tensor(rows.labels, dtype=dtype),
    )
