"""The compiled part of `embedalloc.study.heart.trainer.network`: one model trained by plain loops.

Each table is multiplied into the first layer once per step ("folded"), after which a row costs one
gather and add per predictor whatever the dimension. The inner loops run over contiguous hidden
units or batch rows, their number known only at run time, so that LLVM turns them into vector
instructions without any flag (a constant number would be unrolled and stay scalar).

All arithmetic is float64 and every sum has a fixed order: the vectorised loops are element-wise,
and nothing allows the compiler to reassociate.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import config, njit
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.study.heart.trainer.cache import cache_beside

Bytes = NDArray[np.uint8]
Function = TypeVar("Function", bound=Callable[..., Any])

#: What was compiled, to be loaded under its check.
CACHE = cache_beside(__file__)
# Numba looks there when a function is decorated; its types do not know its settings.
config.CACHE_DIR = str(CACHE.code)  # type: ignore[attr-defined]

ADAM_BETA_1, ADAM_BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-8


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

    codes: Ints
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


class _Batch(NamedTuple):
    """Scratch for the rows of a batch; the second layer is transposed to vectorise over rows."""

    hidden: Floats  # (rows, first) activations
    gate: Floats  # (rows, first) derivative of the activation: 0 or the dropout scale
    slope: Floats  # (rows, first) derivative of the loss by the first linear output
    hidden_t: Floats  # (first, rows)
    second: Floats  # (second, rows) activations
    second_gate: Floats
    second_slope: Floats
    logits: Floats
    residuals: Floats  # derivative of the loss by the logit


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
def _scratch(rows: int, first: int, second: int) -> _Batch:
    return _Batch(
        np.empty((rows, first)), np.empty((rows, first)), np.empty((rows, first)),
        np.empty((first, rows)), np.empty((second, rows)), np.empty((second, rows)),
        np.empty((second, rows)), np.empty(rows), np.empty(rows),
    )  # fmt: skip


@_compiled
def _add_product(a: Floats, b: Floats, out: Floats) -> None:
    """Add the matrix product a b to out, vectorised over the columns, four terms at a time.

    The rows of out run inside, since an addition to the row just stored would have to wait.
    """
    inner = b.shape[0]
    for k in range(0, inner - 3, 4):
        for i in range(out.shape[0]):
            a0, a1, a2, a3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
            for u in range(out.shape[1]):
                pair = a0 * b[k, u] + a1 * b[k + 1, u]
                out[i, u] += pair + (a2 * b[k + 2, u] + a3 * b[k + 3, u])
    for k in range(inner // 4 * 4, inner):
        for i in range(out.shape[0]):
            factor = a[i, k]
            for u in range(out.shape[1]):
                out[i, u] += factor * b[k, u]


@_compiled
def _set_inner_products(a: Floats, b: Floats, out: Floats) -> None:
    """Set out[i, k] to the inner product of row i of a and row k of b.

    Four at a time hide the latency of their additions; beyond the last row it is done again.
    """
    last = b.shape[0] - 1
    for i in range(a.shape[0]):
        for k in range(0, last + 1, 4):
            k1, k2, k3 = min(k + 1, last), min(k + 2, last), min(k + 3, last)
            s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
            for u in range(a.shape[1]):
                value = a[i, u]
                s0 += value * b[k, u]
                s1 += value * b[k1, u]
                s2 += value * b[k2, u]
                s3 += value * b[k3, u]
            out[i, k], out[i, k1], out[i, k2], out[i, k3] = s0, s1, s2, s3


@_compiled
def _fold_tables(flat: Floats, sizes: Sizes, reach: Ints, weights: Floats, folded: Floats) -> None:
    """Set `folded` to table times first-layer weights, one row per category of all predictors."""
    folded[:] = 0.0
    at, category, column = 0, 0, 0
    for j in range(sizes.columns.size):
        n, d = sizes.cardinalities[j], sizes.columns[j]
        table = flat[at : at + n * d].reshape(n, d)
        rows = folded[category : category + reach[j]]
        _add_product(table, weights[column : column + d], rows)
        at, category, column = at + n * d, category + n, column + d


@_compiled
def _unfold_gradient(
    flat: Floats, sizes: Sizes, reach: Ints, weights: Floats, folded: Floats, grad: Floats,
    layer: Floats,
) -> None:  # fmt: skip
    """Carry the gradient by the folded rows on to the tables and the first-layer weights."""
    at, category, column = 0, 0, 0
    for j in range(sizes.columns.size):
        n, d = sizes.cardinalities[j], sizes.columns[j]
        rows = folded[category : category + reach[j]]
        table = flat[at : at + n * d].reshape(n, d)
        table_grad = grad[at : at + n * d].reshape(n, d)
        _set_inner_products(rows, weights[column : column + d], table_grad)
        _add_product(table.T, rows, layer[column : column + d])
        at, category, column = at + n * d, category + n, column + d


@_compiled
def _first_layer(
    data: Data, order: Ints, start: int, folded: Floats, layers: Layers, out: Floats
) -> None:
    codes, numbers, bias, weights = data.codes, data.numbers, layers.first_bias, layers.numeric
    for r in range(out.shape[0]):
        row = order[start + r]
        for u in range(out.shape[1]):
            out[r, u] = bias[u]
        for j in range(codes.shape[1]):
            category = codes[row, j]
            for u in range(out.shape[1]):
                out[r, u] += folded[category, u]
        for k in range(numbers.shape[1]):
            number = numbers[row, k]
            for u in range(out.shape[1]):
                out[r, u] += number * weights[k, u]


@_compiled
def _first_layer_gradient(
    data: Data, order: Ints, start: int, slope: Floats, folded: Floats, grad: Layers
) -> None:
    codes, numbers, bias, weights = data.codes, data.numbers, grad.first_bias, grad.numeric
    for r in range(slope.shape[0]):
        row = order[start + r]
        for u in range(slope.shape[1]):
            bias[u] += slope[r, u]
        for j in range(codes.shape[1]):
            category = codes[row, j]
            for u in range(slope.shape[1]):
                folded[category, u] += slope[r, u]
        for k in range(numbers.shape[1]):
            number = numbers[row, k]
            for u in range(slope.shape[1]):
                weights[k, u] += number * slope[r, u]


@_compiled
def _forward(
    data: Data, order: Ints, start: int, kept_first: Bytes, kept_second: Bytes, scale: float,
    folded: Floats, layers: Layers, batch: _Batch,
) -> None:  # fmt: skip
    """Fill the activations and logits of rows order[start], order[start + 1], ..."""
    hidden, gate, hidden_t = batch.hidden, batch.gate, batch.hidden_t
    second, second_gate, logits = batch.second, batch.second_gate, batch.logits
    _first_layer(data, order, start, folded, layers, hidden)
    for r in range(hidden.shape[0]):
        position = start + r
        for u in range(hidden.shape[1]):
            value = hidden[r, u]
            gate[r, u] = scale * kept_first[position, u] * (value > 0.0)
            hidden[r, u] = value * gate[r, u]
    for r in range(hidden.shape[0]):
        for u in range(hidden.shape[1]):
            hidden_t[u, r] = hidden[r, u]
    for v in range(second.shape[0]):
        second[v, :] = layers.second_bias[v]
    _add_product(layers.second, hidden_t, second)
    logits[:] = layers.last_bias[0]
    for v in range(second.shape[0]):
        weight = layers.last[v]
        for r in range(second.shape[1]):
            value = second[v, r]
            second_gate[v, r] = scale * kept_second[start + r, v] * (value > 0.0)
            second[v, r] = value * second_gate[v, r]
            logits[r] += weight * second[v, r]


@_compiled
def _backward(
    data: Data, order: Ints, start: int, folded: Floats, layers: Layers, grad: Layers,
    batch: _Batch,
) -> None:  # fmt: skip
    """Add the gradient of the mean loss of the batch, by layers and by folded rows."""
    logits, residuals, slope, gate = batch.logits, batch.residuals, batch.slope, batch.gate
    second, second_gate, second_slope = batch.second, batch.second_gate, batch.second_slope
    rows = logits.size
    for r in range(rows):
        probability = 1.0 / (1.0 + math.exp(-logits[r]))
        residuals[r] = (probability - data.labels[order[start + r]]) / rows
    grad.last_bias[0] += residuals.sum()
    for v in range(second.shape[0]):
        weight = layers.last[v]
        for r in range(rows):
            second_slope[v, r] = weight * residuals[r] * second_gate[v, r]
        by_weight, by_bias = 0.0, 0.0
        for r in range(rows):
            by_weight += residuals[r] * second[v, r]
            by_bias += second_slope[v, r]
        grad.last[v] += by_weight
        grad.second_bias[v] += by_bias
    _add_product(second_slope, batch.hidden, grad.second)
    slope[:] = 0.0
    _add_product(second_slope.T, layers.second, slope)
    for r in range(rows):
        for u in range(slope.shape[1]):
            slope[r, u] *= gate[r, u]
    _first_layer_gradient(data, order, start, slope, folded, grad)


@_compiled
def _adam(
    weights: Floats, grad: Floats, mean: Floats, square: Floats, steps: Steps, step: int
) -> None:
    rate = steps.learning_rate / (1.0 - ADAM_BETA_1**step)
    unbias = 1.0 / math.sqrt(1.0 - ADAM_BETA_2**step)
    decay = steps.weight_decay
    for i in range(weights.size):
        g = grad[i] + decay * weights[i]
        mean[i] = ADAM_BETA_1 * mean[i] + (1.0 - ADAM_BETA_1) * g
        square[i] = ADAM_BETA_2 * square[i] + (1.0 - ADAM_BETA_2) * g * g
        weights[i] -= rate * mean[i] / (math.sqrt(square[i]) * unbias + ADAM_EPSILON)


@_compiled
def logits_of(flat: Floats, sizes: Sizes, data: Data) -> Floats:
    """Return the logit of every row, without dropout."""
    rows = data.codes.shape[0]
    layers = _layers(flat, sizes)
    folded = layers.categorical
    if not sizes.one_hot:
        folded = np.empty((sizes.cardinalities.sum(), sizes.first))
        _fold_tables(flat, sizes, data.reach, layers.categorical, folded)
    batch = _scratch(rows, sizes.first, sizes.second)
    kept_first, kept_second = (
        np.ones((rows, sizes.first), np.uint8),
        np.ones((rows, sizes.second), np.uint8),
    )
    _forward(data, np.arange(rows), 0, kept_first, kept_second, 1.0, folded, layers, batch)
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
    flat: Floats, sizes: Sizes, data: Data, held_out: Data, orders: Ints,
    masks: tuple[Bytes, Bytes], steps: Steps, history: Floats,
) -> tuple[Floats, int, int]:  # fmt: skip
    """Train the flat weights in place; return the best ones, their epoch and the epochs run."""
    rows, step = data.codes.shape[0], 0
    grad, mean, square = np.zeros(flat.size), np.zeros(flat.size), np.zeros(flat.size)
    layers, layers_grad = _layers(flat, sizes), _layers(grad, sizes)
    folded, folded_grad = layers.categorical, layers_grad.categorical
    if not sizes.one_hot:
        folded = np.empty((sizes.cardinalities.sum(), sizes.first))
        folded_grad = np.empty((sizes.cardinalities.sum(), sizes.first))
    full = _scratch(min(steps.batch, rows), sizes.first, sizes.second)
    rest = _scratch(rows % steps.batch, sizes.first, sizes.second)
    best, best_value, best_epoch, epoch = flat.copy(), np.inf, 0, 0
    while epoch < history.shape[0] and epoch - best_epoch < steps.patience:
        order, kept_first, kept_second = orders[epoch], masks[0][epoch], masks[1][epoch]
        for start in range(0, rows, steps.batch):
            batch = full if start + steps.batch <= rows else rest
            grad[:] = 0.0
            if not sizes.one_hot:  # else the folded gradient is part of the gradient
                folded_grad[:] = 0.0
                _fold_tables(flat, sizes, data.reach, layers.categorical, folded)
            _forward(
                data, order, start, kept_first, kept_second, steps.dropout_scale, folded, layers,
                batch,
            )  # fmt: skip
            _backward(data, order, start, folded_grad, layers, layers_grad, batch)
            if not sizes.one_hot:
                _unfold_gradient(
                    flat, sizes, data.reach, layers.categorical, folded_grad, grad,
                    layers_grad.categorical,
                )  # fmt: skip
            step += 1
            _adam(flat, grad, mean, square, steps, step)
        history[epoch] = _scores(logits_of(flat, sizes, held_out), held_out.labels)
        value = history[epoch, steps.watched]
        epoch += 1
        if value < best_value:
            best_value, best_epoch = value, epoch
            best[:] = flat
    return best, best_epoch, epoch
