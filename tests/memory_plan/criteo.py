"""Facts about Criteo's click logs, and counts of that shape."""

import numpy as np

#: Levels of the 26 fields of the Kaggle data, as DLRM and others publish them.
CARDINALITIES = (
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194,
    27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572,
)  # fmt: skip
ROWS = 40_000_000

#: What the authors of field-level dimension optimisation publish: levels of their 39 fields, of
#: which 13 are numbers in bins, and the dimensions that keep so many per cent of the variance of
#: 16 columns. Their list calls the dimensions of 80 per cent those of 85 and the reverse: as
#: printed, 85 per cent would need fewer columns than 80 in every field. Here they are the right way
#: round.
FDO_LEVELS = (
    49, 101, 126, 45, 223, 118, 84, 76, 95, 9, 30, 40, 75, 1458, 555, 193949, 138801, 306, 19,
    11970, 634, 4, 42646, 5178, 192773, 3175, 27, 11422, 181075, 11, 4654, 2032, 5, 189657, 18,
    16, 59697, 86, 45571,
)  # fmt: skip
FDO_DIMENSIONS = {
    99: (
        10, 16, 12, 8, 16, 13, 12, 9, 14, 5, 7, 8, 8, 15, 14, 8, 10, 14, 6, 16, 14, 2, 16, 16,
        5, 15, 6, 16, 9, 6, 14, 13, 3, 11, 6, 9, 14, 7, 13,
    ),
    98: (
        8, 15, 10, 7, 15, 12, 10, 7, 12, 5, 5, 6, 7, 14, 13, 5, 9, 12, 6, 16, 13, 2, 16, 15, 3,
        15, 5, 15, 7, 6, 13, 12, 3, 8, 6, 8, 13, 6, 12,
    ),
    95: (
        5, 13, 7, 4, 13, 9, 8, 5, 9, 4, 3, 4, 4, 12, 12, 4, 8, 10, 6, 14, 11, 2, 15, 14, 2, 13,
        4, 13, 5, 5, 12, 11, 3, 5, 5, 7, 11, 5, 10,
    ),
    90: (
        3, 11, 5, 2, 10, 6, 5, 4, 6, 3, 3, 3, 2, 11, 10, 3, 7, 8, 5, 13, 9, 2, 13, 13, 2, 12,
        4, 11, 5, 5, 10, 9, 3, 3, 4, 6, 10, 4, 8,
    ),
    85: (
        3, 9, 4, 2, 8, 5, 4, 3, 4, 3, 2, 3, 2, 9, 9, 3, 6, 7, 5, 12, 7, 2, 11, 11, 2, 10, 3,
        10, 4, 4, 9, 8, 2, 2, 4, 5, 9, 4, 7,
    ),
    80: (
        2, 8, 3, 2, 7, 4, 3, 2, 3, 2, 2, 2, 2, 8, 8, 3, 5, 6, 4, 10, 6, 2, 10, 10, 2, 9, 3, 9,
        4, 4, 8, 7, 2, 2, 4, 4, 8, 3, 6,
    ),
    75: (
        2, 6, 3, 2, 6, 3, 2, 2, 3, 2, 2, 2, 2, 7, 7, 3, 4, 5, 4, 9, 6, 2, 9, 9, 2, 8, 2, 8, 3,
        3, 7, 6, 2, 2, 3, 4, 7, 3, 5,
    ),
    70: (
        1, 6, 2, 1, 5, 3, 2, 2, 2, 2, 2, 1, 1, 7, 6, 2, 4, 5, 3, 8, 5, 1, 7, 8, 1, 7, 2, 7, 3,
        3, 6, 6, 2, 2, 3, 4, 6, 2, 4,
    ),
    60: (
        1, 4, 2, 1, 3, 2, 2, 1, 2, 2, 1, 1, 1, 5, 5, 2, 3, 4, 3, 7, 4, 1, 5, 6, 1, 5, 2, 5, 3,
        2, 5, 4, 2, 1, 2, 3, 5, 2, 3,
    ),
    50: (
        1, 3, 1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 4, 4, 2, 2, 3, 2, 5, 3, 1, 4, 5, 1, 4, 1, 4, 2,
        2, 4, 3, 1, 1, 2, 2, 4, 2, 3,
    ),
}  # fmt: skip


def power_law_counts(cardinalities=CARDINALITIES, rows=ROWS, exponent=1.05):
    """Return made-up counts by field: the k-th level has about k^-1.05 of the rows, at least 1."""
    counts = {}
    for number, levels in enumerate(cardinalities, start=1):
        share = np.arange(1, levels + 1) ** -exponent
        counts[f"C{number}"] = np.maximum(1, share / share.sum() * rows).astype(np.int64)
    return counts
