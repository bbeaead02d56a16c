"""Warnings for what spoils a plan, and none where nothing does."""

import warnings

import numpy as np
import pandas as pd
import pytest

from embedalloc import EmbeddingAllocator
from tests.oracles.simulated_tables import make_table


def quick(**words):
    return EmbeddingAllocator(400, "equal", epochs=1, random_state=0, **words)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_a_sound_table_has_no_warning(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick().fit(*make_table(0, rows=600, signal=(6, 15), noise=(20,), kind=kind))


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_the_target_in_other_words_is_told(kind):
    frame, y = make_table(0, rows=600, signal=(6, 15), noise=(20,), kind=kind)
    if kind == "regression":
        frame["answer"] = np.exp(y / np.abs(y).max())
    else:
        frame["answer"] = pd.Series(y).map(lambda value: f"the class is {value}")
    with pytest.warns(UserWarning, match=r"column 'answer' alone tells \d+\.\d % of the target"):
        quick().fit(frame, y)


def test_few_rows_and_one_level_are_told():
    frame, y = make_table(0, rows=60, signal=(6,), noise=(8,))
    with pytest.warns(UserWarning, match="only 60 rows, and 12 of them validate"):
        quick().fit(frame, y)
    with pytest.warns(UserWarning, match="column 'same' has one level only"):
        quick(columns=["signal0", "noise0", "same"]).fit(frame.assign(same="x"), y)


def test_numbers_called_classes_are_told():
    frame, _ = make_table(0, rows=800, signal=(6,), noise=(8,))
    y = np.round(np.random.default_rng(0).normal(size=800), 2)
    with pytest.warns(UserWarning, match=r"the target has \d+ classes with .* rows each .*regre"):
        quick(task="classification").fit(frame, y)


def test_the_word_among_numbers_that_makes_classes_of_them_is_named():
    frame, _ = make_table(0, rows=300, signal=(6,), noise=())
    y = np.random.default_rng(0).normal(size=300).round(6).astype(str).astype(object)
    y[7] = "not known"
    words = r"300 classes with 1\.0 rows .* but 'not known' is not \(--missing 'not known'"
    with pytest.warns(UserWarning, match=words):
        quick(columns=["signal0"]).fit(frame, y)
