"""Runs of the multiverse for Experiments 1–3: the experiment's own simulation, then its claims.

A run is what the workflow does with the same configuration: the cells of the experiment are
simulated, and the claims' own functions and thresholds decide. Only the number of replications
differs.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study import exp1, exp2, exp3, exp3_regret
from embedalloc.study.cells import claims_settings, exp1_cell, exp2_cell, exp3_cell
from embedalloc.study.claims.exp1 import exp1_findings
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.exp3 import exp3_findings
from embedalloc.study.claims.finding import Bootstrap, Finding
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.multiverse import Point, Space, outcome_frame, outcome_rows, written
from embedalloc.study.tables import Column, Contract

Findings = dict[str, dict[str, Finding]]

REGRET = Contract(
    "multiverse_regret",
    {
        "number": Column("integer", "random draw of Experiment 3", low=0),
        "setting": Column("text", "value of every choice, as JSON"),
        "budget": Column("integer", "total embedding parameters B", low=1),
        "allocation_rule": Column("text", "who chose the dimensions", values=exp3_regret.RULES),
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
    replications: int,
    resamples: int,
) -> pd.DataFrame:
    """Return the outcomes of some points of Experiment 1, 2 or 3.

    Parameters
    ----------
    space, chosen, claims
        Open choices, the points to run, and the ledger's claims by id.
    block
        The experiment's block of the configuration.
    replications
        Monte Carlo replications of a point.
    resamples
        Bootstrap resamples behind each interval.
    """
    find = FINDERS[space.experiment]
    rows = []
    for point in chosen:
        config = point_config(space, point, block, replications)
        readings = space.readings(point.setting)
        bootstrap = Bootstrap(stream(point.seed, "claims", space.experiment), resamples)
        rows += outcome_rows(space, point, claims, find(config, readings, bootstrap))
    return outcome_frame(rows)


def point_config(
    space: Space, point: Point, block: Mapping[str, Any], replications: int
) -> dict[str, Any]:
    """Return the configuration of a point: its seed and its experiment's block, all in one part."""
    size = {"replications": replications, "replications_per_job": replications}
    return {
        "seed": point.seed,
        space.experiment: space.block(block, point.setting) | size,
    }


def find_exp1(config: Mapping[str, Any], readings: Sequence[str], bootstrap: Bootstrap) -> Findings:
    """Return the findings on Experiment 1 under a configuration."""
    block = config["exp1"]
    frames = [exp1.simulate(**exp1_cell(config, design, 0)) for design in block["designs"]]
    profiles, fits = (pd.concat(each, ignore_index=True) for each in zip(*frames, strict=True))
    return exp1_findings(profiles, fits, **claims_settings("exp1", block), bootstrap=bootstrap)


def find_exp2(config: Mapping[str, Any], readings: Sequence[str], bootstrap: Bootstrap) -> Findings:
    """Return the findings on Experiment 2 under a configuration."""
    block = config["exp2"]
    sizes = sorted({*block["panel_observations"], *block["curve_observations"]})
    profiles = pd.concat([exp2.simulate(**exp2_cell(config, n, 0)) for n in sizes])
    return exp2_findings(profiles, **claims_settings("exp2", block), bootstrap=bootstrap)


def find_exp3(config: Mapping[str, Any], readings: Sequence[str], bootstrap: Bootstrap) -> Findings:
    """Return the findings on Experiment 3 under a configuration, with a read-out as drawn."""
    block = config["exp3"]
    sizes = sorted({block["budget_observations"], *block["curve_observations"]})
    performance = pd.concat([exp3.simulate(**exp3_cell(config, n, 0))[0] for n in sizes])
    if "known" in readings:
        performance = performance.assign(risk=performance["risk_known"])
    return exp3_findings(performance, **claims_settings("exp3", block), bootstrap=bootstrap)


FINDERS: Mapping[str, Callable[[Mapping[str, Any], Sequence[str], Bootstrap], Findings]] = {
    "exp1": find_exp1,
    "exp2": find_exp2,
    "exp3": find_exp3,
}


def regret_of_points(
    space: Space, chosen: Sequence[Point], *, block: Mapping[str, Any], replications: int
) -> pd.DataFrame:
    """Return the mean excess of every rule over the oracle, by draw of Experiment 3 and budget."""
    frames = []
    for point in chosen:
        config = point_config(space, point, block, replications)
        cell = exp3_cell(config, config["exp3"]["budget_observations"], 0)
        rows = exp3_regret.simulate(**(cell | {"budgets": config["exp3"]["budgets"]}))
        means = rows.groupby(["budget", "allocation_rule"], sort=False)["excess"].mean()
        frames.append(
            means.reset_index().assign(number=point.number, setting=written(point.setting))
        )
    return pd.concat(frames, ignore_index=True)[list(REGRET.columns)]
