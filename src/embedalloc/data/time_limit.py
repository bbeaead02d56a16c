"""As many rows as a time limit permits, measured on a few of them first."""

import time
from collections.abc import Callable

from embedalloc.data.case import DataCase
from embedalloc.data.table import FieldData, sample_rows

#: Rows of the training that is timed.
PROBE_ROWS = 4_000
#: No limit makes the sample smaller: with fewer rows a plan says nothing.
FEWEST_ROWS = 1_000
#: Trainings of the rule that trains most, and the models without embeddings as two more.
TRAININGS = 18
#: Trainings of a search for the budget.
SEARCH_TRAININGS = 6
#: Of the time that is given, so much is planned with.
SHARE = 0.8


def fit_into(
    data: FieldData,
    minutes: float,
    prepare: Callable[[FieldData], DataCase],
    *,
    searches: bool,
    seed: int,
) -> FieldData:
    """Return as many rows, sampled, as can be worked on in so many minutes.

    One training on a few rows is timed; more rows take no longer each. The estimate is rough, and
    how many rows it gives depends on the machine.
    """
    if not minutes > 0:
        raise ValueError(f"minutes: {minutes} is not above 0")
    few = prepare(sample_rows(data, PROBE_ROWS, seed=seed))
    begin = time.perf_counter()
    few.train(dict.fromkeys(few.names, 4), "probe")
    per_row = (time.perf_counter() - begin) / len(few.whole)
    trainings = TRAININGS + (SEARCH_TRAININGS if searches else 0)
    affordable = SHARE * 60 * minutes / (trainings * per_row)
    return sample_rows(data, max(int(affordable), FEWEST_ROWS), seed=seed)
