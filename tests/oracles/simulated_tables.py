"""Tables whose truth is known: which fields carry signal and which are noise."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def make_table(
    seed: int,
    *,
    rows: int,
    signal: Sequence[int],
    noise: Sequence[int] = (),
    kind: str = "binary",
    strength: float = 1.0,
    number: bool = True,
) -> tuple[pd.DataFrame, NDArray[Any]]:
    """Return predictors and target; fields are called signal0, …, noise0, … by their levels.

    Every level of a signal field has an effect drawn from N(0, strength²) (one per class for
    classes); the noise is that of a logistic or normal model.
    """
    rng = np.random.default_rng([seed, rows])
    frame = pd.DataFrame(index=range(rows))
    outputs = 3 if kind == "multiclass" else 1
    score = np.zeros((rows, outputs))
    for prefix, sizes in (("signal", signal), ("noise", noise)):
        for j, levels in enumerate(sizes):
            codes = rng.integers(levels, size=rows)
            frame[f"{prefix}{j}"] = pd.Series([f"level {code}" for code in codes], dtype="str")
            if prefix == "signal":
                score += strength * rng.normal(size=(levels, outputs))[codes]
    if number:
        frame["number"] = rng.normal(size=rows)
        score += frame[["number"]].to_numpy() * rng.normal(size=outputs)
    if kind == "regression":
        return frame, score[:, 0] + rng.normal(size=rows)
    if kind == "binary":
        return frame, (score[:, 0] + rng.logistic(size=rows) > 0).astype(np.int64)
    words = np.array(["red", "green", "blue"])
    return frame, words[np.argmax(score + rng.gumbel(size=score.shape), axis=1)]
