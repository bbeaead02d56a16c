"""Figure theory_approximation: what a table of rank d loses, exactly and by Proposition 2's bound.

The error weighs every category by its probability, ``||diag(√π) (U − V)||_F``. That is an
unweighted problem for ``diag(√π) U``, which the Eckart-Young theorem solves without loss: the
exact value is the singular-value tail of that matrix. The paper's bound is the tail of U itself;
it leaves the probabilities out and with equal ones is too large by the factor √N.
"""

import numpy as np
import pandas as pd

from embedalloc.arrays import Floats
from embedalloc.spectra import singular_values, spectral_tails
from embedalloc.streams import stream
from embedalloc.study.latent import draw_matrix, singular_value_law
from embedalloc.study.settings.common import Cell
from embedalloc.study.settings.theory import Approximation
from embedalloc.study.theory.contracts import BALANCES


def simulate(cell: Cell[Approximation]) -> pd.DataFrame:
    """Return the errors of every dimension for equal and for imbalanced probabilities.

    Both face the same U; imbalanced probabilities are drawn from a Dirichlet law.
    """
    settings = cell.settings
    spectrum = singular_value_law(settings.spectrum, settings.latent_rank)
    size = settings.cardinality
    frames = []
    for replication in range(settings.replications):
        rng = stream(cell.seed, "theory", "approximation", replication)
        table = draw_matrix(rng, spectrum, size)
        drawn = rng.dirichlet(np.full(size, settings.concentration))
        for balance, probabilities in zip(BALANCES, (np.full(size, 1 / size), drawn), strict=True):
            errors = approximation_errors(table, probabilities)
            place = {"balance": balance, "replication": replication}
            frames.append(
                pd.DataFrame(place | {"dimension": np.arange(len(spectrum) + 1)} | errors)
            )
    return pd.concat(frames, ignore_index=True)


def approximation_errors(table: Floats, probabilities: Floats) -> dict[str, Floats]:
    """Return the errors of `ERRORS` and the bounds on them for d = 0 … min(N, r), by column.

    Examples
    --------
    >>> errors = approximation_errors(np.diag([3.0, 4.0]), np.array([0.5, 0.5]))
    >>> errors["bound"]
    array([5., 3., 0.])
    >>> errors["exact"].round(3)
    array([3.536, 2.121, 0.   ])
    """
    tail = spectral_tails(singular_values(table))
    return {
        "exact": spectral_tails(singular_values(np.sqrt(probabilities)[:, None] * table)),
        "truncated": truncation_errors(table, probabilities),
        "weighted_bound": np.sqrt(probabilities.max()) * tail,
        "bound": tail,
    }


def truncation_errors(table: Floats, probabilities: Floats) -> Floats:
    """Return the weighted errors of U cut to its d leading singular vectors, d = 0 … r.

    That cut is the best table without weights, the one behind the bound of Proposition 2.
    """
    left, values, _ = np.linalg.svd(table, full_matrices=False)
    parts = (probabilities[:, None] * (left * values) ** 2).sum(axis=0)
    squares = np.cumsum(parts[::-1])[::-1]
    return np.sqrt(np.concatenate([squares, [0.0]]))
