# ruff: noqa: PD011 (a Table's values, not those of pandas)
"""Numbers of any type become floats, exactly or with a warning, and what is missing becomes NaN."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dln
from dln.circuit._circuit import Column
from dln.data._reader import learn_table, read_table
from frames import NAN, _frame_of


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pd.Series([1, None, 3], dtype="Int64"), [1, NAN, 3]),
        (pd.Series([1, None, 3], dtype="Float32"), [1, NAN, 3]),
        (pd.Series([1, None, 3], dtype="int64[pyarrow]"), [1, NAN, 3]),
        (pd.Series([1, None, 3.5], dtype=object), [1, NAN, 3.5]),
        (pd.Series([1, pd.NA, decimal.Decimal("3.5")], dtype=object), [1, NAN, 3.5]),
        (pd.Series([0.0, 0.0, 1.0], dtype="Sparse[float64]"), [0, 0, 1]),
        (pl.Series([1, None, 3]), [1, NAN, 3]),
        (pl.Series([1.0, NAN, None]), [1, NAN, NAN]),
        (pl.Series([None, None, None]), [NAN, NAN, NAN]),
        (pl.Series([decimal.Decimal("1.5"), None, None]), [1.5, NAN, NAN]),
        (pl.Series([1, None, 2**70], dtype=pl.Int128), [1, NAN, 2.0**70]),
        (pa.array([1, None, 3]), [1, NAN, 3]),
        (pa.array([decimal.Decimal("1.5"), None, None]), [1.5, NAN, NAN]),
        (pa.nulls(3), [NAN, NAN, NAN]),
    ],
)
@pytest.mark.filterwarnings("ignore::dln.PrecisionWarning")  # of 2**70
def test_missing_numbers_are_nan(column, expected):
    """Nullable numbers, nulls, None and NaN of any frame all become NaN."""
    table = learn_table(_frame_of(column))
    assert table.columns == (Column("c"),)
    np.testing.assert_array_equal(table.values[0], expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_number_columns_of_an_array_are_views(dtype, tmp_path):
    """Float columns of an array, of a memory map too, are not copied."""
    X = np.memmap(tmp_path / "X", dtype=dtype, mode="w+", shape=(5, 3))
    for values in learn_table(X).values:
        assert np.shares_memory(values, X)
        assert values.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint64, np.bool_, np.longdouble, ">f4", ">f8"])
def test_other_numbers_become_float64(dtype):
    """Arrays of other numbers, Booleans among them, become native float64 columns."""
    table = learn_table(np.array([[0, 1], [1, 0]]).astype(dtype))
    assert table.columns == (Column("x0"), Column("x1"))
    assert all(values.dtype == np.float64 and values.dtype.isnative for values in table.values)
    assert table.values[1].tolist() == [1, 0]


def test_large_whole_numbers_become_the_nearest_float():
    """Whole numbers beyond 2**53 are rounded in number columns, with a warning and a remedy."""
    for X, expected in (
        (np.array([[2**63]], dtype=np.uint64), 2.0**63),
        (np.array([[2**100]], dtype=object), 2.0**100),
        (np.array([[-(2**53) - 1]]), -(2.0**53)),
        (pl.DataFrame({"x0": [2**60 + 1]}), 2.0**60),
        (pd.DataFrame({"x0": pd.Series([2**60 + 1, None], dtype="Int64")}), 2.0**60),
    ):
        with pytest.warns(dln.PrecisionWarning, match=r"column 'x0' holds whole numbers above 2\*\*53.*drop it"):
            assert learn_table(X).values[0][0] == expected
        read_table(X, (Column("x0"),))  # once is enough


def test_tiny_and_huge_numbers_are_kept():
    """Subnormal and huge numbers come through bit for bit."""
    numbers = [5e-324, -2.2e-308, 1.7e308, -1.7e308, -0.0]
    assert learn_table(pl.DataFrame({"a": numbers})).values[0].tobytes() == np.array(numbers).tobytes()
