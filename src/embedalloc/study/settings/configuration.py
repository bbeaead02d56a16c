"""The whole configuration, and how its keys must relate to each other."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from embedalloc.study.settings.benchmarks import Benchmarks
from embedalloc.study.settings.claims import Audit, Claims, ClaimsCell
from embedalloc.study.settings.common import (
    LEAST,
    MOST,
    Cell,
    LatentMatrix,
    Replicated,
    Seed,
    Settings,
    Spectrum,
)
from embedalloc.study.settings.exp1 import Exp1, Exp1Designs
from embedalloc.study.settings.exp2 import Exp2, Exp2Sizes
from embedalloc.study.settings.exp3 import Exp3, Exp3Sizes
from embedalloc.study.settings.heart import Heart
from embedalloc.study.settings.multiverse import Multiverse
from embedalloc.study.settings.sizes import excess, needs
from embedalloc.study.settings.theory import (
    MAX_CATEGORIES,
    MAX_COMBINATIONS,
    AllocationProblems,
    Generalisation,
    Theory,
)
from embedalloc.study.settings.words import check, refusal

#: Jobs that one rule may be split into; planning more takes longer than the work.
MAX_JOBS = 2000
#: Budgets at which figure theory_allocation solves its problem.
MAX_BUDGETS = 100_000
EXPERIMENTS = ("exp1", "exp2", "exp3", "heart")


class Configuration(Settings):
    """Every scientific number of the reproduction, one block per experiment."""

    seed: Seed
    """whole number from which every random stream is derived by name"""
    theory: Theory
    exp1: Exp1
    exp2: Exp2
    exp3: Exp3
    heart: Heart
    audit: Audit
    claims: Claims
    benchmarks: Benchmarks
    multiverse: Multiverse

    def allocation_cell(self) -> Cell[AllocationProblems]:
        """Return what the job of Theorem 3 needs, of Experiment 3 too.

        The budgets run between the smallest and the largest of Experiment 3 and hold all of them.
        """
        exp3, block = self.exp3, self.theory.allocation
        steps = range(min(exp3.budgets), max(exp3.budgets) + 1, block.budget_step)
        problems = AllocationProblems.taken_from(
            block,
            predictors=exp3.predictors,
            coefficient_fit=exp3.coefficient_fit,
            budgets=sorted({*steps, *exp3.budgets}),
        )
        return Cell(settings=problems, seed=self.seed)

    def claims_cell(self) -> ClaimsCell:
        """Return what decides the claims, beside the results themselves."""
        return ClaimsCell(
            seed=self.seed,
            draws=self.claims.draws,
            exp1=Exp1Designs.taken_from(self.exp1),
            exp2=Exp2Sizes.taken_from(self.exp2),
            exp3=Exp3Sizes.taken_from(self.exp3),
            cardinalities=tuple(self.exp3.cardinalities),
        )


def read_configuration(values: Mapping[str, Any]) -> Configuration:
    """Check types, ranges and unknown keys, then what holds between keys.

    Raises a `ConfigError` that lists all mistakes of either kind.
    """
    config = check(Configuration, values)
    if problems := list(_contradictions(config)):
        raise refusal(problems)
    return config


def _contradictions(config: Configuration) -> Iterator[str]:
    """Yield how keys contradict each other, or ask for too much together."""
    parts = (config.theory, config.exp1, config.exp2, config.exp3, config.heart, config.claims)
    yield from excess(needs(*parts))
    yield from _theory_contradictions(config.theory)
    yield from _too_many_jobs(config)
    budgets, step = config.exp3.budgets, config.theory.allocation.budget_step
    span = max(budgets) - min(budgets)
    if span // step > MAX_BUDGETS:
        yield (
            f"theory.allocation.budget_step: {step} makes {span // step:,} budgets between the "
            f"smallest and the largest of exp3.budgets; it must be at least "
            f"{-(-span // MAX_BUDGETS)}"
        )
    for place, law in _spectra(config):
        yield from _first_value_fits(law, place)
    exp1, exp2, exp3 = config.exp1, config.exp2, config.exp3
    yield from _rank_fits(exp1, "exp1")
    yield from _enough([exp1.observations], exp1.cardinality, "exp1.observations")
    yield from _rank_fits(exp2, "exp2")
    yield from _enough(exp2.panel_observations, exp2.cardinality, "exp2.panel_observations")
    yield from _enough(exp2.curve_observations, exp2.cardinality, "exp2.curve_observations")
    yield from _enough([exp2.test_observations], exp2.cardinality, "exp2.test_observations")
    for index, predictor in enumerate(exp3.predictors):
        yield from _rank_fits(predictor, f"exp3.predictors[{index}]")
    largest, least = max(exp3.cardinalities), sum(exp3.cardinalities)
    yield from _enough([exp3.budget_observations], largest, "exp3.budget_observations")
    yield from _enough(exp3.curve_observations, largest, "exp3.curve_observations")
    places = {f"exp3.budgets[{i}]": budget for i, budget in enumerate(exp3.budgets)}
    for place, budget in {**places, "exp3.curve_budget": exp3.curve_budget}.items():
        if budget < least:
            yield (
                f"{place}: {budget} must be at least {least}, the sum of the predictors' "
                "cardinalities, so that each can have one dimension"
            )
    heart = config.heart
    if Path(os.path.normpath(heart.data)).parts[:1] == ("..",):
        yield (
            f"heart.data: {heart.data!r} must stay inside the project; give an absolute path if "
            "another place is meant"
        )
    if heart.fold_splits > heart.splits:
        yield (
            f"heart.fold_splits: {heart.fold_splits} must be at most heart.splits, {heart.splits}"
        )
    for name in EXPERIMENTS:
        size = config.multiverse.size(name)
        if size.at_most < size.replications:
            yield (
                f"multiverse.{name}.at_most: {size.at_most} must be at least "
                f"multiverse.{name}.replications, {size.replications}"
            )


def _too_many_jobs(config: Configuration) -> Iterator[str]:
    heart, multiverse = config.heart, config.multiverse
    # Where the size of a job stands, that size, how much there is to do, and how many times.
    work = [("heart.splits_per_job", heart.splits_per_job, heart.splits, 1)]
    cells: dict[str, tuple[Replicated, int]] = {
        "exp1": (config.exp1, len(config.exp1.designs)),
        "exp2": (config.exp2, len(config.exp2.observations)),
        "exp3": (config.exp3, len(config.exp3.observations)),
    }
    for name, (block, count) in cells.items():
        per_job = block.replications_per_job
        work.append((f"{name}.replications_per_job", per_job, block.replications, count))
    for name in EXPERIMENTS:
        per_job = multiverse.size(name).points_per_job
        work.append((f"multiverse.{name}.points_per_job", per_job, multiverse.draws(name), 1))
    per_job = multiverse.regret.draws_per_job
    work.append(("multiverse.regret.draws_per_job", per_job, multiverse.draws("exp3"), 1))
    for place, per_job, total, times in work:
        count, allowed = -(-total // per_job), MAX_JOBS // times
        if count > allowed:
            yield (
                f"{place}: {per_job} makes {times * count:,} jobs of each kind, but "
                f"{MAX_JOBS:,} must do; it must be at least {-(-total // max(allowed, 1))}"
            )


def _theory_contradictions(theory: Theory) -> Iterator[str]:
    yield from _rank_fits(theory.approximation, "theory.approximation")
    sizes, dimensions = theory.alternating.cardinalities, theory.alternating.dimensions
    if len(sizes) != len(dimensions):
        yield (
            f"theory.alternating.dimensions: {list(dimensions)} must have one entry per "
            f"cardinality, {len(sizes)}"
        )
    if sum(sizes) > MAX_CATEGORIES:
        yield (
            f"theory.alternating.cardinalities: {sum(sizes):,} categories in all must be at most "
            f"{MAX_CATEGORIES:,}, because the scheme solves dense systems of all of them"
        )
    yield from _grid_contradictions(theory.generalisation)
    instances = theory.allocation
    ranges = {
        "cardinality_range": instances.cardinality_range,
        "coefficient_range": instances.coefficient_range,
    }
    for key, (low, high) in ranges.items():
        if low > high:
            yield f"theory.allocation.{key}: {low} must be at most {high}, the end of the range"


def _grid_contradictions(grid: Generalisation) -> Iterator[str]:
    largest, place = max(grid.cardinalities), "theory.generalisation"
    if grid.predictors * math.log(largest) > math.log(MAX_COMBINATIONS) + 1e-9:
        yield (
            f"{place}.cardinalities: {largest} must be at most "
            f"{int(MAX_COMBINATIONS ** (1 / grid.predictors) + 1e-9)} with {grid.predictors} "
            "predictors, because test risks sum over all combinations of categories"
        )
    if grid.predictors * largest > MAX_CATEGORIES:
        yield (
            f"{place}.cardinalities: {grid.predictors * largest:,} categories of all predictors "
            f"must be at most {MAX_CATEGORIES:,}, because fits solve dense systems of all of them"
        )
    effects = grid.predictors * (largest - 1) + 1
    for n in grid.observations:
        if n <= effects:
            yield (
                f"{place}.observations: {n} must be above {effects}, the number of "
                "free effects of the largest cardinality"
            )


def _spectra(config: Configuration) -> Iterator[tuple[str, Spectrum]]:
    """Yield every law of singular values, with its place."""
    yield "theory.approximation.spectrum", config.theory.approximation.spectrum
    for name, law in config.exp1.designs.items():
        yield f"exp1.designs.{name}", law
    yield "exp2.spectrum", config.exp2.spectrum
    for index, predictor in enumerate(config.exp3.predictors):
        yield f"exp3.predictors[{index}].spectrum", predictor.spectrum


def _first_value_fits(law: Spectrum, place: str) -> Iterator[str]:
    exponent = 0.0 if law.decay == "polynomial" else law.rate * (law.offset - 1)
    if not math.log(LEAST) <= math.log(law.scale) + exponent <= math.log(MOST):
        yield (
            f"{place}: rate {law.rate:g}, scale {law.scale:g} and offset {law.offset:g} make the "
            f"first singular value e^{math.log(law.scale) + exponent:,.0f}, which must be from "
            f"{LEAST:g} to {MOST:g}"
        )


def _rank_fits(block: LatentMatrix, place: str) -> Iterator[str]:
    rank, cardinality = block.latent_rank, block.cardinality
    if rank > cardinality:
        yield f"{place}.latent_rank: {rank} must be at most the cardinality, {cardinality}"


def _enough(observations: Iterable[int], cardinality: int, place: str) -> Iterator[str]:
    for n in observations:
        if n < cardinality:
            yield (
                f"{place}: {n} must be at least {cardinality}, the number of categories, because "
                "every category is observed"
            )
