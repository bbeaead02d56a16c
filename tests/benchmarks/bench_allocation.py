"""Closed form and greedy for many predictors, beside a scan of all predictors per step.

Run it with: python -m tests.benchmarks.bench_allocation
"""

import tracemalloc

import numpy as np

from embedalloc.allocation import integer_dimensions
from tests import naive
from tests.benchmarks.clock import cpu_seconds


def instance(predictors):
    rng = np.random.default_rng(predictors)
    cardinalities = rng.integers(2, 100_000, predictors)
    coefficients = rng.lognormal(0, 2, predictors)
    return coefficients, cardinalities, int(7.3 * cardinalities.sum())


def main(sizes=(100, 1000, 10_000, 100_000), scan_up_to=1000, repetitions=5):
    """Print CPU time and memory by number of predictors; the results must agree."""
    print("predictors   ours (s)   scan (s)      ratio   peak memory (MB)")
    for size in sizes:
        a, n, budget = instance(size)
        contestants = {"ours": lambda: integer_dimensions(a, n, budget)}  # noqa: B023
        if size <= scan_up_to:
            contestants["scan"] = lambda: naive.proposed(a, n, budget)  # noqa: B023
            found = integer_dimensions(a, n, budget).dimensions
            assert list(found.values()) == naive.proposed(a, n, budget)
        seconds = cpu_seconds(contestants, repetitions)
        tracemalloc.start()
        integer_dimensions(a, n, budget)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        scan = (
            f"{seconds['scan']:10.3f} {seconds['scan'] / seconds['ours']:9.0f}x"
            if "scan" in seconds
            else " " * 21
        )
        print(f"{size:10,} {seconds['ours']:10.3f} {scan} {peak:18.1f}")


if __name__ == "__main__":
    main()
