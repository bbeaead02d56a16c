"""How often screening drops noise, keeps signal, and what it answers.

python -m tests.benchmarks.screening_rates --seeds 40
"""

import argparse
import collections
import time

from embedalloc.data.estimator import EmbeddingAllocator
from tests.oracles.simulated_tables import make_table

TABLES = {
    "binary, 2,000 rows": {"rows": 2000, "signal": (10, 40), "noise": (150, 300)},
    "binary, 8,000 rows": {"rows": 8000, "signal": (10, 40), "noise": (150, 300)},
    "regression, 2,000 rows": {
        "rows": 2000, "signal": (10, 40), "noise": (150, 300), "kind": "regression",
    },
    "three classes, 4,000 rows": {
        "rows": 4000, "signal": (10, 40), "noise": (150, 300), "kind": "multiclass",
    },
    "equal fields, 2,000 rows": {"rows": 2000, "signal": (30, 30, 30, 30), "strength": 0.7},
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=40)
    parser.add_argument("--table", action="append", choices=list(TABLES))
    arguments = parser.parse_args()
    for name in arguments.table or TABLES:
        count, verdicts, begin = collections.Counter(), collections.Counter(), time.perf_counter()
        for seed in range(arguments.seeds):
            frame, y = make_table(seed, **TABLES[name])
            levels = sum(TABLES[name]["signal"]) + sum(TABLES[name].get("noise", ()))
            fit = EmbeddingAllocator(2 * levels, random_state=seed).fit(frame, y)
            for field, dimension in fit.dimensions_.items():
                kind = field.rstrip("0123456789")
                count[kind] += 1
                count[f"{kind} without table"] += dimension == 0
                count[f"{kind} dropped"] += field in fit.plan_.dropped
            verdicts[f"beats equal: {fit.report_.beats_equal.verdict}"] += 1
            verdicts[f"splitting: {fit.report_.splitting.verdict}"] += 1
        print(
            f"{name}: noise fields without table {count['noise without table']} "
            f"of {count['noise']}, signal fields without table {count['signal without table']} "
            f"and dropped {count['signal dropped']} of {count['signal']}; "
            f"verdicts {dict(verdicts)}; {time.perf_counter() - begin:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
