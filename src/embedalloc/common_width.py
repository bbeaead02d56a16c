"""One width for all fields: what projections cost, and where none is needed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from embedalloc.allocation import reciprocal_objective
from embedalloc.arrays import Ints
from embedalloc.checks import whole_number
from embedalloc.problem import BudgetProblem, PerField, whole_numbers
from embedalloc.result import Allocation


def price_width(
    names: tuple[str, ...],
    cardinalities: Ints,
    width: int,
    *,
    maximum: int | PerField | None,
    costs: PerField | None,
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the largest dimensions and the parameters per dimension: N for rows, D to project."""
    width = whole_number(width, "width", least=1)
    if costs is not None:
        raise ValueError("width: it sets the cost per dimension; leave cost_per_dimension out")
    largest = np.minimum(whole_numbers(maximum, names, "maximum", default=width), width)
    return (
        dict(zip(names, largest.tolist(), strict=True)),
        dict(zip(names, (cardinalities + width).tolist(), strict=True)),
    )


def settle_width(
    found: Allocation, problem: BudgetProblem, width: int, given: Mapping[str, Any]
) -> Allocation:
    """Return the allocation without the projections that are not needed.

    A table of D columns needs none. Where N·D is no more than N·d + D·d, the table gets D columns
    at once, if these are permitted and no measured curve speaks.
    """
    limits = dict(zip(problem.names, zip(problem.fixed, problem.upper, strict=True), strict=True))
    dimensions, parameters = {}, {}
    for name, dimension in found.dimensions.items():
        rows = found.cardinalities[name]
        fixed, upper = limits[name]
        free = not fixed and "curves" not in given and upper >= width and width % problem.step == 0
        if free and dimension and rows * width <= (rows + width) * dimension:
            dimension = width
        dimensions[name] = dimension
        projected = 0 if dimension == width else width
        parameters[name] = (rows + projected) * dimension
    objective = found.objective
    if "coefficients" in given:
        a = problem.positive_vector(given["coefficients"], "coefficients")
        used = ~problem.fixed
        chosen = np.array(list(dimensions.values()))
        objective = reciprocal_objective(a[used], chosen[used])
    return replace(
        found,
        dimensions=dimensions,
        parameters=parameters,
        objective=objective,
        lower_bound=None,
        width=width,
    )
