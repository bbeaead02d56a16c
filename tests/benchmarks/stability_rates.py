"""How often a plan stays the same when one row goes, one comes twice, or the seed changes.

python -m tests.benchmarks.stability_rates --changes 20
"""

import argparse
import time

import numpy as np
import pandas as pd

from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.sources import read_source
from tests.oracles.simulated_tables import make_table
from tests.places import ROOT

TABLES = {
    "with noise": {"rows": 1500, "signal": (6, 60), "noise": (150,), "kind": "regression"},
    "equal fields": {"rows": 1500, "signal": (30, 30, 30, 30), "strength": 0.7},
    "two classes": {"rows": 1500, "signal": (6, 60), "noise": (150,)},
}


#: Shipped tables, sampled as `snakemake tables` does.
REAL = ("flights", "birds", "adult")


def read(name):
    """Return predictors and target of a table of either kind."""
    if name in TABLES:
        return make_table(1, **TABLES[name])
    protocol = read_protocol(ROOT / "workflow/tables.yaml")
    table = read_source(name, ROOT / f"workflow/resources/tables/{name}.parquet", protocol)
    return table.frame, table.target


def describe(plan):
    """Return what a plan is: its tables, their dimensions, and its effects."""
    return plan.dimensions_, plan.plan_.effects


def measure_stability(frame, y, budget, changes):
    """Return in how many of so many changes each the plan stays: a row less, more, another seed."""

    def plan(rows, seed=0):
        fit = EmbeddingAllocator(budget, random_state=seed).fit(frame.iloc[rows], y[rows])
        return describe(fit)

    everything = np.arange(len(y))
    first = plan(everything)
    chosen = np.random.default_rng(0).choice(len(y), size=changes, replace=False)
    return {
        "a row less": sum(plan(np.delete(everything, row)) == first for row in chosen),
        "a row twice": sum(plan(np.append(everything, row)) == first for row in chosen),
        "another seed": sum(plan(everything, seed) == first for seed in range(1, changes + 1)),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--changes", type=int, default=20)
    parser.add_argument("--table", action="append", choices=[*TABLES, *REAL])
    arguments = parser.parse_args()
    for name in arguments.table or [*TABLES, *REAL]:
        frame, y = read(name)
        levels = sum(frame[field].nunique() + 1 for field in frame.select_dtypes(exclude="number"))
        begin = time.perf_counter()
        found = measure_stability(frame, pd.Series(y).to_numpy(), 3 * levels, arguments.changes)
        told = ", ".join(f"{what} {count} of {arguments.changes}" for what, count in found.items())
        print(f"{name}: {told}; {time.perf_counter() - begin:.0f} s", flush=True)


if __name__ == "__main__":
    main()
