"""What the jobs of a configuration would need at most: memory, and arithmetic.

Single numbers have ranges; here are the products of several. The estimates are meant to be right
within a factor of a few: they keep out what no machine can do, before the first job starts.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from embedalloc.study.settings.claims import Claims
from embedalloc.study.settings.common import LatentMatrix
from embedalloc.study.settings.exp1 import Exp1
from embedalloc.study.settings.exp2 import Exp2
from embedalloc.study.settings.exp3 import Exp3
from embedalloc.study.settings.heart import Heart, HeartProtocol
from embedalloc.study.settings.theory import (
    Alternating,
    Approximation,
    Generalisation,
    Instances,
    Theory,
)

#: Memory that one job may need.
MAX_BYTES = 16 * 10**9
#: Additions and multiplications of one job: a core does them in some days.
MAX_OPERATIONS = 10**15
#: Replications that Experiments 1 and 2, and Experiment 3, compute together.
PROFILE_STACK, EXP3_STACK = 10, 25
#: Patients, their categorical predictors, and the categories of all of these.
PATIENTS, PREDICTORS, CATEGORIES = 920, 9, 36
_DOUBLE = 8


class Need(NamedTuple):
    """What one job needs: the keys that decide it, its memory in bytes and its operations."""

    keys: str
    size: float
    operations: float


def excess(needs: Iterable[Need]) -> Iterator[str]:
    """Yield what is too much, in words."""
    for keys, size, operations in needs:
        if size > MAX_BYTES:
            yield (
                f"{keys}: a job would need about {size / 1e9:,.0f} GB of memory, and "
                f"{MAX_BYTES / 1e9:.0f} GB are allowed"
            )
        elif operations > MAX_OPERATIONS:
            yield (
                f"{keys}: a job would need about {operations:.0e} additions and multiplications, "
                f"and {MAX_OPERATIONS:.0e}, some days of one core, are allowed"
            )


def needs(
    theory: Theory, exp1: Exp1, exp2: Exp2, exp3: Exp3, heart: Heart, claims: Claims
) -> Iterator[Need]:
    """Yield what the largest jobs of every part of the study need."""
    yield from _theory_needs(theory)
    yield from _exp1_needs(exp1)
    yield from _exp2_needs(exp2)
    yield from _exp3_needs(exp3)
    yield from _heart_needs(heart)
    most = max(exp1.replications, exp2.replications, exp3.replications)
    size = 4.0 * _DOUBLE * claims.draws * most
    yield Need("claims.draws and the largest number of replications", size, 10 * size)


def _theory_needs(theory: Theory) -> Iterator[Need]:
    yield _approximation(theory.approximation)
    yield _alternating(theory.alternating)
    yield _generalisation(theory.generalisation)
    yield _instances(theory.allocation)


def _exp1_needs(exp1: Exp1) -> Iterator[Need]:
    """Yield what the jobs of Experiment 1 need, and the readers of all its results."""
    per_job = min(exp1.replications, exp1.replications_per_job)
    yield _profiles("exp1", exp1, per_job)
    rows = len(exp1.designs) * exp1.replications * exp1.latent_rank
    yield _all_rows("exp1.replications, latent_rank and designs", rows, columns=8)


def _exp2_needs(exp2: Exp2) -> Iterator[Need]:
    """Yield what the jobs of Experiment 2 need, and the readers of all its results."""
    per_job = min(exp2.replications, exp2.replications_per_job)
    yield _profiles("exp2", exp2, per_job)
    rows = len(exp2.observations) * exp2.replications * exp2.latent_rank
    yield _all_rows("exp2.replications, latent_rank and observations", rows, columns=11)


def _exp3_needs(exp3: Exp3) -> Iterator[Need]:
    """Yield what the jobs of Experiment 3 need, and the readers of all its results."""
    per_job = min(exp3.replications, exp3.replications_per_job)
    budgets = len(exp3.budgets) + 1
    yield _exp3_job("exp3", exp3, budgets, per_job)
    rows = 7 * (budgets + len(exp3.curve_observations)) * exp3.replications
    columns = 30 + len(exp3.predictors)
    yield _all_rows("exp3.replications, budgets and curve_observations", rows, columns)


def _heart_needs(heart: Heart) -> Iterator[Need]:
    splits = min(heart.splits, heart.splits_per_job)
    # Three networks search all budgets; the controls and the rest are as large as small ones.
    small, folds = 2 * heart.restarts + 3, heart.folds * heart.repetitions
    sizes = "heart.budgets, hidden, epochs"
    yield _training(f"{sizes}, restarts and splits_per_job", heart, 3, small, splits)
    yield _training(f"{sizes}, folds, repetitions and splits_per_job", heart, folds, folds, splits)
    networks = 3 * len(heart.budgets) + small
    yield _all_rows("heart.splits, budgets and restarts", heart.splits * networks, PATIENTS // 3)
    epoch = 50.0 * PATIENTS * heart.hidden[0] * _inputs(max(heart.budgets))
    yield Need("heart.timed_epochs, budgets and hidden", 0, 10 * heart.timed_epochs * epoch)


def _approximation(block: Approximation) -> Need:
    """Return what Proposition 2's job needs."""
    cells, rows = block.cardinality * block.latent_rank, 2 * block.replications * block.latent_rank
    size = _DOUBLE * (8 * cells + 20 * rows)
    operations = 60.0 * block.replications * cells * block.latent_rank
    keys = "theory.approximation.cardinality, latent_rank and replications"
    return Need(keys, size, operations)


def _alternating(block: Alternating) -> Need:
    """Return what Theorem 1's job needs."""
    sizes, dimensions = block.cardinalities, block.dimensions
    fits = 4 * (block.starts + 1)
    size, operations = _fit(
        sum(sizes), sum(dimensions), block.covariates, block.observations, len(sizes)
    )
    path = 10.0 * _DOUBLE * fits * block.rounds
    cells = sum(n * d for n, d in zip(sizes, dimensions, strict=False))
    keys = "theory.alternating.cardinalities, dimensions, covariates, observations and rounds"
    return Need(keys, size + 8 * _DOUBLE * cells + path, fits * block.rounds * operations)


def _generalisation(block: Generalisation) -> Need:
    """Return what Theorem 2's job needs; its fits end after some rounds, by experience."""
    m, largest, widest = block.predictors, max(block.cardinalities), max(block.dimensions)
    rows = max(block.observations)
    size, operations = _fit(m * largest, m * widest, 0, rows, m)
    grid = len(block.cardinalities) * len(block.observations) * block.replications
    fits = grid * len(block.dimensions)
    keys = "theory.generalisation.cardinalities, dimensions, observations and replications"
    size += _DOUBLE * (8.0 * m * largest * widest + 60 * fits)
    return Need(keys, size, 30 * fits * operations)


def _instances(block: Instances) -> Need:
    """Return what Theorem 3's random instances need: a dimension at a time."""
    steps = sum(block.predictor_counts) * sum(block.budget_ratios)
    keys = "theory.allocation.predictor_counts, budget_ratios and instances"
    rows = len(block.predictor_counts) * len(block.budget_ratios) * block.instances
    size = 100.0 * (max(block.predictor_counts) * max(block.budget_ratios) + rows)
    return Need(keys, size, 1e4 * steps * block.instances)


def _profiles(place: str, block: Exp1 | Exp2, replications: int) -> Need:
    size, operations = _latent(block)
    rows = replications * block.latent_rank
    keys = f"{place}.cardinality, latent_rank and replications_per_job"
    return Need(keys, PROFILE_STACK * size + 30 * _DOUBLE * rows, replications * operations)


def _latent(block: LatentMatrix) -> tuple[float, float]:
    """Return the bytes and operations that one replication takes for one latent matrix."""
    n, r = block.cardinality, block.latent_rank
    return _DOUBLE * (8.0 * n * r + 5.0 * r * r), 20.0 * n * r * r + 40.0 * r**3


def _exp3_job(place: str, block: Exp3, budgets: int, replications: int) -> Need:
    sizes, rows = block.cardinalities, max(block.observations)
    features = sum(p.latent_rank for p in block.predictors)
    latents = [_latent(p) for p in block.predictors]
    pairs = (sum(sizes) ** 2 - sum(n * n for n in sizes)) / 2
    allocations = 7 * budgets
    size = EXP3_STACK * (sum(s for s, _ in latents) + _DOUBLE / 4 * allocations * features**2)
    size += _DOUBLE * (4 * pairs + rows * (3 * len(sizes) + 6))
    size += replications * allocations * (400 + _DOUBLE * len(sizes))
    each = sum(o for _, o in latents) + rows * len(sizes) ** 2 * 20 + pairs * features
    each += allocations * features**3
    keys = f"{place}.predictors, budgets, observations and replications_per_job"
    return Need(keys, size, replications * each)


def _all_rows(keys: str, rows: float, columns: int) -> Need:
    """Return what reading all rows of a table needs, three times in memory."""
    return Need(keys, 3.0 * _DOUBLE * rows * columns, rows * columns * 100.0)


def _inputs(budget: int) -> float:
    """Return the inputs of a network's first layer that a budget pays, with the numeric ones."""
    return budget * PREDICTORS / CATEGORIES + CATEGORIES


def _training(keys: str, block: HeartProtocol, searches: int, small: int, splits: int) -> Need:
    """Return what some searches over all budgets and some small networks of a split need.

    A split's networks are kept until all are trained, and so are its plans of masks.
    """
    (first, second), budgets = block.hidden, block.budgets
    networks = searches * len(budgets) + small
    largest = max(budgets) + first * _inputs(max(budgets)) + first * second
    plan = float(block.epochs) * PATIENTS * (first + second + _DOUBLE)
    size = _DOUBLE * largest * (networks + 8) + small * plan
    size += splits * networks * (_DOUBLE * PATIENTS / 3 + 1000)
    inputs = searches * sum(map(_inputs, budgets)) + small * _inputs(0)
    steps = first * inputs * (6 + 20 / block.batch) + networks * first * second * 6
    return Need(keys, size, splits * float(block.epochs) * PATIENTS * steps)


def _fit(
    categories: int, width: int, covariates: int, rows: int, predictors: int
) -> tuple[float, float]:
    """Return the bytes of an alternating fit and the operations of one of its rounds."""
    columns, free = categories + covariates + 1.0, width + covariates + 1.0
    entries = rows * (predictors + covariates + 1.0)
    size = _DOUBLE * (5 * columns**2 + 3 * columns * free + 3 * free**2 + 8 * entries)
    round_ = columns**3 / 3 + free**3 / 3 + 2 * columns**2 * free + 2 * columns * free**2
    return size, 8 * (round_ + 10 * entries * math.log2(2 + predictors))
