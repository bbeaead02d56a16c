"""Dimensions from cardinalities and a budget: one function for every rule that needs no data."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from embedalloc.allocation import Solution, solve_by_paper
from embedalloc.checks import name_values, put_in_order, whole_number
from embedalloc.common_width import price_width, settle_width
from embedalloc.memory import parse_budget
from embedalloc.optimum import Curve, solve_optimally
from embedalloc.problem import (
    BudgetProblem,
    Cardinalities,
    Constraints,
    PerField,
    build_problem,
    named_counts,
    whole_numbers,
)
from embedalloc.proportional import Leftover
from embedalloc.result import Allocation, name_solution
from embedalloc.rules import RULES, Rule, find_rule


def allocate(
    cardinalities: Cardinalities,
    budget: int | str,
    *,
    rule: str | None = None,
    coefficients: PerField | None = None,
    curves: Mapping[str, Curve] | Sequence[Curve] | None = None,
    frequencies: PerField | None = None,
    masses: PerField | None = None,
    fixed: Mapping[str, int] | None = None,
    minimum: int | PerField = 1,
    maximum: int | PerField | None = None,
    multiple_of: int = 1,
    cost_per_dimension: PerField | None = None,
    width: int | None = None,
    leftover: Leftover = "spent",
    dtype: str = "float32",
    optimizer: str | None = None,
) -> Allocation:
    """Return embedding dimensions for these cardinalities, never above the budget.

    Parameters
    ----------
    cardinalities
        Rows of each embedding table, by name or in order (then the names are x1, x2, …). A row
        kept for missing or unseen categories counts.
    budget
        Total number of embedding parameters, or memory such as "64 MB" (see `parse_budget`).
    rule
        One of `embedalloc rules`. By default ``optimal`` if there are curves, ``paper`` if there
        are coefficients, and ``equal`` otherwise: on real data, formulas in the cardinality
        alone did no better than equal dimensions.
    coefficients
        a_j > 0: what dimensions are worth to field j, its error being about a_j/d_j. For the
        rules ``paper`` and ``optimal``.
    curves
        Measured errors for the rule ``optimal``: per field either a list, whose entry d is
        the error at dimension d from d = 0 on, or a mapping from the dimensions that were tried
        to their errors. Only dimensions with a finite error can be chosen.
    frequencies
        Lookups per sample, for the rule ``popularity``; 1 for each field by default.
    masses
        For the rule ``spectral_mass``.
    fixed
        Dimensions that are settled already, 0 included. They are paid for first, whatever
        minimum, maximum and multiple_of say, and are left out of the objective.
    minimum
        Smallest dimension, for all or by name (others keep 1). With 0 a field can go without
        an embedding: where a proportional rule rounds to 0, where its curve says so, or, because
        a/0 is infinite, with coefficients only where the budget cannot pay everyone's first
        dimension.
    maximum
        Largest dimension, for all or by name (others keep the default). By default N_j − 1, the
        largest useful rank, but at least the smallest positive dimension that minimum and
        multiple_of permit; with curves, where the curve ends.
    multiple_of
        All dimensions that are not fixed become multiples of this number.
    cost_per_dimension
        Parameters per dimension where that is not the cardinality.
    width
        Columns that the model needs of every field, for dot products and the like. A table with
        fewer is followed by a projection to this width, which costs as many parameters per
        dimension; one with as many needs none. No dimension is larger. How far the objective is
        from the best one is then not known.
    leftover
        Whether a proportional rule spends what rounding down leaves (``spent``) or not
        (``floored``): then equal dimensions are the same but for limits. The other rules always
        spend it.
    dtype
        Of the tables, for a budget in bytes: see `parse_budget`.
    optimizer
        Whose state shares the memory, for a budget in bytes: see `parse_budget`.

    Returns
    -------
    Allocation
        By name, in the order of the cardinalities. It does not depend on that order: ties go to
        the cheaper field, then to the name that sorts first.

    Examples
    --------
    >>> print(allocate({"user": 943, "item": 1682, "sex": 2}, 20_000))
    field  categories  dimension  parameters
    user          943          8       7,544
    item        1,682          7      11,774
    sex             2          1           2
    equal: 19,320 of 20,000 parameters spent, 680 left over
    equal but for limits, and where the rest of the budget pays for more
    >>> allocate({"user": 943, "item": 1682}, "80 kB", coefficients=[2.0, 1.0]).dimensions
    {'user': 10, 'item': 6}
    >>> curves = {"user": {1: 0.60, 4: 0.55, 8: 0.54}, "item": [0.70, 0.61, 0.52]}
    >>> allocate({"user": 943, "item": 1682}, 8_000, curves=curves).dimensions
    {'user': 4, 'item': 2}
    >>> print(allocate({"user": 943, "item": 1682}, 20_000, width=16))
    field  categories  dimension  parameters
    user          943          8       7,672
    item        1,682          7      11,886
    equal: 19,558 of 20,000 parameters spent, 442 left over
    equal but for limits, and where the rest of the budget pays for more
    projected to 16 columns each, at 240 of these
    """
    given: dict[str, Any] = {
        "coefficients": coefficients,
        "curves": curves,
        "frequencies": frequencies,
        "masses": masses,
    }
    given = {what: values for what, values in given.items() if values is not None}
    chosen = _choose_rule(rule, given, leftover)
    names, counts = named_counts(cardinalities)
    if "curves" not in given:  # which end where they were measured
        ranks = dict(zip(names, (counts - 1).tolist(), strict=True))
        maximum = useful_maximum(ranks, minimum=minimum, maximum=maximum, multiple_of=multiple_of)
    if width is not None:
        priced = price_width(names, counts, width, maximum=maximum, costs=cost_per_dimension)
        maximum, cost_per_dimension = priced
    problem = build_problem(
        dict(zip(names, counts.tolist(), strict=True)),
        parse_budget(budget, dtype=dtype, optimizer=optimizer),
        minimum=minimum,
        maximum=maximum,
        fixed=fixed,
        multiple_of=multiple_of,
        cost_per_dimension=cost_per_dimension,
    )
    found = _allocate_free(problem, chosen, given, leftover)
    return found if width is None else settle_width(found, problem, width, given)


def integer_dimensions(
    coefficients: PerField,
    cardinalities: Cardinalities,
    budget: int,
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Return whole dimensions for the paper's surrogate, never above the budget (Algorithm 1, 3–4).

    The real-valued solution is rounded down, to no less than the minimum. If raising to the
    minimum made it too expensive, the dimension that loses least per parameter freed is given
    back until the budget holds. What is left is spent greedily by reduction per parameter.

    Parameters
    ----------
    coefficients
        Approximation coefficients a_j > 0.
    cardinalities, budget, **constraints
        As in `embedalloc.problem.build_problem`: minimum, maximum, fixed, multiple_of,
        cost_per_dimension. With a minimum of 0 a field goes without an embedding only where
        the budget cannot pay everyone's first dimension, because a/0 is infinite; those with the
        largest a_j/N_j are served first.

    Returns
    -------
    Allocation
        Its objective is Σ a_j/d_j and its lower bound the optimum over real dimensions within
        the same bounds.

    Examples
    --------
    >>> print(integer_dimensions({"sex": 1.0, "town": 4.0}, {"sex": 3, "town": 50}, 180))
    field  categories  dimension  parameters
    sex             3         10          30
    town           50          3         150
    paper: 180 of 180 parameters spent, 0 left over
    objective 1.43333, at most 0.03339 above the optimum
    """
    problem = build_problem(cardinalities, budget, **constraints)
    return name_solution(problem, solve_by_paper(problem, coefficients), "paper")


def optimal_dimensions(
    cardinalities: Cardinalities,
    budget: int,
    *,
    coefficients: PerField | None = None,
    curves: Mapping[str, Curve] | Sequence[Curve] | None = None,
    **constraints: Unpack[Constraints],
) -> Allocation:
    """Return the dimensions with the least total error that the budget can pay.

    Parameters
    ----------
    cardinalities, budget, **constraints
        As in `embedalloc.problem.build_problem`.
    coefficients
        The errors are a_j/d_j, the paper's surrogate.
    curves
        The errors are measured: per field a list, whose entry d is the error at dimension d from
        d = 0 on, or a mapping from dimensions to errors. Dimensions that are not there, or with an
        infinite error, are not chosen. Curves may have any shape.

    Returns
    -------
    Allocation
        With a gap of 0 where the search was complete. On instances too large for that the lower
        bound and the gap say how far from optimal it may be. Among equally good allocations
        the cheapest wins.

    Examples
    --------
    >>> print(optimal_dimensions({"a": 2, "b": 5}, 12, curves=[[9, 4, 1, 0], [9, 3, 2]]))
    field  categories  dimension  parameters
    a               2          3           6
    b               5          1           5
    optimal: 11 of 12 parameters spent, 1 left over
    objective 3, at most 0 above the optimum
    """
    problem = build_problem(cardinalities, budget, **constraints)
    solution = solve_optimally(problem, coefficients=coefficients, curves=curves)
    return name_solution(problem, solution, "optimal")


def useful_maximum(
    ranks: Mapping[str, int],
    *,
    minimum: int | PerField = 1,
    maximum: int | PerField | None = None,
    multiple_of: int = 1,
) -> dict[str, int]:
    """Return the user's maximum, completed by the largest useful rank of each field.

    A rank gives way to the smallest positive dimension that is permitted, if that is larger; what
    the user says does not.

    Examples
    --------
    >>> useful_maximum({"sex": 1, "town": 49, "user": 942}, maximum={"user": 16}, multiple_of=4)
    {'sex': 4, 'town': 49, 'user': 16}
    """
    names, step = tuple(ranks), whole_number(multiple_of, "multiple_of", least=1)
    least = np.maximum(whole_numbers(minimum, names, "minimum", default=1), 1)
    useful = np.maximum(list(ranks.values()), -(-least // step) * step)
    largest = whole_numbers(maximum, names, "maximum", default=useful)
    return dict(zip(names, largest.tolist(), strict=True))


def _choose_rule(name: str | None, given: Mapping[str, Any], leftover: Leftover) -> Rule:
    """Return the rule, after a check that it has what it needs and nothing else."""
    if name is None:
        name = "optimal" if "curves" in given else "paper" if "coefficients" in given else "equal"
    rule = find_rule(name)
    if rule.function is None:
        raise ValueError(f"rule: {name!r} learns from data, which this function does not see")
    for what in given:
        if what not in rule.inputs:
            users = ", ".join(other.name for other in RULES.values() if what in other.inputs)
            raise ValueError(
                f"{what}: the rule {name!r} does not use them; leave them out or choose {users}"
            )
    if rule.needs_input and not given:
        raise ValueError(f"rule: {name!r} needs {' or '.join(rule.inputs)}")
    if leftover != "spent" and not rule.proportional:
        raise ValueError(f"leftover: the rule {name!r} always spends it")
    return rule


def _allocate_free(
    problem: BudgetProblem, rule: Rule, given: Mapping[str, Any], leftover: Leftover
) -> Allocation:
    """Apply the rule to the fields that are not fixed, with what those leave of the budget."""
    free = np.flatnonzero(~problem.fixed).tolist()
    if not free:
        return name_solution(problem, Solution(problem.lower), rule.name)
    # In an order of its own, so that ties do not depend on the order of the fields.
    costs = problem.costs.tolist()
    order = sorted(free, key=lambda j: (costs[j], problem.names[j]))
    part = problem.take(order)
    inputs = {what: _pick_free(values, problem, part, what) for what, values in given.items()}
    if rule.proportional:
        inputs["leftover"] = leftover
    assert rule.function is not None
    found = rule.function(part, **inputs)
    dimensions = problem.lower.copy()
    dimensions[order] = found.dimensions
    return name_solution(problem, found._replace(dimensions=dimensions), rule.name)


def _pick_free(values: Any, problem: BudgetProblem, part: BudgetProblem, what: str) -> Any:
    """Return the values of the fields that are not fixed, in order; the others need none."""
    named = name_values(values, problem.names, what)
    free = set(part.names)
    put_in_order(named, [name for name in problem.names if name in free or name in named], what)
    return [named[name] for name in part.names]
