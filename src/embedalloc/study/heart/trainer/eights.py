"""Eight numbers side by side, and products of matrices whose rows are made of eights.

Eight numbers are a tuple, which LLVM's superword vectoriser keeps in vector registers. Four
eights at once, a wide row, hide the latency of their additions and share the loads of factors.
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
Wide = tuple[Eight, Eight, Eight, Eight]

U: Any = np.uint64
U0, U1, U2, U3, U4, U5, U6, U7, U8 = (U(number) for number in range(9))
U16, U24, U32 = U(16), U(24), U(32)
NOTHING: Eight = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
WIDE_NOTHING: Wide = (NOTHING, NOTHING, NOTHING, NOTHING)

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
def wide(x: Floats, at: int) -> Wide:
    """Return the four eights that begin at a place."""
    return eight(x, at), eight(x, at + U8), eight(x, at + U16), eight(x, at + U24)


@part
def put_wide(x: Floats, at: int, values: Wide) -> None:
    """Write four eights to where they begin."""
    put(x, at, values[0])
    put(x, at + U8, values[1])
    put(x, at + U16, values[2])
    put(x, at + U24, values[3])


@part
def wide_plus(x: Wide, y: Wide) -> Wide:
    """Return x + y."""
    return plus(x[0], y[0]), plus(x[1], y[1]), plus(x[2], y[2]), plus(x[3], y[3])


@part
def wide_times(f: float, x: Wide) -> Wide:
    """Return f x."""
    return times(f, x[0]), times(f, x[1]), times(f, x[2]), times(f, x[3])


@part
def inner_product(x: Wide, y: Wide, sums: Floats) -> float:
    """Return the sum of x y; halves are added to halves until one number is left.

    The last eight are written down first: LLVM would undo their vector to add its numbers.
    """
    some = plus(product(x[0], y[0]), product(x[1], y[1]))
    put(sums, U0, plus(some, plus(product(x[2], y[2]), product(x[3], y[3]))))
    a, b, c, d = sums[0] + sums[4], sums[1] + sums[5], sums[2] + sums[6], sums[3] + sums[7]
    return (a + c) + (b + d)


@part
def matrix(values: Floats, at: int, rows: int, columns: int) -> Matrix:
    """Return the matrix that begins at a place, row after row."""
    return Matrix(values, U(at), U(rows), U(columns), U(columns), U1)


@part
def transposed(x: Matrix) -> Matrix:
    """Return x with rows and columns exchanged; nothing is copied."""
    return Matrix(x.values, x.at, x.columns, x.rows, x.across, x.down)


@part
def set_wide_product(a: Matrix, b: Matrix, out: Matrix) -> None:
    """Set out, whose rows are wide, to the matrix product a b.

    Two rows at a time share what is loaded of b; a last odd one is done twice.
    """
    width, x, y, z = b.columns, a.values, b.values, out.values
    for i in range(U0, out.rows, U2):
        j = min(i + U1, out.rows - U1)
        for u in range(U0, width, U32):
            one, other, at = WIDE_NOTHING, WIDE_NOTHING, b.at + u
            p, q = a.at + i * a.down, a.at + j * a.down
            for _ in range(b.rows):
                row = wide(y, at)
                one = wide_plus(one, wide_times(x[p], row))
                other = wide_plus(other, wide_times(x[q], row))
                at, p, q = at + width, p + a.across, q + a.across
            put_wide(z, out.at + i * width + u, one)
            put_wide(z, out.at + j * width + u, other)


@part
def set_product(a: Matrix, b: Matrix, bias: Floats, out: Matrix) -> None:
    """Set out, whose rows are eights, to the matrix product a b plus a bias in every row.

    Four rows at a time hide the latency of their additions; beyond the last it is done again.
    """
    width, x, y, z, last = b.columns, a.values, b.values, out.values, out.rows - U1
    for i0 in range(U0, out.rows, U4):
        i1, i2, i3 = min(i0 + U1, last), min(i0 + U2, last), min(i0 + U3, last)
        for u in range(U0, width, U8):
            start, at = eight(bias, u), b.at + u
            s0, s1, s2, s3 = start, start, start, start
            p0, p1, p2, p3 = i0 * a.down, i1 * a.down, i2 * a.down, i3 * a.down
            for k in range(a.at, a.at + b.rows * a.across, a.across):
                row = eight(y, at)
                s0, s1 = plus(s0, times(x[p0 + k], row)), plus(s1, times(x[p1 + k], row))
                s2, s3 = plus(s2, times(x[p2 + k], row)), plus(s3, times(x[p3 + k], row))
                at += width
            put(z, out.at + i0 * width + u, s0)
            put(z, out.at + i1 * width + u, s1)
            put(z, out.at + i2 * width + u, s2)
            put(z, out.at + i3 * width + u, s3)
