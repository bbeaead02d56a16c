"""Arrays from a user's hands: copied, checked and locked."""

import numpy as np
from numpy.typing import ArrayLike

from embedalloc.problem import Floats


def finite_array(values: ArrayLike, what: str, axes: int) -> Floats:
    """Return a read-only float copy with that many axes, or say which entry is not finite."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != axes:
        raise ValueError(f"{what} must have {axes} axes, got shape {array.shape}")
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{what} holds {array[place]} at index {place}")
    array.setflags(write=False)
    return array
