"""A claim needs evidence: whatever is taken out of its tables, it is untestable or as before."""

import math
from fnmatch import fnmatch

import numpy as np
import pandas as pd
import pytest

from embedalloc.study import exp1, exp2, exp3
from embedalloc.study.claims.exp1 import exp1_findings
from embedalloc.study.claims.exp2 import exp2_findings
from embedalloc.study.claims.exp3 import exp3_findings
from embedalloc.study.claims.finding import Bootstrap
from embedalloc.study.claims.heart import data_findings, heart_findings
from embedalloc.study.claims.ledger import read_ledger
from embedalloc.study.claims.theory import theory_findings
from embedalloc.study.claims.verdicts import SECTIONS
from embedalloc.study.heart.table1 import METRICS
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.configuration import read_configuration
from embedalloc.study.theory import proposition2, theorem1, theorem2, theorem3
from tests.places import ROOT, read_config
from tests.study.claims.test_claims import audited, heart_inputs

LEDGER = {claim.id: claim for claim in read_ledger(ROOT / "workflow/claims.yaml")}
#: The file of each table, one of several where there are more.
FILES = {
    "approximation": "results/theory/approximation_errors.parquet",
    "paths": "results/theory/alternating_paths.parquet",
    "runs": "results/theory/alternating_runs.parquet",
    "gaps": "results/theory/generalisation_gaps.parquet",
    "scaling": "results/theory/generalisation_scaling.parquet",
    "budgets": "results/theory/allocation_budgets.parquet",
    "exp1_profiles": "results/exp1/exponential/profiles0.parquet",
    "exp1_fits": "results/exp1/exponential/fits0.parquet",
    "exp2_profiles": "results/exp2/n50/profiles0.parquet",
    "exp3_performance": "results/exp3/n500/performance0.parquet",
    "table": "figures/table1.parquet",
    "paired": "figures/table1_paired.parquet",
    "coefficients": "results/heart/coefficients/0.parquet",
    "losses": "results/heart/losses.parquet",
    "audit": "results/audit.parquet",
}
#: Columns whose values are the cases that a claim speaks of.
CASES = ("design", "observations", "budget", "allocation_rule", "balance", "loss", "scheme",
         "solution", "predictor", "model", "metric", "rival", "cardinality")  # fmt: skip
#: Cases that the settings do not name: the fewer there are, the less a claim is about.
UNNAMED = {("budgets", "budget"), ("gaps", "cardinality"), ("gaps", "observations")}


def small_settings():
    values = read_config()
    values["exp1"] |= {"cardinality": 8, "latent_rank": 4, "observations": 60, "replications": 3}
    values["exp2"] |= {"cardinality": 8, "latent_rank": 4, "replications": 3}
    values["exp2"] |= {"panel_observations": [20, 50], "curve_observations": [20, 50, 90]}
    values["exp3"] |= {"budgets": [300, 500, 1000], "budget_observations": 500, "replications": 3}
    values["exp3"] |= {"curve_observations": [500, 1000]}
    theory = values["theory"]
    theory["approximation"] |= {"cardinality": 8, "latent_rank": 4, "replications": 2}
    theory["alternating"] |= {"starts": 2, "rounds": 4}
    theory["generalisation"] |= {"cardinalities": [4, 6], "dimensions": [1, 2]}
    theory["generalisation"] |= {"observations": [200, 400], "replications": 4}
    theory["allocation"] |= {"budget_step": 500, "instances": 1, "predictor_counts": [2]}
    return read_configuration(values)


SETTINGS = small_settings()


@pytest.fixture(scope="module")
def tables():
    """Every table that claims are decided from, small."""
    c, found = SETTINGS, {}
    found["approximation"] = proposition2.simulate(
        Cell(settings=c.theory.approximation, seed=c.seed)
    )
    alternating = Cell(settings=c.theory.alternating, seed=c.seed)
    found["paths"], found["runs"] = theorem1.simulate(alternating)
    grid = Cell(settings=c.theory.generalisation, seed=c.seed)
    found["gaps"], found["scaling"] = theorem2.simulate(grid)
    found["budgets"], _ = theorem3.simulate(c.allocation_cell())
    cells = [c.exp1.cell(c.seed, name, c.exp1.parts[0]) for name in c.exp1.designs]
    profiles, fits = zip(*map(exp1.simulate, cells), strict=True)
    found["exp1_profiles"], found["exp1_fits"] = pd.concat(profiles), pd.concat(fits)
    found["exp2_profiles"] = pd.concat(
        exp2.simulate(c.exp2.cell(c.seed, n, c.exp2.parts[0])) for n in c.exp2.observations
    )
    found["exp3_performance"] = pd.concat(
        exp3.simulate(c.exp3.cell(c.seed, n, c.exp3.parts[0])) for n in c.exp3.observations
    )
    heart = heart_inputs(lambda rival, metric: 0.3 if METRICS[metric] else -0.3)
    found |= heart | {"audit": audited()}
    return {name: table.reset_index(drop=True) for name, table in found.items()}


THEORY = ("approximation", "paths", "runs", "gaps", "scaling", "budgets")
HEART = ("table", "paired", "coefficients", "losses")


def find(tables, part):
    """Return the findings of one part of the study."""
    sizes, bootstrap = SETTINGS.exp3.cardinalities, Bootstrap(np.random.default_rng(1), 50)
    if part == "theory":
        mine = {name: tables[name] for name in THEORY}
        return theory_findings(**mine, cardinalities=sizes, bootstrap=bootstrap)
    if part == "exp1":
        both = tables["exp1_profiles"], tables["exp1_fits"]
        return exp1_findings(*both, settings=SETTINGS.exp1, bootstrap=bootstrap)
    if part == "exp2":
        profiles = tables["exp2_profiles"]
        return exp2_findings(profiles, settings=SETTINGS.exp2, bootstrap=bootstrap)
    if part == "exp3":
        return exp3_findings(
            tables["exp3_performance"],
            settings=SETTINGS.exp3,
            cardinalities=sizes,
            bootstrap=bootstrap,
        )
    if part == "heart":
        return heart_findings(**{name: tables[name] for name in HEART})
    return data_findings(tables["audit"], patients=920)


def part_of(name):
    """Return the part of the study that a table belongs to."""
    rooms = {"theory": THEORY, "heart": HEART, "data": ("audit",)}
    return next((part for part, names in rooms.items() if name in names), name[:4])


def outcomes(tables, *parts):
    """Return the outcome and the estimate of every claim and reading of some parts."""
    return {
        (claim, reading): (LEDGER[claim].outcome(finding), finding.estimate)
        for part in parts
        for claim, readings in find(tables, part).items()
        for reading, finding in readings.items()
    }


@pytest.fixture(scope="module")
def whole(tables):
    return outcomes(tables, *SECTIONS)


def untestable_or_as_before(changed, tables, whole, what):
    """Compare outcomes; a reading without its rivals is left out, which the judge refuses."""
    (name,) = changed
    for key, (outcome, estimate) in outcomes(tables | changed, part_of(name)).items():
        if outcome != "not testable":
            assert math.isclose(estimate, whole[key][1], rel_tol=1e-12), (what, key, outcome)


def test_every_claim_is_decided_from_the_whole_tables(whole):
    decided = {claim for (claim, _), (outcome, _) in whole.items() if outcome != "not testable"}
    assert {claim for claim, _ in whole} == set(LEDGER)
    assert set(LEDGER) - decided == {"theorem2-bound", "heart-balance"}


@pytest.mark.parametrize("name", FILES)
def test_without_rows_nothing_is_decided(name, tables, whole):
    empty = {name: tables[name].iloc[:0]}
    found = outcomes(tables | empty, part_of(name))
    based = {
        claim.id
        for claim in LEDGER.values()
        if any(fnmatch(FILES[name], pattern) for pattern in claim.data)
    }
    for (claim, reading), (outcome, _) in found.items():
        if claim in based:
            # Readings may have tables of their own.
            assert outcome == "not testable" or len(LEDGER[claim].data) > 1, (claim, reading)
    untestable_or_as_before(empty, tables, whole, name)


@pytest.mark.parametrize("name", FILES)
def test_without_numbers_nothing_is_decided(name, tables, whole):
    for column in tables[name].select_dtypes("float"):
        for rows in (slice(None), slice(1, 2)):
            spoilt = tables[name].copy()
            spoilt.loc[spoilt.index[rows], column] = np.nan
            untestable_or_as_before({name: spoilt}, tables, whole, (column, rows))


@pytest.mark.parametrize("name", FILES)
def test_without_one_of_its_cases_nothing_is_decided(name, tables, whole):
    table = tables[name]
    for column in set(CASES) & set(table) - {c for n, c in UNNAMED if n == name}:
        for value in table[column].unique():
            kept = table[table[column] != value]
            untestable_or_as_before({name: kept}, tables, whole, (column, value))


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("exp1_profiles", "exp1"),
        ("exp2_profiles", "exp2"),
        ("exp3_performance", "exp3"),
        ("gaps", "theorem2-growth"),
    ],
)
def test_one_replication_and_a_missing_row_decide_nothing(name, claims, tables):
    def found(table):
        every = outcomes(tables | {name: table}, part_of(name)).items()
        return {key: outcome for key, (outcome, _) in every if key[0].startswith(claims)}

    table = tables[name]
    alone = found(table[table["replication"] == 0])
    decided = {claim for (claim, _), outcome in alone.items() if outcome != "not testable"}
    assert decided <= {"exp1-a-over-d"}  # it has a table of its own
    (row, *_) = table.index[table["loss"] == "bounded"] if "loss" in table else table.index
    assert "not testable" in found(table.drop(row)).values()
