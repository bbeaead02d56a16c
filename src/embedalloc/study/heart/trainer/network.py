"""Train many small embedding networks on the CPU, one model at a time.

The network is a binary classifier. Every categorical predictor is mapped to a row of its table, the
rows are put beside the numeric inputs, and two hidden layers follow: linear, ReLU, dropout,
linear, ReLU, dropout, linear, one logit. Without tables (the one-hot kind) the first layer takes
the one-hot inputs themselves.

`train` is a pure function of its arguments: row orders and dropout masks are drawn beforehand by
`draw_schedule`. The bits of a result do not depend on other models, processes, threads or the width
of the machine's vectors. The loops themselves stand in `kernel`; they are compiled at the first
call and cached on disk.
"""

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.study.heart.trainer.kernel import (
    CACHE,
    Bytes,
    Data,
    Layers,
    Sizes,
    Steps,
    fit,
    logits_of,
    split_layers,
)
from embedalloc.study.settings.heart import Training


@dataclass(frozen=True)
class NetworkShape:
    """Sizes of a network.

    Parameters
    ----------
    cardinalities
        Number of codes of each categorical predictor.
    dimensions
        Embedding dimension of each predictor; None for one-hot inputs.
    numeric
        Number of numeric inputs.
    hidden
        Units of the two hidden layers.
    """

    cardinalities: tuple[int, ...]
    dimensions: tuple[int, ...] | None
    numeric: int
    hidden: tuple[int, int] = (32, 8)

    @property
    def columns(self) -> tuple[int, ...]:
        """First-layer inputs of each predictor: its dimension, or its cardinality if one-hot."""
        return self.cardinalities if self.dimensions is None else self.dimensions

    @property
    def inputs(self) -> int:
        """Number of inputs of the first layer."""
        return sum(self.columns) + self.numeric

    @property
    def embedding_parameters(self) -> int:
        """Number of parameters in the tables, 0 if one-hot."""
        dimensions = self.dimensions or (0,) * len(self.cardinalities)
        return sum(n * d for n, d in zip(self.cardinalities, dimensions, strict=True))

    @property
    def parameters(self) -> int:
        """Number of parameters in all."""
        first, second = self.hidden
        layers = (self.inputs + 1) * first + (first + 1) * second + second + 1
        return self.embedding_parameters + layers


@dataclass(frozen=True)
class Rows:
    """Observations: codes (rows x predictors), numbers (rows x numeric inputs), labels 0 or 1."""

    codes: NDArray[np.integer[Any]]
    numbers: Floats
    labels: NDArray[Any]


@dataclass(frozen=True)
class Schedule:
    """Everything random in training: the row order of each epoch and the units kept by dropout.

    The masks have shape (epochs, rows, units) and hold 1 for kept, 0 for dropped; their second
    axis is the position in the order, not the row of the data.
    """

    orders: Ints
    kept_first: Bytes
    kept_second: Bytes


@dataclass(frozen=True)
class TrainedNetwork:
    """A trained network and its history, one entry per epoch run; epochs are counted from 1."""

    shape: NetworkShape
    weights: Floats
    best_epoch: int
    epochs_run: int
    validation_logloss: Floats
    validation_error: Floats


def split_weights(shape: NetworkShape, weights: Floats) -> tuple[tuple[Floats, ...], Layers]:
    """Return views of flat weights: the tables (none if one-hot) and the dense layers."""
    if weights.shape != (shape.parameters,):
        raise ValueError(f"expected {shape.parameters} weights, got shape {weights.shape}")
    tables, start = [], 0
    for n, d in zip(shape.cardinalities, shape.dimensions or (), strict=bool(shape.dimensions)):
        tables.append(weights[start : start + n * d].reshape(n, d))
        start += n * d
    return tuple(tables), split_layers(weights[start:], _sizes(shape))


def draw_weights(
    shape: NetworkShape, rng: np.random.Generator, embedding_sd: float = 1.0
) -> Floats:
    """Draw a flat weight vector: normal tables, layers as torch's `nn.Linear` by default.

    Weights and biases of a layer are uniform on -1/sqrt(inputs) to 1/sqrt(inputs).
    """
    weights = np.empty(shape.parameters)
    tables, layers = split_weights(shape, weights)
    for table in tables:
        table[:] = rng.normal(0.0, embedding_sd, table.shape)
    first, second = shape.hidden
    for values, fan_in in zip(
        layers, 3 * (shape.inputs,) + 2 * (first,) + 2 * (second,), strict=True
    ):
        values[:] = rng.uniform(-1.0, 1.0, values.shape) / math.sqrt(fan_in)
    return weights


def draw_schedule(
    rng: np.random.Generator, rows: int, epochs: int, hidden: tuple[int, int], dropout: float
) -> Schedule:
    """Draw row orders and dropout masks; a unit is dropped with probability `dropout`.

    The probability is met to the nearest 1/65536: a decision takes 16 random bits.
    """
    threshold = np.uint16(min(round(dropout * 2**16), 2**16 - 1))
    orders = np.tile(np.arange(rows, dtype=np.int64), (epochs, 1))
    for order in orders:  # what `permuted` does, in two thirds of its time
        rng.shuffle(order)

    def mask(units: int) -> Bytes:
        # Whole 64-bit words take half the time of 16-bit draws; "<" makes all machines agree.
        count = epochs * rows * units
        words = rng.integers(0, 2**64 - 1, -(-count // 4), np.uint64, endpoint=True)
        draws = words.astype("<u8", copy=False).view("<u2")[:count].reshape(epochs, rows, units)
        return (draws >= threshold).view(np.uint8)

    return Schedule(orders, mask(hidden[0]), mask(hidden[1]))


def train(
    shape: NetworkShape,
    weights: Floats,
    schedule: Schedule,
    training: Rows,
    validation: Rows,
    settings: Training,
) -> TrainedNetwork:
    """Train one network from given weights, row orders and masks; no argument is changed.

    Adam has betas 0.9 and 0.999 and epsilon 1e-8; `weight_decay` times the parameter is added to
    the gradient of every parameter, biases and tables included. A last batch may be smaller and
    its loss is the mean over its own rows.

    After every epoch the validation rows are evaluated without dropout. The epoch is the best so
    far if the watched quantity (`"logloss"`, or `"error"`, the share of wrong classes at 1/2) is
    strictly below that of all earlier epochs; a tie is no improvement. Training stops once
    `patience` epochs in succession brought no improvement, or after `epochs` epochs. With
    `restore_best` the weights are those after the best epoch, otherwise after the last one run.
    """
    for kept, units in zip((schedule.kept_first, schedule.kept_second), shape.hidden, strict=True):
        if len(kept) < settings.epochs or kept.shape[1:] != (len(training.labels), units):
            raise ValueError(f"masks {kept.shape} for {settings.epochs} epochs and {units} units")
    wide = _padded(shape)
    masks = (
        _plain(_widen(schedule.kept_first, wide.hidden[0]), np.uint8),
        _plain(_widen(schedule.kept_second, wide.hidden[1]), np.uint8),
    )
    history = np.empty((settings.epochs, 2))
    steps = Steps(
        settings.learning_rate,
        settings.weight_decay,
        1.0 / (1.0 - settings.dropout),
        settings.batch,
        settings.patience,
        int(settings.watch == "error"),
    )
    compile_kernel()
    last, best, best_epoch, epochs_run = fit(
        _widen_weights(shape, weights),
        _sizes(wide),
        _data(wide, training),
        _data(wide, validation),
        _plain(schedule.orders, np.uint64),
        masks,
        steps,
        history,
    )
    history = history[:epochs_run]
    if not np.isfinite(history).all():
        epoch = 1 + int(np.argmin(np.isfinite(history).all(axis=1)))
        raise FloatingPointError(f"training diverged: validation loss not finite at epoch {epoch}")
    final = (best if settings.restore_best else last)[_places(shape)[1]]
    return TrainedNetwork(shape, final, best_epoch, epochs_run, *history.T.copy())


@cache
def compile_kernel() -> None:
    """Load the kernel from disk, or compile it and keep it there; once, before it is first used."""
    rng = np.random.default_rng(0)
    rows = Rows(rng.integers(0, 3, (40, 1)), rng.normal(size=(40, 1)), np.arange(40) % 2)
    shape = NetworkShape((3,), (2,), 1)
    weights = _widen_weights(shape, draw_weights(shape, rng))
    schedule = draw_schedule(rng, 40, 1, shape.hidden, 0.25)
    sizes, data = _sizes(shape), _data(shape, rows)
    masks, steps = (schedule.kept_first, schedule.kept_second), Steps(1e-3, 0.0, 1.0, 32, 1, 0)
    with CACHE.checked():
        fit(
            weights,
            sizes,
            data,
            data,
            schedule.orders.astype(np.uint64),
            masks,
            steps,
            np.empty((1, 2)),
        )
        logits_of(weights, sizes, data)


def predict(trained: TrainedNetwork, rows: Rows) -> Floats:
    """Return the probability of label 1 for each row, without dropout."""
    compile_kernel()
    wide, weights = _padded(trained.shape), _widen_weights(trained.shape, trained.weights)
    logits = logits_of(weights, _sizes(wide), _data(wide, rows))
    with np.errstate(over="ignore"):  # exp may overflow to inf, whose reciprocal is rightly 0
        return 1.0 / (1.0 + np.exp(-logits))


def _padded(shape: NetworkShape) -> NetworkShape:
    """Return the shape with as many hidden units as the kernel takes."""
    first, second = shape.hidden
    return replace(shape, hidden=(-(-first // 32) * 32, -(-second // 8) * 8))


def _widen(kept: Bytes, units: int) -> Bytes:
    missing = units - kept.shape[2]
    return np.pad(kept, ((0, 0), (0, 0), (0, missing))) if missing else kept


@lru_cache(maxsize=32)  # a study has thousands of shapes, and is done with most at once
def _places(shape: NetworkShape) -> tuple[int, Ints]:
    """Return how many weights the kernel has, and where in them each weight stands.

    There a table stands column after column and fills up eights, as all weights do, and units
    that were added have weights, which stay at zero in training.
    """
    wide = _padded(shape)
    sizes = _sizes(wide)
    dense = wide.parameters - wide.embedding_parameters
    size = sizes.tables + -(-dense // 8) * 8
    everywhere = np.arange(size, dtype=np.float64)
    tables = [
        everywhere[at : at + n * d].reshape(d, n).T
        for at, n, d in zip(sizes.starts, shape.cardinalities, shape.dimensions or (), strict=False)
    ]
    narrow = split_layers(np.empty(shape.parameters - shape.embedding_parameters), _sizes(shape))
    layers = split_layers(everywhere[sizes.tables :], sizes)
    cut = [of[tuple(map(slice, to.shape))] for of, to in zip(layers, narrow, strict=True)]
    return size, np.concatenate([each.ravel() for each in (*tables, *cut)]).astype(np.int64)


def _widen_weights(shape: NetworkShape, weights: Floats) -> Floats:
    """Return the weights as the kernel takes them."""
    size, places = _places(shape)
    widened = np.zeros(size)
    widened[places] = weights
    return widened


def _plain(values: NDArray[Any], dtype: type[Any]) -> NDArray[Any]:
    """Contiguous and writable, since the kernel would be compiled anew for any other form."""
    return np.require(values, dtype, ["C", "W"])


def _data(shape: NetworkShape, rows: Rows) -> Data:
    """Rows as the kernel takes them; a code says where a row of the folded tables begins."""
    sizes = np.array(shape.cardinalities, dtype=np.int64)
    outside = (rows.codes < 0) | (rows.codes >= sizes)
    if outside.any():  # the kernel would read beside its tables
        row, predictor = np.argwhere(outside)[0]
        raise ValueError(
            f"code {rows.codes[row, predictor]} of predictor {predictor} in row {row} is not in "
            f"0..{sizes[predictor] - 1}"
        )
    return Data(
        _plain((rows.codes + np.cumsum(sizes) - sizes) * shape.hidden[0], np.uint64),
        _plain(np.column_stack([rows.numbers, np.ones(len(rows.numbers))]), np.float64),
        rows.labels.astype(np.float64),
        rows.codes.max(axis=0).astype(np.int64) + 1,
    )


def _sizes(shape: NetworkShape) -> Sizes:
    n, d = (np.array(each, dtype=np.int64) for each in (shape.cardinalities, shape.columns))
    one_hot = shape.dimensions is None
    filled = np.zeros_like(n) if one_hot else -(-n * d // 8) * 8
    starts = np.cumsum(filled) - filled
    return Sizes(n, d, one_hot, starts, int(filled.sum()), shape.numeric, *shape.hidden)
