"""Settings of the multiverse: how much of it is run."""

from embedalloc.study.settings.common import AtLeast1, AtLeast2, Settings, split_work


class MultiverseSize(Settings):
    """Size of the multiverse of one experiment."""

    pairs: bool
    """whether every pair of changes of the default is run"""
    draws: AtLeast2
    """number of random settings"""
    repeated: AtLeast1
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
    def regret_parts(self) -> dict[int, range]:
        """The draws of each job of the regret, by its number."""
        return split_work(self.draws("exp3"), self.regret.draws_per_job)
