"""The result of every rule: dimensions by field name, and the proof that the budget holds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from embedalloc.allocation import Solution
from embedalloc.arrays import Ints
from embedalloc.problem import BudgetProblem
from embedalloc.text import text_table
from embedalloc.visible import make_visible


@dataclass(frozen=True)
class Allocation:
    """Dimensions by field name, and the proof that they respect the budget.

    Rules return it; printed, it is a table. `to_json` and the other exporters take it.

    Attributes
    ----------
    allocation_rule
        Name of the rule that chose the dimensions.
    dimensions, cardinalities, parameters
        By field name; parameters are what the field's dimensions cost.
    budget
        Number of parameters that could be spent.
    objective
        Value of the criterion that the rule minimises, if it has one.
    lower_bound
        No permitted allocation has a smaller objective than this, if known.
    effects
        Names of the numeric inputs that hold the effect of a field's level, by field; their
        numbers, one per level and input, are among the parameters.
    shared
        Further names of a field's table, where several modules of a model use it.
    width
        Columns that every field has in the end, if the model needs one width: a table with fewer is
        followed by a projection, whose parameters count.

    Examples
    --------
    >>> from embedalloc import allocate
    >>> plan = allocate({"user": 943, "item": 1682}, 20_000)
    >>> plan.dimensions
    {'user': 8, 'item': 7}
    >>> plan.cost, plan.leftover
    (19318, 682)
    """

    allocation_rule: str
    dimensions: Mapping[str, int]
    cardinalities: Mapping[str, int]
    parameters: Mapping[str, int]
    budget: int
    objective: float | None = None
    lower_bound: float | None = None
    effects: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    shared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    width: int | None = None

    @property
    def cost(self) -> int:
        """Number of parameters spent."""
        return sum(self.parameters.values())

    @property
    def leftover(self) -> int:
        """Number of parameters not spent; never negative."""
        return self.budget - self.cost

    @property
    def gap(self) -> float | None:
        """How much the objective can be above the best possible one; 0 means proven optimal.

        None where there is no bound, or where even the best objective is infinite.
        """
        if self.objective is None or self.lower_bound is None or math.isinf(self.lower_bound):
            return None
        return max(0.0, self.objective - self.lower_bound)

    @property
    def projections(self) -> int:
        """Number of parameters of the projections to the width."""
        if self.width is None:
            return 0
        return sum(self.width * d for d in self.dimensions.values() if d != self.width)

    def __str__(self) -> str:
        rows = [
            [name, f"{self.cardinalities[name]:,}", f"{dimension:,}", f"{self.parameters[name]:,}"]
            for name, dimension in self.dimensions.items()
        ]
        table = text_table(["field", "categories", "dimension", "parameters"], rows)
        lines = [table, self.sum_up()]
        if self.objective is not None:
            gap = "" if self.gap is None else f", at most {self.gap:.4g} above the optimum"
            lines.append(f"objective {self.objective:.6g}{gap}")
        lines += [
            f"{make_visible(name)}: also the table of {', '.join(map(make_visible, others))}"
            for name, others in self.shared.items()
        ]
        return "\n".join(lines)

    def sum_up(self) -> str:
        """Return what was spent, in a line, and in another what of it projects to the width.

        Returns
        -------
        str
            Rule, cost, budget and what is left over; and why equal dimensions are not all equal.

        Examples
        --------
        >>> from embedalloc import allocate
        >>> print(allocate({"user": 943, "item": 1682}, 20_000).sum_up())
        equal: 19,318 of 20,000 parameters spent, 682 left over
        equal but for limits, and where the rest of the budget pays for more
        """
        lines = [
            f"{self.allocation_rule}: {self.cost:,} of {self.budget:,} parameters spent, "
            f"{self.leftover:,} left over"
        ]
        if self.allocation_rule == "equal" and len(set(self.dimensions.values())) > 1:
            lines.append("equal but for limits, and where the rest of the budget pays for more")
        if self.width is not None:
            lines.append(
                f"projected to {self.width:,} columns each, at {self.projections:,} of these"
            )
        return "\n".join(lines)


def name_solution(problem: BudgetProblem, solution: Solution, allocation_rule: str) -> Allocation:
    """Return the named result of a rule, after a last look at the constraints."""
    dimensions, objective, lower_bound = solution

    def by_field(values: Ints) -> dict[str, int]:
        return dict(zip(problem.names, values.tolist(), strict=True))

    chosen, costs = by_field(dimensions), by_field(problem.costs)
    # Python integers, which hold whatever the dimensions are.
    parameters = {name: costs[name] * dimension for name, dimension in chosen.items()}
    within = (problem.lower <= dimensions) & (dimensions <= problem.upper)
    if sum(parameters.values()) > problem.budget or not within.all():
        raise AssertionError(f"{allocation_rule} broke a constraint: {parameters}")
    return Allocation(
        allocation_rule,
        chosen,
        by_field(problem.cardinalities),
        parameters,
        problem.budget,
        objective,
        lower_bound,
    )
