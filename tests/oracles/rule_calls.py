"""One call for tests of single rules, without the conveniences of `allocate`."""

from embedalloc.problem import build_problem
from embedalloc.result import name_solution
from embedalloc.rules import RULES


def apply_rule(name, cardinalities, budget, *, leftover="floored", inputs=None, **constraints):
    """Return the allocation of a rule, with the bounds of `build_problem`."""
    rule = RULES[name]
    problem = build_problem(cardinalities, budget, **constraints)
    given = dict(inputs or {})
    if rule.proportional:
        given["leftover"] = leftover
    return name_solution(problem, rule.function(problem, **given), name)
