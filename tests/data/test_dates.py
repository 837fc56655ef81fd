# ruff: noqa: PD011 (a Table's values, not those of pandas)
"""Dates become columns of their parts, and a model of dates reads them whole or in parts."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dln.circuit._circuit import MISSING, UNKNOWN, Column
from dln.data._dates import WEEKDAYS
from dln.data._reader import learn_table, read_table
from frames import NAN, _frame_of

WHEN = [dt.datetime(2023, 12, 31, 23, 59), None, dt.datetime(2024, 2, 29, 0, 0)]  # noqa: DTZ001 (as in most tables)
PARTS = {"year": [2023, NAN, 2024], "month": [12, NAN, 2], "weekday": [6, MISSING, 3], "hour": [23, NAN, 0]}


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(WHEN),
        pd.Series(WHEN).dt.tz_localize("Asia/Tokyo"),
        pd.Series(WHEN, dtype=object),
        pd.Series(WHEN, dtype="timestamp[ms][pyarrow]"),
        pl.Series(WHEN),
        pl.Series(WHEN, dtype=pl.Datetime("ns")).dt.replace_time_zone("America/New_York"),
        pa.array(WHEN),
        pa.array(WHEN, type=pa.timestamp("s")),
    ],
)
@pytest.mark.parametrize("chosen", ["from_dtype", None, []])
def test_dates_become_their_parts(column, chosen):
    """A datetime of any frame becomes year, month, weekday and hour by the clock it was written by, to predict too."""
    X = _frame_of(column)
    name = column.name if isinstance(column, (pd.Series, pl.Series)) and column.name else "c"
    table = learn_table(X, chosen)
    assert [column.name for column in table.columns] == [f"{name} ({part})" for part in PARTS]
    assert table.columns[2].categories == WEEKDAYS
    for values in (table.values, read_table(X, table.columns).values):
        np.testing.assert_equal([column.tolist() for column in values], list(PARTS.values()))


@pytest.mark.parametrize(
    "column", [pl.Series([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]), pl.Series([dt.time(1), dt.time(2)])]
)
def test_only_parts_that_differ(column):
    """Parts that are the same in every row, or that a date or a time does not have, are no columns."""
    (made,) = learn_table(pl.DataFrame({"c": column})).columns
    assert made.name == ("c (weekday)" if column.dtype == pl.Date else "c (hour)")
    (same,) = learn_table(pl.DataFrame({"c": column[:1]})).columns
    assert same.name == ("c (year)" if column.dtype == pl.Date else "c (hour)"), "one, so that no column is lost"


def test_dates_whole_or_in_parts():
    """A model of dates reads tables that hold them whole, in parts or mixed, in any order; other names are refused."""
    X = pl.DataFrame({"a": [1, 2, 3], "when": WHEN, "then": WHEN})
    table = learn_table(X)
    parts = pl.DataFrame(
        {
            "then": X["then"],
            **{f"when ({part})": np.array(values) for part, values in PARTS.items() if part != "weekday"},
        }
    ).with_columns(pl.Series("when (weekday)", ["Sunday", None, "Thursday"]), a=X["a"])
    for other in (X.select("then", "a", "when"), X.to_pandas(), parts):
        for values, expected in zip(read_table(other, table.columns).values, table.values, strict=True):
            np.testing.assert_array_equal(values, expected)
    with pytest.raises(ValueError, match=r"unseen at fit time:\n- now\n.*yet now missing:\n- (when|then)"):
        read_table(X.rename({"when": "now"}).drop("then"), table.columns)
    with pytest.raises(TypeError, match=r"column 'when' must hold dates, as it did .* but it holds text"):
        read_table(X.with_columns(when=pl.lit("2024-01-01")), table.columns)


def test_weekdays_that_no_rule_names_are_unknown():
    """A saved model knows the weekdays that its rules name: dates are read as these, whatever their places."""
    X = pl.DataFrame({"when": WHEN})
    read = read_table(X, (Column("when (weekday)", ("Thursday",)),)).values[0]
    assert read.tolist() == [UNKNOWN, MISSING, 0]


def test_arrays_of_dates():
    """Arrays of dates, and objects among them, are split too, and are read by position."""
    X = np.array([[1.0, WHEN[0]], [2.0, None], [3.0, WHEN[2]]], dtype=object)
    table = learn_table(X)
    assert [column.name for column in table.columns] == ["x0", *(f"x1 ({part})" for part in PARTS)]
    np.testing.assert_array_equal(read_table(X, table.columns).values[4], [23, NAN, 0])
    with pytest.raises(ValueError, match="X has 3 features, but dln is expecting 2 features"):
        read_table(np.zeros((1, 3)), table.columns)
    assert [c.name for c in learn_table(np.array([["2024-01-01"], ["2025-01-01"]], dtype="M8[D]")).columns] == [
        "x0 (year)",
        "x0 (weekday)",
    ]
    one_part = np.array([[1.0, dt.date(2024, 1, 1)], [2.0, dt.date(2023, 1, 2)]], dtype=object)
    table = learn_table(one_part)
    assert [column.name for column in table.columns] == ["x0", "x1 (year)"], "both are Mondays of January"
    assert read_table(one_part, table.columns).values[1].tolist() == [2024, 2023]
    assert read_table([[1.0, 2024]], table.columns).values[1].tolist() == [2024]


def test_dates_are_no_categories():
    """A date that is named among the categories, and a part that is called like another column, are refused."""
    X = pl.DataFrame({"when": WHEN, "when (month)": [1, 2, 3]})
    with pytest.raises(TypeError, match=r"column 'when' holds dates, which are split.*categorical_features"):
        learn_table(X, ["when"])
    with pytest.raises(ValueError, match=r"X has a column 'when \(month\)', and a date of which that is a part"):
        learn_table(X)
