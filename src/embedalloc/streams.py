"""Random generators from named parts, so that numbers depend on names and on nothing else."""

import hashlib
import json

import numpy as np


def stream(seed: int, *parts: str | int) -> np.random.Generator:
    """Return the generator that belongs to a seed and a list of names and numbers.

    The parts are hashed, so every combination has a stream of its own whatever the order, the
    process or the chunk in which it is asked for. ``1`` and ``"1"`` are different parts.

    Examples
    --------
    >>> first, again = stream(1, "exp3", 2000, 17), stream(1, "exp3", 2000, 17)
    >>> bool((first.normal(size=3) == again.normal(size=3)).all())
    True
    """
    for part in (seed, *parts):
        if isinstance(part, bool) or not isinstance(part, (str, int)):
            raise TypeError(f"a stream's parts are strings and whole numbers, got {part!r}")
    name = json.dumps([seed, *parts], ensure_ascii=True, separators=(",", ":"))
    digest = hashlib.sha256(name.encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest)))
