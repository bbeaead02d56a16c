"""Settings of the multiverse, and what its jobs need."""

from typing import Generic, Literal, TypeVar

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


class PointsCell(Cell, Generic[B]):
    """What one job needs that runs some points of an experiment."""

    experiment: str
    """the experiment's name"""
    points: Several[Point]
    """the runs"""
    block: B
    """the experiment's default settings"""
    replications: AtLeast2
    """Monte Carlo replications of a setting at first, or splits of the patients"""
    at_most: AtLeast2
    """replications or splits that default and random settings may take until settled"""
    resamples: AtLeast1
    """bootstrap resamples behind each interval"""


class RegretCell(Cell, Generic[B]):
    """What one job needs that computes the regret of some points of Experiment 3."""

    points: Several[Point]
    """the runs"""
    block: B
    """the experiment's default settings"""
    replications: AtLeast2
    """number of Monte Carlo replications per random setting"""
