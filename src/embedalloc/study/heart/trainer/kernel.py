"""The compiled part of `embedalloc.study.heart.trainer.network`: one model trained by plain loops.

Each table is multiplied into the first layer once per step ("folded"), after which a row costs one
gather and add per predictor whatever the dimension. Hidden units come in eights: `network` adds
units without weights to other widths.

All arithmetic is float64 and every sum has a fixed order: the vectorised operations are
element-wise, and nothing allows the compiler to reassociate.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.study.heart.trainer import eights
from embedalloc.study.heart.trainer.cache import cache_beside
from embedalloc.study.heart.trainer.eights import (
    NOTHING,
    U0,
    U8,
    Eight,
    Matrix,
    U,
    combination,
    eight,
    line,
    matrix,
    part,
    plus,
    product,
    put,
    quotient,
    roots,
    set_inner_products,
    set_product,
    times,
    transposed,
)

Bytes = NDArray[np.uint8]
Unsigned = NDArray[np.uint64]
Function = TypeVar("Function", bound=Callable[..., Any])

#: What was compiled, to be loaded under its check.
CACHE = cache_beside(__file__, eights.__file__)
# Numba looks there when a function is decorated; its types do not know its settings.
config.CACHE_DIR = str(CACHE.code)  # type: ignore[attr-defined]

ADAM_BETA_1, ADAM_BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-8
EPSILONS = (ADAM_EPSILON,) * 8


class Layers(NamedTuple):
    """The dense layers as views of a flat weight vector."""

    categorical: Floats  # (columns of all predictors, first)
    numeric: Floats  # (numeric inputs, first)
    first_bias: Floats
    second: Floats  # (second, first)
    second_bias: Floats
    last: Floats
    last_bias: Floats  # one number


class Sizes(NamedTuple):
    """Cardinalities and first-layer columns of the predictors, and the other sizes."""

    cardinalities: Ints
    columns: Ints
    one_hot: bool
    numeric: int
    first: int
    second: int


class Data(NamedTuple):
    """Rows whose codes count through all predictors."""

    codes: Unsigned  # times the width of the first layer: where a row of the folded tables begins
    numbers: Floats
    labels: Floats
    reach: Ints  # by predictor, 1 + the highest code that occurs: tables need no folding beyond


class Steps(NamedTuple):
    """How to step, and when to stop."""

    learning_rate: float
    weight_decay: float
    dropout_scale: float
    batch: int
    patience: int
    watched: int  # column of the history


class _Scratch(NamedTuple):
    """Scratch of the width of the first layer."""

    zeros: Floats
    turned: Floats  # (first, 4)


class _Batch(NamedTuple):
    """Scratch for the rows of a batch."""

    hidden: Matrix  # (rows, first) activations
    gate: Floats  # derivatives of the activations: 0 or the dropout scale
    slope: Matrix  # (rows, first) derivative of the loss by the first linear output
    second: Matrix  # (rows, second) activations
    second_gate: Floats
    second_slope: Matrix
    second_turned: Matrix  # (first, second) weights
    logits: Floats
    residuals: Floats  # derivative of the loss by the logit


class _Moments(NamedTuple):
    """Adam's means of gradients and of their squares, and what a step takes of them."""

    mean: Floats
    square: Floats
    rate: float
    unbias: float
    decay: float


def _compiled(function: Function) -> Function:
    """Compile with Numba; the numpy error model leaves out branches that stop vectorisation."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


def split_layers(flat: Floats, sizes: Sizes) -> Layers:
    """Return the dense layers as views of the flat weights, which start with the tables."""
    first, second, columns = sizes.first, sizes.second, sizes.columns.sum()
    a = 0 if sizes.one_hot else (sizes.cardinalities * sizes.columns).sum()
    b = a + columns * first
    c = b + sizes.numeric * first
    d = c + first
    e = d + second * first
    return Layers(
        flat[a:b].reshape(columns, first), flat[b:c].reshape(sizes.numeric, first), flat[c:d],
        flat[d:e].reshape(second, first), flat[e : e + second],
        flat[e + second : e + 2 * second], flat[e + 2 * second :],
    )  # fmt: skip


_layers = _compiled(split_layers)


@_compiled
def _empty(rows: int, columns: int) -> Matrix:
    return matrix(np.empty(rows * columns), 0, rows, columns)


@_compiled
def _batch(rows: int, first: int, second: int) -> _Batch:
    return _Batch(
        _empty(rows, first), np.empty(rows * first), _empty(rows, first),
        _empty(rows, second), np.empty(rows * second), _empty(rows, second),
        _empty(first, second), np.empty(rows), np.empty(rows),
    )  # fmt: skip


@_compiled
def _fold_tables(flat: Floats, sizes: Sizes, reach: Ints, zeros: Floats, folded: Floats) -> None:
    """Set `folded` to table times first-layer weights, one row per category of all predictors."""
    at, category, width = 0, 0, sizes.first
    weight = (sizes.cardinalities * sizes.columns).sum()
    for j in range(sizes.columns.size):
        n, d = sizes.cardinalities[j], sizes.columns[j]
        rows = matrix(folded, category * width, reach[j], width)
        set_product(matrix(flat, at, n, d), matrix(flat, weight, d, width), zeros, rows)
        at, category, weight = at + n * d, category + n, weight + d * width


@_compiled
def _step_tables(
    flat: Floats, sizes: Sizes, reach: Ints, folded: Floats, scratch: _Scratch, grad: Floats,
    moments: _Moments,
) -> None:  # fmt: skip
    """Carry the gradient by the folded rows on to tables and first-layer weights, and step.

    The gradient of the weights is used while it is in registers and never written down.
    """
    at, category, width = 0, 0, U(sizes.first)
    weight = U((sizes.cardinalities * sizes.columns).sum())
    for j in range(sizes.columns.size):
        n, d = sizes.cardinalities[j], sizes.columns[j]
        rows = matrix(folded, category * sizes.first, reach[j], sizes.first)
        table = matrix(flat, at, n, d)
        set_inner_products(
            rows, matrix(flat, weight, d, width), scratch.turned, matrix(grad, at, n, d)
        )
        for k in range(table.columns):
            for u in range(U0, width, U8):
                some = combination(flat, table.at + k, table.down, rows, u)
                _step_eight(flat, weight + u, some, moments)
            weight += width
        _step(flat, grad, at, at + n * d, moments)
        at, category = at + n * d, category + n


@_compiled
def _first_layer(
    data: Data, order: Unsigned, start: int, folded: Floats, layers: Layers, out: Matrix
) -> None:
    codes, numbers, bias = data.codes, data.numbers, layers.first_bias
    width, weights = out.columns, line(layers.numeric)
    for r in range(out.rows):
        row = order[U(start) + r]
        for u in range(U0, width, U8):
            total = eight(bias, u)
            for j in range(U(codes.shape[1])):
                total = plus(total, eight(folded, codes[row, j] + u))
            for k in range(U(numbers.shape[1])):
                total = plus(total, times(numbers[row, k], eight(weights, k * width + u)))
            put(out.values, r * width + u, total)


@_compiled
def _first_layer_gradient(
    data: Data, order: Unsigned, start: int, slope: Matrix, folded: Floats, grad: Layers
) -> None:
    codes, numbers, bias = data.codes, data.numbers, grad.first_bias
    rows, width, slopes, weights = slope.rows, slope.columns, slope.values, line(grad.numeric)
    for r in range(rows):
        row = order[U(start) + r]
        for u in range(U0, width, U8):
            some = eight(slopes, r * width + u)
            for j in range(U(codes.shape[1])):
                at = codes[row, j] + u
                put(folded, at, plus(eight(folded, at), some))
    for u in range(U0, width, U8):
        total = NOTHING
        for r in range(rows):
            total = plus(total, eight(slopes, r * width + u))
        put(bias, u, total)
        for k in range(U(numbers.shape[1])):
            total = NOTHING
            for r in range(rows):
                number = numbers[order[U(start) + r], k]
                total = plus(total, times(number, eight(slopes, r * width + u)))
            put(weights, k * width + u, total)


@_compiled
def _activate(x: Floats, kept: Bytes, start: int, scale: float, y: Floats) -> None:
    """Apply ReLU and dropout to values whose rows of the masks begin at `start`."""
    mask = kept.reshape(kept.size)[start * kept.shape[1] :]
    for i in range(x.size):
        value = x[i]
        y[i] = scale * mask[i] * (value > 0.0)
        x[i] = value * y[i]


@_compiled
def _forward(
    data: Data, order: Unsigned, start: int, kept_first: Bytes, kept_second: Bytes, scale: float,
    folded: Floats, layers: Layers, batch: _Batch,
) -> None:  # fmt: skip
    """Fill the activations and logits of rows order[start], order[start + 1], ..."""
    second, turned, logits = batch.second, batch.second_turned, batch.logits
    _first_layer(data, order, start, folded, layers, batch.hidden)
    _activate(batch.hidden.values, kept_first, start, scale, batch.gate)
    width = layers.second.shape[0]
    for u in range(layers.second.shape[1]):
        for v in range(width):
            turned.values[u * width + v] = layers.second[v, u]
    set_product(batch.hidden, turned, layers.second_bias, second)
    _activate(second.values, kept_second, start, scale, batch.second_gate)
    for r in range(logits.size):
        logit = layers.last_bias[0]
        for v in range(width):
            logit += layers.last[v] * second.values[r * width + v]
        logits[r] = logit


@_compiled
def _backward(
    data: Data, order: Unsigned, start: int, folded: Floats, layers: Layers, grad: Layers,
    scratch: _Scratch, batch: _Batch,
) -> None:  # fmt: skip
    """Set the gradient of the mean loss of the batch by layers, and add that by folded rows."""
    logits, residuals, slope = batch.logits, batch.residuals, batch.slope.values
    rows, width = logits.size, batch.second.columns
    for r in range(rows):
        probability = 1.0 / (1.0 + math.exp(-logits[r]))
        residuals[r] = (probability - data.labels[order[start + r]]) / rows
    grad.last_bias[0] = residuals.sum()
    for v in range(U0, width, U8):
        weights = eight(layers.last, v)
        by_weight, by_bias = NOTHING, NOTHING
        for r in range(U(rows)):
            at = r * width + v
            some = product(times(residuals[r], weights), eight(batch.second_gate, at))
            by_weight = plus(by_weight, times(residuals[r], eight(batch.second.values, at)))
            by_bias = plus(by_bias, some)
            put(batch.second_slope.values, at, some)
        put(grad.last, v, by_weight)
        put(grad.second_bias, v, by_bias)
    set_product(transposed(batch.second_slope), batch.hidden, scratch.zeros, _whole(grad.second))
    set_product(batch.second_slope, _whole(layers.second), scratch.zeros, batch.slope)
    slope *= batch.gate
    _first_layer_gradient(data, order, start, batch.slope, folded, grad)


@_compiled
def _whole(values: Floats) -> Matrix:
    return matrix(line(values), 0, values.shape[0], values.shape[1])


@_compiled
def _step(weights: Floats, grad: Floats, begin: int, end: int, moments: _Moments) -> None:
    """Move the weights from one place to another by Adam."""
    mean, square, rate, unbias, decay = moments
    for i in range(U(begin), U(end)):
        g = grad[i] + decay * weights[i]
        first = ADAM_BETA_1 * mean[i] + (1.0 - ADAM_BETA_1) * g
        second = ADAM_BETA_2 * square[i] + (1.0 - ADAM_BETA_2) * g * g
        mean[i], square[i] = first, second
        weights[i] -= rate * first / (math.sqrt(second) * unbias + ADAM_EPSILON)


@part
def _step_eight(weights: Floats, at: int, grad: Eight, moments: _Moments) -> None:
    """Move eight weights by Adam: `_step` with their gradient in registers."""
    mean, square, rate, unbias, decay = moments
    old = eight(weights, at)
    g = plus(grad, times(decay, old))
    first = plus(times(ADAM_BETA_1, eight(mean, at)), times(1.0 - ADAM_BETA_1, g))
    squares = product(times(1.0 - ADAM_BETA_2, g), g)
    second = plus(times(ADAM_BETA_2, eight(square, at)), squares)
    size = plus(times(unbias, roots(second)), EPSILONS)
    put(mean, at, first)
    put(square, at, second)
    put(weights, at, plus(old, quotient(times(-rate, first), size)))


@_compiled
def logits_of(flat: Floats, sizes: Sizes, data: Data) -> Floats:
    """Return the logit of every row, without dropout."""
    rows = data.codes.shape[0]
    layers = _layers(flat, sizes)
    folded = line(layers.categorical)
    if not sizes.one_hot:
        folded = np.empty(sizes.cardinalities.sum() * sizes.first)
        _fold_tables(flat, sizes, data.reach, np.zeros(sizes.first), folded)
    batch = _batch(rows, sizes.first, sizes.second)
    kept_first, kept_second = (
        np.ones((rows, sizes.first), np.uint8),
        np.ones((rows, sizes.second), np.uint8),
    )
    _forward(
        data, np.arange(rows).astype(U), 0, kept_first, kept_second, 1.0, folded, layers, batch
    )
    return batch.logits


@_compiled
def _scores(logits: Floats, labels: Floats) -> tuple[float, float]:
    """Mean logloss and share of wrong classes."""
    loss, wrong = 0.0, 0.0
    for r in range(logits.size):
        z = logits[r]
        loss += max(z, 0.0) - z * labels[r] + math.log1p(math.exp(-abs(z)))
        wrong += (z > 0.0) != (labels[r] > 0.0)
    return loss / logits.size, wrong / logits.size


@_compiled
def fit(
    flat: Floats, sizes: Sizes, data: Data, held_out: Data, orders: Unsigned,
    masks: tuple[Bytes, Bytes], steps: Steps, history: Floats,
) -> tuple[Floats, int, int]:  # fmt: skip
    """Train the flat weights in place; return the best ones, their epoch and the epochs run."""
    rows, step, first_dense = data.codes.shape[0], 0, 0
    grad, mean, square = np.zeros(flat.size), np.zeros(flat.size), np.zeros(flat.size)
    layers, layers_grad = _layers(flat, sizes), _layers(grad, sizes)
    folded, folded_grad = line(layers.categorical), line(layers_grad.categorical)
    if not sizes.one_hot:  # else the folded gradient is part of the gradient
        folded = np.empty(sizes.cardinalities.sum() * sizes.first)
        folded_grad = np.empty(sizes.cardinalities.sum() * sizes.first)
        first_dense = ((sizes.cardinalities + sizes.first) * sizes.columns).sum()
    scratch = _Scratch(np.zeros(sizes.first), np.empty((sizes.first, 4)))
    full = _batch(min(steps.batch, rows), sizes.first, sizes.second)
    rest = _batch(rows % steps.batch, sizes.first, sizes.second)
    best, best_value, best_epoch, epoch = flat.copy(), np.inf, 0, 0
    while epoch < history.shape[0] and epoch - best_epoch < steps.patience:
        order, kept_first, kept_second = orders[epoch], masks[0][epoch], masks[1][epoch]
        for start in range(0, rows, steps.batch):
            batch = full if start + steps.batch <= rows else rest
            folded_grad[:] = 0.0
            if not sizes.one_hot:
                _fold_tables(flat, sizes, data.reach, scratch.zeros, folded)
            _forward(
                data, order, start, kept_first, kept_second, steps.dropout_scale, folded, layers,
                batch,
            )  # fmt: skip
            _backward(data, order, start, folded_grad, layers, layers_grad, scratch, batch)
            step += 1
            moments = _Moments(
                mean, square, steps.learning_rate / (1.0 - ADAM_BETA_1**step),
                1.0 / math.sqrt(1.0 - ADAM_BETA_2**step), steps.weight_decay,
            )  # fmt: skip
            if not sizes.one_hot:
                _step_tables(flat, sizes, data.reach, folded_grad, scratch, grad, moments)
            _step(flat, grad, first_dense, flat.size, moments)
        history[epoch] = _scores(logits_of(flat, sizes, held_out), held_out.labels)
        value = history[epoch, steps.watched]
        epoch += 1
        if value < best_value:
            best_value, best_epoch = value, epoch
            best[:] = flat
    return best, best_epoch, epoch
