"""Vectors of eight or thirty-two numbers for compiled code, and products of matrices made of them.

Numba has none, so LLVM's own are made known to it. Every processor has code for them: where its
vectors are shorter, several serve as one. Thirty-two numbers hide the latency of additions and
share the loads of factors.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model
from numba.np.arrayobj import make_array

from embedalloc.arrays import Floats

#: A vector takes + and * by another one, and by a number before it.
Vector = Any
Function = TypeVar("Function", bound=Callable[..., Any])

U: Any = np.uint64
U0, U1, U2, U3, U4, U8, U32 = (U(number) for number in (0, 1, 2, 3, 4, 8, 32))


def _instruction(builder: Callable[..., Any]) -> Callable[..., Any]:
    """Make what returns types, and a function that builds LLVM's code, known to Numba."""
    return cast(Callable[..., Any], intrinsic(builder))


class _VectorType(types.Type):
    """Vectors of so many numbers."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(f"vector of {size} numbers")

    @property
    def form(self) -> ir.VectorType:
        """The same in LLVM."""
        return ir.VectorType(ir.DoubleType(), self.size)


_EIGHT, _WIDE = _VectorType(8), _VectorType(32)


@register_model(_VectorType)
class _Model(models.PrimitiveModel):
    """In memory and in registers a vector is what it is in LLVM."""

    def __init__(self, manager: Any, kind: _VectorType) -> None:
        super().__init__(manager, kind, kind.form)  # type: ignore[no-untyped-call]


@infer_global(operator.add)
@infer_global(operator.mul)
class _Arithmetic(AbstractTemplate):
    """A vector and a vector, or a number and a vector, give a vector."""

    def generic(self, given: tuple[Any, Any], _: Any) -> Any:
        first, second = given
        if isinstance(second, _VectorType) and (first == second or isinstance(first, types.Float)):
            return signature(second, first, second)
        return None


def _spread(builder: ir.IRBuilder, value: ir.Value, form: ir.VectorType) -> ir.Value:
    """Return a vector as it is, and a number as a vector that holds it everywhere."""
    if value.type == form:
        return value
    zero = ir.Constant(ir.IntType(32), 0)
    single = builder.insert_element(ir.Constant(form, ir.Undefined), value, zero)
    return builder.shuffle_vector(
        single, single, ir.Constant(ir.VectorType(zero.type, form.count), None)
    )


def _lower(operation: Any, instruction: str) -> None:
    def build(_: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        return getattr(builder, instruction)(
            *(_spread(builder, each, calls.return_type.form) for each in given)
        )

    for first in (types.Float, _VectorType):
        lower_builtin(operation, first, _VectorType)(build)


_lower(operator.add, "fadd")
_lower(operator.mul, "fmul")


def _call(builder: ir.IRBuilder, name: str, form: ir.Type, *given: ir.Value) -> ir.Value:
    """Call a function of LLVM whose arguments and result are of one type."""
    is_vector = isinstance(form, ir.VectorType)
    suffix = f"v{form.count}{form.element.intrinsic_name}" if is_vector else form.intrinsic_name
    kind = ir.FunctionType(form, [form] * len(given))
    called = get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
    return builder.call(called, [_spread(builder, each, form) for each in given])


@_instruction
def fma(_: Any, f: Any, x: Any, y: Any) -> Any:
    """Return f x + y, rounded once; f and y may be numbers, and so may all three."""

    def build(context: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        return _call(builder, "fma", context.get_value_type(calls.return_type), *given)

    return x(f, x, y), build


@_instruction
def roots(_: Any, x: Any) -> Any:
    """Return the square roots."""
    return x(x), lambda _, builder, calls, given: _call(builder, "sqrt", x.form, *given)


@_instruction
def quotients(_: Any, x: Any, y: Any) -> Any:
    """Return x / y, one by one."""
    return x(x, y), lambda _, builder, calls, given: builder.fdiv(*given)


@_instruction
def all_above(_: Any, x: Any, bound: Any) -> Any:
    """Return whether all numbers of a vector are above a bound."""

    def build(_: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        above = builder.fcmp_ordered(">", given[0], _spread(builder, given[1], x.form))
        bits = ir.IntType(x.size)
        return builder.icmp_unsigned("==", builder.bitcast(above, bits), ir.Constant(bits, -1))

    return types.boolean(x, bound), build


@_instruction
def rough_inverses(_: Any, x: Any, shift: Any) -> Any:
    """Return 1 / (sqrt(x) + shift) to seven digits: in single precision, four times as fast."""

    def build(_: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        form = ir.VectorType(ir.FloatType(), x.size)
        root = _call(builder, "sqrt", form, builder.fptrunc(given[0], form))
        moved = builder.fadd(root, _spread(builder, builder.fptrunc(given[1], form.element), form))
        return builder.fpext(builder.fdiv(ir.Constant(form, [1.0] * x.size), moved), x.form)

    return x(x, shift), build


def _taken(builder: ir.IRBuilder, x: ir.Value, y: ir.Value, places: Iterable[int]) -> ir.Value:
    """Return the numbers at these places of x and y, which count on behind x."""
    chosen = [*places]
    index = ir.VectorType(ir.IntType(32), len(chosen))
    return builder.shuffle_vector(x, y, ir.Constant(index, chosen))


@_instruction
def inner_eights(_: Any, x: Any, y: Any) -> Any:
    """Return eight numbers whose sum is that of x y, of wide vectors."""

    def build(_: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        total = ir.Constant(_EIGHT.form, None)
        for begin in range(0, _WIDE.size, _EIGHT.size):
            places = range(begin, begin + _EIGHT.size)
            some, others = (_taken(builder, each, each, places) for each in given)
            total = _call(builder, "fma", _EIGHT.form, some, others, total)
        return total

    return _EIGHT(x, y), build


@_instruction
def eight_sums(_: Any, x: Any, at: Any) -> Any:
    """Return the sums of the eight vectors of eight that begin at a place."""

    def build(context: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        place = _place(context, builder, calls.args, given, _EIGHT.form)
        rows = [builder.load(builder.gep(place, [ir.IntType(32)(k)]), align=8) for k in range(8)]
        # A sum of all lanes at a time would take twice as many steps as sums of two rows at a time.
        for apart in (1, 2, 4):
            low = [
                side + begin + k
                for begin in range(0, 8, 2 * apart)
                for side in (0, 8)
                for k in range(apart)
            ]
            high = [k + apart for k in low]
            rows = [
                builder.fadd(_taken(builder, *two, low), _taken(builder, *two, high))
                for two in zip(rows[::2], rows[1::2], strict=True)
            ]
        return rows[0]

    return _EIGHT(x, at), build


def _place(context: Any, builder: ir.IRBuilder, kinds: Any, given: Any, form: Any) -> ir.Value:
    """Return where in an array a vector begins."""
    data = make_array(kinds[0])(context, builder, given[0]).data
    return builder.bitcast(builder.gep(data, [given[1]]), form.as_pointer())


def _load(kind: _VectorType, x: Any) -> Any:
    def build(context: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        place = _place(context, builder, calls.args, given, kind.form)
        return builder.load(place, align=8)

    return kind(x, types.uint64), build


@_instruction
def eight(_: Any, x: Any, at: Any) -> Any:
    """Return the eight numbers that begin at a place."""
    return _load(_EIGHT, x)


@_instruction
def wide(_: Any, x: Any, at: Any) -> Any:
    """Return the thirty-two numbers that begin at a place."""
    return _load(_WIDE, x)


@_instruction
def alike(_: Any, x: Any, at: Any, other: Any) -> Any:
    """Return as many numbers as another vector has, which begin at a place."""
    loaded, build = _load(other, x)
    return loaded.return_type(x, types.uint64, other), build


@_instruction
def put(_: Any, x: Any, at: Any, values: Any) -> Any:
    """Write a vector to where it begins."""

    def build(context: Any, builder: ir.IRBuilder, calls: Any, given: Any) -> ir.Value:
        place = _place(context, builder, calls.args, given, values.form)
        builder.store(given[2], place, align=8)
        return context.get_dummy_value()

    return types.none(x, types.uint64, values), build


def _nothing(kind: _VectorType) -> Any:
    return kind(), lambda _, builder, calls, given: ir.Constant(kind.form, None)


@_instruction
def eight_zeros(_: Any) -> Any:
    """Return eight zeros."""
    return _nothing(_EIGHT)


@_instruction
def wide_zeros(_: Any) -> Any:
    """Return thirty-two zeros."""
    return _nothing(_WIDE)


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
    # Nothing else will, and ways in from Python and C are a third of the time to compile.
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(Function, njit(error_model="numpy", forceinline=True, **options)(function))


@part
def line(matrix: Floats) -> Floats:
    """Return a view of all elements."""
    return matrix.reshape(matrix.size)


@part
def matrix(values: Floats, at: int, rows: int, columns: int) -> Matrix:
    """Return the matrix that begins at a place, row after row."""
    return Matrix(values, U(at), U(rows), U(columns), U(columns), U1)


@part
def transposed(x: Matrix) -> Matrix:
    """Return x with rows and columns exchanged; nothing is copied."""
    return Matrix(x.values, x.at, x.columns, x.rows, x.across, x.down)


@part
def set_wide_product(a: Matrix, b: Matrix, out: Matrix, more: bool = False) -> None:
    """Set out, whose rows are wide, to the matrix product a b, or to that much more.

    Two rows at a time share what is loaded of b; a last odd one is done twice.
    """
    width, x, y, z = b.columns, a.values, b.values, out.values
    for i in range(U0, out.rows, U2):
        j = min(i + U1, out.rows - U1)
        for u in range(U0, width, U32):
            one, other, at = wide_zeros(), wide_zeros(), b.at + u
            if more:
                one, other = wide(z, out.at + i * width + u), wide(z, out.at + j * width + u)
            p, q = a.at + i * a.down, a.at + j * a.down
            for _ in range(b.rows):
                row = wide(y, at)
                one, other = fma(x[p], row, one), fma(x[q], row, other)
                at, p, q = at + width, p + a.across, q + a.across
            put(z, out.at + i * width + u, one)
            put(z, out.at + j * width + u, other)


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
                s0, s1 = fma(x[p0 + k], row, s0), fma(x[p1 + k], row, s1)
                s2, s3 = fma(x[p2 + k], row, s2), fma(x[p3 + k], row, s3)
                at += width
            put(z, out.at + i0 * width + u, s0)
            put(z, out.at + i1 * width + u, s1)
            put(z, out.at + i2 * width + u, s2)
            put(z, out.at + i3 * width + u, s3)
