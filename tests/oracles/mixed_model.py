"""Henderson's mixed-model equations solved densely, and a small crossed table."""

import numpy as np
import pandas as pd


def crossed_example():
    """Return 240 rows with two crossed fields of 6 and 15 levels, a number and a target."""
    rng = np.random.default_rng(20)
    a, b, x = rng.integers(6, size=240), rng.integers(15, size=240), rng.normal(size=240)
    effects = rng.normal(size=6)[a] + 0.7 * rng.normal(size=15)[b]
    return pd.DataFrame({"a": a, "b": b, "x": x, "y": effects + 0.5 * x + rng.normal(size=240)})


def solve_henderson(goals, basis, codes, levels, shrinkage, ridge):
    """Return intercept, slopes and effects by field from one dense system.

    The intercept is free, slopes have the penalty `ridge`, effects of field j the penalty λ_j.
    """
    columns = [np.ones((len(goals), 1)), basis]
    penalties = [np.zeros(1), np.full(basis.shape[1], ridge)]
    for name, own in codes.items():
        columns.append(np.eye(levels[name])[own])
        penalties.append(np.full(levels[name], shrinkage[name]))
    design = np.hstack(columns)
    system = design.T @ design + np.diag(np.concatenate(penalties))
    solution = np.linalg.solve(system, design.T @ goals)
    effects, begin = {}, 1 + basis.shape[1]
    for name in codes:
        effects[name] = solution[begin : begin + levels[name]]
        begin += levels[name]
    return solution[0], solution[1 : 1 + basis.shape[1]], effects
