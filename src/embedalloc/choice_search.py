"""The complete search behind the exact optimum: one choice per field, within the budget."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from embedalloc.arrays import Floats, Ints

#: Partial allocations that the search may hold at once before it gives up on proof.
STATES_AT_ONCE = 200_000
#: Departures that it may try in one step and in all, likewise: work ends whatever the budget.
DEPARTURES_AT_ONCE = 2_000_000
DEPARTURES_IN_ALL = 40_000_000


@dataclass(frozen=True)
class Choices:
    """Everything that is still in question, one row each, sorted by field."""

    group: NDArray[np.intp]
    cost: Ints
    error: Floats

    @property
    def starts(self) -> NDArray[np.intp]:
        """Row at which each field's choices begin."""
        return np.flatnonzero(np.r_[True, np.diff(self.group) > 0])


class Departures(NamedTuple):
    """Other choices of one field: their rows, change in cost and error, and regret."""

    rows: NDArray[np.intp]
    cost: Ints
    error: Floats
    regret: Floats


class ChoiceSearch:
    """Complete search over departures from the lone decisions, cheapest regret first.

    A state is a set of departures made so far, kept as its change in cost and in error against
    the lone decisions. Departures come field by field in the order of their smallest
    regret, so the search ends as soon as no state can afford the next field's regret.
    """

    def __init__(
        self,
        budget: int,
        choices: Choices,
        base: NDArray[np.intp],
        regret: Floats,
        bound: float,
    ) -> None:
        self.choices, self.base, self.regret, self.bound = choices, base, regret, bound
        self.room = budget - add_exactly(choices.cost[base])
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
        # What the fields still to come could save at most, to drop hopeless states early.
        savings = [min(0, int(each.cost.min())) for each in departures]
        savings_left = np.cumsum([0, *savings[::-1]])[::-1]
        cost, error, regret = np.zeros(1, np.int64), np.zeros(1), np.zeros(1)
        history: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
        found: tuple[int, int] | None = None
        in_all = 0
        for stage, (_, change, gain, extra) in enumerate(departures):
            parent, option_of = self._pair(regret, extra)
            if not parent.size:
                break
            moved = option_of >= 0
            cost = cost[parent] + np.where(moved, change[option_of], 0)
            error = error[parent] + np.where(moved, gain[option_of], 0.0)
            regret = regret[parent] + np.where(moved, extra[option_of], 0.0)
            kept = self._undominated(cost, error, regret, int(savings_left[stage + 1]))
            cost, error, regret = cost[kept], error[kept], regret[kept]
            history.append((parent[kept].astype(np.int32), option_of[kept].astype(np.int32)))
            found = self._improve(cost, error, stage) or found
            in_all += parent.size
            if in_all > DEPARTURES_IN_ALL:
                self.unexplored = min(self.unexplored, float(regret.min(initial=np.inf)))
                break
        if found is not None:
            self.best = self._rebuild(found, departures, history)

    def _departures(self) -> list[Departures]:
        """Return the departures that could help, the field with the smallest regret first."""
        choices, group = self.choices, self.choices.group
        useful = self.regret <= self.slack
        useful[self.base] = False
        rows = np.flatnonzero(useful)
        per_field = np.split(rows, np.flatnonzero(np.diff(group[rows])) + 1) if rows.size else []
        departures = []
        for mine in per_field:
            start = self.base[group[mine[0]]]
            cost = choices.cost[mine] - choices.cost[start]
            error = choices.error[mine] - choices.error[start]
            departures.append(Departures(mine, cost, error, self.regret[mine]))
        return sorted(departures, key=lambda each: float(each.regret.min()))

    def _pair(self, regret: Floats, extra: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return every state that can afford a departure: as it is (−1), then with each option.

        A state that can afford none is done with. Options come by their regret; those that would
        be too many departures at once are left out.
        """
        alive = np.flatnonzero(regret + extra.min() <= self.slack)
        by_regret = alive[np.argsort(regret[alive], kind="stable")]
        options = np.argsort(extra, kind="stable")
        count = _count_affordable(regret[by_regret], extra[options], self.slack)
        room = DEPARTURES_AT_ONCE - alive.size
        if count.sum() > room:
            taken = count.copy()
            for option, size in enumerate(count.tolist()):
                taken[option] = size if size <= room else 0
                room -= int(taken[option])
            left_out = np.flatnonzero(taken < count)[0]
            self.unexplored = min(
                self.unexplored, float(regret[by_regret[0]] + extra[options[left_out]])
            )
            count = taken
        rank = np.repeat(np.arange(len(options)), count)
        parent = by_regret[np.arange(rank.size) - np.repeat(np.cumsum(count) - count, count)]
        order = np.lexsort((parent, rank))
        return (
            np.concatenate([alive, parent[order]]),
            np.concatenate([np.full(alive.size, -1), options[rank[order]]]),
        )

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
        departures: list[Departures],
        history: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
    ) -> NDArray[np.intp]:
        """Walk back from the winning state and apply its departures to the lone decisions."""
        rows = self.base.copy()
        last_stage, state = found
        for stage in range(last_stage, -1, -1):
            parent, option = history[stage]
            if option[state] >= 0:
                row = departures[stage].rows[option[state]]
                rows[self.choices.group[row]] = row
            state = int(parent[state])
        return rows


def add_exactly(numbers: Ints) -> int:
    """Return the sum of whole numbers, each of which 64 bits hold while their sum may need more."""
    return (int((numbers >> 32).sum()) << 32) + int((numbers & 0xFFFFFFFF).sum())


def _count_affordable(regret: Floats, extra: Floats, slack: float) -> NDArray[np.intp]:
    """Return for each extra regret how many states, sorted by regret, stay within the slack."""
    fewest = np.zeros(len(extra), dtype=np.intp)
    most = np.full(len(extra), len(regret))
    while (is_open := fewest < most).any():
        middle = (fewest + most) // 2
        able = regret[np.minimum(middle, len(regret) - 1)] + extra <= slack
        fewest = np.where(is_open & able, middle + 1, fewest)
        most = np.where(is_open & ~able, middle, most)
    return fewest


def _fill(choices: Choices, rows: NDArray[np.intp], room: int) -> NDArray[np.intp]:
    """Spend the room left by the lone decisions on the best single changes, one after another.

    Room only shrinks, and after its best change that fits a field has no better one: each row is
    looked at once, the largest gain first.
    """
    change = choices.cost - choices.cost[rows][choices.group]
    gain = choices.error[rows][choices.group] - choices.error
    useful = np.flatnonzero((change <= room) & (gain > 0))
    useful = useful[np.argsort(-gain[useful], kind="stable")]
    columns = (useful, choices.group[useful], change[useful])
    filled: dict[int, int] = {}
    for row, group, price in zip(*(column.tolist() for column in columns), strict=True):
        if price <= room and group not in filled:
            filled[group] = row
            room -= price
    rows = rows.copy()
    rows[list(filled)] = list(filled.values())
    return rows
