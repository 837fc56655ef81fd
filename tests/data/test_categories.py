# ruff: noqa: PD011 (a Table's values, not those of pandas)
"""Text, Booleans and whole numbers become categories, exactly: equal values are one category, others are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dln.circuit._circuit import MISSING, UNKNOWN, Column
from dln.data._reader import learn_table, read_table
from frames import FRAMES, NAN, _frame_of


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["b", None, "a"]),
        pd.Series(["b", None, "a"], dtype=object),
        pd.Series(["b", NAN, "a"], dtype=object),
        pd.Series(["b", None, "a"], dtype="string[python]"),
        pd.Series(["b", None, "a"], dtype="string[pyarrow]"),
        pd.Series(pd.Categorical(["b", None, "a"], categories=["z", "b", "a"])),
        pl.Series(["b", None, "a"]),
        pl.Series(["b", None, "a"], dtype=pl.Categorical),
        pl.Series(["b", None, "a"], dtype=pl.Enum(["z", "b", "a"])),
        pa.array(["b", None, "a"]),
        pa.array(["b", None, "a"], pa.large_string()),
        pa.array(["b", None, "a"], pa.string_view()),
        pa.array(["b", None, "a"]).dictionary_encode(),
        np.array(["b", None, "a"], dtype=object),
        np.array(["b", None, "a"], dtype=np.dtypes.StringDType(na_object=None)),
    ],
)
def test_text_of_any_type_is_categories(column):
    """Text, nullable or categorical, becomes the observed categories in order; unobserved ones are not learned."""
    X = column.reshape(-1, 1) if isinstance(column, np.ndarray) else _frame_of(column)
    table = learn_table(X)
    assert table.columns[0].categories == ("a", "b")
    assert table.values[0].tolist() == [1, MISSING, 0]
    again = read_table(X, (Column(table.columns[0].name, ("b", "c")),))
    assert again.values[0].tolist() == [0, MISSING, UNKNOWN]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series([True, None, False], dtype=object),
        pd.Series([True, None, False], dtype="bool[pyarrow]"),
        pl.Series([True, None, False]),
        pa.array([True, None, False]),
        pl.Series([1.0, None, 0.0]),
        pl.Series([1, None, 0]),
    ],
)
def test_booleans(column):
    """Booleans with missing values are read as such, also when a frame turned them into 0.0 and 1.0 on the way."""
    table = read_table(_frame_of(column), (Column("c", (False, True)),))
    assert table.values[0].tolist() == [1, MISSING, 0]
    table = read_table(_frame_of(column), (Column("c"),))
    np.testing.assert_array_equal(table.values[0], [1, NAN, 0])


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, object, "Int64", "category"])
def test_equal_values_are_the_same_category(dtype):
    """1, 1.0 and numpy's 1 are one category at prediction; True and "1" are others."""
    columns = (Column("c", (1, 2)),)
    assert read_table(pd.DataFrame({"c": pd.Series([2, 1, 3], dtype=dtype)}), columns).values[0].tolist() == [1, 0, -2]
    others = np.array([[True], ["1"], [np.float32(1)], [NAN]], dtype=object)
    assert read_table(others, columns).values[0].tolist() == [UNKNOWN, UNKNOWN, 0, MISSING]


def test_mixed_categories():
    """A column chosen as categories may mix Booleans, numbers and text: different ones, in this order."""
    X = np.array([["1"], [1], [True], [1.0], [None], [False], [0.5]], dtype=object)
    table = learn_table(X, [0])
    assert repr(table.columns[0].categories) == "(False, True, 0.5, 1, '1')"
    assert table.values[0].tolist() == [4, 3, 1, 3, MISSING, 0, 2]
    with pytest.raises(ValueError, match="mixes Booleans and numbers and text"):
        learn_table(X)


@FRAMES
def test_strange_names_and_categories(frame):
    """Quotes, newlines, emoji, empty text and numbers in words are names and categories like any other."""
    strange = ['"', "'", "\n", "🙂", "", " ", "1", "nan", "None", "é", "e\u0301", "\0"]
    table = learn_table(frame(dict.fromkeys(strange, strange)))
    assert [column.name for column in table.columns] == strange
    assert {column.categories for column in table.columns} == {tuple(sorted(strange))}
    assert [table.columns[0].categories[code] for code in table.values[0]] == strange


def test_half_characters_are_refused():
    """Text that no file could hold is refused before training, not when the model is saved."""
    with pytest.raises(ValueError, match="a category of column 'x0' must be valid Unicode"):
        learn_table(np.array([["\ud800"]], dtype=object))


IDS = (2**60, 2**60 + 1, 2**63 - 1)  # as floats, the first two are equal


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([*IDS, None]),
        pl.Series([*IDS, None], dtype=pl.Int128),
        pl.Series([*IDS, None]).cast(pl.Decimal(38, 0)),
        pd.Series([*IDS, None], dtype="Int64"),
        pd.Series([*IDS, None], dtype="int64[pyarrow]"),
        pd.Series([*IDS, None], dtype=object),
        pa.array([*IDS, None]),
        np.ma.array([*IDS, 0], mask=[0, 0, 0, 1]),
    ],
)
def test_identifiers_of_64_bits_are_exact(column):
    """Whole numbers beyond 2**53 are exact as categories, in every frame, also where one of them is missing."""
    X = column.reshape(-1, 1) if isinstance(column, np.ndarray) else _frame_of(column)
    table = learn_table(X, [0])
    assert table.columns[0].categories == IDS
    assert table.values[0].tolist() == [0, 1, 2, MISSING]
    assert read_table(X, table.columns).values[0].tolist() == [0, 1, 2, MISSING]


@pytest.mark.parametrize("X", [np.array([[float(IDS[0])], [NAN]]), pd.DataFrame({"x0": [IDS[0], None]})])
def test_rounded_identifiers_are_refused(X):
    """Floats that may be rounded whole numbers are refused as categories, to learn from and to predict for."""
    with pytest.raises(ValueError, match=r"the categories of column 'x0' must be exact.*Int64"):
        learn_table(X, [0])
    with pytest.raises(ValueError, match=r"the categories of column 'x0' must be exact.*Int64"):
        read_table(X, (Column("x0", IDS),))
    assert read_table(X, (Column("x0", (1, 2)),)).values[0].tolist() == [UNKNOWN, MISSING], "no mistake is possible"
