"""Settings of Experiment 3, Section 3.3."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from embedalloc.study.settings.common import (
    MAX_SHOWN,
    AtLeast1,
    AtLeast2,
    CoefficientFit,
    Different,
    NotNegative,
    Positive,
    Predictor,
    Replicated,
    ReplicatedCell,
    Sampling,
    Settings,
    Several,
)

SpectralMass = Literal["squares", "values", "squares_per_category"]


class Exp3Model(Sampling):
    """What the simulation of one sample size needs."""

    predictors: Annotated[Several[Predictor], Field(max_length=MAX_SHOWN)]
    """the categorical predictors"""
    response_noise: Positive
    """standard deviation of the response's noise"""
    response_support: Annotated[float, Field(gt=0, le=1)]
    """share of the singular directions, leading first, that beta uses"""
    response_decay: NotNegative
    """exponent with which beta's weights fall along the directions"""
    ridge: NotNegative
    """ridge of the read-out as a share of the mean diagonal"""
    coefficient_fit: CoefficientFit
    """how the coefficient a is fitted to tail(d) = a/d"""
    spectral_mass: SpectralMass
    """mass of a predictor, by its singular values"""

    @property
    def cardinalities(self) -> list[int]:
        """The numbers of categories N_j."""
        return [predictor.cardinality for predictor in self.predictors]


class Exp3Sizes(Settings):
    """The budgets and sample sizes of the figures."""

    budgets: Different[AtLeast1]
    """total embedding parameters B, each at least the sum of the cardinalities"""
    budget_observations: AtLeast2
    """number of observations n of the figures over budgets, at least every cardinality"""
    curve_observations: Different[AtLeast2]
    """numbers of observations n of the curve, each at least every cardinality"""
    curve_budget: AtLeast1
    """total embedding parameters B of the curve, at least the sum of the cardinalities"""

    @property
    def observations(self) -> list[int]:
        """All sample sizes, in order."""
        return sorted({self.budget_observations, *self.curve_observations})

    def budgets_at(self, observations: int) -> list[int]:
        """Return the budgets that the figures show at one sample size."""
        budgets = set(self.budgets) if observations == self.budget_observations else set()
        if observations in self.curve_observations:
            budgets.add(self.curve_budget)
        return sorted(budgets)


class Exp3Choices(Exp3Model, Exp3Sizes):
    """What is simulated, however often."""

    def cell(
        self,
        seed: int,
        observations: int,
        replications: range,
        budgets: Iterable[int] | None = None,
    ) -> "Exp3Cell":
        """Return what simulates some replications of one sample size, at the figures' budgets."""
        return Exp3Cell(
            settings=Exp3Model.taken_from(self),
            seed=seed,
            observations=observations,
            budgets=tuple(self.budgets_at(observations) if budgets is None else budgets),
            first=replications.start,
            last=replications.stop,
        )


class Exp3(Exp3Choices, Replicated):
    """Experiment 3, Section 3.3."""


class Exp3Cell(ReplicatedCell[Exp3Model]):
    """What one job of Experiment 3 needs."""

    observations: AtLeast2
    """number of observations n"""
    budgets: Several[AtLeast1]
    """total embedding parameters B"""
