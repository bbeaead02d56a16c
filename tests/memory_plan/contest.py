"""What rows, columns and formats are worth beside other rules at the same bytes.

On counts of Criteo's shape the surrogate decides; on a real table networks are trained.

python -m tests.memory_plan.contest criteo
python -m tests.memory_plan.contest flights --splits 5
"""

import argparse
from dataclasses import replace

import numpy as np

from embedalloc.command_line.memory import draw_peers
from embedalloc.data.effects import fit_effects
from embedalloc.data.estimator import EmbeddingAllocator
from embedalloc.data.network import train_tabular
from embedalloc.data.validation import hold_out
from embedalloc.memory_plan.menus import build_memory_problem
from embedalloc.memory_plan.peers import compare_peers, dimension_by_variance
from embedalloc.memory_plan.plan import solve_memory
from embedalloc.memory_plan.prices import Prices
from embedalloc.result import Allocation
from embedalloc.study.tables.contest import Contestant, Split
from embedalloc.study.tables.protocol import read_protocol
from embedalloc.study.tables.sources import read_source
from embedalloc.text import text_table
from tests.memory_plan.criteo import FDO_DIMENSIONS, power_law_counts
from tests.places import ROOT

CRITEO_BUDGETS = (20_000_000, 200_000_000, 2_000_000_000)
#: Columns of the rules that choose rows only, and of the pilot, on the real table.
BASE = 8
#: Budgets of the real table: float32 numbers per level, a shared row of each field included.
NUMBERS_PER_LEVEL = (0.25, 1.0, 4.0)
RATIOS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
#: The exact plan without a word about the target.
BLIND = "exact, counts alone"


def compare_on_criteo():
    """Yield each budget with the peers' plans on counts of Criteo's shape."""
    problem = build_memory_problem(
        power_law_counts(), prices=Prices("rowwise_adagrad"), formats=["float32", "float16"]
    )
    published = {share / 100: each[13:] for share, each in FDO_DIMENSIONS.items()}
    for size in CRITEO_BUDGETS:
        yield size, compare_peers(problem, size, by_variance=published)


def rank_levels(codes, cardinality, unseen=0):
    """Return counts, the largest first, and the rank of each code by frequency; -1 for unseen."""
    counts = np.bincount(codes, minlength=cardinality)
    counts[unseen] = 0
    order = np.argsort(-counts, kind="stable")
    ranks = np.full(cardinality, -1)
    seen = int((counts > 0).sum())
    ranks[order[:seen]] = np.arange(seen)
    return counts[order[:seen]], ranks


def judge_memory_plan(split, plan, codes, ranks):
    """Return the test loss of a network whose tables are those of the plan."""
    tables = {name: table for name, table in plan.tables.items() if table.rows}
    sizes = {name: (table.rows, table.dimension) for name, table in tables.items()}
    allocation = Allocation(
        plan.rule,
        {name: d for name, (_, d) in sizes.items()},
        {name: rows for name, (rows, _) in sizes.items()},
        {name: rows * d for name, (rows, d) in sizes.items()},
        plan.budget,
    )
    planned = tuple(
        np.stack(
            [table.rows_of(ranks[name][part[name]]) for name, table in tables.items()], axis=1
        ).astype(float)
        if tables
        else np.zeros((len(next(iter(part.values()))), 0))
        for part in codes
    )
    return split.judge(Contestant(allocation, planned), "small").test


def pilot_dimensions(data, seed):
    """Return dimensions by variance of a pilot's tables, by ratio, in the order of the fields."""
    kept, held_out = hold_out(data, 0.2, seed=seed, label="pilot")
    columns = {name: min(BASE, n) for name, n in data.cardinalities.items()}
    model = train_tabular(
        data.take(kept), data.take(held_out), columns, seed=seed, label="pilot", epochs=60
    )
    variances = {
        name: np.linalg.svd(table - table.mean(0), compute_uv=False) ** 2
        for name, table in model.tables.items()
    }
    return {
        ratio: [dimension_by_variance(variances[name], ratio) for name in data.names]
        for ratio in RATIOS
    }


def compare_on_table(name, splits, rows):
    """Print the test losses of networks with every rule's tables, by budget."""
    protocol = read_protocol(ROOT / "workflow/tables.yaml").model_copy(update={"rows": rows})
    table = read_source(name, ROOT / f"workflow/resources/tables/{name}.parquet", protocol)
    losses = {}
    for number in range(splits):
        split = Split(table, protocol, number)
        encoder = (
            EmbeddingAllocator(
                10**9, "equal", columns=split.fields, task=split.task, random_state=number
            )
            .fit(split.known, split.target[0])
            .encoder_
        )
        known, new = encoder.encode(split.known, split.target[0]), encoder.encode(split.new)
        ranked = {
            field: rank_levels(known.codes[field], n) for field, n in known.cardinalities.items()
        }
        counts = {field: found for field, (found, _) in ranked.items()}
        ranks = {field: found for field, (_, found) in ranked.items()}
        effects = fit_effects(known).fields
        words = {"prices": Prices(), "formats": ["float32"]}
        problem = build_memory_problem(
            counts,
            signals={field: max(effects[field].variance, 1e-9) for field in counts},
            smoothing={field: min(effects[field].shrinkage, 1e9) for field in counts},
            **words,
        )
        blind = build_memory_problem(counts, **words)
        ratios = pilot_dimensions(known, number)
        rows_of_all = sum(len(each) + 1 for each in counts.values())
        for each in NUMBERS_PER_LEVEL:
            budget = int(4 * each * rows_of_all)
            plans = compare_peers(problem, budget, base=BASE, by_variance=ratios)
            plans[BLIND] = replace(solve_memory(blind, budget), rule=BLIND)
            del plans["exact, float32"]  # the same, for there is no other format
            for rule, plan in plans.items():
                loss = np.nan
                if plan is not None:
                    loss = judge_memory_plan(split, plan, (known.codes, new.codes), ranks)
                losses.setdefault((each, rule), []).append(loss)
            print(
                number,
                budget,
                {rule: round(losses[each, rule][-1], 4) for rule in plans},
                flush=True,
            )
    for each in NUMBERS_PER_LEVEL:
        best = np.array(losses[each, "exact"])
        lines = []
        for (numbers, rule), found in losses.items():
            if numbers == each:
                lines.append([rule, *describe(np.array(found), best)])
        head = [f"numbers a level: {each:g}", "test loss", "minus exact"]
        print("\n" + text_table(head, lines), flush=True)


def describe(losses, best):
    """Return the mean loss and its paired difference from the exact plan's, with its error."""
    if np.isnan(losses).any():
        return ["does not fit", ""]
    difference = losses - best
    error = difference.std(ddof=1) / np.sqrt(len(best)) if len(best) > 1 else np.nan
    return [f"{losses.mean():.4f}", f"{difference.mean():+.4f} ({error:.4f})"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["criteo", "flights", "adult", "birds", "hotel"])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=6_000)
    arguments = parser.parse_args()
    if arguments.what == "criteo":
        for size, found in compare_on_criteo():
            print(f"{size:,} bytes\n{draw_peers(found)}\n", flush=True)
    else:
        compare_on_table(arguments.what, arguments.splits, arguments.rows)


if __name__ == "__main__":
    main()
