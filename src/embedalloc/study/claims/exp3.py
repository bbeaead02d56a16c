"""What decides the claims about Experiment 3, with rivals floored and with leftover spent."""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import Bootstrap, Finding, undecidable
from embedalloc.study.exp3 import ALLOCATION_RULES, LEFTOVERS

#: Mean errors: the last two axes are budgets or sample sizes, and rules with the proposed first.
Statistic = Callable[[Floats], Floats]
_MASS = ALLOCATION_RULES.index("spectral_mass")


def exp3_findings(
    performance: pd.DataFrame,
    *,
    budgets: Sequence[int],
    budget_observations: int,
    sizes: Sequence[int],
    curve_budget: int,
    categories: int,
    bootstrap: Bootstrap,
) -> dict[str, dict[str, Finding]]:
    """Return the findings of every claim on Experiment 3, by claim and reading.

    Parameters
    ----------
    performance
        Results of all sample sizes.
    budgets, budget_observations
        Budgets of the figure over budgets, and its sample size.
    sizes, curve_budget
        Sample sizes of the figure over sample sizes, and its budget.
    categories
        Σ N_j: a budget must exceed it to leave a choice.
    bootstrap
        Source of the intervals.
    """
    found: dict[str, dict[str, Finding]] = {}
    at_size = performance[performance["observations"] == budget_observations]
    at_budget = performance[performance["budget"] == curve_budget]
    free = [b for b in sorted(budgets) if b > categories]
    forced = None if free else undecidable("no budget that leaves a choice")
    one_size = undecidable("one sample size only") if len(sizes) < 2 else None
    for leftover in LEFTOVERS:
        everywhere = _stacked(at_size, "budget", sorted(budgets), leftover)
        choosable = _stacked(at_size, "budget", free, leftover)
        # Different sample sizes share no draws, but one row per replication serves as well.
        grown = _stacked(at_budget, "observations", sorted(sizes), leftover)
        findings = {
            "exp3-proposed-lowest": _lowest(everywhere, sorted(budgets), bootstrap),
            "exp3-equal-inefficient": forced or _behind(choosable, free, "equal", bootstrap),
            "exp3-cardinality-weaker": forced or _behind(choosable, free, "cardinality", bootstrap),
            "exp3-mass-competitive": forced or _competitive(choosable, free, bootstrap),
            "exp3-samplesize-lowest": _lowest_everywhere(grown, sorted(sizes), bootstrap),
            "exp3-gain-over-blind": _gain_over_blind(grown, sorted(sizes), bootstrap),
            "exp3-all-improve": one_size or _improve(grown, sorted(sizes), bootstrap),
            "exp3-ranking-stable": one_size or _ranking(grown, sorted(sizes), bootstrap),
        }
        for claim, finding in findings.items():
            found.setdefault(claim, {})[leftover] = finding
        by_size = found.setdefault("exp3-low-middle", {})
        by_size[f"{leftover}_share"] = _low_middle(everywhere, bootstrap, relative=True)
        by_size[f"{leftover}_difference"] = _low_middle(everywhere, bootstrap, relative=False)
    return found


def _stacked(rows: pd.DataFrame, over: str, at: Sequence[int], leftover: str) -> Floats:
    """Return errors of shape (replications, values of `over`, rules)."""
    wanted = rows[
        rows[over].isin(at)
        & (rows["leftover"] == np.where(rows["allocation_rule"] == "proposed", "spent", leftover))
    ]
    table = wanted.pivot(index="replication", columns=[over, "allocation_rule"], values="risk")
    ordered = table[[(value, rule) for value in at for rule in ALLOCATION_RULES]]
    return ordered.to_numpy().reshape(len(table), len(at), len(ALLOCATION_RULES))


def _find(errors: Floats, statistic: Statistic, words: str, bootstrap: Bootstrap) -> Finding:
    shape = errors.shape[1:]
    return bootstrap.find(
        {"all": errors.reshape(len(errors), -1)},
        lambda means: statistic(means["all"].reshape(*means["all"].shape[:-1], *shape)),
        words,
    )


def _words(errors: Floats, at: Sequence[int], sign: str) -> str:
    """Return the mean errors of all rules at each budget or sample size."""
    parts = [
        f"{sign} = {value:,}: " + " / ".join(f"{error:.3f}" for error in row)
        for value, row in zip(at, errors.mean(axis=0), strict=True)
    ]
    return f"mean errors ({' / '.join(ALLOCATION_RULES)}) at " + "; ".join(parts)


def _lowest(errors: Floats, budgets: Sequence[int], bootstrap: Bootstrap) -> Finding:
    def statistic(means: Floats) -> Floats:
        return np.asarray((means[..., 0] / means[..., 1:].min(axis=-1) - 1).max(axis=-1))

    return _find(errors, statistic, _words(errors, budgets, "B"), bootstrap)


def _low_middle(errors: Floats, bootstrap: Bootstrap, *, relative: bool) -> Finding:
    count = errors.shape[1]
    if count < 2:
        return undecidable("one budget only")
    middle = min(-(-2 * count // 3), count - 1)

    def advantages(means: Floats) -> Floats:
        rivals = means[..., 1:].mean(axis=-1)
        difference = rivals - means[..., 0]
        return np.asarray(difference / rivals if relative else difference)

    def statistic(means: Floats) -> Floats:
        gains = advantages(means)
        return np.asarray(gains[..., :middle].mean(axis=-1) - gains[..., middle:].mean(axis=-1))

    gains = ", ".join(f"{gain:.3f}" for gain in advantages(errors.mean(axis=0)))
    words = f"advantage over the rivals' mean, budgets rising: {gains}"
    return _find(errors, statistic, words, bootstrap)


def _where(holds: NDArray[np.bool_], at: Sequence[int], sign: str) -> str:
    missing = [f"{value:,}" for value, held in zip(at, holds, strict=True) if not held]
    return f"not at {sign} = {', '.join(missing)}" if missing else f"at every {sign}"


def _behind(errors: Floats, budgets: Sequence[int], rival: str, bootstrap: Bootstrap) -> Finding:
    column = ALLOCATION_RULES.index(rival)

    def behind(means: Floats) -> NDArray[np.bool_]:
        return np.asarray(means[..., column] > means[..., 0])

    mean = errors.mean(axis=0)
    excess = ", ".join(f"{100 * e:+.1f} %" for e in mean[:, column] / mean[:, 0] - 1)
    words = (
        f"behind {_where(behind(mean), budgets, 'B')}; "
        f"excess over the proposed rule, budgets rising: {excess}"
    )
    return _find(errors, lambda means: behind(means).mean(axis=-1), words, bootstrap)


def _ahead_of_blind(means: Floats) -> NDArray[np.bool_]:
    """Return where spectral mass has a lower error than equal and cardinality."""
    blind = means[..., [ALLOCATION_RULES.index(rule) for rule in ("equal", "cardinality")]]
    return np.asarray(means[..., _MASS] < blind.min(axis=-1))


def _competitive(errors: Floats, budgets: Sequence[int], bootstrap: Bootstrap) -> Finding:
    def between(means: Floats) -> NDArray[np.bool_]:
        return np.asarray((means[..., _MASS] > means[..., 0]) & _ahead_of_blind(means))

    mean = errors.mean(axis=0)
    words = (
        f"both {_where(between(mean), budgets, 'B')}; behind the proposed rule at "
        f"{int((mean[:, _MASS] > mean[:, 0]).sum())} and ahead of the other rivals at "
        f"{int(_ahead_of_blind(mean).sum())} of {len(budgets)} budgets"
    )
    return _find(errors, lambda means: between(means).mean(axis=-1), words, bootstrap)


def _lowest_everywhere(errors: Floats, sizes: Sequence[int], bootstrap: Bootstrap) -> Finding:
    def lowest(means: Floats) -> NDArray[np.bool_]:
        return np.asarray(means[..., 0] < means[..., 1:].min(axis=-1))

    where = _where(lowest(errors.mean(axis=0)), sizes, "n")
    words = f"lowest {where}. {_words(errors, sizes, 'n')}"
    return _find(errors, lambda means: lowest(means).mean(axis=-1), words, bootstrap)


def _gain_over_blind(errors: Floats, sizes: Sequence[int], bootstrap: Bootstrap) -> Finding:
    where = _where(_ahead_of_blind(errors.mean(axis=0)), sizes, "n")
    words = f"both gains larger {where}. {_words(errors, sizes, 'n')}"
    return _find(errors, lambda means: _ahead_of_blind(means).mean(axis=-1), words, bootstrap)


def _improve(errors: Floats, sizes: Sequence[int], bootstrap: Bootstrap) -> Finding:
    def statistic(means: Floats) -> Floats:
        return np.asarray((np.diff(means, axis=-2) < 0).mean(axis=(-2, -1)))

    return _find(errors, statistic, _words(errors, sizes, "n"), bootstrap)


def _ranking(errors: Floats, sizes: Sequence[int], bootstrap: Bootstrap) -> Finding:
    pairs = list(combinations(range(len(sizes)), 2))

    def statistic(means: Floats) -> Floats:
        order = means.argsort(axis=-1, kind="stable")
        same = [(order[..., i, :] == order[..., j, :]).all(axis=-1) for i, j in pairs]
        return np.mean(same, axis=0)

    orders = [
        f"n = {n:,}: {' < '.join(ALLOCATION_RULES[k] for k in row)}"
        for n, row in zip(sizes, errors.mean(axis=0).argsort(axis=-1, kind="stable"), strict=True)
    ]
    return _find(errors, statistic, "; ".join(orders), bootstrap)
