"""Made-up rows in the form of the heart-disease study: nine fields, five numbers."""

import math

import numpy as np

from embedalloc.study.heart.trainer.network import Rows

CARDINALITIES = (3, 5, 3, 4, 3, 4, 5, 4, 5)
NUMERIC = 5
SQUARE_ROOT = tuple(math.ceil(math.sqrt(n)) for n in CARDINALITIES)


def heart_like(rng: np.random.Generator, rows: int) -> Rows:
    """Draw nine fields whose last code never occurs, five numbers, and labels from both."""
    codes = np.stack([rng.integers(0, n - 1, rows) for n in CARDINALITIES], axis=1)
    numbers = rng.standard_normal((rows, NUMERIC))
    effects = np.random.default_rng(7)
    logit = numbers @ effects.normal(0, 0.5, NUMERIC)
    for j, n in enumerate(CARDINALITIES):
        logit += effects.normal(0, 0.6, n)[codes[:, j]]
    return Rows(codes, numbers, (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(np.int64))
