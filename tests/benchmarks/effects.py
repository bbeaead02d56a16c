"""Crossed random effects: our sweeps over the fields beside a sparse solver.

Both know the same penalties and solve the same equations (Henderson's), the peer by conjugate
gradients on the sparse design; their fitted values must agree. What a plan does is measured beside
them: there penalties are estimated, and sweeps end at a wider tolerance.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from embedalloc.arrays import Floats
from embedalloc.data.effects import fit_effects
from embedalloc.data.table import FieldData, PredictionTask
from embedalloc.streams import stream
from embedalloc.study.settings.benchmarks import Effects
from tests.benchmarks.measure import OURS, Case, Contestant, require_close

SOLVER, PENALTIES = "conjugate gradients", "ours, with penalties"
#: Of fitted values; the target's deviation is about 1.4.
TOLERANCE = 1e-4
#: Where both sides end, and a penalty that is as far from none as from all.
PRECISION, SWEEPS, SHRINKAGE = 1e-7, 200, 5.0


def cases(cell: Effects) -> list[Case]:
    """Return one comparison for each number of rows."""
    return [_case(rows, cell) for rows in cell.rows]


def _case(rows: int, cell: Effects) -> Case:
    data = draw(rows, cell.fields, cell.levels)
    shrinkage = dict.fromkeys(data.names, SHRINKAGE)

    def ours() -> Floats:
        found = fit_effects(data, shrinkage=shrinkage, sweeps=SWEEPS, tolerance=PRECISION)
        return found.predict(data)[:, 0]

    contestants = [
        Contestant(OURS, ours),
        Contestant(SOLVER, lambda: solve(data)),
        Contestant(PENALTIES, lambda: fit_effects(data), finish=lambda _: None),
    ]
    return Case("effects", rows, contestants, agree)


def draw(rows: int, fields: int, levels: int) -> FieldData:
    """Draw rows whose fields have the same number of levels and effects of the same size."""
    rng = stream(1, "benchmark", "effects", rows)
    codes = {f"field{j}": rng.integers(levels, size=rows).astype(np.int32) for j in range(fields)}
    effects = sum(rng.normal(0.0, fields**-0.5, levels)[own] for own in codes.values())
    return FieldData(
        dict.fromkeys(codes, levels),
        codes,
        np.zeros((rows, 0), np.float32),
        effects + rng.normal(size=rows),
        PredictionTask("regression"),
    )


def solve(data: FieldData) -> Floats:
    """Return fitted values by conjugate gradients, each unknown scaled by its diagonal entry."""
    rows = len(data)
    starts = np.cumsum([0, *data.cardinalities.values()])
    columns = [np.zeros(rows, np.int64)]
    for start, name in zip(starts[:-1], data.names, strict=True):
        columns.append(1 + start + data.codes[name])
    places = np.stack(columns, axis=1).ravel()
    ends = np.arange(0, places.size + 1, len(columns))
    design = sparse.csr_matrix((np.ones(places.size), places, ends), (rows, 1 + starts[-1]))
    turned = design.T.tocsr()
    penalty = np.full(design.shape[1], SHRINKAGE)
    penalty[0] = 0.0
    diagonal = np.bincount(places, minlength=design.shape[1]) + penalty
    system = LinearOperator(
        (design.shape[1],) * 2, lambda x: turned @ (design @ x) + penalty * x, dtype=np.float64
    )
    scaling = LinearOperator(system.shape, lambda x: x / diagonal, dtype=np.float64)
    found, failed = cg(system, turned @ data.target, rtol=PRECISION, M=scaling, maxiter=10_000)
    if failed:
        raise RuntimeError("conjugate gradients did not end")
    return np.asarray(design @ found)


def agree(results: Mapping[str, Any]) -> None:
    """Refuse fitted values that differ."""
    require_close(results[OURS], results[SOLVER], SOLVER, relative=0.0, absolute=TOLERANCE)
