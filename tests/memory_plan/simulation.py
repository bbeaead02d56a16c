"""What tables lose, by drawing effects, data, hashes and rounded numbers."""

import numpy as np


def lose_by_sharing(rng, counts, levels, buckets, tau, sigma, draws):
    """Mean squared error of shrunken pooled means, weighted by rows, over so many draws.

    Every draw hashes anew. A set's shrinkage is the best for its counts.
    """
    counts = np.asarray(counts, dtype=float)
    lost = np.empty(draws)
    for draw in range(draws):
        row = np.arange(len(counts))
        row[levels:] = levels + rng.integers(buckets, size=len(counts) - levels)
        effect = rng.normal(0, tau, len(counts))
        mean = effect + sigma / np.sqrt(counts) * rng.normal(size=len(counts))
        rows = np.bincount(row, counts, levels + buckets)
        squares = np.bincount(row, counts**2, levels + buckets)
        pooled = np.bincount(row, counts * mean, levels + buckets) / np.maximum(rows, 1)
        signal = tau**2 * squares / np.maximum(rows, 1) ** 2
        shrunk = signal / (signal + sigma**2 / np.maximum(rows, 1)) * pooled
        lost[draw] = (counts * (effect - shrunk[row]) ** 2).sum() / counts.sum()
    return lost.mean(), lost.std() / np.sqrt(draws)


def explain_by_hashing(rng, counts, levels, buckets, smoothing, draws):
    """Share that the sets' shrunken pooled means explain, over so many random hashes."""
    own, rest = np.split(np.asarray(counts, dtype=float), [levels])
    told = np.full(draws, (own**2 / (own + smoothing)).sum())
    for draw in range(draws):
        row = rng.integers(buckets, size=len(rest))
        n, q = (np.bincount(row, weight, buckets) for weight in (rest, rest**2))
        n, q = n[n > 0], q[n > 0]
        told[draw] += (q / n * q / (q + smoothing * n)).sum()
    return told.mean() / np.sum(counts)


def lose_by_rounding(rng, dimension, bits, rows=20_000):
    """Share of the square of normal rows that whole numbers with a scale per row lose."""
    table = rng.normal(size=(rows, dimension))
    low, high = table.min(1, keepdims=True), table.max(1, keepdims=True)
    step = np.maximum(high - low, 1e-300) / (2**bits - 1)
    stored = low + step * np.rint((table - low) / step)
    return ((stored - table) ** 2).sum() / (table**2).sum()
