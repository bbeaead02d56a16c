"""Dimensions from cardinalities and a budget: one function for every rule that needs no data."""

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.allocation import Allocation, allocation_of
from embedalloc.arrays import Ints
from embedalloc.budgets import parse_budget
from embedalloc.optimum import optimal_dimensions
from embedalloc.problem import (
    LARGEST_NUMBER,
    BudgetProblem,
    Cardinalities,
    PerPredictor,
    build_problem,
    by_name,
    check_names,
    named_counts,
    some,
    whole_number,
)
from embedalloc.rule_catalogue import rule_description
from embedalloc.rules import ALLOCATION_RULES, AllocationRule, Leftover, proposed

#: Errors of one predictor: entry d is the error at dimension d, from d = 0 on; or by dimension.
Curve = ArrayLike | Mapping[int, float]

#: Which of the optional inputs a rule uses; rules that are not listed use none.
INPUTS: Mapping[str, tuple[str, ...]] = {
    "paper": ("coefficients",),
    "optimal": ("coefficients", "curves"),
    "popularity": ("frequencies",),
    "spectral_mass": ("masses",),
}
PROPORTIONAL_RULES = (
    "equal",
    "cardinality",
    "square_root",
    "fourth_root",
    "fastai",
    "popularity",
    "spectral_mass",
)


def allocate(
    cardinalities: Cardinalities,
    budget: int | str,
    *,
    rule: str | None = None,
    coefficients: PerPredictor | None = None,
    curves: Mapping[str, Curve] | Sequence[Curve] | None = None,
    frequencies: PerPredictor | None = None,
    masses: PerPredictor | None = None,
    fixed: Mapping[str, int] | None = None,
    minimum: int | PerPredictor = 1,
    maximum: int | PerPredictor | None = None,
    multiple_of: int = 1,
    cost_per_dimension: PerPredictor | None = None,
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
        a_j > 0: what dimensions are worth to predictor j, its error being about a_j/d_j. For the
        rules ``paper`` and ``optimal``.
    curves
        Measured errors for the rule ``optimal``: per predictor either a list, whose entry d is
        the error at dimension d from d = 0 on, or a mapping from the dimensions that were tried
        to their errors. Only dimensions with a finite error can be chosen.
    frequencies
        Lookups per sample, for the rule ``popularity``; 1 for each predictor by default.
    masses
        For the rule ``spectral_mass``.
    fixed
        Dimensions that are settled already, 0 included. They are paid for first, whatever
        minimum, maximum and multiple_of say, and are left out of the objective.
    minimum
        Smallest dimension, for all or by name (others keep 1). With 0 a predictor can go without
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
    leftover
        Whether a proportional rule spends what rounding down leaves (``spent``) or not
        (``floored``). The other rules always spend it.
    dtype, optimizer
        For a budget in bytes: see `parse_budget`.

    Returns
    -------
    Allocation
        By name, in the order of the cardinalities. It does not depend on that order: ties go to
        the cheaper predictor, then to the name that sorts first.

    Examples
    --------
    >>> print(allocate({"user": 943, "item": 1682, "sex": 2}, 20_000))
    predictor  categories  dimension  parameters
    user              943          8       7,544
    item            1,682          7      11,774
    sex                 2          1           2
    equal: 19,320 of 20,000 parameters spent, 680 left over
    >>> allocate({"user": 943, "item": 1682}, "80 kB", coefficients=[2.0, 1.0]).dimensions
    {'user': 10, 'item': 6}
    >>> curves = {"user": {1: 0.60, 4: 0.55, 8: 0.54}, "item": [0.70, 0.61, 0.52]}
    >>> allocate({"user": 943, "item": 1682}, 8_000, curves=curves).dimensions
    {'user': 4, 'item': 2}
    """
    given: dict[str, Any] = {
        "coefficients": coefficients,
        "curves": curves,
        "frequencies": frequencies,
        "masses": masses,
    }
    given = {what: values for what, values in given.items() if values is not None}
    rule = _checked_rule(rule, given, leftover)
    names, counts = named_counts(cardinalities)
    if "curves" in given:
        largest = _completed(maximum, dict.fromkeys(names, LARGEST_NUMBER), "maximum")
    else:
        ranks = dict(zip(names, (counts - 1).tolist(), strict=True))
        largest = useful_maximum(ranks, minimum=minimum, maximum=maximum, multiple_of=multiple_of)
    problem = build_problem(
        cardinalities,
        parse_budget(budget, dtype=dtype, optimizer=optimizer),
        minimum=_completed(minimum, dict.fromkeys(names, 1), "minimum"),
        maximum=largest,
        fixed=fixed,
        multiple_of=multiple_of,
        cost_per_dimension=cost_per_dimension,
    )
    return _allocate_free(problem, rule, given, leftover)


def useful_maximum(
    ranks: Mapping[str, int],
    *,
    minimum: int | PerPredictor = 1,
    maximum: int | PerPredictor | None = None,
    multiple_of: int = 1,
) -> dict[str, int]:
    """Return the user's maximum, completed by the largest useful rank of each predictor.

    A rank gives way to the smallest positive dimension that is permitted, if that is larger; what
    the user says does not.

    Examples
    --------
    >>> useful_maximum({"sex": 1, "town": 49, "user": 942}, maximum={"user": 16}, multiple_of=4)
    {'sex': 4, 'town': 49, 'user': 16}
    """
    step = whole_number(multiple_of, "multiple_of", least=1)
    least = _completed(minimum, dict.fromkeys(ranks, 1), "minimum")
    smallest = {name: -(-max(dimension, 1) // step) * step for name, dimension in least.items()}
    useful = {name: max(rank, smallest[name]) for name, rank in ranks.items()}
    return _completed(maximum, useful, "maximum")


def _checked_rule(rule: str | None, given: Mapping[str, Any], leftover: Leftover) -> str:
    """Return the rule by name, after a check that it has what it needs and nothing else."""
    if rule is None:
        rule = "optimal" if "curves" in given else "paper" if "coefficients" in given else "equal"
    if rule == proposed.__name__:  # the study's name for the paper's rule
        rule = "paper"
    if rule_description(rule).needs == "data":
        raise ValueError(f"rule: {rule!r} learns from data, which this function does not see")
    used = INPUTS.get(rule, ())
    for what in given:
        if what not in used:
            users = ", ".join(other for other, inputs in INPUTS.items() if what in inputs)
            raise ValueError(
                f"{what}: the rule {rule!r} does not use them; leave them out or choose {users}"
            )
    if used and not given and rule != "popularity":
        raise ValueError(f"rule: {rule!r} needs {' or '.join(used)}")
    if leftover not in get_args(Leftover):
        raise ValueError(f"leftover: {leftover!r} is not one of {', '.join(get_args(Leftover))}")
    if leftover == "floored" and rule not in PROPORTIONAL_RULES:
        raise ValueError(f"leftover: the rule {rule!r} always spends it")
    return rule


def _completed(
    values: int | PerPredictor | None, defaults: Mapping[str, int], what: str
) -> dict[str, int]:
    """Return one number per predictor: the user's where there is one, else the default."""
    if values is None:
        return dict(defaults)
    if isinstance(values, (int, float, np.number)):
        return dict.fromkeys(defaults, whole_number(values, what, least=0))
    named = _named(values, tuple(defaults), what)
    checked = {
        name: whole_number(value, f"{what}[{name!r}]", least=0) for name, value in named.items()
    }
    return {**defaults, **checked}


def _allocate_free(
    problem: BudgetProblem, rule: str, given: Mapping[str, Any], leftover: Leftover
) -> Allocation:
    """Apply the rule to the predictors that are not fixed, with what those leave of the budget."""
    free = ~problem.fixed
    if not free.any():
        return allocation_of(problem, problem.lower, rule)
    # In an order of its own, so that ties do not depend on the order of the predictors.
    order = sorted(
        np.flatnonzero(free).tolist(), key=lambda j: (problem.costs[j], problem.names[j])
    )
    names = [problem.names[j] for j in order]

    def part(values: Ints) -> dict[str, int]:
        return dict(zip(names, values[order].tolist(), strict=True))

    inputs: dict[str, Any] = {
        what: _for_free(values, problem.names, names, what) for what, values in given.items()
    }
    if rule in PROPORTIONAL_RULES:
        inputs["leftover"] = leftover
    found = _function(rule)(
        part(problem.cardinalities),
        problem.shared_budget,
        **inputs,
        minimum=part(problem.lower),
        maximum=part(problem.upper),
        multiple_of=problem.step,
        cost_per_dimension=part(problem.costs),
    )
    dimensions = problem.lower.copy()
    dimensions[order] = [found.dimensions[name] for name in names]
    return allocation_of(
        problem, dimensions, rule, objective=found.objective, lower_bound=found.lower_bound
    )


def _function(rule: str) -> AllocationRule:
    if rule == "optimal":
        return optimal_dimensions
    return proposed if rule == "paper" else ALLOCATION_RULES[rule]


def _for_free(
    values: Any, names: tuple[str, ...], free: Sequence[str], what: str
) -> dict[str, Any]:
    """Return the values of the predictors that are not fixed; the others need none."""
    named = _named(values, names, what)
    check_names({**dict.fromkeys(set(names) - set(free)), **named}, names, what)
    if what == "curves":
        return {name: _as_list(named[name], name) for name in free}
    return {name: named[name] for name in free}


def _named(values: Any, names: tuple[str, ...], what: str) -> dict[str, Any]:
    """Return values by name; those without names come in the order of the predictors."""
    named = by_name(values)
    if named is None:
        if isinstance(values, str) or not isinstance(values, (Sequence, np.ndarray)):
            raise ValueError(f"{what}: {values!r} is neither a mapping nor a list")
        if len(values) != len(names):
            raise ValueError(f"{what}: expected {len(names)} values, got {len(values)}")
        return dict(zip(names, values, strict=True))
    known = set(names)
    unknown = next((name for name in named if name not in known), None)
    if unknown is not None:
        raise ValueError(f"{what}: {unknown!r} is not a predictor; there are {some(names)}")
    return named


def _as_list(curve: Curve, name: str) -> ArrayLike:
    """Return a curve as errors from d = 0 on; dimensions that were not measured are infinite."""
    if not isinstance(curve, Mapping):
        return curve
    if not curve:
        raise ValueError(f"curves: {name!r} has no dimension")
    place = f"curves[{name!r}], a dimension"
    measured = {whole_number(d, place, least=0): error for d, error in curve.items()}
    errors = np.full(max(measured) + 1, np.inf)
    errors[list(measured)] = list(measured.values())
    return errors
