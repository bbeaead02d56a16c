"""The compiled part of `embedalloc.study.heart.trainer.network`: one model trained by plain loops.

Each table is multiplied into the first layer once per step ("folded"), after which a row costs one
gather and add per predictor whatever the dimension. Hidden units come in thirty-twos and in
eights: `network` adds units without weights to other widths.

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
from embedalloc.study.heart.trainer import vectors
from embedalloc.study.heart.trainer.cache import cache_beside
from embedalloc.study.heart.trainer.vectors import (
    U0,
    U1,
    U2,
    U8,
    U32,
    Matrix,
    U,
    Vector,
    alike,
    all_above,
    eight,
    eight_sums,
    eight_zeros,
    fma,
    inner_eights,
    line,
    matrix,
    part,
    put,
    quotients,
    roots,
    rough_inverses,
    set_product,
    set_wide_product,
    transposed,
    wide,
    wide_zeros,
)

Bytes = NDArray[np.uint8]
Unsigned = NDArray[np.uint64]
Function = TypeVar("Function", bound=Callable[..., Any])

#: What was compiled, to be loaded under its check.
CACHE = cache_beside(__file__, vectors.__file__)
# Numba looks there when a function is decorated; its types do not know its settings.
config.CACHE_DIR = str(CACHE.code)  # type: ignore[attr-defined]

#: Numbers in a line of the processor's cache.
CACHE_LINE = 8
#: Of a table, and rows of the first layer, that are stepped at a time.
COLUMNS = U(32)
ADAM_BETA_1, ADAM_BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-8


class Layers(NamedTuple):
    """The dense layers as views of a flat weight vector."""

    categorical: Floats  # (columns of all predictors, first)
    numeric: Floats  # (numeric inputs, first); the bias lies behind them
    first_bias: Floats
    second: Floats  # (second, first)
    second_bias: Floats
    last: Floats
    last_bias: Floats  # one number


class Sizes(NamedTuple):
    """Cardinalities and first-layer columns of the predictors, and the other sizes and places."""

    cardinalities: Ints
    columns: Ints
    one_hot: bool
    starts: Ints  # where each table begins: it stands column after column and fills up eights
    tables: int  # where the first layer begins
    numeric: int
    first: int
    second: int


class Data(NamedTuple):
    """Rows whose codes count through all predictors."""

    codes: Unsigned  # times the width of the first layer: where a row of the folded tables begins
    numbers: Floats  # and a 1 in every row, by which the bias is read
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


class _Pass(NamedTuple):
    """One pass over the rows: their order, and what dropout does to the hidden units."""

    order: Unsigned
    kept_first: Bytes
    kept_second: Bytes
    scale: float


class _Parameters(NamedTuple):
    """Weights or their gradient, and views of them."""

    flat: Floats
    layers: Layers
    inputs: Matrix  # (numeric inputs and bias, first)
    second: Matrix  # (second, first)
    folded: Floats  # (categories of all predictors, first); part of the flat ones if one-hot


class _Batch(NamedTuple):
    """Scratch for the rows of a batch."""

    hidden: Matrix  # (rows, first) activations
    slope: Matrix  # (rows, first) derivative of the loss by the first linear output
    second: Matrix  # (rows, second) activations
    second_slope: Matrix
    second_turned: Matrix  # (first, second) weights
    logits: Floats
    residuals: Floats  # derivative of the loss by the logit


class _Moments(NamedTuple):
    """Adam's discounted sums of gradients and of their squares, and what a step takes of them.

    They are its means but for factors, which are the same for all weights and stand in the rate.
    """

    sums: Floats
    squares: Floats
    rate: float
    shift: float  # Adam's epsilon
    decay: float


def _compiled(function: Function) -> Function:
    """Compile with Numba; the numpy error model leaves out branches that stop vectorisation."""
    return cast(Function, njit(cache=True, nogil=True, error_model="numpy")(function))


def split_layers(flat: Floats, sizes: Sizes) -> Layers:
    """Return the dense layers as views of the flat weights behind the tables."""
    first, second, columns = sizes.first, sizes.second, sizes.columns.sum()
    b = columns * first
    c = b + sizes.numeric * first
    d = c + first
    e = d + second * first
    return Layers(
        flat[:b].reshape(columns, first), flat[b:c].reshape(sizes.numeric, first), flat[c:d],
        flat[d:e].reshape(second, first), flat[e : e + second],
        flat[e + second : e + 2 * second], flat[e + 2 * second : e + 2 * second + 1],
    )  # fmt: skip


_layers = part(split_layers)


@part
def _zeros(size: int) -> Floats:
    """Return zeros that begin a line of the processor's cache.

    A vector that lies in two lines takes twice as long to load.
    """
    room = np.zeros(size + CACHE_LINE)
    begin = -(room.ctypes.data // room.itemsize) % CACHE_LINE
    return room[begin : begin + size]


@part
def _empty(rows: int, columns: int) -> Matrix:
    return matrix(_zeros(rows * columns), 0, rows, columns)


@part
def _batch(rows: int, sizes: Sizes) -> _Batch:
    first, second = sizes.first, sizes.second
    return _Batch(
        _empty(rows, first), _empty(rows, first), _empty(rows, second), _empty(rows, second),
        _empty(first, second), np.empty(rows), np.empty(rows),
    )  # fmt: skip


@part
def _parameters(flat: Floats, sizes: Sizes) -> _Parameters:
    layers = _layers(flat[sizes.tables :], sizes)
    inputs = sizes.tables + sizes.columns.sum() * sizes.first
    second = inputs + (sizes.numeric + 1) * sizes.first
    folded = line(layers.categorical)
    if not sizes.one_hot:
        folded = _zeros(sizes.cardinalities.sum() * sizes.first)
    return _Parameters(
        flat, layers,
        matrix(flat, inputs, sizes.numeric + 1, sizes.first),
        matrix(flat, second, sizes.second, sizes.first),
        folded,
    )  # fmt: skip


@part
def _everything(rows: int, sizes: Sizes) -> _Pass:
    """Return a pass over the rows as they come, without dropout."""
    order = np.arange(rows).astype(U)
    first, second = (rows, sizes.first), (rows, sizes.second)
    return _Pass(order, np.ones(first, np.uint8), np.ones(second, np.uint8), 1.0)


@part
def _fold_tables(weights: _Parameters, sizes: Sizes, reach: Ints) -> None:
    """Set `folded` to table times first-layer weights, one row per category of all predictors."""
    category, first_layer, width = U0, U(sizes.tables), U(sizes.first)
    if sizes.one_hot:
        return
    for j in range(sizes.columns.size):
        n, d = U(sizes.cardinalities[j]), U(sizes.columns[j])
        table = matrix(weights.flat, sizes.starts[j], d, n)
        block = matrix(weights.flat, first_layer, d, width)
        rows = matrix(weights.folded, category * width, reach[j], width)
        set_wide_product(transposed(table), block, rows)
        category, first_layer = category + n, first_layer + d * width


@part
def _step_tables(
    weights: _Parameters, grad: _Parameters, sizes: Sizes, reach: Ints, inner: Floats,
    moments: _Moments,
) -> None:  # fmt: skip
    """Carry the gradient by the folded rows on to tables and their part of the first layer; step.

    Then fold again. A few columns go through all of it before the next ones are read: so all is
    read once, for it would not stay in the nearest cache. What is to be summed for the gradient of
    a table stays there, in the same place for all columns.
    """
    flat, width = weights.flat, U(sizes.first)
    category, first_layer = U0, U(sizes.tables)
    for j in range(sizes.columns.size):
        n, d, at = U(sizes.cardinalities[j]), U(sizes.columns[j]), U(sizes.starts[j])
        slopes = matrix(grad.folded, category * width, reach[j], width)
        folded = matrix(weights.folded, category * width, reach[j], width)
        inner[: U8 * n * min(COLUMNS, d)] = 0.0  # rows beyond the reach have no slopes
        for done in range(U0, d, COLUMNS):
            table = matrix(flat, at, min(COLUMNS, d - done), n)
            block = matrix(flat, first_layer, table.rows, width)
            _step_first_layer(table, slopes, block, inner, moments)
            for i in range(U0, table.rows * n, U8):
                _step(flat, at + i, eight_sums(inner, i * U8), moments)
            set_wide_product(transposed(table), block, folded, done > U0)
            at, first_layer = at + table.rows * n, first_layer + table.rows * width
        category += n


@part
def _step_first_layer(
    table: Matrix, slopes: Matrix, block: Matrix, inner: Floats, moments: _Moments
) -> None:
    """Step the rows of the first layer that a table feeds; their gradient stays in registers.

    Beside it, set eights whose sums are the gradient of the table, as long as the old rows last.
    """
    width = block.columns
    for k in range(block.rows):
        for u in range(U0, width, U32):
            place = block.at + k * width + u
            old, total = wide(block.values, place), wide_zeros()
            for c in range(slopes.rows):
                some, cell = wide(slopes.values, slopes.at + c * width + u), k * table.columns + c
                total = fma(table.values[table.at + cell], some, total)
                eights = inner_eights(some, old)
                if u > U0:
                    eights = eights + eight(inner, cell * U8)
                put(inner, cell * U8, eights)
            _step(block.values, place, total, moments)


@part
def _first_layer(data: Data, rows: _Pass, start: int, weights: _Parameters, out: Matrix) -> None:
    """Set the output of the first layer, two rows at a time; a last odd one is done twice."""
    codes, numbers, width, inputs = data.codes, data.numbers, out.columns, weights.inputs
    for r in range(U0, out.rows, U2):
        s = min(r + U1, out.rows - U1)
        row, next_row = rows.order[U(start) + r], rows.order[U(start) + s]
        for u in range(U0, width, U32):
            one, other = wide_zeros(), wide_zeros()
            for j in range(U(codes.shape[1])):
                one = one + wide(weights.folded, codes[row, j] + u)
                other = other + wide(weights.folded, codes[next_row, j] + u)
            for k in range(inputs.rows):
                some = wide(inputs.values, inputs.at + k * width + u)
                one = fma(numbers[row, k], some, one)
                other = fma(numbers[next_row, k], some, other)
            put(out.values, r * width + u, one)
            put(out.values, s * width + u, other)


@part
def _first_layer_gradient(
    data: Data, rows: _Pass, start: int, slope: Matrix, grad: _Parameters
) -> None:
    """Set the gradient by folded rows and, two at a time, by the weights of numeric inputs."""
    codes, numbers, width, inputs = data.codes, data.numbers, slope.columns, grad.inputs
    grad.folded[:] = 0.0
    for u in range(U0, width, U32):
        for r in range(slope.rows):
            row, some = rows.order[U(start) + r], wide(slope.values, r * width + u)
            for j in range(U(codes.shape[1])):
                at = codes[row, j] + u
                put(grad.folded, at, wide(grad.folded, at) + some)
        for k in range(U0, inputs.rows, U2):
            next_k, one, other = min(k + U1, inputs.rows - U1), wide_zeros(), wide_zeros()
            for r in range(slope.rows):
                row, some = rows.order[U(start) + r], wide(slope.values, r * width + u)
                one = fma(numbers[row, k], some, one)
                other = fma(numbers[row, next_k], some, other)
            put(inputs.values, inputs.at + k * width + u, one)
            put(inputs.values, inputs.at + next_k * width + u, other)


@part
def _activate(x: Floats, kept: Bytes, start: int, scale: float) -> None:
    """Apply ReLU and dropout to values whose rows of the masks begin at `start`."""
    mask = kept.reshape(kept.size)[start * kept.shape[1] :]
    for i in range(x.size):
        x[i] = max(x[i], 0.0) * (scale * mask[i])  # what is not a number stays so


@part
def _pass_gate(slope: Floats, activations: Floats, scale: float) -> None:
    """Multiply by the derivative of `_activate`: the scale where an activation is not 0."""
    for i in range(slope.size):
        slope[i] *= scale * (activations[i] > 0.0)


@part
def _forward(data: Data, rows: _Pass, start: int, weights: _Parameters, batch: _Batch) -> None:
    """Fill the activations and logits of rows order[start], order[start + 1], ..."""
    layers, second, turned = weights.layers, batch.second, batch.second_turned.values
    _first_layer(data, rows, start, weights, batch.hidden)
    _activate(batch.hidden.values, rows.kept_first, start, rows.scale)
    width = layers.second.shape[0]
    for u in range(layers.second.shape[1]):
        for v in range(width):
            turned[u * width + v] = layers.second[v, u]
    set_product(batch.hidden, batch.second_turned, layers.second_bias, second)
    _activate(second.values, rows.kept_second, start, rows.scale)
    for r in range(batch.logits.size):
        logit = layers.last_bias[0]
        for v in range(width):
            logit += layers.last[v] * second.values[r * width + v]
        batch.logits[r] = logit


@part
def _backward(
    data: Data, rows: _Pass, start: int, weights: _Parameters, grad: _Parameters, batch: _Batch
) -> None:
    """Set the gradient of the mean loss of the batch by layers and by folded rows."""
    layers, slopes, residuals = grad.layers, batch.second_slope.values, batch.residuals
    size, width, second = batch.logits.size, batch.second.columns, batch.second.values
    for r in range(size):
        probability = 1.0 / (1.0 + math.exp(-batch.logits[r]))
        residuals[r] = (probability - data.labels[rows.order[start + r]]) / size
    layers.last_bias[0] = residuals.sum()
    for r in range(U(size)):
        for v in range(U0, width, U8):
            put(slopes, r * width + v, residuals[r] * eight(weights.layers.last, v))
    _pass_gate(slopes, second, rows.scale)
    for v in range(U0, width, U8):
        by_weight, by_bias = eight_zeros(), eight_zeros()
        for r in range(U(size)):
            by_weight = by_weight + residuals[r] * eight(second, r * width + v)
            by_bias = by_bias + eight(slopes, r * width + v)
        put(layers.last, v, by_weight)
        put(layers.second_bias, v, by_bias)
    set_wide_product(transposed(batch.second_slope), batch.hidden, grad.second)
    set_wide_product(batch.second_slope, weights.second, batch.slope)
    _pass_gate(batch.slope.values, batch.hidden.values, rows.scale)
    _first_layer_gradient(data, rows, start, batch.slope, grad)


@part
def _step(weights: Floats, at: int, grad: Vector, moments: _Moments) -> None:
    """Move as many weights by Adam as the gradient has numbers.

    1 / (root + shift) is estimated in single precision, and a step of Newton's method doubles its
    seven digits: on many processors, root and quotient in double precision take longer than all the
    rest. They are needed only where the shift, Adam's epsilon, is above a hundredth of the root.
    """
    sums, squares, rate, shift, decay = moments
    old = alike(weights, at, grad)
    g = fma(decay, old, grad)
    first = fma(ADAM_BETA_1, alike(sums, at, grad), g)
    second = fma(g, g, ADAM_BETA_2 * alike(squares, at, grad))
    put(sums, at, first)
    put(squares, at, second)
    if all_above(second, (100.0 * shift) * (100.0 * shift)):
        inverse = rough_inverses(second, shift)
        root = fma(-shift, inverse, 1.0)  # times the inverse
        error = fma(root, root, (-1.0 * inverse) * second * inverse)  # of its square
        move = first * inverse
        move = fma(move, error * fma(-0.5, root, 1.0), move)
    else:
        move = quotients(first, shift + roots(second))
    put(weights, at, fma(-rate, move, old))


@_compiled
def logits_of(flat: Floats, sizes: Sizes, data: Data) -> Floats:
    """Return the logit of every row, without dropout."""
    rows, weights = data.codes.shape[0], _parameters(flat, sizes)
    batch = _batch(rows, sizes)
    _fold_tables(weights, sizes, data.reach)
    _forward(data, _everything(rows, sizes), 0, weights, batch)
    return batch.logits


@part
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
    start: Floats, sizes: Sizes, data: Data, held_out: Data, orders: Unsigned,
    masks: tuple[Bytes, Bytes], steps: Steps, history: Floats,
) -> tuple[Floats, Floats, int, int]:  # fmt: skip
    """Train; return the last and the best weights, the epoch of the best and the epochs run."""
    flat, sums, squares = _zeros(start.size), _zeros(start.size), _zeros(start.size)
    flat[:] = start
    weights, grad = _parameters(flat, sizes), _parameters(_zeros(start.size), sizes)
    inner, stepped = _zeros(0), 0
    if not sizes.one_hot:
        inner = _zeros(8 * COLUMNS * (sizes.cardinalities.sum() + 1))
        stepped = sizes.tables + sizes.columns.sum() * sizes.first
    rows, step, all_held_out = data.codes.shape[0], 0, _everything(held_out.codes.shape[0], sizes)
    full, rest = _batch(min(steps.batch, rows), sizes), _batch(rows % steps.batch, sizes)
    judged = _batch(held_out.codes.shape[0], sizes)
    best, best_value, best_epoch, epoch = flat.copy(), np.inf, 0, 0
    _fold_tables(weights, sizes, data.reach)
    while epoch < history.shape[0] and epoch - best_epoch < steps.patience:
        over = _Pass(orders[epoch], masks[0][epoch], masks[1][epoch], steps.dropout_scale)
        for begin in range(0, rows, steps.batch):
            batch = full if begin + steps.batch <= rows else rest
            _forward(data, over, begin, weights, batch)
            _backward(data, over, begin, weights, grad, batch)
            step += 1
            per_sum = (1.0 - ADAM_BETA_1) / (1.0 - ADAM_BETA_1**step)
            per_root = math.sqrt((1.0 - ADAM_BETA_2) / (1.0 - ADAM_BETA_2**step))
            moments = _Moments(
                sums, squares, steps.learning_rate * per_sum / per_root,
                ADAM_EPSILON / per_root, steps.weight_decay,
            )  # fmt: skip
            if not sizes.one_hot:
                _step_tables(weights, grad, sizes, data.reach, inner, moments)
            for at in range(U(stepped), U(flat.size), U8):
                _step(flat, at, eight(grad.flat, at), moments)
        _fold_tables(weights, sizes, held_out.reach)
        _forward(held_out, all_held_out, 0, weights, judged)
        history[epoch] = _scores(judged.logits, held_out.labels)
        value = history[epoch, steps.watched]
        epoch += 1
        if value < best_value:
            best_value, best_epoch = value, epoch
            best[:] = flat
    return flat, best, best_epoch, epoch
