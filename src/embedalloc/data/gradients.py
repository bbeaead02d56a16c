"""Gradients of the network for tables, written out, and Adam; all parameters lie in one vector.

Arrays that belong to a batch have a line per input or unit and a column per row of the data. So
a line of ones below the units, which the next layer's bias is read by, leaves the units in one
piece of memory, and a layer's weights and bias are one matrix.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from embedalloc.arrays import Ints
from embedalloc.data.table import TaskKind

#: Values and slopes; float32 in a training.
Reals = NDArray[np.floating[Any]]

#: Adam's decay of the mean and of the mean square, and what it adds to the root of the latter.
DECAY_MEAN, DECAY_SQUARE, EPSILON = 0.9, 0.999, 1e-8
#: Adam moves so many values at a time, because its ten passes over them should stay in the cache.
PIECE = 16_384


class TableNetwork:
    """A network of embedding tables and layers with rectifiers between them.

    Attributes
    ----------
    values
        All parameters.
    tables
        The embedding tables, as parts of `values`.
    layers
        Weights of every layer with its bias as the last line, as parts of `values`. The first
        reads the embeddings, field by field, and then the numbers.
    """

    def __init__(self, tables: Sequence[Reals], layers: Sequence[Reals]) -> None:
        start = [*tables, *layers]
        self.values: Reals = np.concatenate([part.ravel() for part in start])
        self._slopes = np.zeros_like(self.values)
        ends = np.cumsum([0, *(part.size for part in start)]).tolist()
        shapes = [part.shape for part in start]
        parts, slopes = (
            [flat[i:j].reshape(shape) for (i, j), shape in zip(pairwise(ends), shapes, strict=True)]
            for flat in (self.values, self._slopes)
        )
        self.tables, self.layers = parts[: len(tables)], parts[len(tables) :]
        self._layer_slopes = slopes[len(tables) :]
        self._table_slopes = self._slopes[: ends[len(tables)]]
        self._begins, self._widths = ends[: len(tables)], [table.shape[1] for table in tables]
        # Of every embedding's component: its field, and its place in the level's line.
        self._fields = np.repeat(np.arange(len(tables)), self._widths)
        self._components = np.concatenate([np.arange(0), *map(np.arange, self._widths)])[:, None]
        self._room: dict[int, list[Reals]] = {}

    def place_levels(self, codes: Sequence[NDArray[np.integer[Any]]]) -> Ints:
        """Return where the levels' embeddings begin in `values`: a line per field."""
        rows = len(codes[0]) if codes else 0
        places = np.empty((len(codes), rows), dtype=np.int64)
        for line, each, begin, width in zip(places, codes, self._begins, self._widths, strict=True):
            np.multiply(each, width, out=line)
            line += begin
        return places

    def gradient(
        self,
        places: Ints,
        numbers: Reals,
        target: NDArray[Any],
        kind: TaskKind,
        weights: Reals | None = None,
        kept: Sequence[Reals] | None = None,
    ) -> Reals:
        """Return the gradient of the rows' mean loss, in a vector that the next call overwrites.

        Parameters
        ----------
        places
            Columns of what `place_levels` returns.
        numbers
            A line per numeric input.
        target, kind
            What is predicted, and what it is.
        weights
            What each row's loss is multiplied by; None for 1.
        kept
            What hidden units are multiplied by, a matrix per hidden layer: see `draw_kept`. None
            for 1.
        """
        units = self._prepare(len(target))
        inputs, embedded = units[0], len(self._fields)
        positions = places[self._fields]
        positions += self._components
        # The places are right; in this mode numpy writes to the given array at once.
        np.take(self.values, positions, out=inputs[:embedded], mode="clip")
        inputs[embedded:-1] = numbers
        for depth, layer in enumerate(self.layers, start=1):
            reached = units[depth][: layer.shape[1]]
            np.matmul(layer.T, units[depth - 1], out=reached)
            if depth < len(self.layers):
                np.maximum(reached, 0, out=reached)
                if kept is not None:
                    reached *= kept[depth - 1]
        slope = units[-1]
        _turn_into_slopes(slope, target, kind)
        if weights is not None:
            slope *= weights
        for depth in reversed(range(1, len(self.layers))):
            below, layer = units[depth], self.layers[depth]
            np.matmul(below, slope.T, out=self._layer_slopes[depth])
            # With one output this is a product of numbers, for which BLAS takes five times as long.
            slope = layer[:-1] * slope if len(slope) == 1 else layer[:-1] @ slope
            slope *= below[:-1] > 0
            if kept is not None:
                slope *= kept[depth - 1]
        np.matmul(inputs, slope.T, out=self._layer_slopes[0])
        self._table_slopes.fill(0)
        np.add.at(
            self._table_slopes, positions.ravel(), (self.layers[0][:embedded] @ slope).ravel()
        )
        return self._slopes

    def _prepare(self, rows: int) -> list[Reals]:
        """Return room for the inputs, the hidden units and the outputs of so many rows."""
        if rows not in self._room:
            units = [np.ones((len(layer), rows), self.values.dtype) for layer in self.layers]
            outputs = np.empty((self.layers[-1].shape[1], rows), self.values.dtype)
            self._room[rows] = [*units, outputs]
        return self._room[rows]


def draw_kept(
    widths: Sequence[int], rows: int, dropout: float, numbers: np.random.Generator
) -> list[Reals]:
    """Return the factors of hidden units in a training with dropout: 0, or what makes up for it."""
    factor = np.float32(1 / (1 - dropout))
    kept = [numbers.random((width, rows), dtype=np.float32) for width in widths]
    for each in kept:
        np.greater_equal(each, dropout, out=each)
        each *= factor
    return kept


def _turn_into_slopes(outputs: Reals, target: NDArray[Any], kind: TaskKind) -> None:
    """Put the slope of the rows' mean loss, output by output, in the place of the outputs."""
    if kind == "multiclass":
        outputs -= outputs.max(axis=0)
        np.exp(outputs, out=outputs)
        outputs /= outputs.sum(axis=0)
        outputs[target, np.arange(len(target))] -= 1
    elif kind == "binary":
        expit(outputs, out=outputs)
        outputs -= target
    else:
        outputs -= target
        outputs *= 2
    outputs /= len(target)


class Adam:
    """Adam (Kingma and Ba, 2015) without weight decay, which moves `values`.

    It is dense even for tables of 100,000 levels: with batches of thousands that beats updating
    the touched lines only. The two means are kept without their factors 1 − β, which spares a
    pass over each; the factors are in the two numbers of a step.
    """

    def __init__(self, values: Reals) -> None:
        self._values = values
        self._mean, self._square = np.zeros_like(values), np.zeros_like(values)
        self._steps = 0

    def step(self, gradient: Reals, rate: float) -> None:
        """Move the values once; the gradient's vector is used up."""
        self._steps += 1
        root = math.sqrt((1 - DECAY_SQUARE**self._steps) / (1 - DECAY_SQUARE))
        factor = rate * root * (1 - DECAY_MEAN) / (1 - DECAY_MEAN**self._steps)
        for begin in range(0, len(gradient), PIECE):
            piece = slice(begin, begin + PIECE)
            slope, mean, square = gradient[piece], self._mean[piece], self._square[piece]
            mean *= DECAY_MEAN
            mean += slope
            square *= DECAY_SQUARE
            slope *= slope
            square += slope
            np.sqrt(square, out=slope)
            slope += EPSILON * root
            np.divide(mean, slope, out=slope)
            slope *= factor
            self._values[piece] -= slope
