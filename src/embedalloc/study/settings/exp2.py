"""Settings of Experiment 2, Section 3.2."""

from typing import Annotated

from pydantic import Field

from embedalloc.study.settings.common import (
    MAX_SHOWN,
    AtLeast2,
    Different,
    Predictor,
    Replicated,
    ReplicatedCell,
    Sampling,
    Settings,
)


class Exp2Model(Predictor, Sampling):
    """What the simulation of one sample size needs."""

    test_observations: AtLeast2
    """size of the independent test sample, at least the cardinality"""


class Exp2Sizes(Settings):
    """The sample sizes of the figures."""

    panel_observations: Annotated[Different[AtLeast2], Field(max_length=MAX_SHOWN)]
    """numbers of observations n of the panels, each at least the cardinality"""
    curve_observations: Different[AtLeast2]
    """numbers of observations n of the curve, each at least the cardinality"""

    @property
    def observations(self) -> list[int]:
        """All sample sizes, in order."""
        return sorted({*self.panel_observations, *self.curve_observations})


class Exp2Choices(Exp2Model, Exp2Sizes):
    """What is simulated, however often."""

    def cell(self, seed: int, observations: int, replications: range) -> "Exp2Cell":
        """Return what simulates some replications of one sample size."""
        return Exp2Cell(
            settings=Exp2Model.taken_from(self),
            seed=seed,
            observations=observations,
            first=replications.start,
            last=replications.stop,
        )


class Exp2(Exp2Choices, Replicated):
    """Experiment 2, Section 3.2."""


class Exp2Cell(ReplicatedCell[Exp2Model]):
    """What one job of Experiment 2 needs."""

    observations: AtLeast2
    """number of observations n"""
