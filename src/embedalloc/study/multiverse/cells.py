"""The part of the configuration that one job of the multiverse needs, and nothing more."""

from collections.abc import Mapping

from embedalloc.study.multiverse.space import DrawsCell, Point, PointsCell, Space, list_points
from embedalloc.study.settings.common import Settings, split_work
from embedalloc.study.settings.configuration import Configuration
from embedalloc.study.settings.exp1 import Exp1Choices
from embedalloc.study.settings.exp2 import Exp2Choices
from embedalloc.study.settings.exp3 import Exp3Choices
from embedalloc.study.settings.heart import HeartChoices

#: The part of each experiment's block that its points look at: they have sizes of their own.
CHOICES: Mapping[str, type[Settings]] = {
    "exp1": Exp1Choices,
    "exp2": Exp2Choices,
    "exp3": Exp3Choices,
    "heart": HeartChoices,
}


def multiverse_points(config: Configuration, space: Space) -> list[Point]:
    """Return all points of one experiment."""
    size, draws = config.multiverse.size(space.experiment), config.multiverse.draws
    return list_points(
        space,
        config.seed,
        pairs=size.pairs,
        draws=draws(space.experiment),
        repeated=size.repeated,
    )


def multiverse_parts(config: Configuration, space: Space) -> dict[int, range]:
    """Return the points of each job of an experiment, by the number of the job."""
    size = config.multiverse.size(space.experiment)
    return split_work(len(multiverse_points(config, space)), size.points_per_job)


def multiverse_cell(config: Configuration, space: Space, part: int) -> PointsCell[Settings]:
    """Return what one job of an experiment's points needs."""
    size = config.multiverse.size(space.experiment)
    start = part * size.points_per_job
    chosen = multiverse_points(config, space)[start : start + size.points_per_job]
    return PointsCell(
        experiment=space.experiment,
        points=tuple(chosen),
        settings=CHOICES[space.experiment].taken_from(getattr(config, space.experiment)),
        replications=size.replications,
        at_most=size.at_most,
        resamples=config.claims.draws,
        seed=config.seed,
    )


def regret_cell(config: Configuration, space: Space, part: int) -> DrawsCell[Exp3Choices]:
    """Return what the regret over some draws of Experiment 3 needs."""
    size = config.multiverse.regret.draws_per_job
    draws = [p for p in multiverse_points(config, space) if p.kind == "draw" and p.repeat == 0]
    return DrawsCell(
        points=tuple(draws[part * size : (part + 1) * size]),
        settings=Exp3Choices.taken_from(config.exp3),
        replications=config.multiverse.regret.draw_replications,
        seed=config.seed,
    )
