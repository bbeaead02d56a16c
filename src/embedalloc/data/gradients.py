"""Gradients of the network for tables, written out, and Adam; all parameters lie in one vector.

What a batch's rows read has a line per input, for numpy gathers and scatters lines fastest; the
units have a line per row, for so BLAS multiplies them fastest.

A field whose table is wide and short is folded: its table times its block of the first layer, once
per batch, is what its levels add to the first layer, and a sparse matrix of ones picks the rows'
lines of it. Other fields' embeddings are looked up and multiplied row by row.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import expit

from embedalloc.data.ordering import smallest_type
from embedalloc.data.table import TaskKind

#: Values and slopes; float32 in a training.
Reals = NDArray[np.floating[Any]]

#: Adam's decay of the mean and of the mean square, and what it adds to the root of the latter.
DECAY_MEAN, DECAY_SQUARE, EPSILON = 0.9, 0.999, 1e-8
#: A field is folded from this dimension on, ...
SMALLEST_FOLDED = 5
#: ... if its levels and so many, for what folding costs anyway, are not above half a batch's rows.
LEVELS_BESIDE = 128
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

    def __init__(self, tables: Sequence[Reals], layers: Sequence[Reals], batch: int = 0) -> None:
        """Copy the values; `batch` is the usual number of rows, which decides what is folded."""
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
        self._table_slopes, self._layer_slopes = slopes[: len(tables)], slopes[len(tables) :]
        self._flat_slopes = self._slopes[: ends[len(tables)]]
        levels, widths = np.array([table.shape for table in tables], np.int64).reshape(-1, 2).T
        folded = (widths >= SMALLEST_FOLDED) & (levels + LEVELS_BESIDE <= batch // 2)
        self._folded = np.flatnonzero(folded)
        # A level's place: its line among the folded tables, or where its embedding begins.
        self._steps = np.where(folded, 1, widths)
        lines = np.cumsum(levels * folded)
        self._begins = np.where(folded, lines - levels, ends[: len(tables)])
        self._lines = [slice(lines[j] - levels[j], lines[j]) for j in self._folded]
        last = np.cumsum(widths)
        self._blocks = [slice(last[j] - widths[j], last[j]) for j in self._folded]
        # Of every embedding's component that is looked up: its field, and its place in the line.
        fields = np.repeat(np.arange(len(tables)), widths)
        components = np.arange(len(fields)) - np.repeat(last - widths, widths)
        looked_up = np.flatnonzero(~folded[fields])
        self._place_kind = smallest_type(self.values.size)
        self._fields = fields[looked_up]
        self._components = components[looked_up, None].astype(self._place_kind)
        self._inputs = np.append(looked_up, np.arange(len(fields), len(self.layers[0])))
        self._room: dict[int, _Room] = {}

    def place_levels(self, codes: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.integer[Any]]:
        """Return where the network finds the levels of rows: a line per field."""
        rows = len(codes[0]) if codes else 0
        places = np.empty((len(codes), rows), dtype=self._place_kind)
        kind = self._place_kind
        begins, steps = self._begins.astype(kind), self._steps.astype(kind)
        for line, each, begin, step in zip(places, codes, begins, steps, strict=True):
            np.multiply(each, step, out=line, dtype=kind, casting="unsafe")
            line += begin
        return places

    def gradient(
        self,
        places: NDArray[np.integer[Any]],
        numbers: Reals,
        target: NDArray[Any],
        kind: TaskKind,
        weights: Reals | None = None,
        kept: Sequence[NDArray[np.bool_]] | None = None,
        dropout: float = 0.0,
    ) -> Reals:
        """Return the gradient of the rows' mean loss, in a vector that the next call overwrites.

        Parameters
        ----------
        places
            Columns of what `place_levels` returns.
        numbers
            A column per numeric input.
        target, kind
            What is predicted, and what it is.
        weights
            What each row's loss is multiplied by; None for 1.
        kept
            Hidden units that stay, a matrix per hidden layer: see `draw_kept`. None for all.
        dropout
            The share that does not; the others are multiplied by what makes up for it.
        """
        room = self._prepare(len(target))
        inputs, units, embedded = room.inputs, room.units, len(self._fields)
        positions = places[self._fields]
        positions += self._components
        # The places are right; in this mode numpy writes to the given array at once.
        np.take(self.values, positions, out=inputs[:embedded], mode="clip")
        inputs[embedded:-1] = numbers.T
        first = self.layers[0][self._inputs]
        np.matmul(inputs.T, first, out=units[0])
        if self._lines:
            lines = places[self._folded].T.ravel().astype(np.int32, copy=False)
            room.picks.indices = room.sums.indices = lines
            units[0] += room.picks @ self._fold()
        active: list[NDArray[np.bool_]] = []
        # What makes up for dropped units is in the weights that read them, which are fewer.
        read = [layer[:-1] / (1 - dropout) for layer in self.layers[1:]]
        for depth, (layer, scaled) in enumerate(zip(self.layers[1:], read, strict=True)):
            active.append(units[depth] > 0)
            if kept is not None:
                active[depth] &= kept[depth]
            units[depth] *= active[depth]
            np.matmul(units[depth], scaled, out=units[depth + 1])
            units[depth + 1] += layer[-1]
        slope = units[-1]
        _turn_into_slopes(slope, target, kind)
        if weights is not None:
            slope *= weights[:, None]
        for depth in reversed(range(len(read))):
            found = self._layer_slopes[depth + 1]
            np.matmul(units[depth].T, slope, out=found[:-1])
            found[:-1] /= 1 - dropout
            np.matmul(inputs[-1], slope, out=found[-1])  # of ones
            # With one output this is a product of numbers, for which BLAS takes five times as long.
            slope = slope * read[depth].T if slope.shape[1] == 1 else slope @ read[depth].T
            slope *= active[depth]
        self._layer_slopes[0][self._inputs] = inputs @ slope
        self._flat_slopes.fill(0)
        looked_up = slope @ np.ascontiguousarray(first[:embedded].T)
        np.add.at(self._flat_slopes, positions.ravel(), looked_up.T.ravel())
        if self._lines:
            self._unfold(room.sums @ slope)
        return self._slopes

    def _fold(self) -> Reals:
        """Return what the levels of folded fields add to the first layer, a line each."""
        return np.concatenate(
            [
                self.tables[j] @ self.layers[0][block]
                for j, block in zip(self._folded, self._blocks, strict=True)
            ]
        )

    def _unfold(self, sums: Reals) -> None:
        """Set the slopes of folded fields from the first layer's, summed by level."""
        for j, block, lines in zip(self._folded, self._blocks, self._lines, strict=True):
            np.matmul(self.tables[j].T, sums[lines], out=self._layer_slopes[0][block])
            np.matmul(sums[lines], self.layers[0][block].T, out=self._table_slopes[j])

    def _prepare(self, rows: int) -> "_Room":
        """Return room for a batch of so many rows."""
        if rows not in self._room:
            kind, picked = self.values.dtype, len(self._folded)
            levels = self._lines[-1].stop if self._lines else 0
            ones, picks = np.ones(rows * picked, kind), np.zeros(rows * picked, np.int32)
            ends = np.arange(rows + 1, dtype=np.int32) * picked
            self._room[rows] = _Room(
                np.ones((len(self._inputs), rows), kind),
                [np.empty((rows, layer.shape[1]), kind) for layer in self.layers],
                csr_array((ones, picks, ends), shape=(rows, levels)),
                csc_array((ones, picks, ends), shape=(levels, rows)),
            )
        return self._room[rows]


class _Room(NamedTuple):
    """What a batch needs: inputs, units of every layer, folded levels by row and rows by level."""

    inputs: Reals
    units: list[Reals]
    picks: csr_array
    sums: csc_array


def draw_kept(
    widths: Sequence[int], rows: int, dropout: float, numbers: np.random.Generator
) -> list[NDArray[np.bool_]]:
    """Return which hidden units stay in a training with dropout, a line per row of the data.

    These are the units whose `numbers.random(dtype=np.float32)` is not below the share. Such a
    number is the upper 24 bits of half a random word, and the words alone take half the time;
    "<" makes all machines agree.
    """
    least = math.ceil(np.float32(dropout) * 2**24) << 8
    kept = []
    for width in widths:
        words = numbers.bit_generator.random_raw(width * rows // 2).astype("<u8", copy=False)
        # Written the other way round at once: a transpose of bytes takes up to four times as long.
        kept.append(np.empty((rows, width), np.bool_))
        np.greater_equal(words.view("<u4").reshape(width, rows), least, out=kept[-1].T)
    return kept


def _turn_into_slopes(outputs: Reals, target: NDArray[Any], kind: TaskKind) -> None:
    """Put the slope of the rows' mean loss, output by output, in the place of the outputs."""
    if kind == "multiclass":
        outputs -= outputs.max(axis=1, keepdims=True)
        np.exp(outputs, out=outputs)
        outputs /= outputs.sum(axis=1, keepdims=True)
        outputs[np.arange(len(target)), target] -= 1
    elif kind == "binary":
        expit(outputs, out=outputs)
        outputs -= target[:, None]
    else:
        outputs -= target[:, None]
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
