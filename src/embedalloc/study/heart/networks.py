"""The networks of the study: how their dimensions are chosen, what is kept of them, their loss.

Names, contracts and two formulas only: a reader of the tables pays for no trainer.
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.study.heart.patients import CATEGORICAL
from embedalloc.study.workflow.tables import Column, Contract

#: Networks by how their dimensions are chosen.
NETWORKS = (
    "proposed",
    "uniform",
    "unit_coefficients",
    "cardinality",
    "cardinality_per_dimension",
    "unconstrained",
    "one_hot",
)
#: Models whose network is trained at every candidate budget, with the column of the selected one.
SEARCHED = {
    "proposed": ("proposed", "selected_budget"),
    "uniform_search": ("uniform", "selected_budget_uniform"),
    "unit_coefficients": ("unit_coefficients", "selected_budget_unit"),
}
SPLIT = Column("integer", "split of the patients", low=0)
DIMENSIONS = Column("integers", "dimension of each predictor, none for one-hot inputs", low=1)
_PATIENTS = Column("integers", "patients in this part", low=0)

TRAINED = Contract(
    "heart_trained",
    {
        "split": SPLIT,
        "network": Column("text", "who chose the dimensions", values=NETWORKS),
        "budget": Column("integer", "candidate budget, 0 without one", low=0),
        "restart": Column("integer", "restart, with its own weights and masks", low=0),
        "dimensions": DIMENSIONS,
        "validation_logloss": Column("number", "at the epoch whose weights were kept", low=0),
        "test_probabilities": Column("numbers", "of disease", low=0, high=1),
    },
    key=("split", "network", "budget", "restart"),
)
SPLITS = Contract(
    "heart_splits",
    {
        "split": SPLIT,
        "training": _PATIENTS,
        "validation": _PATIENTS,
        "test": _PATIENTS,
        "selected_budget": Column("integer", "proposed rule, holdout with tolerance", low=1),
        "selected_budget_uniform": Column("integer", "uniform, by its own search", low=1),
        "selected_budget_unit": Column("integer", "unit coefficients, by its own search", low=1),
    },
    key=("split",),
)
COEFFICIENTS = Contract(
    "heart_coefficients",
    {
        "split": SPLIT,
        "predictor": Column("text", "categorical predictor", values=CATEGORICAL),
        "cardinality": Column("integer", "codes, the reserved one included", low=2),
        "before": Column("number", "a of the pilot's table as initialised", low=0),
        "after": Column("number", "a of the pilot's table as trained", low=0),
    },
    key=("split", "predictor"),
)
FOLDS = Contract(
    "heart_folds",
    {
        "split": SPLIT,
        "budget": Column("integer", "candidate budget", low=1),
        "mean_loss": Column("number", "mean validation logloss over folds", low=0),
        "standard_error": Column("number", "of that mean", low=0),
        "selected": Column("flag", "chosen by the one-standard-error rule"),
    },
    key=("split", "budget"),
)


def square_root_dimensions(cardinalities: Iterable[int]) -> tuple[int, ...]:
    """Return ⌈√N_j⌉: the dimensions of the pilot and of the unconstrained model."""
    return tuple(math.ceil(math.sqrt(n)) for n in cardinalities)


def logloss(labels: Any, probabilities: Floats) -> float:
    """Return the mean negative log-likelihood of binary labels; certainty is cut at 1e-15."""
    p = np.clip(probabilities, 1e-15, 1 - 1e-15)
    return float(-np.where(np.asarray(labels) == 1, np.log(p), np.log1p(-p)).mean())
