"""What a table costs in bytes: its numbers, their scales, the optimiser's state, the keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from embedalloc.arrays import Ints
from embedalloc.checks import show, whole_number

#: Columns and bytes of a key may be so many, and rows of a table: 64 bits hold any product.
LARGEST_WIDTH, LARGEST_HEIGHT = 2**20, 2**36


class NumberFormat(NamedTuple):
    """How a number of a table is stored.

    Attributes
    ----------
    bits
        Of one number.
    row_bytes
        Beside the numbers of a row: the scale and offset of whole numbers, as torch packs them.
    state_bytes
        Of one value of the optimiser's state. Whole numbers are trained with a state in float32.
    significand
        Binary digits of a floating-point number; 0 for whole numbers.
    step
        Dimensions are multiples of this: torch packs two 4-bit numbers into a byte.
    """

    bits: int
    row_bytes: int
    state_bytes: int
    significand: int
    step: int = 1


#: Number formats by name.
NUMBER_FORMATS: Mapping[str, NumberFormat] = {
    "float32": NumberFormat(32, 0, 4, 24),
    "float16": NumberFormat(16, 0, 2, 11),
    "bfloat16": NumberFormat(16, 0, 2, 8),
    "int8": NumberFormat(8, 8, 4, 0),
    "int4": NumberFormat(4, 4, 4, 0, step=2),
}


class OptimizerState(NamedTuple):
    """Values that an optimiser keeps: beside each number, and beside each row (in float32)."""

    per_number: int
    per_row: int


#: Optimisers by name. None stands for serving: no state at all.
OPTIMIZERS: Mapping[str, OptimizerState] = {
    "sgd": OptimizerState(0, 0),
    "momentum": OptimizerState(1, 0),
    "adagrad": OptimizerState(1, 0),
    "rowwise_adagrad": OptimizerState(0, 1),
    "adam": OptimizerState(2, 0),
    "partial_rowwise_adam": OptimizerState(1, 1),
}


@dataclass(frozen=True)
class Prices:
    """The price list: bytes of a row, of a key, and of a projection to a common width.

    Attributes
    ----------
    optimizer
        A name of `OPTIMIZERS`, or None where the tables only serve. The few bytes of state that do
        not grow with a table (torch's step counters) are not counted.
    key_bytes
        For each level with a row of its own, where a hash table finds the row: say 8 for the key, 8
        for the row, divided by how full the hash table is.
    width
        Columns that every field has in the end, or None. A table with fewer columns is
        followed by a projection, a matrix of `width` rows in float32.
    """

    optimizer: str | None = None
    key_bytes: int = 0
    width: int | None = None

    def __post_init__(self) -> None:
        if self.optimizer is not None and self.optimizer not in OPTIMIZERS:
            raise ValueError(
                f"optimizer: {show(self.optimizer)} is not one of {', '.join(OPTIMIZERS)}, nor None"
            )
        at_most(whole_number(self.key_bytes, "key_bytes", least=0), "key_bytes", LARGEST_WIDTH)
        if self.width is not None:
            at_most(whole_number(self.width, "width", least=1), "width", LARGEST_WIDTH)

    def row_bytes(self, dimensions: Ints, number_format: str) -> Ints:
        """Return the bytes of one row of so many numbers, with the optimiser's state.

        Examples
        --------
        >>> prices = Prices(optimizer="rowwise_adagrad")
        >>> prices.row_bytes(np.array([8, 16]), "float32").tolist()
        [36, 68]
        >>> Prices().row_bytes(np.array([8, 16]), "int4").tolist()
        [8, 12]
        """
        stored = NUMBER_FORMATS[number_format]
        state = OptimizerState(0, 0) if self.optimizer is None else OPTIMIZERS[self.optimizer]
        numbers = -(-stored.bits * dimensions // 8)
        kept = stored.state_bytes * state.per_number * dimensions
        return numbers + stored.row_bytes + kept + 4 * state.per_row

    def projection_bytes(self, dimensions: Ints) -> Ints:
        """Return the bytes of the projection to the common width; none is needed at that width."""
        if self.width is None:
            return np.zeros_like(dimensions)
        bytes_of = self.width * self.row_bytes(dimensions, "float32")
        return np.where(dimensions == self.width, 0, bytes_of)


def at_most(number: int, what: str, largest: int) -> int:
    """Return a number, or refuse one that is too large to be meant."""
    if number > largest:
        raise ValueError(f"{what}: {number} is more than {largest}")
    return number


def find_format(name: str) -> NumberFormat:
    """Return the number format of this name."""
    if not isinstance(name, str) or name not in NUMBER_FORMATS:
        raise ValueError(f"format: {show(name)} is not one of {', '.join(NUMBER_FORMATS)}")
    return NUMBER_FORMATS[name]
