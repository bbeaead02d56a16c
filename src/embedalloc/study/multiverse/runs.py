"""Runs of the multiverse for Experiments 1–3: the experiment's own simulation, then its claims.

A run is what the workflow does with the same configuration: the cells of the experiment are
simulated, and the claims' own functions and thresholds decide. Only the number of replications
differs: it grows until the outcomes are settled.
"""

from collections.abc import Mapping, Sequence

import pandas as pd

from embedalloc.streams import stream
from embedalloc.study import exp1, exp2, exp3
from embedalloc.study.claims.exp1 import exp1_findings
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.exp3 import exp3_findings
from embedalloc.study.claims.finding import Bootstrap, Findings
from embedalloc.study.claims.ledger import Claim
from embedalloc.study.multiverse import regret
from embedalloc.study.multiverse.space import (
    DrawsCell,
    Point,
    PointsCell,
    Space,
    Steadiness,
    Tables,
    decide_points,
    write_setting,
)
from embedalloc.study.settings.exp1 import Exp1Choices
from embedalloc.study.settings.exp2 import Exp2Choices
from embedalloc.study.settings.exp3 import Exp3Choices
from embedalloc.study.workflow.tables import Column, Contract

Block = Exp1Choices | Exp2Choices | Exp3Choices
#: What one job of these experiments needs.
ExperimentCell = PointsCell[Block]

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


def run_points(space: Space, cell: ExperimentCell, claims: Mapping[str, Claim]) -> pd.DataFrame:
    """Return the outcomes of some points of Experiment 1, 2 or 3, by the ledger's claims by id."""

    def simulate(point: Point, block: Block, replications: range) -> Tables:
        return simulate_part(block, point.seed, replications, space.readings(point.setting))

    def find(point: Point, block: Block, tables: Tables) -> tuple[Findings, Steadiness]:
        bootstrap = Bootstrap(stream(point.seed, "claims", space.experiment), cell.resamples)
        found = find_claims(block, tables, bootstrap)
        return found, lambda claim, reading: claim.steadiness(found[claim.id][reading])

    return decide_points(space, cell, claims, simulate, find)


def simulate_part(block: Block, seed: int, replications: range, readings: Sequence[str]) -> Tables:
    """Return the tables of an experiment that its claims are decided from."""
    if isinstance(block, Exp1Choices):
        cells = [block.cell(seed, design, replications) for design in block.designs]
        profiles, fits = zip(*map(exp1.simulate, cells), strict=True)
        return pd.concat(profiles), pd.concat(fits)
    sizes = block.observations
    if isinstance(block, Exp2Choices):
        return (pd.concat([exp2.simulate(block.cell(seed, n, replications)) for n in sizes]),)
    performance = pd.concat([exp3.simulate(block.cell(seed, n, replications)) for n in sizes])
    if "known" in readings:
        performance = performance.assign(risk=performance["risk_known"])
    return (performance,)


def find_claims(block: Block, tables: Tables, bootstrap: Bootstrap) -> Findings:
    """Return what the claims on an experiment say of its tables."""
    if isinstance(block, Exp1Choices):
        return exp1_findings(*tables, settings=block, bootstrap=bootstrap)
    if isinstance(block, Exp2Choices):
        return exp2_findings(*tables, settings=block, bootstrap=bootstrap)
    cardinalities = block.cardinalities
    return exp3_findings(*tables, settings=block, cardinalities=cardinalities, bootstrap=bootstrap)


def measure_regret(space: Space, cell: DrawsCell[Exp3Choices]) -> pd.DataFrame:
    """Return the mean excess of every rule over the oracle, by draw of Experiment 3 and budget."""
    frames = []
    for point in cell.points:
        changed = space.block(cell.settings, point.setting)
        observations, budgets = changed.budget_observations, changed.budgets
        rows = regret.simulate(
            changed.cell(point.seed, observations, range(cell.replications), budgets)
        )
        means = rows.groupby(["budget", "allocation_rule"], sort=False)["excess"].mean()
        frames.append(
            means.reset_index().assign(number=point.number, setting=write_setting(point.setting))
        )
    return pd.concat(frames, ignore_index=True)[list(DRAWN_REGRET.columns)]
