"""The exact integer optimum of any separable error under the budget, with a certificate.

Choosing one dimension per predictor at least total error within the budget is a multiple-choice
knapsack problem. With a price λ per parameter every predictor decides alone, which gives a lower
bound (the Lagrangian bound) and, for every other choice, its *regret*: how much the bound rises
if that choice is forced. A choice whose regret exceeds the distance between the best known
allocation and the bound cannot be part of a better one. What remains is searched completely.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embedalloc.allocation import (
    Allocation,
    allocation_of,
    proposed_dimensions,
    reciprocal_objective,
)
from embedalloc.problem import (
    BudgetError,
    BudgetProblem,
    Cardinalities,
    Constraints,
    Floats,
    Ints,
    PerPredictor,
    build_problem,
    check_names,
)

#: Partial allocations that the search may hold at once, and in all, before it gives up on proof.
STATES_AT_ONCE = 200_000
STATES_IN_ALL = 20_000_000
#: Dimensions that may be listed as choices, and departures tried at once, likewise.
LARGEST_LISTING = 2_000_000


@dataclass(frozen=True)
class Choices:
    """Every dimension that is still in question, one row each, sorted by predictor."""

    group: NDArray[np.intp]
    dimension: Ints
    cost: Ints
    error: Floats

    @property
    def starts(self) -> NDArray[np.intp]:
        """Row at which each predictor's choices begin."""
        return np.flatnonzero(np.r_[True, np.diff(self.group) > 0])


def optimal_dimensions(
    cardinalities: Cardinalities,
    budget: int,
    *,
    coefficients: PerPredictor | None = None,
    curves: Mapping[str, ArrayLike] | Sequence[ArrayLike] | None = None,
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
        The errors are measured: entry d of a predictor's curve is its error at dimension d,
        from d = 0 on. An infinite entry forbids that dimension, and the curve's end is the
        largest dimension. Curves may have any shape.

    Returns
    -------
    Allocation
        With a gap of 0 where the search was complete. On instances too large for that the lower
        bound and the gap say how far from optimal it may be. Among equally good allocations
        the cheapest wins.

    Examples
    --------
    >>> print(optimal_dimensions({"a": 2, "b": 5}, 12, curves=[[9, 4, 1, 0], [9, 3, 2]]))
    predictor  categories  dimension  parameters
    a                   2          3           6
    b                   5          1           5
    optimal: 11 of 12 parameters spent, 1 left over
    objective 3, at most 0 above the optimum
    """
    problem = build_problem(cardinalities, budget, **constraints)
    if (coefficients is None) == (curves is None):
        raise ValueError("give either coefficients or curves")
    if curves is not None:
        return _solve(problem, _choices_from_curves(problem, curves), np.inf)
    assert coefficients is not None
    a = problem.positive_vector(coefficients, "coefficients")
    return _solve(problem, *_choices_near_price(problem, a))


def _choices_from_curves(
    problem: BudgetProblem, curves: Mapping[str, ArrayLike] | Sequence[ArrayLike]
) -> Choices:
    """List the permitted points of the curves."""
    if isinstance(curves, Mapping):
        check_names(curves, problem.names, "curves")
        curves = [curves[name] for name in problem.names]
    if len(curves) != len(problem.names):
        raise ValueError(f"curves: expected {len(problem.names)}, got {len(curves)}")
    affordable = _most_affordable(problem)
    rows = []
    for j, name in enumerate(problem.names):
        curve = np.asarray(curves[j], dtype=np.float64)
        if curve.ndim != 1 or curve.size == 0 or np.isnan(curve).any() or (curve == -np.inf).any():
            raise ValueError(f"curves: {name!r} must be a list of errors, none of them nan or -inf")
        last = min(int(affordable[j]), curve.size - 1)
        dimensions = np.arange(problem.lower[j], last + 1, problem.step)
        dimensions = dimensions[np.isfinite(curve[dimensions])]
        if not dimensions.size:
            raise ValueError(
                f"curves: {name!r} has no finite error between dimension {problem.lower[j]} and "
                f"{affordable[j]}, the largest that the bounds and the budget permit"
            )
        rows.append((np.full(dimensions.size, j), dimensions, curve[dimensions]))
    least = sum(int(problem.costs[j]) * int(dims[0]) for j, (_, dims, _) in enumerate(rows))
    if least > problem.budget:
        raise BudgetError(
            f"budget {problem.budget} is below {least}, the cost of the smallest dimensions with "
            "a finite error; raise it or give errors for smaller dimensions"
        )
    owner, dimension, error = (np.concatenate(column) for column in zip(*rows, strict=True))
    return Choices(owner, dimension, problem.costs[owner] * dimension, error)


def _choices_near_price(problem: BudgetProblem, a: Floats) -> tuple[Choices, float]:
    """List the dimensions whose a/d can still matter: near where the price meets the reduction.

    Without a maximum there can be more dimensions than memory holds, so the bound and the best
    known allocation rule out all but a window around √(a/(λN)) before anything is listed. Where
    even that is too much, the window is cut; returned beside the choices is the error that no
    allocation with a dimension outside it can beat (infinite if nothing was cut).
    """
    if (problem.lower == 0).any():
        name = problem.names[int(np.flatnonzero(problem.lower == 0)[0])]
        raise ValueError(
            f"coefficients: a/d is infinite at d = 0, which {name!r} may take; set minimum=1 or "
            "give curves with the error without an embedding"
        )
    largest = _most_affordable(problem)

    def decide(price: float) -> Ints:
        return _best_reciprocal(a, problem, largest, price)

    price = _best_price(problem, decide, steepest=float((a / problem.lower).max()))
    alone = decide(price)
    best = a / alone + price * problem.costs * alone
    known = reciprocal_objective(a, proposed_dimensions(problem, a))
    bound = float(best.sum()) - price * problem.budget
    slack = max(0.0, known - bound) + 1e-9 * known  # a little wider than rounding can be wrong
    # a/d + λNd ≤ best + slack is a quadratic inequality in d; its roots bound the window.
    value, slope = best + slack, price * problem.costs
    root = np.sqrt(np.maximum(value**2 - 4.0 * slope * a, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(slope > 0, 2.0 * a / (value + root), alone)
        last = np.where(slope > 0, (value + root) / (2.0 * slope), largest)
    step = problem.step
    low = np.clip(np.floor(first / step).astype(np.int64) * step, problem.lower, alone)
    high = np.clip(
        np.ceil(np.minimum(last, largest) / step).astype(np.int64) * step, alone, largest
    )
    reach = step * max(1, LARGEST_LISTING // (2 * len(a)))
    cut_low, cut_high = np.maximum(low, alone - reach), np.minimum(high, alone + reach)
    # The value is convex in d: whatever lies outside is worse than the last one listed.
    edges = np.concatenate([cut_low[cut_low > low], cut_high[cut_high < high]])
    owners = np.concatenate([np.flatnonzero(cut_low > low), np.flatnonzero(cut_high < high)])
    regret = a[owners] / edges + slope[owners] * edges - best[owners]
    outside = bound + float(regret.min(initial=np.inf))
    low, high = cut_low, cut_high
    counts = (high - low) // step + 1
    owner = np.repeat(np.arange(len(a)), counts)
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    dimension = low[owner] + step * place
    choices = Choices(owner, dimension, problem.costs[owner] * dimension, a[owner] / dimension)
    return choices, outside


def _most_affordable(problem: BudgetProblem) -> Ints:
    """Return each predictor's largest dimension while all others keep their minimum."""
    leftover = problem.budget - problem.cost_of(problem.lower)
    steps = leftover // (problem.costs * problem.step)
    return np.minimum(problem.upper, problem.lower + problem.step * steps)


def _best_reciprocal(a: Floats, problem: BudgetProblem, largest: Ints, price: float) -> Ints:
    """Return each predictor's minimiser of a/d + λNd among its permitted dimensions."""
    if price == 0.0:
        return largest
    step = problem.step
    ideal = np.sqrt(a / (price * problem.costs))
    below = np.clip(
        np.floor(np.minimum(ideal, largest) / step).astype(np.int64) * step, problem.lower, largest
    )
    above = np.minimum(below + step, largest)
    slope = price * problem.costs
    return np.where(a / above + slope * above < a / below + slope * below, above, below)


def _best_price(
    problem: BudgetProblem, decide: Callable[[float], Ints], *, steepest: float
) -> float:
    """Return the lowest price found at which lone decisions keep the budget.

    That price gives the highest Lagrangian bound. A price of `steepest` or more per parameter
    makes the cheapest choice everyone's best one.
    """
    if problem.cost_of(decide(0.0)) <= problem.budget or steepest == 0.0:
        return 0.0
    low, high = steepest * 1e-40, steepest
    for _ in range(100):
        middle = float(np.sqrt(low) * np.sqrt(high))
        if middle in (low, high):
            break
        if problem.cost_of(decide(middle)) <= problem.budget:
            high = middle
        else:
            low = middle
    return high


def _solve(problem: BudgetProblem, choices: Choices, outside: float) -> Allocation:
    """Search the choices for the least total error within the budget.

    No allocation that uses other choices has an error below `outside`.
    """
    group, starts = choices.group, choices.starts

    def decide(price: float) -> NDArray[np.intp]:
        value = choices.error + price * choices.cost
        winners = np.flatnonzero(value == np.minimum.reduceat(value, starts)[group])
        return winners[np.searchsorted(group[winners], np.arange(len(starts)))]

    spread = np.maximum.reduceat(choices.error, starts) - np.minimum.reduceat(choices.error, starts)
    price = _best_price(
        problem, lambda price: choices.dimension[decide(price)], steepest=float(spread.max())
    )
    base = decide(price)
    value = choices.error + price * choices.cost
    regret = value - value[base][group]
    bound = float(value[base].sum()) - price * problem.budget
    search = _Search(problem, choices, base, regret, bound)
    search.run()
    objective = float(choices.error[search.best].sum())
    lower_bound = min(objective, outside, bound + search.unexplored)
    return allocation_of(
        problem,
        choices.dimension[search.best],
        "optimal",
        objective=objective,
        lower_bound=lower_bound,
    )


class _Search:
    """Complete search over departures from the lone decisions, cheapest regret first.

    A state is a set of departures made so far, kept as its change in cost and in error against
    the lone decisions. Departures come predictor by predictor in the order of their smallest
    regret, so the search ends as soon as no state can afford the next predictor's regret.
    """

    def __init__(
        self,
        problem: BudgetProblem,
        choices: Choices,
        base: NDArray[np.intp],
        regret: Floats,
        bound: float,
    ) -> None:
        self.choices, self.base, self.regret, self.bound = choices, base, regret, bound
        self.room = problem.budget - int(choices.cost[base].sum())
        self.base_error = float(choices.error[base].sum())
        self.tolerance = 1e-12 * (abs(self.base_error) + abs(bound))
        self.best = _fill(choices, base, self.room)
        self.best_error = float(choices.error[self.best].sum())
        self.unexplored = np.inf  # smallest regret of a state that had to be dropped

    @property
    def slack(self) -> float:
        """Regret that an allocation better than the best known one can have at most."""
        return self.best_error - self.bound + self.tolerance

    def run(self) -> None:
        """Find the best rows; `unexplored` stays infinite if the search was complete."""
        departures = self._departures()
        # What the predictors still to come could save at most, to drop hopeless states early.
        savings = [min(0, int(cost.min())) for _, cost, _, _ in departures]
        savings_left = np.cumsum([0, *savings[::-1]])[::-1]
        cost, error, regret = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
        history: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        found: tuple[int, int] | None = None
        in_all = 0
        for stage, (_, change, gain, extra) in enumerate(departures):
            alive = np.flatnonzero(regret + extra.min() <= self.slack)
            if not alive.size:
                break
            parents, options = [alive], [np.full(alive.size, -1)]
            tried = alive.size
            for option in np.argsort(extra, kind="stable").tolist():
                able = alive[regret[alive] + extra[option] <= self.slack]
                if tried + able.size > LARGEST_LISTING:
                    left_out = float(regret[able].min() + extra[option]) if able.size else np.inf
                    self.unexplored = min(self.unexplored, left_out)
                    continue
                tried += able.size
                parents.append(able)
                options.append(np.full(able.size, option))
            parent, option_of = np.concatenate(parents), np.concatenate(options)
            moved = option_of >= 0
            cost = cost[parent] + np.where(moved, change[option_of], 0)
            error = error[parent] + np.where(moved, gain[option_of], 0.0)
            regret = regret[parent] + np.where(moved, extra[option_of], 0.0)
            kept = self._undominated(cost, error, regret, int(savings_left[stage + 1]))
            cost, error, regret = cost[kept], error[kept], regret[kept]
            history.append((parent[kept].astype(np.int32), option_of[kept].astype(np.int32)))
            found = self._improve(cost, error, stage) or found
            in_all += kept.size
            if in_all > STATES_IN_ALL:
                self.unexplored = min(self.unexplored, float(regret.min(initial=np.inf)))
                break
        if found is not None:
            self.best = self._rebuild(found, departures, history)

    def _departures(self) -> list[tuple[NDArray[np.intp], Ints, Floats, Floats]]:
        """Return per predictor: rows that could help, their change in cost and error, regret."""
        choices, group = self.choices, self.choices.group
        useful = self.regret <= self.slack
        useful[self.base] = False
        rows = np.flatnonzero(useful)
        per_predictor = (
            np.split(rows, np.flatnonzero(np.diff(group[rows])) + 1) if rows.size else []
        )
        departures = []
        for mine in per_predictor:
            start = self.base[group[mine[0]]]
            departures.append(
                (
                    mine,
                    choices.cost[mine] - choices.cost[start],
                    choices.error[mine] - choices.error[start],
                    self.regret[mine],
                )
            )
        return sorted(departures, key=lambda departure: float(departure[3].min()))

    def _undominated(
        self, cost: Ints, error: Floats, regret: Floats, savings_left: int
    ) -> NDArray[np.intp]:
        """Return the states worth keeping: none as cheap is as good, and they can still fit."""
        order = np.lexsort((error, cost))
        order = order[cost[order] + savings_left <= self.room]
        best_before = np.minimum.accumulate(np.r_[np.inf, error[order]])[:-1]
        order = order[error[order] < best_before]
        if order.size > STATES_AT_ONCE:
            by_regret = np.argpartition(regret[order], STATES_AT_ONCE)
            dropped = order[by_regret[STATES_AT_ONCE:]]
            self.unexplored = min(self.unexplored, float(regret[dropped].min()))
            order = np.sort(order[by_regret[:STATES_AT_ONCE]])
        return order

    def _improve(self, cost: Ints, error: Floats, stage: int) -> tuple[int, int] | None:
        """Note the best state that fits, if it beats the best known allocation."""
        fitting = np.flatnonzero(cost <= self.room)
        if not fitting.size:
            return None
        winner = int(fitting[np.argmin(error[fitting])])
        if self.base_error + float(error[winner]) >= self.best_error:
            return None
        self.best_error = self.base_error + float(error[winner])
        return stage, winner

    def _rebuild(
        self,
        found: tuple[int, int],
        departures: list[tuple[NDArray[np.intp], Ints, Floats, Floats]],
        history: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
    ) -> NDArray[np.intp]:
        """Walk back from the winning state and apply its departures to the lone decisions."""
        rows = self.base.copy()
        last_stage, state = found
        for stage in range(last_stage, -1, -1):
            parent, option = history[stage]
            if option[state] >= 0:
                row = departures[stage][0][option[state]]
                rows[self.choices.group[row]] = row
            state = int(parent[state])
        return rows


def _fill(choices: Choices, rows: NDArray[np.intp], room: int) -> NDArray[np.intp]:
    """Spend the room left by the lone decisions on the best single changes, one after another."""
    rows = rows.copy()
    for _ in range(len(rows)):
        change = choices.cost - choices.cost[rows][choices.group]
        gain = choices.error[rows][choices.group] - choices.error
        useful = (change <= room) & (gain > 0)
        if not useful.any():
            break
        best = int(np.argmax(np.where(useful, gain, -np.inf)))
        room -= int(change[best])
        rows[choices.group[best]] = best
    return rows
