"""The total budget in words: a number of parameters, or memory with its unit."""

import re
from collections.abc import Mapping
from fractions import Fraction

from embedalloc.checks import show, whole_number

#: Bytes that one value takes.
BYTES_PER_VALUE: Mapping[str, int] = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}

#: Values that an optimiser keeps beside each parameter.
STATE_VALUES: Mapping[str, int] = {"sgd": 0, "momentum": 1, "adagrad": 1, "adam": 2}

#: Bytes per unit: powers of ten for kB, MB, …, powers of two for KiB, MiB, …
BYTES_PER_UNIT: Mapping[str, int] = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMGT", start=1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", start=1)},
}

_AMOUNT = re.compile(
    r"(\d[\d_]{,99}(?:\.\d{1,99})?(?:[eE]\+?\d{1,2})?)\s*([A-Za-z]*)", flags=re.ASCII
)


def parse_budget(budget: int | str, *, dtype: str = "float32", optimizer: str | None = None) -> int:
    """Return the number of parameters that a budget in words allows.

    Parameters
    ----------
    budget
        A number of parameters (4096, "4096"), or memory with its unit ("64 MB", "1.5 GiB").
        MB is 10^6 bytes and MiB 2^20; upper and lower case mean the same.
    dtype
        What one parameter is stored as: float16, bfloat16, float32 or float64. It matters for
        memory only.
    optimizer
        Whose state shares the memory: None (the tables alone, as when serving), sgd (no state),
        momentum or adagrad (one value per parameter), adam (two). The state is taken to have the
        parameters' dtype. Gradients are not counted: those of embeddings are usually sparse and
        last only for a step.

    Returns
    -------
    int
        Never more than the memory holds.

    Examples
    --------
    >>> parse_budget("64 MB")
    16000000
    >>> parse_budget("1 MiB", dtype="float16", optimizer="adam")
    174762
    """
    per_parameter = bytes_per_parameter(dtype, optimizer)
    amount, unit = _read_amount(budget, "a number of parameters (4096)")
    return whole_number(amount if unit is None else amount // per_parameter, "budget", least=0)


def parse_bytes(size: int | str) -> int:
    """Return the number of bytes that a size in words means; without a unit they are bytes.

    Examples
    --------
    >>> parse_bytes("64 MB"), parse_bytes("1.5 KiB"), parse_bytes(4096)
    (64000000, 1536, 4096)
    """
    return whole_number(_read_amount(size, "a number of bytes (4096)")[0], "budget", least=0)


def _read_amount(budget: int | str, plain: str) -> tuple[int, str | None]:
    """Return a whole number and no unit, or a number of bytes and the unit it was given in."""
    if not isinstance(budget, str):
        return whole_number(budget, "budget", least=0), None
    matched = _AMOUNT.fullmatch(budget.strip())
    if matched is None:
        raise ValueError(
            f"budget: {show(budget)} is neither {plain} nor memory with its unit (64 MB, 1.5 GiB)"
        )
    amount, unit = Fraction(matched[1].replace("_", "")), matched[2]  # exact
    if not unit:
        if amount.denominator > 1:
            raise ValueError(f"budget: {budget.strip()} is not a whole number")
        return int(amount), None
    units = {name.lower(): size for name, size in BYTES_PER_UNIT.items()}
    if unit.lower() not in units:
        raise ValueError(
            f"budget: {unit!r} in {budget!r} is not a unit; there are {', '.join(BYTES_PER_UNIT)}"
        )
    return int(amount * units[unit.lower()]), unit


def bytes_per_parameter(dtype: str = "float32", optimizer: str | None = None) -> int:
    """Return the bytes that one parameter takes together with its optimiser state."""
    if not isinstance(dtype, str) or dtype not in BYTES_PER_VALUE:
        raise ValueError(f"dtype: {show(dtype)} is not one of {', '.join(BYTES_PER_VALUE)}")
    known = optimizer is None or (isinstance(optimizer, str) and optimizer in STATE_VALUES)
    if not known:
        raise ValueError(
            f"optimizer: {show(optimizer)} is not one of {', '.join(STATE_VALUES)}, nor None"
        )
    states = 0 if optimizer is None else STATE_VALUES[optimizer]
    return BYTES_PER_VALUE[dtype] * (1 + states)
