"""Small random problems for the tests of the linear embedding model."""

from dataclasses import dataclass

import numpy as np

from embedalloc.arrays import Floats
from embedalloc.study.theory.alternating import initial_parameters
from embedalloc.study.theory.linear import Loss, Parameters, Penalties, Sample


@dataclass(frozen=True)
class Case:
    start: Parameters
    sample: Sample
    penalties: Penalties
    loss: Loss


def random_case(
    seed: int,
    loss: Loss = "squared",
    *,
    n: int = 120,
    cardinalities: tuple[int, ...] = (5, 8),
    dimensions: tuple[int, ...] = (2, 3),
    numeric: int = 2,
    penalty: float = 0.02,
) -> Case:
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(len(cardinalities))]
    sizes = dict(zip(names, cardinalities, strict=True))
    effects = {k: 1.5 * rng.standard_normal(v) for k, v in sizes.items()}
    codes = {k: rng.integers(0, v, n) for k, v in sizes.items()}
    z = rng.standard_normal((n, numeric))
    score = 0.4 + z @ rng.standard_normal(numeric) + sum(effects[k][codes[k]] for k in names)
    noise = rng.logistic(size=n)
    target = score + noise if loss == "squared" else (score + noise > 0).astype(float)
    start = initial_parameters(
        sizes, dict(zip(names, dimensions, strict=True)), numeric_count=numeric, rng=rng
    )
    tables = {k: penalty * (1.0 + 0.5 * j) for j, k in enumerate(names)}
    return Case(start, Sample(codes, z, target), Penalties(penalty, tables), loss)


def random_point(case: Case, seed: int) -> Parameters:
    size = case.start.flatten().size
    return with_vector(case.start, np.random.default_rng(seed).standard_normal(size))


def with_vector(p: Parameters, vector: Floats) -> Parameters:
    """Parameters of the same shapes with the values of a `flatten` vector."""
    shapes = [table.shape for table in p.tables.values()]
    sizes = [a * b for a, b in shapes] + [b for _, b in shapes] + [p.numeric_weights.size, 1]
    parts = np.split(vector, np.cumsum(sizes)[:-1])
    tables = {k: parts[i].reshape(shapes[i]) for i, k in enumerate(p.tables)}
    weights = {k: parts[len(shapes) + i] for i, k in enumerate(p.tables)}
    return Parameters(tables, weights, parts[-2], float(parts[-1][0]))
