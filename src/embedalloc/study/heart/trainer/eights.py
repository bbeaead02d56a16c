"""Eight numbers side by side, and products of matrices whose rows are made of eights.

Eight numbers are a tuple, which LLVM's superword vectoriser keeps in vector registers.
Indices are unsigned, since a signed one might be negative and its check stops the vectoriser.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import config, njit

from embedalloc.arrays import Floats

# Off by default; the tests compare bits with it on and off, and with other processors' code.
config.SLP_VECTORIZE = 1  # type: ignore[attr-defined]

Eight = tuple[float, float, float, float, float, float, float, float]
Four = tuple[float, float, float, float]

U: Any = np.uint64
U0, U1, U2, U3, U4, U5, U6, U7, U8 = (U(number) for number in range(9))
NOTHING: Eight = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_FOUR: Four = (0.0, 0.0, 0.0, 0.0)

Function = TypeVar("Function", bound=Callable[..., Any])


class Matrix(NamedTuple):
    """A matrix whose numbers stand in a line: a new array for each would cost more than its use.

    Attributes
    ----------
    values
        The line.
    at
        Where the first number stands.
    rows, columns
        The sizes.
    down, across
        How far the next row and the next column are.
    """

    values: Floats
    at: int
    rows: int
    columns: int
    down: int
    across: int


def part(function: Function) -> Function:
    """Compile as a part of what calls it."""
    return cast(Function, njit(error_model="numpy", forceinline=True)(function))


@part
def line(matrix: Floats) -> Floats:
    """Return a view of all elements."""
    return matrix.reshape(matrix.size)


@part
def eight(x: Floats, at: int) -> Eight:
    """Return the eight numbers that begin at a place."""
    return (
        x[at], x[at + U1], x[at + U2], x[at + U3],
        x[at + U4], x[at + U5], x[at + U6], x[at + U7],
    )  # fmt: skip


@part
def put(x: Floats, at: int, values: Eight) -> None:
    """Write eight numbers to where they begin."""
    x[at], x[at + U1], x[at + U2], x[at + U3] = values[0], values[1], values[2], values[3]
    x[at + U4], x[at + U5], x[at + U6], x[at + U7] = values[4], values[5], values[6], values[7]


@part
def plus(x: Eight, y: Eight) -> Eight:
    """Return x + y."""
    return (
        x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3],
        x[4] + y[4], x[5] + y[5], x[6] + y[6], x[7] + y[7],
    )  # fmt: skip


@part
def product(x: Eight, y: Eight) -> Eight:
    """Return x y, one by one."""
    return (
        x[0] * y[0], x[1] * y[1], x[2] * y[2], x[3] * y[3],
        x[4] * y[4], x[5] * y[5], x[6] * y[6], x[7] * y[7],
    )  # fmt: skip


@part
def times(f: float, x: Eight) -> Eight:
    """Return f x."""
    return f * x[0], f * x[1], f * x[2], f * x[3], f * x[4], f * x[5], f * x[6], f * x[7]


@part
def quotient(x: Eight, y: Eight) -> Eight:
    """Return x / y, one by one."""
    return (
        x[0] / y[0], x[1] / y[1], x[2] / y[2], x[3] / y[3],
        x[4] / y[4], x[5] / y[5], x[6] / y[6], x[7] / y[7],
    )  # fmt: skip


@part
def roots(x: Eight) -> Eight:
    """Return the square roots."""
    return (
        math.sqrt(x[0]), math.sqrt(x[1]), math.sqrt(x[2]), math.sqrt(x[3]),
        math.sqrt(x[4]), math.sqrt(x[5]), math.sqrt(x[6]), math.sqrt(x[7]),
    )  # fmt: skip


@part
def add_times(total: Four, f: float, x: Four) -> Four:
    """Return total + f x."""
    return total[0] + f * x[0], total[1] + f * x[1], total[2] + f * x[2], total[3] + f * x[3]


@part
def matrix(values: Floats, at: int, rows: int, columns: int) -> Matrix:
    """Return the matrix that begins at a place, row after row."""
    return Matrix(values, U(at), U(rows), U(columns), U(columns), U1)


@part
def transposed(x: Matrix) -> Matrix:
    """Return x with rows and columns exchanged; nothing is copied."""
    return Matrix(x.values, x.at, x.columns, x.rows, x.across, x.down)


@part
def set_product(a: Matrix, b: Matrix, bias: Floats, out: Matrix) -> None:
    """Set out to the matrix product a b plus a bias in every row, four terms at a time.

    Two rows at a time hide the latency of their additions; a last odd one is done twice.
    """
    inner, width, step = b.rows, b.columns, a.across
    x, y, z = a.values, b.values, out.values
    for i in range(U0, out.rows, U2):
        j = min(i + U1, out.rows - U1)
        for u in range(U0, width, U8):
            one, other, at = eight(bias, u), eight(bias, u), b.at + u
            p, q = a.at + i * a.down, a.at + j * a.down
            for _ in range(inner // U4):
                y0, y1 = eight(y, at), eight(y, at + width)
                y2, y3 = eight(y, at + U2 * width), eight(y, at + U3 * width)
                pair = plus(times(x[p], y0), times(x[p + step], y1))
                rest = plus(times(x[p + U2 * step], y2), times(x[p + U3 * step], y3))
                one = plus(one, plus(pair, rest))
                pair = plus(times(x[q], y0), times(x[q + step], y1))
                rest = plus(times(x[q + U2 * step], y2), times(x[q + U3 * step], y3))
                other = plus(other, plus(pair, rest))
                at, p, q = at + U4 * width, p + U4 * step, q + U4 * step
            for _ in range(inner % U4):
                y0 = eight(y, at)
                one, other = plus(one, times(x[p], y0)), plus(other, times(x[q], y0))
                at, p, q = at + width, p + step, q + step
            put(z, out.at + i * width + u, one)
            put(z, out.at + j * width + u, other)


@part
def combination(x: Floats, at: int, step: int, rows: Matrix, u: int) -> Eight:
    """Return eight columns, from u on, of the rows' sum weighted by x[at], x[at + step], ...

    The terms are added in the order of `set_product`.
    """
    y, width, total, v = rows.values, rows.columns, NOTHING, rows.at + u
    for _ in range(rows.rows // U4):
        pair = plus(times(x[at], eight(y, v)), times(x[at + step], eight(y, v + width)))
        third = times(x[at + U2 * step], eight(y, v + U2 * width))
        fourth = times(x[at + U3 * step], eight(y, v + U3 * width))
        total = plus(total, plus(pair, plus(third, fourth)))
        at, v = at + U4 * step, v + U4 * width
    for _ in range(rows.rows % U4):
        total = plus(total, times(x[at], eight(y, v)))
        at, v = at + step, v + width
    return total


@part
def set_inner_products(a: Matrix, b: Matrix, turned: Floats, out: Matrix) -> None:
    """Set out[i, k] to the inner product of row i of a and row k of b.

    Four by four at a time; beyond the last row it is done again.
    """
    width, x, y, z = a.columns, a.values, b.values, out.values
    last, last_k = a.rows - U1, b.rows - U1
    for i in range(U0, a.rows, U4):
        i1, i2, i3 = min(i + U1, last), min(i + U2, last), min(i + U3, last)
        p0, p1, p2, p3 = a.at + i * width, a.at + i1 * width, a.at + i2 * width, a.at + i3 * width
        for u in range(width):
            turned[u, 0], turned[u, 1] = x[p0 + u], x[p1 + u]
            turned[u, 2], turned[u, 3] = x[p2 + u], x[p3 + u]
        z0, z1 = out.at + i * out.down, out.at + i1 * out.down
        z2, z3 = out.at + i2 * out.down, out.at + i3 * out.down
        for k in range(U0, b.rows, U4):
            k1, k2, k3 = min(k + U1, last_k), min(k + U2, last_k), min(k + U3, last_k)
            q0, q1 = b.at + k * width, b.at + k1 * width
            q2, q3 = b.at + k2 * width, b.at + k3 * width
            s0, s1, s2, s3 = NO_FOUR, NO_FOUR, NO_FOUR, NO_FOUR
            for u in range(width):
                four = turned[u, 0], turned[u, 1], turned[u, 2], turned[u, 3]
                s0 = add_times(s0, y[q0 + u], four)
                s1 = add_times(s1, y[q1 + u], four)
                s2 = add_times(s2, y[q2 + u], four)
                s3 = add_times(s3, y[q3 + u], four)
            z[z0 + k], z[z1 + k], z[z2 + k], z[z3 + k] = s0
            z[z0 + k1], z[z1 + k1], z[z2 + k1], z[z3 + k1] = s1
            z[z0 + k2], z[z1 + k2], z[z2 + k2], z[z3 + k2] = s2
            z[z0 + k3], z[z1 + k3], z[z2 + k3], z[z3 + k3] = s3
