"""The part of the configuration that one job of the multiverse needs, and nothing more."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from embedalloc.study.multiverse.space import Point, Space, list_points
from embedalloc.study.workflow.cells import exp3_cell

#: Settings of an experiment that its points do not look at: they have sizes of their own.
_SIZES = ("replications", "replications_per_job", "splits", "splits_per_job", "data")
_OTHER_RULES = ("fold_splits", "folds", "repetitions", "timed_epochs")


def multiverse_points(config: Mapping[str, Any], space: Space) -> list[Point]:
    """Return all points of one experiment."""
    size = config["multiverse"][space.experiment]
    return list_points(
        space,
        config["seed"],
        pairs=size["pairs"],
        draws=config["multiverse"]["scale"] * size["draws"],
        repeated=size["repeated"],
    )


def multiverse_parts(config: Mapping[str, Any], space: Space) -> range:
    """Return the numbers of the jobs that an experiment's points are split into."""
    size = config["multiverse"][space.experiment]["points_per_job"]
    return range(-(-len(multiverse_points(config, space)) // size))


def multiverse_cell(config: Mapping[str, Any], space: Space, part: int) -> dict[str, Any]:
    """Return what one job of an experiment's points needs."""
    size = config["multiverse"][space.experiment]["points_per_job"]
    chosen = multiverse_points(config, space)[part * size : (part + 1) * size]
    return {
        "experiment": space.experiment,
        "points": [asdict(point) for point in chosen],
        "block": _block(config, space.experiment),
        "replications": config["multiverse"][space.experiment]["replications"],
        "at_most": config["multiverse"][space.experiment]["at_most"],
        "resamples": config["claims"]["draws"],
        "seed": config["seed"],
    }


def regret_parts(config: Mapping[str, Any]) -> range:
    """Return the numbers of the jobs that the draws' regret is split into."""
    block = config["multiverse"]
    return range(-(-block["scale"] * block["exp3"]["draws"] // block["regret"]["draws_per_job"]))


def multiverse_regret_cell(config: Mapping[str, Any], space: Space, part: int) -> dict[str, Any]:
    """Return what the regret over some draws of Experiment 3 needs."""
    block = config["multiverse"]["regret"]
    size = block["draws_per_job"]
    draws = [p for p in multiverse_points(config, space) if p.kind == "draw" and p.repeat == 0]
    return {
        "points": [asdict(point) for point in draws[part * size : (part + 1) * size]],
        "block": _block(config, "exp3"),
        "replications": block["draw_replications"],
        "seed": config["seed"],
    }


def exp3_regret_cell(config: Mapping[str, Any], observations: int) -> dict[str, Any]:
    """Return what the regret of Experiment 3 at one sample size needs: all its budgets."""
    cell = exp3_cell(config, observations, 0)
    budgets = {"budgets": sorted(config["exp3"]["budgets"])}
    return cell | budgets | {"first": 0, "last": config["multiverse"]["regret"]["replications"]}


def _block(config: Mapping[str, Any], experiment: str) -> dict[str, Any]:
    return {k: v for k, v in config[experiment].items() if k not in (*_SIZES, *_OTHER_RULES)}
