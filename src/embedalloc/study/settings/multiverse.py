"""Settings of the multiverse, and what its jobs need."""

from typing import Generic, Literal, TypeVar

from pydantic import SerializeAsAny

from embedalloc.study.settings.common import (
    AtLeast1,
    AtLeast2,
    Cell,
    Count,
    Settings,
    Several,
    jobs,
)

B = TypeVar("B", bound=Settings)
Kind = Literal["default", "single", "pair", "draw"]
#: Kinds of points that take more replications until they are settled. A change of the default has
#: the first ones only, and is evidence where these settle it.
GROWING = ("default", "draw")


class MultiverseSize(Settings):
    """Size of the multiverse of one experiment."""

    pairs: bool
    """whether every pair of changes of the default is run"""
    draws: AtLeast2
    """number of random settings"""
    repeated: Count
    """number of random settings that run again with another seed"""
    replications: AtLeast2
    """Monte Carlo replications of a setting at first, or splits of the patients"""
    at_most: AtLeast2
    """replications or splits that default and random settings may take until settled"""
    points_per_job: AtLeast1
    """settings that one job runs at most"""


class Regret(Settings):
    """Excess over the best allocation in Experiment 3."""

    replications: AtLeast2
    """number of Monte Carlo replications per sample size"""
    draw_replications: AtLeast2
    """number of Monte Carlo replications per random setting"""
    draws_per_job: AtLeast1
    """random settings that one job takes at most"""


class Multiverse(Settings):
    """Random draws over what the paper leaves open."""

    scale: AtLeast1
    """factor on every number of draws"""
    exp1: MultiverseSize
    exp2: MultiverseSize
    exp3: MultiverseSize
    heart: MultiverseSize
    regret: Regret

    def size(self, experiment: str) -> MultiverseSize:
        """Return the size of one experiment's multiverse, by its name."""
        size: MultiverseSize = getattr(self, experiment)
        return size

    def draws(self, experiment: str) -> int:
        """Return the number of random settings of one experiment."""
        return self.scale * self.size(experiment).draws

    @property
    def regret_parts(self) -> range:
        """The numbers of the jobs that the draws' regret is split into."""
        return jobs(self.draws("exp3"), self.regret.draws_per_job)


class Point(Settings):
    """One run: a setting and the seed of its simulation."""

    kind: Kind
    """default, one or two changes of it, or random draw"""
    number: Count
    """number within its kind"""
    repeat: Count
    """0, or 1 for the run with another seed"""
    seed: Count
    """seed of the simulation"""
    setting: dict[str, str]
    """value of each choice by the choice's name"""

    def most(self, replications: int, at_most: int) -> int:
        """Return the most replications of the point, from those at first and those at most."""
        return at_most if self.kind in GROWING else replications


class DrawsCell(Cell, Generic[B]):
    """What one job needs that simulates some points of an experiment."""

    points: Several[Point]
    """the runs"""
    block: SerializeAsAny[B]
    replications: AtLeast2
    """Monte Carlo replications of a setting at first, or splits of the patients"""


class PointsCell(DrawsCell[B], Generic[B]):
    """What one job needs that decides the claims at some points of an experiment."""

    experiment: str
    """the experiment's name"""
    at_most: AtLeast2
    """replications or splits that default and random settings may take until settled"""
    resamples: AtLeast1
    """bootstrap resamples behind each interval"""
