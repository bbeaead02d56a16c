"""What others would do with the same bytes, each rule from its paper, in float32.

All of them are priced and judged as the exact plan is. A rule that gives every level a row does not
fit below one column per level; then there is no plan.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from embedalloc.arrays import Floats, Ints
from embedalloc.memory_plan.menus import Field, MemoryProblem, TableChoice
from embedalloc.memory_plan.plan import name_plan, solve_memory
from embedalloc.memory_plan.result import MemoryPlan

#: Exponent of the popularity in mixed dimensions: the default of the authors' code.
POPULARITY_EXPONENT = 0.3
#: Columns of rules that choose rows only, and of the pilot behind rules that read its spectrum.
BASE_DIMENSION = 16


def compare_peers(
    problem: MemoryProblem,
    budget: int,
    *,
    base: int = BASE_DIMENSION,
    by_variance: Mapping[float, Sequence[int]] | None = None,
) -> dict[str, MemoryPlan | None]:
    """Return the plan of every rule at the same bytes, or None where it does not fit.

    Parameters
    ----------
    problem, budget
        As for the exact plan.
    base
        Columns of the rules that choose rows only, and of the pilot behind dimensions by variance.
        Equal and mixed dimensions are cut at the largest that the exact plan may take. A common
        width takes its place.
    by_variance
        Dimensions of all fields by the share of variance that they keep, where they are known. By
        default they follow from the surrogate's spectrum of `base` columns.
    """
    plain = replace(problem, formats=("float32",))
    base, most = problem.prices.width or base, plain.dimensions[-1]
    ratios = spectral_dimensions(plain, base) if by_variance is None else by_variance
    peers: dict[str, Sequence[list[TableChoice]] | _Scale] = {
        "equal dimensions": _Scale(lambda d: _whole(plain, np.full(len(plain.fields), d)), 1, most),
        "mixed dimensions": _Scale(
            lambda d: _whole(plain, np.minimum(mixed_dimensions(plain, d), most)), 1, 100 * most
        ),
        "dimensions by variance": [_whole(plain, np.array(ratios[r])) for r in sorted(ratios)],
        "hashed rows": _Scale(lambda rows: _hashed(plain, rows, base), 1, _most_levels(plain)),
        "frequent rows": _Scale(lambda rank: _frequent(plain, rank, base), 0, _ranks(plain)),
    }
    found = {name: _largest(plain, budget, name, plans) for name, plans in peers.items()}
    exact = {"exact, float32": solve_memory(plain, budget), "exact": solve_memory(problem, budget)}
    return found | {name: replace(plan, rule=name) for name, plan in exact.items()}


class _Scale(Sequence[list[TableChoice]]):
    """Plans that cost more as one whole number grows, made when they are looked at."""

    def __init__(self, make: Callable[[int], list[TableChoice]], first: int, last: int) -> None:
        self.make, self.first, self.last = make, first, last

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __getitem__(self, place: int) -> list[TableChoice]:  # type: ignore[override]
        return self.make(self.first + place)


def _largest(
    problem: MemoryProblem, budget: int, name: str, plans: Sequence[list[TableChoice]]
) -> MemoryPlan | None:
    """Return the last plan that the budget can pay; they are sorted by their cost."""
    first, last = -1, len(plans) - 1
    while first < last:  # by halving: plans up to `first` fit
        middle = (first + last + 1) // 2
        if _cost(problem, plans[middle]) <= budget:
            first = middle
        else:
            last = middle - 1
    if first < 0:
        return None
    chosen = [
        problem.price(field, choice)
        for field, choice in zip(problem.fields, plans[first], strict=True)
    ]
    return name_plan(problem, chosen, budget, name)


def _cost(problem: MemoryProblem, choices: Sequence[TableChoice]) -> int:
    rows = np.array([choice.rows for choice in choices])
    dimensions = np.array([choice.dimension for choice in choices])
    own = sum(choice.levels for choice in choices)
    cost = rows * problem.prices.row_bytes(dimensions, "float32")
    projected = problem.prices.projection_bytes(dimensions)
    return int(cost.sum() + projected.sum()) + problem.prices.key_bytes * own


def _whole(problem: MemoryProblem, dimensions: Ints) -> list[TableChoice]:
    """Give every level a row, and new ones a common row."""
    return [
        TableChoice(field.counts.cardinality, 1, int(d), "float32")
        for field, d in zip(problem.fields, dimensions, strict=True)
    ]


def mixed_dimensions(problem: MemoryProblem, largest: int) -> Ints:
    """Return dimensions in proportion to a power of the popularity of an average row.

    A field with N levels has the popularity 1/N, for it is looked up once per row of data. The most
    popular field has the largest dimension; all are rounded down, to no less than 1 (Ginart,
    Naumov, Mudigere, Yang and Zou, Mixed Dimension Embeddings, 2019, arXiv:1909.11810).
    """
    popularity = 1.0 / np.array([max(field.counts.cardinality, 1) for field in problem.fields])
    share = (popularity / popularity.max()) ** POPULARITY_EXPONENT
    return np.maximum(1, np.floor(largest * share + 1e-9)).astype(np.int64)


def dimension_by_variance(variances: Floats, ratio: float) -> int:
    """Return the fewest principal components that keep more than this share of the variance.

    The rule of field-level dimension optimisation: train with one dimension for all, take the
    principal components of each field's table, keep as many as reach the share, train again
    (Wang, Gu, Li, Lu, Zhang and Gu, CIKM 2023, arXiv:2311.04635).

    Parameters
    ----------
    variances
        Of the principal components of a trained table, the largest first.
    ratio
        Share to keep, between 0 and 1.

    Examples
    --------
    >>> [dimension_by_variance(np.array([6.0, 3.0, 1.0]), ratio) for ratio in (0.5, 0.8, 0.95)]
    [1, 2, 3]
    """
    kept = np.cumsum(variances) / np.sum(variances)
    return min(int(np.searchsorted(kept, ratio, side="right")) + 1, len(variances))


def spectral_dimensions(problem: MemoryProblem, base: int) -> dict[float, list[int]]:
    """Return the dimensions by variance at ten ratios, for the surrogate's spectra."""
    ratios = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
    spectra = [_spectrum(field, base) for field in problem.fields]
    return {ratio: [dimension_by_variance(each, ratio) for each in spectra] for ratio in ratios}


def _spectrum(field: Field, base: int) -> Floats:
    """Return variances whose tail is a/d: s² − a, then a/(k(k − 1)), of at most N − 1 columns."""
    k = np.arange(2, max(min(base, field.counts.cardinality - 1), 1) + 1)
    return np.r_[max(field.signal - field.coefficient, 1e-12), field.coefficient / (k * (k - 1.0))]


def _hashed(problem: MemoryProblem, rows: int, base: int) -> list[TableChoice]:
    """Hash the levels of larger fields into so many rows; the others keep theirs."""
    return [
        TableChoice(0, rows, base, "float32")
        if field.counts.cardinality >= rows
        else TableChoice(field.counts.cardinality, 1, base, "float32")
        for field in problem.fields
    ]


def _most_levels(problem: MemoryProblem) -> int:
    return max(field.counts.cardinality for field in problem.fields) + 1


def _frequent(problem: MemoryProblem, rank: int, base: int) -> list[TableChoice]:
    """Give rows to levels whose count is among the largest so many different counts of all."""
    least = np.inf if rank == 0 else _different_counts(problem)[rank - 1]
    choices = []
    for field in problem.fields:
        groups = int((field.counts.values >= least).sum())
        own = int(field.counts.ends[groups - 1]) if groups else 0
        choices.append(TableChoice(own, 1, base, "float32"))
    return choices


def _different_counts(problem: MemoryProblem) -> Floats:
    return np.unique(np.concatenate([field.counts.values for field in problem.fields]))[::-1]


def _ranks(problem: MemoryProblem) -> int:
    return len(_different_counts(problem))
