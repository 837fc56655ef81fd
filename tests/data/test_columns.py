# ruff: noqa: PD011 (a Table's values, not those of pandas)
"""Columns are found by their names, or by position where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dln.circuit._circuit import MISSING, Column
from dln.data._reader import learn_table, read_table
from frames import FRAMES, NAN, _mixed


@FRAMES
def test_frames_are_matched_by_name(frame):
    """Columns in another order are found by their names; arrays go by position."""
    table = learn_table(_mixed(frame))
    native = _mixed(pd.DataFrame)[["old", "bmi", "smoker", "age"]]
    again = read_table(frame(native.to_dict("list")), table.columns)
    assert [a.tolist() for a in again.values] == [a.tolist() for a in table.values]
    by_place = read_table(_mixed(pd.DataFrame).to_numpy(dtype=object), table.columns)
    assert [a.tolist() for a in by_place.values] == [a.tolist() for a in table.values]


def test_wrong_names():
    """Names that are missing or unknown are listed in scikit-learn's words, the first five of each."""
    columns = tuple(Column(name) for name in "abcdefgh")
    with pytest.raises(
        ValueError, match=r"(?s)unseen at fit time:\n- z\n.*now missing:\n- b\n- c\n- d\n- e\n- f\n- \.\.\.\n$"
    ):
        read_table(pd.DataFrame({"a": [1], "z": [2]}), columns)
    with pytest.raises(ValueError, match="X has 2 features, but dln is expecting 8 features as input"):
        read_table(np.ones((1, 2)), columns)


def test_names_of_arrays():
    """Arrays and frames without text for names have columns x0, x1, …, and are matched by position."""
    table = learn_table(pd.DataFrame(np.eye(2)))
    assert table.columns == (Column("x0"), Column("x1"))
    assert read_table(pd.DataFrame({"b": [1.0], "a": [2.0]}), table.columns).values[0].tolist() == [1.0]
    assert read_table(pd.DataFrame({"x1": [1.0], "x0": [2.0]}), table.columns).values[0].tolist() == [2.0]
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        learn_table(pd.DataFrame(np.eye(2), columns=["a", 1]))


def test_duplicate_names():
    """A name given twice is an error that names it."""
    with pytest.raises(ValueError, match=r"(?s)must be unique.*'a' 2 times"):
        learn_table(pd.DataFrame(np.eye(2), columns=["a", "a"]))
    with pytest.raises(ValueError, match=r"(?s)must be unique.*'a' 2 times"):
        learn_table(pa.table([[1], [2]], names=["a", "a"]))


def test_only_wanted_columns_are_read():
    """Columns that are not wanted are not even looked at, and take no memory."""
    X = np.array([[1.0, {}, "a"], [2.0, {}, "b"]], dtype=object)
    table = read_table(X, (Column("a"), Column("b"), Column("c", ("a",))), only={0})
    assert table.values[0].tolist() == [1, 2]
    np.testing.assert_array_equal(table.values[1], [NAN, NAN])
    assert table.values[2].tolist() == [MISSING, MISSING]
    assert table.values[1].strides == (0,)
