"""A small network for tables: embeddings and numbers into a few hidden units, quickly trained.

The pilot and the candidates of every data-driven rule are this network. Embeddings start small
(standard deviation 0.05): started at 1, their spectrum after training is mostly the noise that
they started from. A field of dimension 0 is left out.

All random numbers come from named streams; training runs on one thread, so that the bits do not
depend on the machine's load, and the caller's thread count is put back.
"""

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from embedalloc.arrays import Floats
from embedalloc.data.gradients import Adam, Reals, TableNetwork, draw_kept
from embedalloc.data.table import FieldData, PredictionTask
from embedalloc.streams import stream

#: Units of the hidden layers, with rectifiers, and the share of them that is dropped in training.
#: Half as many units without dropout were tried: they chose worse plans for networks of this kind.
HIDDEN, DROPOUT = (64, 32), 0.1
#: Standard deviation of the initial embeddings.
EMBEDDING_DEVIATION = 0.05
#: Smallest and largest batch; between them about a fortieth of the rows.
BATCH_SIZES = (64, 4096)
#: Of Adam, without weight decay.
LEARNING_RATE = 2e-3
#: Training ends when the validation loss has not improved for so many epochs.
PATIENCE = 4
#: Rows that are passed through the network at once where nothing is learnt: they fit the cache.
CHUNK = 2048


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
    tables: Mapping[str, Reals]
    blocks: Mapping[str, Reals]
    frequencies: Mapping[str, Reals]
    number_block: Reals
    first_bias: Reals
    layers: tuple[tuple[Reals, Reals], ...]
    initial_tables: Mapping[str, Reals]
    history: tuple[float, ...] = ()
    validation_losses: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def validation_loss(self) -> float:
        """Mean validation loss with the weights that were kept."""
        return float(self.validation_losses.mean())

    def contributions(self) -> dict[str, Reals]:
        """Return T_j = (E_j − 1 π_j'E_j) W_j, what each level adds to the first layer.

        Centred, so that leaving a field out means giving every row its average contribution.
        """
        return {
            name: (table - self.frequencies[name] @ table) @ self.blocks[name]
            for name, table in self.tables.items()
        }

    def outputs(self, data: FieldData) -> Reals:
        """Return the network's outputs, a line per row."""
        embedded = [table.take(data.codes[name], axis=0) for name, table in self.tables.items()]
        first = np.vstack([*self.blocks.values(), self.number_block])
        reached = np.hstack([*embedded, data.numbers]) @ first
        reached += self.first_bias
        for weights, bias in self.layers:
            reached = np.maximum(reached, 0, out=reached) @ weights
            reached += bias
        return reached

    def losses(self, data: FieldData) -> Floats:
        """Return the loss of every row, times its weight."""
        losses = np.empty(len(data))
        # New rows may lie anywhere: a loss may be infinite.
        with np.errstate(over="ignore", invalid="ignore"):
            for begin in range(0, len(data), CHUNK):
                rows = slice(begin, begin + CHUNK)
                some = data.take(rows)
                losses[rows] = row_losses(self.outputs(some), some.target, self.task)
        return data.weigh(losses)

    def loss(self, data: FieldData) -> float:
        """Return the mean loss, whose bits do not depend on the machine's cores."""
        with one_thread():
            return float(self.losses(data).mean())


def row_losses(outputs: Reals, target: NDArray[Any], task: PredictionTask) -> Reals:
    """Return logloss, cross entropy or squared error, row by row."""
    if task.kind == "multiclass":
        below = outputs - outputs.max(axis=1, keepdims=True)
        chosen = below[np.arange(len(target)), target]
        return np.log(np.exp(below).sum(axis=1)) - chosen
    first = outputs[:, 0]
    if task.kind == "binary":
        # log(1 + exp(x)) − y x, without large exponentials.
        return np.maximum(first, 0) - first * target + np.log1p(np.exp(-np.abs(first)))
    return (first - target) ** 2


def batch_size(rows: int) -> int:
    """Return the power of two below a fortieth of the rows, within `BATCH_SIZES`."""
    smallest, largest = BATCH_SIZES
    return min(max(2 ** int(math.log2(max(rows / 40, 1))), smallest), largest)


def one_thread() -> AbstractContextManager[object]:
    """Let numpy's linear algebra run on one thread, inside `with`; then as before."""
    return _find_libraries().limit(limits=1, user_api="blas")


@cache
def _find_libraries() -> ThreadpoolController:
    """Find the libraries once: it takes longer than a fit to few rows."""
    return ThreadpoolController()


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
    with one_thread(), np.errstate(over="ignore", invalid="ignore"):
        start = _start_model(training, dimensions, seed, label)
        return _fit(start, training, validation, seed, label, epochs)


def _start_model(
    data: FieldData, dimensions: Mapping[str, int], seed: int, label: str
) -> TabularModel:
    used = [name for name in data.names if dimensions[name] > 0]
    inputs = sum(dimensions[name] for name in used) + data.numbers.shape[1]
    widths = [*HIDDEN, data.task.outputs]
    bound = 1 / math.sqrt(max(inputs, 1))

    def uniform(rows: int, columns: int, limit: float, *parts: str | int) -> Reals:
        values = stream(seed, label, *parts).uniform(-limit, limit, size=(rows, columns))
        return values.astype(np.float32)

    tables, blocks, frequencies = {}, {}, {}
    for name in used:
        levels, dimension = data.cardinalities[name], dimensions[name]
        # Drawn dimension by dimension, so that tables of different width start alike.
        values = stream(seed, label, "table", name).standard_normal(
            size=(dimension, levels), dtype=np.float32
        )
        tables[name] = EMBEDDING_DEVIATION * values.T
        blocks[name] = uniform(dimension, widths[0], bound, "block", name)
        counts = np.bincount(data.codes[name], data.weights, levels)
        frequencies[name] = (counts / max(len(data), 1)).astype(np.float32)
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
        initial_tables={name: table.copy() for name, table in tables.items()},
    )


def _fit_constant(data: FieldData) -> Reals:
    """Return the outputs that fit the target best when nothing is known."""
    if data.task.kind == "regression":
        return np.array([data.weigh(data.target).mean()], dtype=np.float32)
    if data.task.kind == "binary":
        share = (float(data.weigh(data.target).sum()) + 0.5) / (len(data) + 1)
        return np.array([math.log(share / (1 - share))], dtype=np.float32)
    counts = np.bincount(data.target, data.weights, data.task.outputs) + 0.5
    return np.log(counts / counts.sum()).astype(np.float32)


def _fit(
    start: TabularModel,
    training: FieldData,
    validation: FieldData,
    seed: int,
    label: str,
    epochs: int,
) -> TabularModel:
    """Train from the model's values and return it with the best epoch's weights."""
    batch = batch_size(len(training))
    network = make_network(start, batch)
    model = _share_values(start, network)
    adam = Adam(network.values)
    places = network.place_levels([training.codes[name] for name in model.tables])
    best, best_epoch, best_values = math.inf, 0, network.values.copy()
    weights = None if training.weights is None else training.weights.astype(np.float32)
    history: list[float] = []
    for epoch in range(1, epochs + 1):
        order = training.shuffle(seed, label, "order", epoch)
        chances = stream(seed, label, "dropout", epoch)
        for begin in range(0, len(order), batch):
            rows = order[begin : begin + batch]
            gradient = network.gradient(
                places.take(rows, axis=1),
                training.numbers.take(rows, axis=0),
                training.target[rows],
                model.task.kind,
                None if weights is None else weights[rows],
                draw_kept(HIDDEN, len(rows), DROPOUT, chances),
                DROPOUT,
            )
            adam.step(gradient, LEARNING_RATE)
        _fill_absent_levels(model)
        history.append(float(model.losses(validation).mean()))
        if history[-1] < best:
            best, best_epoch = history[-1], epoch
            best_values[:] = network.values
        elif epoch - best_epoch >= PATIENCE:
            break
    network.values[:] = best_values
    _fill_absent_levels(model)
    losses_kept = model.losses(validation)
    return replace(model, history=tuple(history), validation_losses=losses_kept)


def make_network(model: TabularModel, batch: int = 0) -> TableNetwork:
    """Return a network with copies of the model's values, for gradients of so many rows."""
    first = np.vstack([*model.blocks.values(), model.number_block, model.first_bias])
    rest = [np.vstack([weights, bias]) for weights, bias in model.layers]
    return TableNetwork(list(model.tables.values()), [first, *rest], batch)


def _share_values(model: TabularModel, network: TableNetwork) -> TabularModel:
    """Return the model with the network's values, which change when the network's do."""
    first, *rest = network.layers
    ends = np.cumsum([len(block) for block in model.blocks.values()])
    *blocks, number_block = np.split(first[:-1], ends)
    return replace(
        model,
        tables=dict(zip(model.tables, network.tables, strict=True)),
        blocks=dict(zip(model.tables, blocks, strict=True)),
        number_block=number_block,
        first_bias=first[-1],
        layers=tuple((layer[:-1], layer[-1]) for layer in rest),
    )


def _fill_absent_levels(model: TabularModel) -> None:
    """Give levels without training rows the average embedding: they contribute nothing."""
    for name, table in model.tables.items():
        frequencies = model.frequencies[name]
        table[frequencies == 0] = frequencies @ table
