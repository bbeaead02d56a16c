"""What spoils a plan, seen before the work and told in a sentence each."""

import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from embedalloc.arrays import Floats
from embedalloc.data.codes import columns_of_target, curve_errors, level_errors
from embedalloc.data.ordering import Codes
from embedalloc.data.table import MOST_NUMERIC_CLASSES, FieldData, TableEncoder
from embedalloc.text import cut_name

#: A column that explains more than this share of the target's variance is the target in disguise.
LEAK = 0.98
#: With fewer rows hardly anything can be told from chance.
FEW_ROWS = 200
#: Fewer rows per class than this, on average, and the classes are more likely a number.
FEW_ROWS_PER_CLASS = 5
#: With a larger share of words that are no numbers, the target is text.
LARGEST_SHARE_OF_WORDS = 0.1
#: Rows that are enough to see a leak.
MOST_ROWS = 50_000


def list_cautions(data: FieldData, encoder: TableEncoder, target: NDArray[Any]) -> list[str]:
    """Return what the user should know before the plan is believed.

    Parameters
    ----------
    data, encoder
        The rows, and how they were encoded.
    target
        As the user gave it.
    """
    return [
        *_find_few_rows(data),
        *_find_numeric_classes(data, target),
        *_find_lone_levels(data),
        *_find_leaks(data, encoder),
    ]


def _find_few_rows(data: FieldData) -> Iterator[str]:
    if len(data) < FEW_ROWS:
        yield (
            f"there are only {len(data)} rows, and {round(0.2 * len(data))} of them validate: the "
            "choice among plans is hardly more than chance"
        )


def _find_numeric_classes(data: FieldData, target: NDArray[Any]) -> Iterator[str]:
    classes = len(data.task.classes)
    if classes <= MOST_NUMERIC_CLASSES:
        return
    fractions = target.dtype.kind == "f" and bool((target != np.floor(target)).any())
    if fractions or len(data) < FEW_ROWS_PER_CLASS * classes:
        hint = (
            "; task='regression' (--task regression) if they are numbers"
            if target.dtype.kind in "iuf"
            else _name_odd_word(target)
        )
        yield (
            f"the target has {classes:,} classes with {len(data) / classes:.1f} rows each on "
            f"average{hint}"
        )


def _name_odd_word(target: NDArray[Any]) -> str:
    """Return the word that makes classes of what else would be numbers, with the way out."""
    texts = pd.Series(target).astype("str")
    odd = texts[pd.to_numeric(texts, errors="coerce").isna()]
    if odd.empty or len(odd) > LARGEST_SHARE_OF_WORDS * len(texts):
        return ""
    word = cut_name(odd.iloc[0])
    return (
        f"; most are numbers, but {word!r} is not (--missing {shlex.quote(word)} if it means none)"
    )


def _find_lone_levels(data: FieldData) -> Iterator[str]:
    for name, codes in data.codes.items():
        if len(codes) and (codes == codes[0]).all():
            yield f"column {cut_name(name)!r} has one level only and can tell nothing"


def _find_leaks(data: FieldData, encoder: TableEncoder) -> Iterator[str]:
    """Yield columns that alone predict rows which took no part in the fit almost perfectly."""
    some = data if len(data) <= MOST_ROWS else data.take(np.arange(MOST_ROWS))
    goals = columns_of_target(some.target, some.task)
    flat = float(level_errors(np.zeros(len(some), np.int32), goals).mean())
    if len(some) < 3 or flat <= 0:
        return
    columns = {name: _errors_of_levels(codes, goals) for name, codes in some.codes.items()}
    for place, name in enumerate(encoder.numeric):
        columns[name] = _errors_of_number(some.numbers[:, place].astype(np.float64), goals)
    for name, errors in columns.items():
        share = 1 - float(np.mean(errors)) / flat
        if share > LEAK:
            yield (
                f"column {cut_name(name)!r} alone tells {100 * share:.1f} % of the target: leave "
                "it out (ignore) if it is not known when you predict"
            )


def _errors_of_levels(codes: Codes, goals: Floats) -> Floats:
    return level_errors(pd.factorize(codes)[0].astype(np.int32), goals)  # no level without rows


def _errors_of_number(values: Floats, goals: Floats) -> Floats:
    """Return the errors of the better of a curve and of up to 100 intervals."""
    if np.ptp(values) == 0:
        return np.full(len(values), np.inf)
    ranks = pd.Series(values).rank(method="dense", pct=True).to_numpy()
    intervals = np.minimum((ranks * 100).astype(np.int32), 99)
    curve = curve_errors((values - values.mean()) / values.std(), goals)
    return min(curve, _errors_of_levels(intervals, goals), key=lambda each: float(each.mean()))
