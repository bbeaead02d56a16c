"""What columns are taken for: by the rule, on made-up tables and on one that the project ships."""

import numpy as np
import pandas as pd
import pytest

from embedalloc.data.codes import (
    act_as_codes,
    columns_of_target,
    curve_errors,
    level_errors,
)
from embedalloc.data.dates import find_dates
from embedalloc.data.roles import find_roles
from embedalloc.data.table import DataError, find_task


def roles_of(frame, y=None, **words):
    y = np.random.default_rng(0).normal(size=len(frame)) if y is None else np.asarray(y)
    task = find_task(y)
    found = find_roles(frame, columns_of_target(task.encode(y), task), **words)
    return {role.column: role for role in found.columns}


def taken(column, y=None, **words):
    return roles_of(pd.DataFrame({"c": column}), y, **words)["c"].taken_as


@pytest.mark.parametrize(
    ("column", "role"),
    [
        (["a", "b"] * 50, "table"),
        (pd.Categorical(["a", "b"] * 50), "table"),
        ([True, False] * 50, "table"),
        ([0.5, 1.5] * 50, "number"),
        ([1, 2] * 50, "table"),
        ([1.0, 2.0, np.nan, 3.0] * 25, "table"),  # so pandas reads whole numbers with gaps
        (pd.array([1, 2, None, 3] * 25, dtype="Int64"), "table"),
        (np.array([1, 2] * 50, dtype=np.float32), "number"),
        (np.arange(100), "identifier"),
        (np.arange(100)[::-1] + 7, "identifier"),
        (np.arange(150)[np.arange(150) % 3 > 0], "identifier"),  # rows without target are gone
        (np.arange(100) * 3, "number"),
        ([20240131, 20240229] * 50, "date"),
        ([20240131, 20240230] * 50, "table"),
        (["10:30", "23:15"] * 50, "date"),
        ([f"r{k}" for k in range(100)], "identifier"),
        ([f"r{k // 2}" for k in range(100)], "table"),
        ([f"r{k // 2}" for k in range(98)] + ["x", "z"], "identifier"),
        (["a"] * 100, "ignored"),
        ([3] * 99 + [None], "ignored"),
        ([None] * 100, "ignored"),
        (np.arange(13).tolist() * 7 + [0] * 9, "number"),
        ([1e300, 2e300] * 50, "number"),
        (pd.date_range("2020-01-01", periods=100), "date"),
        (pd.date_range("2020-01-01", periods=100, tz="Asia/Tokyo"), "date"),
        (["2020-01-31", "2020-02-01"] * 50, "date"),
        ([pd.Timestamp("2020-01-01").date(), pd.Timestamp("2021-01-01").date()] * 50, "date"),
        (["2020", "2021"] * 50, "table"),
        ([1, "a"] * 50, "table"),
    ],
)
def test_the_rule_for_a_column_that_nobody_names(column, role):
    assert taken(column) == role


@pytest.mark.parametrize("name", ["id", "user_id", "userId", "PID", "rownames", "order.ID"])
def test_a_column_of_numbers_that_is_called_an_identifier(name):
    column = np.random.default_rng(0).permutation(1000)[:100] * 7
    assert roles_of(pd.DataFrame({name: column}))[name].taken_as == "identifier"
    few = np.arange(100) % 45  # most rows share theirs
    assert roles_of(pd.DataFrame({name: few}))[name].taken_as != "identifier"
    for other in ("paid", "squid", "arid", "ideas", "covid"):
        assert roles_of(pd.DataFrame({other: column}))[other].taken_as == "number"


def test_a_user_has_the_last_word():
    frame = pd.DataFrame({"n": np.arange(100), "t": list("ab") * 50, "d": ["2020-01-31"] * 100})
    found = roles_of(frame, categorical=["n", "d"], ignore=["t"])
    assert [role.taken_as for role in found.values()] == ["table", "ignored", "table"]
    assert taken([1, 2] * 50, numeric=["c"]) == "number"
    assert taken(["a", "b"] * 50, guess=False) == "number"  # and refused where it is read


def test_lists_are_refused():
    with pytest.raises(DataError, match="column 'c' holds lists or records"):
        taken([[1], [2]] * 50)
    assert taken([[1], [2]] * 50, ignore=["c"]) == "ignored"
    with pytest.raises(DataError, match="neither categories nor numbers"):
        taken(pd.to_timedelta(np.arange(100), "D"))


@pytest.mark.parametrize("kind", ["regression", "binary", "multiclass"])
@pytest.mark.parametrize("seed", range(3))
def test_codes_are_told_from_quantities(kind, seed):
    """Effects drawn at random for every number are codes; a line, a curve and noise are not."""
    rng = np.random.default_rng([seed, len(kind)])
    x = rng.integers(60, size=4000)

    def target(score):
        if kind == "regression":
            return score + rng.normal(size=len(x))
        if kind == "binary":
            return (score + rng.logistic(size=len(x)) > 0).astype(int)
        return np.digitize(score + rng.logistic(size=len(x)), [-1, 1])

    effects = {
        "codes": rng.normal(size=60)[x],
        "line": x / 20,
        "curve": 2 * np.sin(x / 15),
        "step": np.where(x > 30, 2.0, 0.0),
        "noise": np.zeros(len(x)),
    }
    for name, effect in effects.items():
        assert taken(x, target(effect)) == ("table" if name == "codes" else "number"), name


def test_roles_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    x = rng.integers(60, size=500).astype(float)
    y = (rng.normal(size=60)[x.astype(int)] + rng.normal(size=500))[:, None]
    order = rng.permutation(500)
    assert act_as_codes(x, y) == act_as_codes(x[order], y[order])


def test_errors_of_rows_left_out_by_hand():
    """The closed forms against refits without the row, for a small table."""
    rng = np.random.default_rng(0)
    x, y = rng.integers(5, size=30).astype(float), rng.normal(size=(30, 1))
    curve = []
    for row in range(30):
        rest = np.arange(30) != row
        fit = np.polyfit(x[rest], y[rest, 0], 3)
        curve.append((y[row, 0] - np.polyval(fit, x[row])) ** 2)
    np.testing.assert_allclose(curve_errors(x, y), curve, rtol=1e-6)
    flat = [(y[row, 0] - np.delete(y, row).mean()) ** 2 for row in range(30)]
    zeros = np.zeros(30, np.int32)
    np.testing.assert_allclose(level_errors(zeros, y), flat, rtol=1e-6)


def test_levels_of_one_row_beside_levels_without_noise():
    levels, target = np.array([0, 0, 1, 1, 2], np.int32), np.array([[0.0], [0], [1], [1], [1]])
    mean = target[:4].mean()  # nothing else is known of the last row's level
    assert level_errors(levels, target)[-1] == pytest.approx((1 - mean) ** 2)


def test_noise_is_rarely_taken_for_codes():
    """Of 200 quantities without any effect, in small tables, at most two."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(200):
        rows, values = rng.integers(50, 1500), rng.integers(13, 80)
        x = rng.integers(values, size=rows).astype(float)
        wrong += act_as_codes(x, rng.normal(size=(rows, 1)))
    assert wrong <= 2


@pytest.mark.parametrize(
    ("texts", "layout", "second"),
    [
        (["2020-12-31", "2021-01-02"], "ISO8601", "2021-01-02"),
        (["2020-12-31 10:30", "2021-01-02T11:30:05.25"], "ISO8601", "2021-01-02 11:30:05.25"),
        (["2020-12-31T10:30:00Z", "2021-01-02T11:30:00+01:00"], "ISO8601", "2021-01-02 10:30"),
        (["31.12.2020", "2.1.2021"], "%d.%m.%Y", "2021-01-02"),
        (["12/31/2020", "01/02/2021"], "%m/%d/%Y", "2021-01-02"),
        (["31/12/2020", "02/01/2021"], "%d/%m/%Y", "2021-01-02"),
        (["31-12-20 10:30", "02-01-21 10:30"], "%d-%m-%y %H:%M", "2021-01-02 10:30"),
        (["1/12/2020", "2/1/2021"], "%m/%d/%Y", "2021-02-01"),
        (["2020/12/31 10:30:00", "2021/01/02 22:30:00"], "%Y/%m/%d %H:%M:%S", "2021-01-02 22:30"),
        (["2020.12.31", "2021.1.2"], "%Y.%m.%d", "2021-01-02"),
        (["31-Dec-2020", "02-Jan-2021"], "%d-%b-%Y", "2021-01-02"),
        (["31 December 2020", "2 January 2021"], "%d %B %Y", "2021-01-02"),
        (["Dec 31, 2020", "Jan 2, 2021"], "%b %d, %Y", "2021-01-02"),
        (["12/31/2020 10:30 AM", "1/2/2021 1:30 PM"], "%m/%d/%Y %I:%M %p", "2021-01-02 13:30"),
        (["10:30:00", "13:30:00"], "%H:%M:%S", "1900-01-01 13:30"),
    ],
)
def test_dates_as_people_write_them(texts, layout, second):
    column = pd.Series([*texts, None], dtype="str")
    found = find_dates(column)
    assert found.layout == layout
    assert found.ambiguous == (texts == ["1/12/2020", "2/1/2021"])
    days = found.split(column)["days"]
    assert pd.Timestamp(found.first) + pd.Timedelta(days=days[1]) == pd.Timestamp(second)
    assert days.isna().tolist() == [False, False, True]


@pytest.mark.parametrize(
    "texts",
    [
        ["2020-13-01"],
        ["32.1.2020"],
        ["1.2.2020", "1/2/2020"],
        ["1.2/2020"],
        ["25:30"],
        ["16:9"],
        ["31 Foo 2020"],
        ["20200131"],
        ["2020-01-31", "soon"],
        [None, None],
        ["1.2.20", "1.2.2020"],
    ],
)
def test_what_is_not_all_dates_stays_text(texts):
    assert find_dates(pd.Series(texts, dtype="str")) is None


def test_dates_beyond_the_years_of_the_calendar():
    seconds = np.array([-10_000_000_000_000, 10_000_000_000_000], "datetime64[s]").repeat(50)
    found = roles_of(pd.DataFrame({"d": seconds}))["d"]
    assert (found.taken_as, found.why[:6]) == ("date", "month,")
    assert "days since -314918-" in found.why


def test_the_parts_of_a_date_by_hand():
    """2020-02-29 was a Saturday; hours count only where they differ."""
    column = pd.Series(pd.to_datetime(["2020-02-29 06:00", "2020-03-01 18:00"]))
    parts = find_dates(column).split(column)
    assert {part: values.tolist() for part, values in parts.items()} == {
        "month": [2, 3],
        "weekday": [5, 6],
        "hour": [6, 18],
        "days": [0.0, 1.5],
    }
    assert find_dates(column.dt.normalize()).parts == ("month", "weekday", "days")
    frame = pd.DataFrame({"d": column, "d month": [1, 2]})
    roles = find_roles(frame, np.zeros((2, 1)), categorical=["d month"])
    with pytest.raises(DataError, match="column 'd month' is there twice"):
        roles.prepare(frame)
