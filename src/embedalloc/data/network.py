"""A small network for tables: embeddings and numbers into a few hidden units, quickly trained.

The pilot and the candidates of every data-driven rule are this network. Embeddings start small
(standard deviation 0.05): started at 1, their spectrum after training is mostly the noise that
they started from. A field of dimension 0 is left out.

All random numbers come from named streams, nothing from torch's global state; training runs on
one thread, so that the bits do not depend on the machine's load, and the caller's thread count
is put back.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from embedalloc.arrays import Floats
from embedalloc.data.table import FieldData, PredictionTask
from embedalloc.streams import stream

#: Units of the hidden layers, with rectifiers.
HIDDEN = (32, 16)
#: Standard deviation of the initial embeddings.
EMBEDDING_DEVIATION = 0.05
#: Smallest and largest batch; between them about a fiftieth of the rows.
BATCH_SIZES = (64, 4096)
#: Of Adam, without weight decay.
LEARNING_RATE = 2e-3
#: Training ends when the validation loss has not improved for so many epochs.
PATIENCE = 4
#: Rows that are passed through the network at once where nothing is learnt.
CHUNK = 65_536


@dataclass(frozen=True)
class TabularModel:
    """A trained network, in the parts that screening takes it apart into.

    Attributes
    ----------
    task
        What is predicted.
    tables, blocks
        By field with a dimension above 0: the embedding table E_j and the rows W_j of the first
        layer that read it.
    frequencies
        By the same fields: the levels' shares of the training rows, π_j.
    number_block, first_bias
        The rest of the first layer.
    layers
        Weights and biases after it.
    initial_tables
        The tables before training.
    history
        Mean validation loss after each epoch.
    validation_losses
        Loss of every validation row with the weights that were kept.
    """

    task: PredictionTask
    tables: Mapping[str, Tensor]
    blocks: Mapping[str, Tensor]
    frequencies: Mapping[str, Tensor]
    number_block: Tensor
    first_bias: Tensor
    layers: tuple[tuple[Tensor, Tensor], ...]
    initial_tables: Mapping[str, Tensor]
    history: tuple[float, ...] = ()
    validation_losses: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def validation_loss(self) -> float:
        """Mean validation loss with the weights that were kept."""
        return float(self.validation_losses.mean())

    def contributions(self) -> dict[str, Tensor]:
        """Return T_j = (E_j − 1 π_j'E_j) W_j, what each level adds to the first layer.

        Centred, so that leaving a field out means giving every row its average contribution.
        """
        return {
            name: (table - self.frequencies[name] @ table) @ self.blocks[name]
            for name, table in self.tables.items()
        }

    def pre_activation(self, data: FieldData) -> Tensor:
        """Return the first layer's input for every row."""
        average = self.first_bias.clone()
        for name, table in self.tables.items():
            average += (self.frequencies[name] @ table) @ self.blocks[name]
        total = torch.from_numpy(data.numbers) @ self.number_block + average
        for name, contribution in self.contributions().items():
            total += contribution[torch.from_numpy(data.codes[name])]
        return total

    def losses_from(self, pre_activation: Tensor, target: NDArray[np.generic]) -> Floats:
        """Return the loss of every row, from the first layer's input."""
        chunks = zip(
            torch.split(pre_activation, CHUNK),
            torch.split(torch.from_numpy(target), CHUNK),
            strict=True,
        )
        parts = [
            row_losses(_apply_layers(some, self.layers), goal, self.task) for some, goal in chunks
        ]
        return torch.cat(parts).double().numpy()

    def losses(self, data: FieldData) -> Floats:
        """Return the loss of every row, times its weight."""
        with torch.no_grad():
            return data.weigh(self.losses_from(self.pre_activation(data), data.target))

    def loss(self, data: FieldData) -> float:
        """Return the mean loss."""
        return float(self.losses(data).mean())


def row_losses(outputs: Tensor, target: Tensor, task: PredictionTask) -> Tensor:
    """Return logloss, cross entropy or squared error, row by row."""
    if task.kind == "multiclass":
        return functional.cross_entropy(outputs, target, reduction="none")
    first = outputs.squeeze(1)
    if task.kind == "binary":
        return functional.binary_cross_entropy_with_logits(first, target, reduction="none")
    return (first - target) ** 2


def batch_size(rows: int) -> int:
    """Return the power of two below a fiftieth of the rows, within `BATCH_SIZES`."""
    smallest, largest = BATCH_SIZES
    return min(max(2 ** int(math.log2(max(rows / 50, 1))), smallest), largest)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch compute on one thread, and put the caller's number of threads back."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def train_tabular(
    training: FieldData,
    validation: FieldData,
    dimensions: Mapping[str, int],
    *,
    seed: int,
    label: str,
    epochs: int,
) -> TabularModel:
    """Train a network with these embedding dimensions; the best epoch's weights are kept.

    Parameters
    ----------
    training, validation
        Rows to learn from, and rows whose loss decides when to stop.
    dimensions
        By field; 0 leaves a field out.
    seed, label
        Name the random numbers. Networks of one seed and label share the initial values of what
        they have in common and the order of the rows.
    epochs
        Most passes over the training rows.
    """
    with one_thread():
        start = _start_model(training, dimensions, seed, label)
        return _fit(start, training, validation, stream(seed, label, "order"), epochs)


def _start_model(
    data: FieldData, dimensions: Mapping[str, int], seed: int, label: str
) -> TabularModel:
    used = [name for name in data.names if dimensions[name] > 0]
    inputs = sum(dimensions[name] for name in used) + data.numbers.shape[1]
    widths = [*HIDDEN, data.task.outputs]
    bound = 1 / math.sqrt(max(inputs, 1))

    def uniform(rows: int, columns: int, limit: float, *parts: str | int) -> Tensor:
        values = stream(seed, label, *parts).uniform(-limit, limit, size=(rows, columns))
        return torch.tensor(values, dtype=torch.float32)

    tables, blocks, frequencies = {}, {}, {}
    for name in used:
        levels, dimension = data.cardinalities[name], dimensions[name]
        # Drawn dimension by dimension, so that tables of different width start alike.
        values = stream(seed, label, "table", name).standard_normal(
            size=(dimension, levels), dtype=np.float32
        )
        tables[name] = torch.tensor(EMBEDDING_DEVIATION * values.T)
        blocks[name] = uniform(dimension, widths[0], bound, "block", name)
        counts = np.bincount(data.codes[name], data.weights, levels)
        frequencies[name] = torch.tensor(counts / max(len(data), 1), dtype=torch.float32)
    layers = []
    for depth, (fan_in, fan_out) in enumerate(pairwise(widths)):
        limit = 1 / math.sqrt(fan_in)
        weights = uniform(fan_in, fan_out, limit, "layer", depth)
        layers.append((weights, uniform(1, fan_out, limit, "bias", depth)[0]))
    layers[-1] = (layers[-1][0], _fit_constant(data))
    return TabularModel(
        task=data.task,
        tables=tables,
        blocks=blocks,
        frequencies=frequencies,
        number_block=uniform(data.numbers.shape[1], widths[0], bound, "numbers"),
        first_bias=uniform(1, widths[0], bound, "first bias")[0],
        layers=tuple(layers),
        initial_tables={name: table.clone() for name, table in tables.items()},
    )


def _fit_constant(data: FieldData) -> Tensor:
    """Return the outputs that fit the target best when nothing is known."""
    if data.task.kind == "regression":
        return torch.tensor([float(data.weigh(data.target).mean())])
    if data.task.kind == "binary":
        share = (float(data.weigh(data.target).sum()) + 0.5) / (len(data) + 1)
        return torch.tensor([math.log(share / (1 - share))])
    counts = np.bincount(data.target, data.weights, data.task.outputs) + 0.5
    return torch.tensor(np.log(counts / counts.sum()), dtype=torch.float32)


def _apply_layers(pre_activation: Tensor, layers: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    hidden = pre_activation
    for weights, bias in layers:
        hidden = torch.addmm(bias, torch.relu(hidden), weights)
    return hidden


def _fit(
    model: TabularModel,
    training: FieldData,
    validation: FieldData,
    rng: np.random.Generator,
    epochs: int,
) -> TabularModel:
    """Train from the model's values and return it with the best epoch's weights."""
    weights = _FlatWeights(model)
    codes = [training.codes[name] for name in model.tables]
    batch = batch_size(len(training))
    best, best_epoch, kept = math.inf, 0, weights.values.clone()
    history: list[float] = []
    for epoch in range(1, epochs + 1):
        order = rng.permutation(len(training))
        for begin in range(0, len(order), batch):
            rows = order[begin : begin + batch]
            levels = [torch.from_numpy(each[rows]) for each in codes]
            outputs = weights.outputs(levels, torch.from_numpy(training.numbers[rows]))
            losses = row_losses(outputs, torch.from_numpy(training.target[rows]), model.task)
            if training.weights is not None:
                losses = losses * torch.from_numpy(training.weights[rows].astype(np.float32))
            torch.autograd.backward(losses.mean())
            weights.step()
        _fill_absent_levels(weights.model)
        history.append(weights.model.loss(validation))
        if history[-1] < best:
            best, best_epoch = history[-1], epoch
            kept.copy_(weights.values)
        elif epoch - best_epoch >= PATIENCE:
            break
    weights.values.copy_(kept)
    _fill_absent_levels(weights.model)
    losses_kept = weights.model.losses(validation)
    return replace(weights.model, history=tuple(history), validation_losses=losses_kept)


class _FlatWeights:
    """All parameters in one vector and their gradients in another, so that Adam is five calls.

    Adam (Kingma and Ba, 2015) has the usual constants. It is dense even for tables of 100,000
    levels: with batches of thousands that beats updating the touched rows only. `model` shares
    the values.
    """

    def __init__(self, model: TabularModel) -> None:
        first = [*model.blocks.values(), model.number_block]
        start = [*model.tables.values(), torch.cat(first), model.first_bias]
        start += [value for layer in model.layers for value in layer]
        self.values = torch.cat([value.flatten() for value in start])
        self._gradient, self._mean, self._square = self.values.new_zeros(3, len(self.values))
        self._steps = 0
        sizes = [value.numel() for value in start]
        parts = []
        for value, flat, slope in zip(
            start, torch.split(self.values, sizes), torch.split(self._gradient, sizes), strict=True
        ):
            part = flat.view(value.shape).requires_grad_(True)
            part.grad = slope.view(value.shape)
            parts.append(part)
        self._tables = parts[: len(model.tables)]
        self._first, self._first_bias, *rest = parts[len(model.tables) :]
        self._layers = tuple(zip(rest[::2], rest[1::2], strict=True))
        *blocks, number_block = torch.split(self._first.detach(), [len(block) for block in first])
        tables = [table.detach() for table in self._tables]
        self.model = replace(
            model,
            tables=dict(zip(model.tables, tables, strict=True)),
            blocks=dict(zip(model.tables, blocks, strict=True)),
            number_block=number_block,
            first_bias=self._first_bias.detach(),
            layers=tuple((a.detach(), b.detach()) for a, b in self._layers),
        )

    def outputs(self, levels: Sequence[Tensor], numbers: Tensor) -> Tensor:
        """Return the network's outputs, with gradients."""
        inputs = [
            functional.embedding(codes, table)
            for codes, table in zip(levels, self._tables, strict=True)
        ]
        hidden = torch.addmm(self._first_bias, torch.cat([*inputs, numbers], dim=1), self._first)
        return _apply_layers(hidden, self._layers)

    def step(self) -> None:
        """Move the values once by their gradients, and start new gradients."""
        self._steps += 1
        self._mean.lerp_(self._gradient, 0.1)
        self._square.mul_(0.999).addcmul_(self._gradient, self._gradient, value=0.001)
        scale = math.sqrt(1 - 0.999**self._steps)
        size = self._square.sqrt().add_(1e-8 * scale)
        rate = LEARNING_RATE * scale / (1 - 0.9**self._steps)
        self.values.addcdiv_(self._mean, size, value=-rate)
        self._gradient.zero_()


def _fill_absent_levels(model: TabularModel) -> None:
    """Give levels without training rows the average embedding: they contribute nothing."""
    for name, table in model.tables.items():
        frequencies = model.frequencies[name]
        table[frequencies == 0] = frequencies @ table
