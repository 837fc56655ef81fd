# ruff: noqa: PD011 (a Table's values, not those of pandas)
"""Which columns are numbers and which are categories: their types say so, or the user."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dln.circuit._circuit import MISSING, Column
from dln.data._reader import learn_table, read_table
from frames import FRAMES, _mixed


@FRAMES
def test_kinds_come_from_types(frame):
    """Numbers are numbers; text and Booleans are categories; categories are sorted; Booleans have both values."""
    table = learn_table(_mixed(frame))
    assert table.columns == (
        Column("age"),
        Column("bmi"),
        Column("smoker", ("no", "yes")),
        Column("old", (False, True)),
    )
    assert [values.dtype.name for values in table.values] == ["float64", "float64", "int32", "int32"]
    assert [values.tolist() for values in table.values] == [[30, 40, 50], [20.5, 31, 25], [1, 0, 1], [0, 0, 0]]
    assert table.n_rows == 3


def test_lists_keep_their_numbers():
    """A list of rows is read like an object array: numbers beside text stay numbers."""
    table = learn_table([[1, "a"], [2.5, "b"]])
    assert table.columns == (Column("x0"), Column("x1", ("a", "b")))
    assert table.values[0].tolist() == [1, 2.5]


@pytest.mark.parametrize("chosen", [["age"], [0], [-2], [True, False], np.array([0]), ("age",), np.array(["age"])])
def test_chosen_categories(chosen):
    """Names, indices or a mask make a column of numbers one of categories; whole floats are whole numbers."""
    table = learn_table(pd.DataFrame({"age": [3.0, None, 1.0, 2.5], "flag": [True, False, True, True]}), chosen)
    assert repr(table.columns[0].categories) == "(1, 2.5, 3)"
    assert table.values[0].tolist() == [2, MISSING, 0, 1]
    assert table.columns[1].categories is None, "what is not named is a number, a Boolean too"


@pytest.mark.parametrize("chosen", [["agee"], [2], [-3], [True], [1.5], "age", [None], [True, False, "age"]])
def test_wrong_choice_of_categories(chosen):
    """Columns that X does not have are named in the error."""
    with pytest.raises(ValueError, match="categorical_features"):
        learn_table(pd.DataFrame({"age": [3.0], "bmi": [1]}), chosen)


@pytest.mark.parametrize("chosen", [None, [], ["age"]])
@FRAMES
def test_text_must_be_chosen(frame, chosen):
    """With the category columns listed, text anywhere else is an error with a remedy."""
    with pytest.raises(ValueError, match=r"column 'smoker' must hold numbers, but it holds text.*categorical_features"):
        learn_table(_mixed(frame), chosen)


def test_text_at_prediction_where_numbers_were_learned():
    """Text in a number column is an error; a column all missing is not, whatever its type."""
    for X in (
        pd.DataFrame({"a": ["x"]}),
        pl.DataFrame({"a": ["x"]}),
        np.array([["x"]]),
        np.array([["x"]], dtype=object),
    ):
        with pytest.raises(ValueError, match=r"column '.*' must hold numbers, but it holds text"):
            read_table(X, (Column("a"),))
    for X in (pd.DataFrame({"a": [None]}), pl.DataFrame({"a": [None]}), pl.DataFrame({"a": [None]}, {"a": pl.String})):
        assert np.isnan(read_table(X, (Column("a"),)).values[0]).all()
        assert read_table(X, (Column("a", ("x",)),)).values[0].tolist() == [MISSING]


def test_one_row_one_column_and_a_thousand_columns():
    """Smallest and wide tables are tables."""
    assert learn_table([[1.0]]).values[0].tolist() == [1.0]
    table = learn_table(np.ones((2, 1000), dtype=np.float32))
    assert len(table.columns) == len(table.values) == 1000
