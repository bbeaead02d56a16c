"""Networks in the form of the heart-disease study."""

import hashlib
import math
from typing import Any

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.study.heart.trainer.network import (
    NetworkShape,
    Rows,
    Schedule,
    draw_schedule,
    draw_weights,
    predict,
    train,
)
from embedalloc.study.settings.heart import Training
from tests.places import read_settings

CARDINALITIES = (3, 5, 3, 4, 3, 4, 5, 4, 5)
NUMERIC = 5
SQUARE_ROOT = tuple(math.ceil(math.sqrt(n)) for n in CARDINALITIES)
SHAPES = {
    "square root": NetworkShape(CARDINALITIES, SQUARE_ROOT, 5),
    "large uniform": NetworkShape(CARDINALITIES, (28,) * 9, 5),
    "mixed": NetworkShape(CARDINALITIES, (1, 1, 2, 3, 1, 7, 1, 9, 4), 5),
    "one-hot": NetworkShape(CARDINALITIES, None, 5),
    "other hidden": NetworkShape(CARDINALITIES, SQUARE_ROOT, 5, (13, 5)),
    "one-hot, other hidden": NetworkShape(CARDINALITIES, None, 5, (3, 21)),
    "one unit each": NetworkShape(CARDINALITIES, SQUARE_ROOT, 5, (1, 1)),
}


def training_with(**changes: Any) -> Training:
    """Return the default settings of the study's training with some values replaced."""
    return Training.taken_from(read_settings().heart, **changes)


def heart_like(rng: np.random.Generator, rows: int) -> Rows:
    """Draw nine predictors whose last code never occurs, five numbers, and labels from both."""
    codes = np.stack([rng.integers(0, n - 1, rows) for n in CARDINALITIES], axis=1)
    numbers = rng.standard_normal((rows, NUMERIC))
    effects = np.random.default_rng(7)
    logit = numbers @ effects.normal(0, 0.5, NUMERIC)
    for j, n in enumerate(CARDINALITIES):
        logit += effects.normal(0, 0.6, n)[codes[:, j]]
    return Rows(codes, numbers, (rng.random(rows) < 1 / (1 + np.exp(-logit))).astype(np.int64))


def start(
    shape: NetworkShape, rows: int, seed: int = 0, epochs: int = 50, dropout: float = 0.25
) -> tuple[Floats, Schedule]:
    rng = np.random.default_rng(seed)
    return draw_weights(shape, rng), draw_schedule(rng, rows, epochs, shape.hidden, dropout)


def fingerprint(name: str, seed: int) -> str:
    """Digest of every bit of a result, from data made on the spot."""
    rng = np.random.default_rng(1)
    rows, validation = heart_like(rng, 515), heart_like(rng, 129)
    weights, schedule = start(SHAPES[name], 515, seed)
    trained = train(SHAPES[name], weights, schedule, rows, validation, training_with())
    parts = (trained.weights, trained.validation_logloss, predict(trained, validation))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
