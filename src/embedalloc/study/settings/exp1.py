"""Settings of Experiment 1, Section 3.1."""

from typing import Annotated

from pydantic import AfterValidator, Field

from embedalloc.study.settings.common import (
    MAX_SHOWN,
    AtLeast2,
    CoefficientFit,
    LatentMatrix,
    Positive,
    Replicated,
    ReplicatedCell,
    Sampling,
    Settings,
    Spectrum,
)

DesignName = Annotated[str, Field(pattern="^[a-z][a-z0-9_]*$")]


def _by_law(laws: dict[str, Spectrum]) -> dict[str, Spectrum]:
    """Sort designs as the figures show them: by law, the slowest decay first."""

    def place(name: str) -> tuple[bool, float, str]:
        return laws[name].decay != "polynomial", laws[name].rate, name

    return {name: laws[name] for name in sorted(laws, key=place)}


class Exp1Model(LatentMatrix, Sampling):
    """What all designs share."""

    observations: AtLeast2
    """number of observations n, at least the cardinality"""
    response_noise: Positive
    """standard deviation of the response's noise"""
    coefficient_fit: CoefficientFit
    """how the coefficient a is fitted to tail(d) = a/d"""


class Exp1Design(Exp1Model):
    """What the simulation of one design needs."""

    spectrum: Spectrum


class Exp1Designs(Settings):
    """The spectral designs, in the order of the figures."""

    designs: Annotated[
        dict[DesignName, Spectrum],
        Field(min_length=1, max_length=MAX_SHOWN),
        AfterValidator(_by_law),
    ]
    """spectral designs by name, in lower case letters, digits and underscores"""


class Exp1Choices(Exp1Model, Exp1Designs):
    """What is simulated, however often."""

    def cell(self, seed: int, design: str, replications: range) -> "Exp1Cell":
        """Return what simulates some replications of one design."""
        return Exp1Cell(
            settings=Exp1Design.taken_from(self, spectrum=self.designs[design]),
            seed=seed,
            design=design,
            first=replications.start,
            last=replications.stop,
        )


class Exp1(Exp1Choices, Replicated):
    """Experiment 1, Section 3.1."""


class Exp1Cell(ReplicatedCell[Exp1Design]):
    """What one job of Experiment 1 needs."""

    design: str
    """name of the design"""
