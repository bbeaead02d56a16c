"""Runs of the multiverse for Experiments 1–3: the experiment's own simulation, then its claims.

A run is what the workflow does with the same configuration: the cells of the experiment are
simulated, and the claims' own functions and thresholds decide. Only the number of replications
differs: it grows until the outcomes are settled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study import exp1, exp2, exp3
from embedalloc.study.claims.exp1 import exp1_findings
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.exp3 import exp3_findings
from embedalloc.study.claims.finding import Bootstrap, Finding
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.multiverse import regret
from embedalloc.study.multiverse.space import (
    Point,
    Space,
    decide_point,
    until_settled,
    write_setting,
)
from embedalloc.study.workflow.cells import claims_settings, exp1_cell, exp2_cell, exp3_cell
from embedalloc.study.workflow.tables import Column, Contract

DRAWN_REGRET = Contract(
    "multiverse_regret",
    {
        "number": Column("integer", "random draw of Experiment 3", low=0),
        "setting": Column("text", "value of every choice, as JSON"),
        "budget": Column("integer", "total embedding parameters B", low=1),
        "allocation_rule": Column("text", "who chose the dimensions", values=regret.RULES),
        "excess": Column("number", "mean excess over the oracle's risk, as a share", low=0),
    },
    key=("number", "budget", "allocation_rule"),
)


def run_points(
    space: Space,
    chosen: Sequence[Point],
    claims: Mapping[str, Claim],
    *,
    block: Mapping[str, Any],
    **size: int,
) -> pd.DataFrame:
    """Return the outcomes of some points of Experiment 1, 2 or 3; see `run_point`."""
    rows = [run_point(space, point, claims, block=block, **size) for point in chosen]
    return pd.DataFrame([row for each in rows for row in each])


def run_point(
    space: Space,
    point: Point,
    claims: Mapping[str, Claim],
    *,
    block: Mapping[str, Any],
    replications: int,
    at_most: int,
    resamples: int,
) -> list[dict[str, Any]]:
    """Return the outcome rows of one point.

    Parameters
    ----------
    space, point, claims
        Open choices, the point to run, and the ledger's claims by id.
    block
        The experiment's block of the configuration.
    replications, at_most
        Monte Carlo replications of a point at first, and the most that it may take to settle; see
        `Point.most`.
    resamples
        Bootstrap resamples behind each interval.
    """
    simulate, findings_of = EXPERIMENTS[space.experiment]
    most = point.most(replications, at_most)
    config = point_config(space, point, block, most, replications)
    readings = space.readings(point.setting)
    settings = claims_settings(space.experiment, config[space.experiment])

    def decide(tables: Sequence[pd.DataFrame], count: int) -> list[dict[str, Any]]:
        bootstrap = Bootstrap(stream(point.seed, "claims", space.experiment), resamples)
        found = findings_of(*tables, **settings, bootstrap=bootstrap)

        def steadiness(claim: Claim, reading: str) -> float:
            return claim.steadiness(found[claim.id][reading])

        return decide_point(space, point, claims, found, steadiness, count)

    return until_settled(lambda part: simulate(config, part, readings), decide, replications, most)


def point_config(
    space: Space, point: Point, block: Mapping[str, Any], replications: int, per_part: int
) -> dict[str, Any]:
    """Return the configuration of a point: its seed and its experiment's block."""
    size = {"replications": replications, "replications_per_job": per_part}
    return {
        "seed": point.seed,
        space.experiment: space.block(block, point.setting) | size,
    }


def simulate_exp1(
    config: Mapping[str, Any], part: int, readings: Sequence[str]
) -> tuple[pd.DataFrame, ...]:
    """Return profiles and fits of one part of Experiment 1."""
    frames = [exp1.simulate(**exp1_cell(config, each, part)) for each in config["exp1"]["designs"]]
    profiles, fits = zip(*frames, strict=True)
    return pd.concat(profiles), pd.concat(fits)


def simulate_exp2(
    config: Mapping[str, Any], part: int, readings: Sequence[str]
) -> tuple[pd.DataFrame, ...]:
    """Return the profiles of one part of Experiment 2."""
    block = config["exp2"]
    sizes = sorted({*block["panel_observations"], *block["curve_observations"]})
    return (pd.concat([exp2.simulate(**exp2_cell(config, n, part)) for n in sizes]),)


def simulate_exp3(
    config: Mapping[str, Any], part: int, readings: Sequence[str]
) -> tuple[pd.DataFrame, ...]:
    """Return the performance of one part of Experiment 3, with the read-out refitted or known."""
    block = config["exp3"]
    sizes = sorted({block["budget_observations"], *block["curve_observations"]})
    performance = pd.concat([exp3.simulate(**exp3_cell(config, n, part))[0] for n in sizes])
    if "known" in readings:
        performance = performance.assign(risk=performance["risk_known"])
    return (performance,)


#: How an experiment is simulated, and the function that finds what its claims say of the tables.
EXPERIMENTS: Mapping[
    str,
    tuple[
        Callable[[Mapping[str, Any], int, Sequence[str]], tuple[pd.DataFrame, ...]],
        Callable[..., dict[str, dict[str, Finding]]],
    ],
] = {
    "exp1": (simulate_exp1, exp1_findings),
    "exp2": (simulate_exp2, exp2_findings),
    "exp3": (simulate_exp3, exp3_findings),
}


def regret_of_points(
    space: Space, chosen: Sequence[Point], *, block: Mapping[str, Any], replications: int
) -> pd.DataFrame:
    """Return the mean excess of every rule over the oracle, by draw of Experiment 3 and budget."""
    frames = []
    for point in chosen:
        config = point_config(space, point, block, replications, replications)
        cell = exp3_cell(config, config["exp3"]["budget_observations"], 0)
        rows = regret.simulate(**(cell | {"budgets": config["exp3"]["budgets"]}))
        means = rows.groupby(["budget", "allocation_rule"], sort=False)["excess"].mean()
        frames.append(
            means.reset_index().assign(number=point.number, setting=write_setting(point.setting))
        )
    return pd.concat(frames, ignore_index=True)[list(DRAWN_REGRET.columns)]
