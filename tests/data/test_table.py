"""Tables as arrays: levels, missing values, and an order that only the data decide."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedalloc.data.ordering import identify_rows, order_canonically, sort_places
from embedalloc.data.table import DataError, RowNotes, find_task, learn_encoding
from embedalloc.data.validation import split_rows


def encode(frame, target, categorical, **words):
    target = np.asarray(target)
    return learn_encoding(frame, target, categorical, task=find_task(target), **words)


def same(one, other):
    assert one.names == other.names
    assert one.cardinalities == other.cardinalities
    for name in one.names:
        np.testing.assert_array_equal(one.codes[name], other.codes[name])
    np.testing.assert_array_equal(one.numbers, other.numbers)
    np.testing.assert_array_equal(one.target, other.target)


def renamed(column, rng):
    levels = column.dropna().unique()
    words = dict(
        zip(levels, rng.permutation([f"name {k}" for k in range(len(levels))]), strict=True)
    )
    return column.map(words)


@example(8, 7, 8, False)  # levels of several fields that swap only together
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(1, 9), st.booleans())
@settings(max_examples=30, deadline=None)
def test_arrays_do_not_depend_on_row_order_column_order_or_level_names(seed, rows, levels, number):
    """Few levels and no numbers make many ties: rows and levels that only the others tell apart."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            name: pd.Series(rng.integers(levels * k, size=rows).astype(str), dtype=object)
            for k, name in enumerate(["b", "a", "c"], start=1)
        }
    )
    frame.loc[rng.random(rows) < 0.1, "a"] = None
    if number:
        frame["x"] = rng.normal(size=rows).round(1)
    target = np.r_[0, 1, rng.integers(2, size=rows - 2)]
    _, expected = encode(frame, target, ["a", "b", "c"])
    order = rng.permutation(rows)
    moved = frame.iloc[order][rng.permutation(frame.columns)].reset_index(drop=True)
    for name in ("a", "b", "c"):
        moved[name] = renamed(moved[name], rng)
    _, found = encode(moved, target[order], ["c", "a", "b"])
    same(found, expected)


@pytest.mark.parametrize("rows", [0, 1, 5000])
def test_places_are_those_of_numpys_stable_sort(rows):
    rng = np.random.default_rng(rows)
    keys = rng.integers(2**64 - 1, size=rows, dtype=np.uint64)
    keys = np.where(rng.random(rows) < 0.5, keys, keys >> np.uint64(52))  # many equal ones
    np.testing.assert_array_equal(sort_places(keys), np.argsort(keys, kind="stable"))


def test_every_row_its_own_level_is_still_invariant():
    frame = pd.DataFrame({"id": [f"r{k}" for k in range(12)], "twin": [f"t{k}" for k in range(12)]})
    target = np.array([0, 1] * 6)
    _, expected = encode(frame, target, ["id", "twin"])
    order = np.random.default_rng(0).permutation(12)
    _, found = encode(frame.iloc[order].reset_index(drop=True), target[order], ["id", "twin"])
    same(found, expected)


def test_codes_follow_frequency():
    codes = np.array([3, 3, 3, 0, 0, 1, 2, 2, 2, 2], dtype=np.int32)
    numbered, _ = order_canonically([codes], np.arange(10, dtype=np.uint64))
    assert numbered[0].tolist() == [2, 2, 2, 3, 3, 4, 1, 1, 1, 1]


def test_missing_unseen_and_pooled_levels_have_codes():
    frame = pd.DataFrame({"town": ["A"] * 5 + ["B"] * 3 + [None] * 2 + ["C", "D"]})
    target = np.arange(12) % 2
    encoder, data = encode(frame, target, ["town"])
    assert data.cardinalities == {"town": 6}  # A, B, missing, C, D and the unseen one
    new = pd.DataFrame({"town": ["A", "B", np.nan, "Z", "C", "D"]})
    codes = encoder.encode(new).codes["town"]
    assert codes[:4].tolist() == [1, 2, 3, 0]
    assert sorted(codes[4:]) == [4, 5]

    encoder, data = encode(frame, target, ["town"], min_frequency=3)
    assert data.cardinalities == {"town": 4}  # A, B, the rare ones, the unseen one
    codes = encoder.encode(new).codes["town"]
    assert codes[0] == 1
    assert codes[3] == 0
    assert codes[2] == codes[4] == codes[5]  # missing, C and D are rare


def test_a_missing_value_is_unseen_where_none_was_missing():
    encoder, _ = encode(pd.DataFrame({"a": ["x", "y"]}), [0, 1], ["a"])
    assert encoder.encode(pd.DataFrame({"a": [None, "x"]})).codes["a"].tolist()[0] == 0


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([3, 1, 3, 2]),
        pd.Series([True, False, True, True]),
        pd.Series(["b", "a", "b", None], dtype="str"),
        pd.Series(pd.Categorical(["b", "a", "b", None], categories=["z", "b", "a"])),
        pd.Series([1, 2, 1, None], dtype="Int64"),
        pd.Series(["b", 1, "b", 2.5], dtype=object),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01", None])),
    ],
)
def test_any_type_of_level_round_trips(column):
    frame = pd.DataFrame({"a": column, "x": [1.0, 2.0, 3.0, 4.0]})
    encoder, data = encode(frame, [0, 1, 0, 1], ["a"])
    codes = encoder.encode(frame).codes["a"]
    assert codes.min() >= 1
    assert codes[0] == codes[2]
    assert len(set(codes)) == column.nunique(dropna=False) == data.cardinalities["a"] - 1
    as_category = frame.assign(a=frame["a"].astype("category"))
    np.testing.assert_array_equal(encoder.encode(as_category).codes["a"], codes)


def test_numbers_are_imputed_and_standardised():
    frame = pd.DataFrame({"a": list("xyxy"), "x": [1.0, np.nan, 3.0, np.inf], "c": 5.0})
    encoder, _ = encode(frame, [0, 1, 0, 1], ["a"])
    numbers = encoder.encode(frame).numbers
    assert list(encoder.numeric) == ["c", "x"]
    np.testing.assert_allclose(numbers[:, 0], 0.0)
    filled = np.array([1.0, 2.0, 3.0, 2.0])
    np.testing.assert_allclose(numbers[:, 1], (filled - 2) / filled.std(), rtol=1e-6)


@pytest.mark.parametrize("exponent", [-1020, -500, 500, 1000])
def test_the_unit_of_a_number_does_not_matter(exponent):
    """Near the ends of floating point too: a power of two changes no standardised number."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=50) + 3.0
    far = np.ldexp(values, exponent)
    task, far_task = find_task(values), find_task(far)
    expected = ((values - values.mean()) / values.std()).astype(np.float32)
    np.testing.assert_allclose(task.encode(values), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(far_task.encode(far), task.encode(values))
    numbers = [
        encode(pd.DataFrame({"a": ["p", "q"] * 25, "x": each}), [0, 1] * 25, ["a"])[1].numbers
        for each in (values, far)
    ]
    np.testing.assert_allclose(np.sort(numbers[0][:, 0]), np.sort(expected), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(np.sort(numbers[0], axis=0), np.sort(numbers[1], axis=0))


def test_text_among_numbers_is_named():
    frame = pd.DataFrame({"a": list("xy"), "b": ["1", "two"]})
    with pytest.raises(DataError, match="column 'b': holds values that are not numbers"):
        encode(frame, [0, 1], ["a"])
    with pytest.raises(DataError, match="column 'a': values that cannot be levels"):
        encode(pd.DataFrame({"a": [[1], [2]]}), [0, 1], ["a"])


@pytest.mark.parametrize(
    ("target", "wanted", "kind"),
    [
        ([0, 1, 1], "auto", "binary"),
        ([True, False, True], "auto", "binary"),
        (["no", "yes", "no"], "auto", "binary"),
        ([1, 2, 3], "auto", "multiclass"),
        ([1.0, 2.0, 3.0], "auto", "multiclass"),
        ([1.5, 2.0, 3.0], "auto", "regression"),
        (list(range(21)), "auto", "regression"),
        (list(range(21)), "classification", "multiclass"),
        ([0, 1, 1], "regression", "regression"),
    ],
)
def test_the_task_follows_the_target(target, wanted, kind):
    assert find_task(np.array(target), wanted).kind == kind


def test_impossible_tasks_are_refused():
    with pytest.raises(DataError, match="all 3 values are"):
        find_task(np.array([1, 1, 1]))
    with pytest.raises(DataError, match="'no' is not a number"):
        find_task(np.array(["no", "yes"]), "regression")
    with pytest.raises(ValueError, match="'counting' is not auto"):
        find_task(np.array([0, 1]), "counting")
    with pytest.raises(DataError, match="'c' was not there in training"):
        find_task(np.array(["a", "b"])).encode(np.array(["a", "c"]))


# ---- rows are shuffled by what is in them ---------------------------------------------------


@pytest.mark.parametrize("numbers", [["x"], []])
def test_a_row_less_hardly_moves_another(numbers):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "big": rng.integers(300, size=2000).astype(str),
            "small": rng.integers(4, size=2000).astype(str),
            "x": rng.normal(size=2000),
        }
    )[["big", "small", *numbers]]
    y = rng.integers(2, size=2000)

    def held_out(rows):
        task = find_task(y)
        _, data = learn_encoding(frame.iloc[rows], y[rows], ["big", "small"], task=task)
        assert len(np.unique(data.keys)) == len(data)
        _, held = split_rows(data.target, task, 0.2, data.shuffle(0, "validation"))
        return set(data.keys[held].tolist())

    whole = held_out(np.arange(2000))
    assert len(whole) == 400
    for row in (3, 700, 1999):
        assert len(whole & held_out(np.delete(np.arange(2000), row))) >= 395


def test_rows_keep_their_numbers_whatever_their_order_and_the_levels_names():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.integers(30, size=400).astype(str), "b": rng.normal(size=400).round(1)}
    )
    y = rng.normal(size=400)
    mixed = rng.permutation(400)
    renamed = frame.assign(a="level " + frame["a"]).iloc[mixed]
    first, second = (
        learn_encoding(table, target, ["a"], task=find_task(y))[1]
        for table, target in ((frame, y), (renamed, y[mixed]))
    )
    np.testing.assert_array_equal(first.keys, second.keys)


def test_rows_learnt_from_are_what_the_encoder_makes_of_them():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({
        "town": rng.choice(["a", "b", None], 60), "shop": rng.integers(9, size=60).astype(str),
        "price": np.where(rng.random(60) < 0.1, np.nan, rng.exponential(size=60)),
    })  # fmt: skip
    target, about = rng.integers(2, size=60), RowNotes(times=np.arange(60.0))
    for least in (1, 8):
        encoder, data = encode(frame, target, ["town", "shop"], min_frequency=least, about=about)
        same(data, encoder.encode(frame, target).take(data.times.astype(int)))


@pytest.mark.parametrize("levels", [3, 1000])
def test_equal_rows_are_told_apart_by_how_many_came_before(levels):
    rng = np.random.default_rng(levels)
    fields = [rng.integers(levels, size=300).astype(np.int32) for _ in range(2)]
    basis = rng.integers(3, size=300).astype(np.uint64)
    order = rng.permutation(300)
    found = identify_rows(fields, basis, order)
    assert len(np.unique(found)) == 300
    # The same rows in the same order have the same numbers, whichever of the equal ones is which.
    moved = rng.permutation(300)
    place_of = np.argsort(moved)
    again = identify_rows([codes[moved] for codes in fields], basis[moved], place_of[order])
    np.testing.assert_array_equal(again, found[moved])


def test_names_give_different_orders_of_all_rows():
    data = learn_encoding(
        pd.DataFrame({"a": list("abcd") * 50}),
        np.arange(200.0),
        ["a"],
        task=find_task(np.arange(200.0)),
    )[1]
    one, two = data.shuffle(0, "x"), data.shuffle(0, "y")
    assert sorted(one) == sorted(two) == list(range(200))
    assert (one != two).mean() > 0.9
