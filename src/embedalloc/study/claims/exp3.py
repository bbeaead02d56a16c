"""What decides the claims about Experiment 3, with rivals floored and with leftover spent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.study.claims.finding import Bootstrap, Finding, Findings, undecidable
from embedalloc.study.exp3_contracts import ALLOCATION_RULES, LEFTOVERS
from embedalloc.study.settings.exp3 import Exp3Sizes

_MASS = ALLOCATION_RULES.index("spectral_mass")


def exp3_findings(
    performance: pd.DataFrame,
    *,
    settings: Exp3Sizes,
    cardinalities: Sequence[int],
    bootstrap: Bootstrap,
) -> Findings:
    """Return the findings of every claim on Experiment 3, by claim and reading.

    Parameters
    ----------
    performance
        Results of all sample sizes.
    settings
        Budgets and sample sizes of the figures.
    cardinalities
        N_j of the predictors: a budget must exceed their sum to leave a choice.
    bootstrap
        Source of the intervals.
    """
    found: Findings = {}
    budgets, sizes = settings.budgets, settings.curve_observations
    at_size = performance[performance["observations"] == settings.budget_observations]
    at_budget = performance[performance["budget"] == settings.curve_budget]
    free = [budget for budget in budgets if budget > sum(cardinalities)]
    forced = None if free else undecidable("no budget that leaves a choice")
    one_size = undecidable("one sample size only") if len(sizes) < 2 else None
    for leftover in LEFTOVERS:
        everywhere = _stack(at_size, "budget", budgets, leftover, bootstrap)
        choosable = _stack(at_size, "budget", free, leftover, bootstrap)
        # Different sample sizes share no draws, but one row per replication serves as well.
        grown = _stack(at_budget, "observations", sizes, leftover, bootstrap)
        findings = {
            "exp3-proposed-lowest": everywhere.find(
                lambda means: (means[..., 0] / means[..., 1:].min(axis=-1) - 1).max(axis=-1)
            ),
            "exp3-equal-inefficient": forced or _behind(choosable, "equal"),
            "exp3-cardinality-weaker": forced or _behind(choosable, "cardinality"),
            "exp3-mass-competitive": forced or _competitive(choosable),
            "exp3-samplesize-lowest": grown.find_share(
                lambda means: means[..., 0] < means[..., 1:].min(axis=-1), "lowest"
            ),
            "exp3-gain-over-blind": grown.find_share(_ahead_of_blind, "both gains larger"),
            "exp3-all-improve": one_size
            or grown.find(lambda means: (np.diff(means, axis=-2) < 0).mean(axis=(-2, -1))),
            "exp3-ranking-stable": one_size or _ranking(grown),
        }
        for claim, finding in findings.items():
            found.setdefault(claim, {})[leftover] = finding
        by_size = found.setdefault("exp3-low-middle", {})
        by_size[f"{leftover}_share"] = _low_middle(everywhere, relative=True)
        by_size[f"{leftover}_difference"] = _low_middle(everywhere, relative=False)
    return found


@dataclass(frozen=True)
class _Errors:
    """Errors of shape (replications, budgets B or sample sizes n, rules), the proposed rule first.

    Functions that are given to its methods take mean errors, whose last two axes are these.
    """

    each: Floats
    sign: str
    at: Sequence[int]
    bootstrap: Bootstrap

    @property
    def mean(self) -> Floats:
        return np.asarray(self.each.mean(axis=0))

    def list_means(self) -> str:
        """Return the mean errors of all rules at each budget or sample size."""
        parts = [
            f"{self.sign} = {value:,}: " + " / ".join(f"{error:.3f}" for error in row)
            for value, row in zip(self.at, self.mean, strict=True)
        ]
        return f"mean errors ({' / '.join(ALLOCATION_RULES)}) at " + "; ".join(parts)

    def find(self, statistic: Callable[[Floats], Floats], words: str = "") -> Finding:
        """Return a statistic of the mean errors with its interval."""
        shape = self.each.shape[1:]
        return self.bootstrap.find(
            {"all": self.each.reshape(len(self.each), -1)},
            lambda means: statistic(means["all"].reshape(*means["all"].shape[:-1], *shape)),
            words or self.list_means(),
        )

    def find_share(
        self, holds: Callable[[Floats], NDArray[np.bool_]], words: str, more: str = ""
    ) -> Finding:
        """Return the share of budgets or sample sizes at which something holds, and where not."""
        held = zip(self.at, holds(self.mean), strict=True)
        missing = ", ".join(f"{value:,}" for value, here in held if not here)
        where = f"not at {self.sign} = {missing}" if missing else f"at every {self.sign}"
        evidence = f"{words} {where}{more or '. ' + self.list_means()}"
        return self.find(lambda means: holds(means).mean(axis=-1), evidence)


def _stack(
    rows: pd.DataFrame, over: str, at: Sequence[int], leftover: str, bootstrap: Bootstrap
) -> _Errors:
    """Return the errors over budgets or sample sizes, in rising order."""
    at = sorted(at)
    wanted = rows[
        rows[over].isin(at)
        & (rows["leftover"] == np.where(rows["allocation_rule"] == "proposed", "spent", leftover))
    ]
    table = wanted.pivot(index="replication", columns=[over, "allocation_rule"], values="risk")
    # What is missing is nan, and decides nothing.
    columns = pd.MultiIndex.from_product([at, ALLOCATION_RULES])
    ordered = table.reindex(columns=columns, index=table.index if len(table) else [0])
    errors = ordered.to_numpy(dtype=np.float64).reshape(-1, len(at), len(ALLOCATION_RULES))
    return _Errors(errors, "B" if over == "budget" else "n", at, bootstrap)


def _low_middle(errors: _Errors, *, relative: bool) -> Finding:
    count = len(errors.at)
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

    gains = ", ".join(f"{gain:.3f}" for gain in advantages(errors.mean))
    return errors.find(statistic, f"advantage over the rivals' mean, budgets rising: {gains}")


def _behind(errors: _Errors, rival: str) -> Finding:
    column = ALLOCATION_RULES.index(rival)
    shares = errors.mean[:, column] / errors.mean[:, 0] - 1
    excess = ", ".join(f"{100 * share:+.1f} %" for share in shares)
    return errors.find_share(
        lambda means: means[..., column] > means[..., 0],
        "behind",
        f"; excess over the proposed rule, budgets rising: {excess}",
    )


def _ahead_of_blind(means: Floats) -> NDArray[np.bool_]:
    """Return where spectral mass has a lower error than equal and cardinality."""
    blind = means[..., [ALLOCATION_RULES.index(rule) for rule in ("equal", "cardinality")]]
    return np.asarray(means[..., _MASS] < blind.min(axis=-1))


def _competitive(errors: _Errors) -> Finding:
    def behind(means: Floats) -> NDArray[np.bool_]:
        return np.asarray(means[..., _MASS] > means[..., 0])

    return errors.find_share(
        lambda means: behind(means) & _ahead_of_blind(means),
        "both",
        f"; behind the proposed rule at {behind(errors.mean).sum()} and ahead of the other rivals "
        f"at {_ahead_of_blind(errors.mean).sum()} of {len(errors.at)} budgets",
    )


def _ranking(errors: _Errors) -> Finding:
    def rank(means: Floats) -> NDArray[np.intp]:
        return means.argsort(axis=-1, kind="stable")

    def statistic(means: Floats) -> Floats:
        pairs = combinations(np.moveaxis(rank(means), -2, 0), 2)
        return np.mean([(one == other).all(axis=-1) for one, other in pairs], axis=0)

    orders = [
        f"n = {n:,}: {' < '.join(ALLOCATION_RULES[k] for k in row)}"
        for n, row in zip(errors.at, rank(errors.mean), strict=True)
    ]
    return errors.find(statistic, "; ".join(orders))
