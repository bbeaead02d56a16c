"""Eight numbers side by side, and products of matrices whose rows are made of eights.

Eight numbers are a tuple, which LLVM's superword vectoriser keeps in vector registers.
Indices are unsigned, since a signed one might be negative and its check stops the vectoriser.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

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


def _part(function: Function) -> Function:
    """Compile as a part of what calls it."""
    return cast(Function, njit(error_model="numpy")(function))


@_part
def line(matrix: Floats) -> Floats:
    """Return a view of all elements."""
    return matrix.reshape(matrix.size)


@_part
def eight(x: Floats, at: int) -> Eight:
    """Return the eight numbers that begin at a place."""
    return (
        x[at], x[at + U1], x[at + U2], x[at + U3],
        x[at + U4], x[at + U5], x[at + U6], x[at + U7],
    )  # fmt: skip


@_part
def put(x: Floats, at: int, values: Eight) -> None:
    """Write eight numbers to where they begin."""
    x[at], x[at + U1], x[at + U2], x[at + U3] = values[0], values[1], values[2], values[3]
    x[at + U4], x[at + U5], x[at + U6], x[at + U7] = values[4], values[5], values[6], values[7]


@_part
def plus(x: Eight, y: Eight) -> Eight:
    """Return x + y."""
    return (
        x[0] + y[0], x[1] + y[1], x[2] + y[2], x[3] + y[3],
        x[4] + y[4], x[5] + y[5], x[6] + y[6], x[7] + y[7],
    )  # fmt: skip


@_part
def product(x: Eight, y: Eight) -> Eight:
    """Return x y, one by one."""
    return (
        x[0] * y[0], x[1] * y[1], x[2] * y[2], x[3] * y[3],
        x[4] * y[4], x[5] * y[5], x[6] * y[6], x[7] * y[7],
    )  # fmt: skip


@_part
def times(f: float, x: Eight) -> Eight:
    """Return f x."""
    return f * x[0], f * x[1], f * x[2], f * x[3], f * x[4], f * x[5], f * x[6], f * x[7]


@_part
def add_times(total: Four, f: float, x: Four) -> Four:
    """Return total + f x."""
    return total[0] + f * x[0], total[1] + f * x[1], total[2] + f * x[2], total[3] + f * x[3]


@_part
def set_product(a: Floats, b: Floats, bias: Floats, out: Floats) -> None:
    """Set out to the matrix product a b plus a bias in every row, four terms at a time.

    Two rows at a time hide the latency of their additions; a last odd one is done twice.
    """
    inner, width, last = U(b.shape[0]), U(b.shape[1]), U(out.shape[0] - 1)
    x, y = line(b), line(out)
    for i in range(U0, last + U1, U2):
        j = min(i + U1, last)
        for u in range(U0, width, U8):
            one, other, at = eight(bias, u), eight(bias, u), u
            for k in range(U0, inner // U4 * U4, U4):
                x0, x1 = eight(x, at), eight(x, at + width)
                x2, x3 = eight(x, at + U2 * width), eight(x, at + U3 * width)
                pair = plus(times(a[i, k], x0), times(a[i, k + U1], x1))
                rest = plus(times(a[i, k + U2], x2), times(a[i, k + U3], x3))
                one = plus(one, plus(pair, rest))
                pair = plus(times(a[j, k], x0), times(a[j, k + U1], x1))
                rest = plus(times(a[j, k + U2], x2), times(a[j, k + U3], x3))
                other = plus(other, plus(pair, rest))
                at += U4 * width
            for k in range(inner // U4 * U4, inner):
                x0 = eight(x, at)
                one, other = plus(one, times(a[i, k], x0)), plus(other, times(a[j, k], x0))
                at += width
            put(y, i * width + u, one)
            put(y, j * width + u, other)


@_part
def set_inner_products(a: Floats, b: Floats, turned: Floats, out: Floats) -> None:
    """Set out[i, k] to the inner product of row i of a and row k of b.

    Four by four at a time; beyond the last row it is done again.
    """
    width, x, y = U(a.shape[1]), line(a), line(b)
    last, last_k = U(a.shape[0] - 1), U(b.shape[0] - 1)
    for i in range(U0, last + U1, U4):
        i1, i2, i3 = min(i + U1, last), min(i + U2, last), min(i + U3, last)
        for u in range(width):
            turned[u, 0], turned[u, 1] = x[i * width + u], x[i1 * width + u]
            turned[u, 2], turned[u, 3] = x[i2 * width + u], x[i3 * width + u]
        for k in range(U0, last_k + U1, U4):
            k1, k2, k3 = min(k + U1, last_k), min(k + U2, last_k), min(k + U3, last_k)
            s0, s1, s2, s3 = NO_FOUR, NO_FOUR, NO_FOUR, NO_FOUR
            for u in range(width):
                four = turned[u, 0], turned[u, 1], turned[u, 2], turned[u, 3]
                s0 = add_times(s0, y[k * width + u], four)
                s1 = add_times(s1, y[k1 * width + u], four)
                s2 = add_times(s2, y[k2 * width + u], four)
                s3 = add_times(s3, y[k3 * width + u], four)
            out[i, k], out[i1, k], out[i2, k], out[i3, k] = s0
            out[i, k1], out[i1, k1], out[i2, k1], out[i3, k1] = s1
            out[i, k2], out[i1, k2], out[i2, k2], out[i3, k2] = s2
            out[i, k3], out[i1, k3], out[i2, k3], out[i3, k3] = s3
