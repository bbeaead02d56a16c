"""What an allocation must respect: fields, prices, bounds and the budget.

Every allocation rule takes the same `BudgetProblem`, so that bounds, fixed fields and the
multiple of the dimensions are checked in one place and mean the same everywhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints
from embedalloc.checks import (
    LARGEST_NUMBER,
    LARGEST_WEIGHT,
    by_name,
    check_list,
    name_values,
    put_in_order,
    real_number,
    show,
    whole_number,
)

#: One value per field: by name, or in the order of the cardinalities.
PerField = Mapping[str, float] | Sequence[float] | Floats | Ints
Cardinalities = Mapping[str, int] | Sequence[int] | Ints


class Constraints(TypedDict, total=False):
    """The optional words of `build_problem`, which every allocation rule passes on."""

    minimum: int | PerField
    maximum: int | PerField | None
    fixed: Mapping[str, int] | None
    multiple_of: int
    cost_per_dimension: PerField | None


class BudgetError(ValueError):
    """The budget cannot pay for the smallest permitted dimensions.

    Examples
    --------
    >>> from embedalloc import allocate
    >>> allocate({"user": 943, "item": 1682}, 2000)
    Traceback (most recent call last):
        ...
    embedalloc.problem.BudgetError: budget 2000 is below 2625, the cost of the smallest permitted
    dimensions of 2 fields; raise it to at least 2625 or lower the minimum
    """


@dataclass(frozen=True)
class BudgetProblem:
    """Fields with their price per dimension, permitted dimensions and the shared budget.

    Attributes
    ----------
    names
        Field names, in the user's order.
    cardinalities
        Number of categories N_j.
    costs
        Parameters that one dimension costs: N_j unless the user says otherwise.
    lower, upper
        Smallest and largest permitted dimension; equal for a fixed field. A step above what the
        budget can pay is left out, so that no product of cost and dimension overflows.
    fixed
        Whether the user settled the dimension; such fields are paid for first and take no
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
        """What is left of the budget once the fixed fields are paid."""
        return self.budget - self.cost_of(np.where(self.fixed, self.lower, 0))

    @cached_property
    def step_prices(self) -> Ints:
        """What a step costs each field; where that is above the budget, some number above it."""
        return np.minimum(self.costs, self.budget // self.step + 1) * self.step

    def cost_of(self, dimensions: Ints) -> int:
        """Return exactly the number of parameters that permitted dimensions cost."""
        # One field costs at most twice the budget, which 64 bits hold; the sum of many may not.
        if self.budget < 2**62 // (len(self.costs) + 1):
            return int(self.costs @ dimensions)
        each = self.costs * dimensions
        return (int((each >> 32).sum()) << 32) + int((each & 0xFFFFFFFF).sum())

    def positive_vector(self, values: PerField, what: str) -> Floats:
        """Return one positive number per field, in order, whatever form the user gave."""
        items = put_in_order(values, self.names, what)
        if not (isinstance(items, np.ndarray) and items.dtype.kind in "iuf"):
            places = (f"{what}[{name!r}]" for name in self.names)
            items = [real_number(item, place) for item, place in zip(items, places, strict=True)]
        vector = np.asarray(items, dtype=np.float64)
        bad = np.flatnonzero(~((vector >= 1 / LARGEST_WEIGHT) & (vector <= LARGEST_WEIGHT)))
        if bad.size:
            name, value = self.names[bad[0]], vector[bad[0]]
            limit = "finite" if not np.isfinite(value) else "above 0"
            if value > 0:
                limit = f"between {1 / LARGEST_WEIGHT} and {LARGEST_WEIGHT}"
            raise ValueError(f"{what}: {name!r} is {value}, must be {limit}")
        return vector

    def take(self, fields: Sequence[int]) -> "BudgetProblem":
        """Return the problem of some fields, with what the fixed ones leave of the budget."""
        return BudgetProblem(
            tuple(self.names[j] for j in fields),
            self.cardinalities[fields],
            self.costs[fields],
            self.lower[fields],
            self.upper[fields],
            self.fixed[fields],
            self.step,
            self.shared_budget,
        )


def build_problem(
    cardinalities: Cardinalities,
    budget: int,
    *,
    minimum: int | PerField = 1,
    maximum: int | PerField | None = None,
    fixed: Mapping[str, int] | None = None,
    multiple_of: int = 1,
    cost_per_dimension: PerField | None = None,
) -> BudgetProblem:
    """Check the user's words and return the problem they describe.

    Parameters
    ----------
    cardinalities
        Categories per field, by name or in order (then the names are x1, x2, …).
    budget
        Total number of embedding parameters, B.
    minimum, maximum
        Permitted dimensions, one number for all or one per field; a field that a mapping does not
        name keeps the default, 1 and no maximum. A minimum of 0 lets a field go without an
        embedding.
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
    step = whole_number(multiple_of, "multiple_of", least=1)
    total = whole_number(budget, "budget", least=0)
    costs = (
        counts
        if cost_per_dimension is None
        else whole_numbers(cost_per_dimension, names, "cost_per_dimension", least=1)
    )
    lower = whole_numbers(minimum, names, "minimum", default=1)
    upper = whole_numbers(maximum, names, "maximum", default=LARGEST_NUMBER)
    lower, upper = -(-lower // step) * step, upper // step * step
    settled = np.zeros(len(names), dtype=np.bool_)
    if fixed is not None and by_name(fixed, "fixed") is None:
        raise ValueError(f"fixed: {show(fixed)} does not name its fields")
    chosen = {} if fixed is None else name_values(fixed, names, "fixed")
    position = {name: j for j, name in enumerate(names)} if chosen else {}
    for name, dimension in chosen.items():
        j = position[name]
        lower[j] = upper[j] = whole_number(dimension, f"fixed[{name!r}]", least=0)
        settled[j] = True
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
            f"{len(names)} fields; raise it to at least {least} or lower the minimum"
        )
    steps = total // costs // step
    # One step more than a field could pay alone: what a rule wants before it gives back.
    payable = np.where(steps > 0, (steps + 1) * step, 0)
    upper = np.where(settled, upper, np.minimum(upper, payable))
    return BudgetProblem(names, counts, costs, lower, upper, settled, step, total)


def named_counts(cardinalities: Cardinalities) -> tuple[tuple[str, ...], Ints]:
    """Return the fields' names (x1, x2, … where there are none) and their cardinalities."""
    named = by_name(cardinalities, "cardinalities")
    if named is not None:
        names = tuple(named)
        wrong = [name for name in names if not isinstance(name, str)]
        if wrong:
            raise ValueError(f"cardinalities: the name {show(wrong[0])} is not a string")
        cardinalities = named
    else:
        check_list(cardinalities, "cardinalities")
        names = tuple(f"x{j}" for j in range(1, len(cardinalities) + 1))
    if not names:
        raise ValueError("cardinalities: there is no field to allocate to")
    return names, whole_numbers(cardinalities, names, "cardinalities", least=1)


def whole_numbers(
    values: int | PerField | None,
    names: tuple[str, ...],
    what: str,
    *,
    least: int = 0,
    default: int | Ints | None = None,
) -> Ints:
    """Return one whole number per field; a single number counts for all.

    With a default, for all or one per field, values may be None or name some of the fields.
    """
    if isinstance(values, (int, float, np.number)):
        return np.full(len(names), whole_number(values, what, least=least), dtype=np.int64)
    if values is None:
        values = {}
    if default is not None and by_name(values, what) is not None:
        named, defaults = name_values(values, names, what), np.full(len(names), default).tolist()
        items = [named.get(name, other) for name, other in zip(names, defaults, strict=True)]
    else:
        items = put_in_order(values, names, what)
    if isinstance(items, np.ndarray) or {type(item) for item in items} == {int}:
        as_array = np.asarray(items)
        within = as_array.dtype == np.int64 and (as_array >= least).all()
        if within and (as_array <= LARGEST_NUMBER).all():
            return as_array
    # Something needs converting or is wrong: look at the values one by one to say which.
    checked = [
        whole_number(item, f"{what}[{name!r}]", least=least)
        for item, name in zip(items, names, strict=True)
    ]
    return np.array(checked, dtype=np.int64)
