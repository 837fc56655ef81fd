"""Tables of wrong shapes and columns of wrong types are refused in one sentence."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from dln.circuit._circuit import Column
from dln.data._reader import learn_table, read_table


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, object])
def test_infinity(infinity, dtype):
    """Infinity is refused at fit and at predict, with the column and the first row."""
    X = np.array([[1, 2], [3, infinity], [3, infinity]], dtype=dtype)
    for read in (learn_table, lambda X: read_table(X, (Column("x0"), Column("x1"))), lambda X: learn_table(X, [1])):
        with pytest.raises(ValueError, match="contains infinity: column 'x1'"):
            read(X)


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([dt.timedelta(1)], "Duration"),
        ([b"abc"], "Binary"),
        ([[1, 2]], "List"),
        ([{"a": 1}], "Struct"),
    ],
)
def test_columns_that_cannot_be(values, what):
    """Durations, bytes, lists and structs are refused with the column and its type, chosen or not."""
    for chosen in ("from_dtype", ["when"], None):
        with pytest.raises(TypeError, match=f"column 'when' must hold numbers.*holds {what}.*convert"):
            learn_table(pl.DataFrame({"when": values}), chosen)
        with pytest.raises(TypeError, match=r"column 'when'.*convert"):
            learn_table(pd.DataFrame({"when": values}), chosen)


@pytest.mark.parametrize("dtype", ["m8[s]", "S3"])
def test_arrays_that_cannot_be(dtype):
    """Arrays of durations and bytes are refused with the first column."""
    with pytest.raises(TypeError, match=r"column 'x0' must hold numbers.*convert"):
        learn_table(np.zeros((2, 2), dtype=dtype))


@pytest.mark.parametrize("value", [{"foo": "bar"}, [1], object(), (1, 2)])
def test_objects_that_cannot_be(value):
    """A dict or list among numbers is refused in the words that scikit-learn's checks look for."""
    X = np.zeros((3, 2), dtype=object)
    X[1, 1] = value
    for chosen in ("from_dtype", [1], None):
        with pytest.raises(TypeError, match=r"column 'x1', row 1: argument must be .* string.* number"):
            learn_table(X, chosen)
    with pytest.raises(ValueError, match="fit in float64"):
        learn_table(np.array([[10**400]], dtype=object))


def test_complex_is_refused():
    """Complex numbers are refused in scikit-learn's words."""
    for X in (np.ones((2, 1)) * 1j, np.array([[1j], [2.0]], dtype=object), pd.DataFrame({"a": [1j]})):
        with pytest.raises(ValueError, match="Complex data not supported"):
            learn_table(X)


def test_shapes_that_cannot_be():
    """Sparse, lazy, one-dimensional, deeper and empty input is refused in scikit-learn's words."""
    with pytest.raises(TypeError, match="Sparse data was passed"):
        learn_table(scipy.sparse.eye_array(3))
    with pytest.raises(TypeError, match=r"lazy LazyFrame: call collect\(\)"):
        learn_table(pl.LazyFrame({"a": [1]}))
    for X in (np.ones(3), 3.0):
        with pytest.raises(ValueError, match="Reshape your data"):
            learn_table(X)
    with pytest.raises(ValueError, match="2-dimensional container"):
        learn_table(pd.Series([1.0]))
    with pytest.raises(ValueError, match="dim 3"):
        learn_table(np.ones((2, 2, 2)))
    for X in (np.ones((0, 3)), pd.DataFrame({"a": [], "b": [], "c": []}), pl.DataFrame(schema=["a", "b", "c"])):
        with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\) \(shape=\(0, 3\)\)"):
            learn_table(X)
    for X in (np.ones((3, 0)), pd.DataFrame(index=range(3))):
        with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required\."):
            learn_table(X)
