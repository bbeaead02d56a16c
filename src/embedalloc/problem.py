"""What an allocation must respect: predictors, prices, bounds and the budget.

Every allocation rule takes the same `BudgetProblem`, so that bounds, fixed predictors and the
multiple of the dimensions are checked in one place and mean the same everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints

#: One value per predictor: by name, or in the order of the cardinalities.
PerPredictor = Mapping[str, float] | Sequence[float] | Floats | Ints
Cardinalities = Mapping[str, int] | Sequence[int] | Ints

#: No number may be larger: up to here floating point counts exactly and 64-bit sums are safe.
LARGEST_NUMBER = 2**53


class Constraints(TypedDict, total=False):
    """The optional words of `build_problem`, which every allocation rule passes on."""

    minimum: int | PerPredictor
    maximum: int | PerPredictor | None
    fixed: Mapping[str, int] | None
    multiple_of: int
    cost_per_dimension: PerPredictor | None


class BudgetError(ValueError):
    """The budget cannot pay for the smallest permitted dimensions."""


@dataclass(frozen=True)
class BudgetProblem:
    """Predictors with their price per dimension, permitted dimensions and the shared budget.

    Attributes
    ----------
    names
        Predictor names, in the user's order.
    cardinalities
        Number of categories N_j.
    costs
        Parameters that one dimension costs: N_j unless the user says otherwise.
    lower, upper
        Smallest and largest permitted dimension; equal for a fixed predictor.
    fixed
        Whether the user settled the dimension; such predictors are paid for first and take no
        part in the sharing.
    step
        Dimensions grow by this many at a time.
    budget
        Largest permitted total of costs × dimensions.
    """

    names: tuple[str, ...]
    cardinalities: Ints
    costs: Ints
    lower: Ints
    upper: Ints
    fixed: NDArray[np.bool_]
    step: int
    budget: int

    @cached_property
    def shared_budget(self) -> int:
        """What is left of the budget once the fixed predictors are paid."""
        return self.budget - self.cost_of(np.where(self.fixed, self.lower, 0))

    def cost_of(self, dimensions: Ints) -> int:
        """Return the number of parameters that these dimensions cost."""
        return int(self.costs @ dimensions)

    def vector(self, values: PerPredictor, what: str) -> Floats:
        """Return one finite number per predictor, in order, whatever form the user gave."""
        ordered = self._ordered(values, what)
        vector = np.asarray(ordered, dtype=np.float64)
        if vector.shape != (len(self.names),):
            raise ValueError(f"{what}: expected {len(self.names)} values, got shape {vector.shape}")
        bad = np.flatnonzero(~np.isfinite(vector))
        if bad.size:
            raise ValueError(f"{what}: {self.names[bad[0]]!r} is {vector[bad[0]]}, must be finite")
        return vector

    def positive_vector(self, values: PerPredictor, what: str) -> Floats:
        """Return one positive number per predictor."""
        vector = self.vector(values, what)
        bad = np.flatnonzero(vector <= 0)
        if bad.size:
            raise ValueError(f"{what}: {self.names[bad[0]]!r} is {vector[bad[0]]}, must be above 0")
        return vector

    def _ordered(self, values: PerPredictor, what: str) -> object:
        named = by_name(values)
        if named is None:
            return values
        check_names(named, self.names, what)
        return [named[name] for name in self.names]


def by_name(values: object) -> dict[str, Any] | None:
    """Return values that carry names (a mapping, a pandas Series) as a dictionary, else None."""
    if isinstance(values, Mapping):
        return dict(values)
    if hasattr(values, "keys") and hasattr(values, "items"):
        return dict(values.items())
    return None


def check_names(values: Mapping[str, object], names: Sequence[str], what: str) -> None:
    """Refuse a mapping that lacks a predictor or names one that does not exist."""
    missing = [name for name in names if name not in values]
    unknown = sorted(set(values) - set(names))
    if missing:
        raise ValueError(f"{what}: no value for {missing[0]!r} ({len(missing)} missing)")
    if unknown:
        raise ValueError(f"{what}: {unknown[0]!r} is not a predictor")


def build_problem(
    cardinalities: Cardinalities,
    budget: int,
    *,
    minimum: int | PerPredictor = 1,
    maximum: int | PerPredictor | None = None,
    fixed: Mapping[str, int] | None = None,
    multiple_of: int = 1,
    cost_per_dimension: PerPredictor | None = None,
) -> BudgetProblem:
    """Check the user's words and return the problem they describe.

    Parameters
    ----------
    cardinalities
        Categories per predictor, by name or in order (then the names are x1, x2, …).
    budget
        Total number of embedding parameters, B.
    minimum, maximum
        Permitted dimensions, one number for all or one per predictor. A minimum of 0 lets a
        predictor go without an embedding. No maximum by default.
    fixed
        Dimensions that are settled already; they are paid for first, whatever minimum, maximum
        and multiple_of say.
    multiple_of
        All dimensions that are not fixed become multiples of this number (0 counts as one).
    cost_per_dimension
        Parameters per dimension where that is not the cardinality.

    Raises
    ------
    BudgetError
        Where the budget is below the cost of the smallest permitted dimensions.
    """
    names, counts = named_counts(cardinalities)
    size = len(names)
    step = whole_number(multiple_of, "multiple_of", least=1)
    total = whole_number(budget, "budget", least=0)
    costs = (
        counts
        if cost_per_dimension is None
        else _per(cost_per_dimension, names, "cost_per_dimension", least=1)
    )
    lower = _per(minimum, names, "minimum", least=0)
    upper = (
        np.full(size, LARGEST_NUMBER, dtype=np.int64)
        if maximum is None
        else _per(maximum, names, "maximum", least=0)
    )
    lower, upper = -(-lower // step) * step, upper // step * step
    settled = np.zeros(size, dtype=np.bool_)
    position = {name: j for j, name in enumerate(names)} if fixed else {}
    named = by_name({} if fixed is None else fixed)
    if named is None:
        raise ValueError(f"fixed: {fixed!r} does not name its predictors")
    for name, dimension in named.items():
        if name not in position:
            raise ValueError(f"fixed: {name!r} is not a predictor; there are {some(names)}")
        lower[position[name]] = upper[position[name]] = whole_number(
            dimension, f"fixed[{name!r}]", least=0
        )
        settled[position[name]] = True
    empty = np.flatnonzero(lower > upper)
    if empty.size:
        j = int(empty[0])
        raise ValueError(
            f"no dimension is left for {names[j]!r}: at least {lower[j]}, at most {upper[j]} "
            f"after rounding to multiples of {step}; relax minimum, maximum or multiple_of"
        )
    # Python integers: the sum of many large products may pass 64 bits before it is refused.
    least = sum(c * d for c, d in zip(costs.tolist(), lower.tolist(), strict=True))
    if least > total:
        raise BudgetError(
            f"budget {total} is below {least}, the cost of the smallest permitted dimensions of "
            f"{size} predictors; raise it to at least {least} or lower the minimum"
        )
    return BudgetProblem(names, counts, costs, lower, upper, settled, step, total)


def named_counts(
    cardinalities: Cardinalities,
) -> tuple[tuple[str, ...], Ints]:
    """Return the predictors' names (x1, x2, … where there are none) and their cardinalities."""
    named = by_name(cardinalities)
    if named is not None:
        names = tuple(named)
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            raise ValueError(f"cardinalities: the name {wrong!r} is not a string")
    elif isinstance(cardinalities, (Sequence, np.ndarray)) and not isinstance(cardinalities, str):
        names = tuple(f"x{j}" for j in range(1, len(cardinalities) + 1))
    else:
        raise ValueError(f"cardinalities: {cardinalities!r} is neither a mapping nor a list")
    if not names:
        raise ValueError("cardinalities: there is no predictor to allocate to")
    return names, _per(cardinalities, names, "cardinalities", least=1)


def _per(values: int | PerPredictor, names: tuple[str, ...], what: str, *, least: int) -> Ints:
    """Return one whole number per predictor; a single number counts for all."""
    named = by_name(values)
    items: list[object]
    if named is not None:
        check_names(named, names, what)
        items = [named[name] for name in names]
    elif isinstance(values, (int, float, np.number)):
        return np.full(len(names), whole_number(values, what, least=least), dtype=np.int64)
    elif isinstance(values, (Sequence, np.ndarray)) and not isinstance(values, str):
        items = list(values)
    else:
        raise ValueError(f"{what}: {values!r} is not a list of numbers")
    if len(items) != len(names):
        raise ValueError(f"{what}: expected {len(names)} values, got {len(items)}")
    as_array = np.asarray(items)
    within = as_array.dtype == np.int64 and as_array.ndim == 1
    if within and (as_array >= least).all() and (as_array <= LARGEST_NUMBER).all():
        return as_array
    # Something needs converting or is wrong: look at the values one by one to say which.
    checked = [
        whole_number(item, f"{what}[{name!r}]", least=least)
        for item, name in zip(items, names, strict=True)
    ]
    return np.array(checked, dtype=np.int64)


def whole_number(value: object, what: str, *, least: int) -> int:
    """Return a whole number of at least `least`, or say what was wrong with it."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Integral, Real)):
        raise ValueError(f"{what}: {value!r} is not a whole number")
    if not isinstance(value, Integral) and not float(value).is_integer():  # nor inf, nor nan
        raise ValueError(f"{what}: {value!r} is not a whole number")
    number = int(float(value)) if not isinstance(value, Integral) else int(value)
    if not least <= number <= LARGEST_NUMBER:
        raise ValueError(f"{what}: {number} is not between {least} and {LARGEST_NUMBER}")
    return number


def some(names: Sequence[str]) -> str:
    """Return the first few names, and how many more there are."""
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")
