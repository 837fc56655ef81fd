# ruff: noqa: PD011 (a Table's values, not those of pandas)
from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from dln._circuit import MISSING, UNKNOWN, Column
from dln._table import learn_table, read_table

FRAMES = pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
NAN = float("nan")


def _mixed(frame):
    return frame({"age": [30, 40, 50], "bmi": [20.5, 31.0, 25.0], "smoker": ["yes", "no", "yes"], "old": [False] * 3})


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
def test_missing_numbers_are_nan(column, expected):
    """Nullable numbers, nulls, None and NaN of any frame all become NaN."""
    table = learn_table(_frame_of(column))
    assert table.columns == (Column("c"),)
    np.testing.assert_array_equal(table.values[0], expected)


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


def _frame_of(column):
    if isinstance(column, pd.Series):
        return pd.DataFrame({"c": column})
    return pl.DataFrame({"c": column}) if isinstance(column, pl.Series) else pa.table({"c": column})


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
    """Whole numbers beyond 2**53 are rounded, silently."""
    assert learn_table(np.array([[2**63]], dtype=np.uint64)).values[0].tolist() == [2.0**63]
    assert learn_table(np.array([[2**100]], dtype=object)).values[0].tolist() == [2.0**100]


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
    """With the category columns listed, text anywhere else is an error that says what to do."""
    with pytest.raises(ValueError, match=r"column 'smoker' must hold numbers, but it holds text.*categorical_features"):
        learn_table(_mixed(frame), chosen)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64, object, "Int64", "category"])
def test_equal_values_are_the_same_category(dtype):
    """1, 1.0 and numpy's 1 are one category at prediction; True and "1" are others."""
    columns = (Column("c", (1, 2)),)
    assert read_table(pd.DataFrame({"c": pd.Series([2, 1, 3], dtype=dtype)}), columns).values[0].tolist() == [1, 0, -2]
    others = np.array([[True], ["1"], [np.float32(1)], [NAN]], dtype=object)
    assert read_table(others, columns).values[0].tolist() == [UNKNOWN, UNKNOWN, 0, MISSING]


def test_mixed_categories():
    """A column chosen as categories may mix Booleans, numbers and text: told apart, and in this order."""
    X = np.array([["1"], [1], [True], [1.0], [None], [False], [0.5]], dtype=object)
    table = learn_table(X, [0])
    assert repr(table.columns[0].categories) == "(False, True, 0.5, 1, '1')"
    assert table.values[0].tolist() == [4, 3, 1, 3, MISSING, 0, 2]
    with pytest.raises(ValueError, match="mixes Booleans and numbers and text"):
        learn_table(X)


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
    assert learn_table(np.eye(2), feature_names=["a", "b"]).columns == (Column("a"), Column("b"))
    with pytest.raises(ValueError, match="feature_names must be 2 different names"):
        learn_table(np.eye(2), feature_names=["a"])
    with pytest.raises(TypeError, match="Feature names are only supported if all input features have string names"):
        learn_table(pd.DataFrame(np.eye(2), columns=["a", 1]))


def test_duplicate_names():
    """A name given twice is an error that names it."""
    with pytest.raises(ValueError, match=r"(?s)must be unique.*'a' 2 times"):
        learn_table(pd.DataFrame(np.eye(2), columns=["a", "a"]))
    with pytest.raises(ValueError, match=r"(?s)must be unique.*'a' 2 times"):
        learn_table(pa.table([[1], [2]], names=["a", "a"]))


def test_only_the_columns_asked_for_are_read():
    """Columns that are not asked for are not even looked at, and take no memory."""
    X = np.array([[1.0, {}, "a"], [2.0, {}, "b"]], dtype=object)
    table = read_table(X, (Column("a"), Column("b"), Column("c", ("a",))), only={0})
    assert table.values[0].tolist() == [1, 2]
    np.testing.assert_array_equal(table.values[1], [NAN, NAN])
    assert table.values[2].tolist() == [MISSING, MISSING]
    assert table.values[1].strides == (0,)


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
        ([dt.datetime(2020, 1, 1)], "Datetime"),  # noqa: DTZ001
        ([dt.timedelta(1)], "Duration"),
        ([dt.date(2020, 1, 1)], "Date"),
        ([b"abc"], "Binary"),
        ([[1, 2]], "List"),
        ([{"a": 1}], "Struct"),
        ([dt.time(1)], "Time"),
    ],
)
def test_columns_that_cannot_be(values, what):
    """Dates, durations, bytes, lists and structs are refused with the column and its type, chosen or not."""
    for chosen in ("from_dtype", ["when"], None):
        with pytest.raises(TypeError, match=f"column 'when' must hold numbers.*holds {what}.*convert"):
            learn_table(pl.DataFrame({"when": values}), chosen)
        with pytest.raises(TypeError, match=r"column 'when'.*convert"):
            learn_table(pd.DataFrame({"when": values}), chosen)


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[s]", "S3"])
def test_arrays_that_cannot_be(dtype):
    """Arrays of dates, durations and bytes are refused with the first column."""
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


def test_one_row_one_column_and_a_thousand_columns():
    """Smallest and wide tables are tables."""
    assert learn_table([[1.0]]).values[0].tolist() == [1.0]
    table = learn_table(np.ones((2, 1000), dtype=np.float32))
    assert len(table.columns) == len(table.values) == 1000


def test_tiny_and_huge_numbers_are_kept():
    """Subnormal and huge numbers come through bit for bit."""
    numbers = [5e-324, -2.2e-308, 1.7e308, -1.7e308, -0.0]
    assert learn_table(pl.DataFrame({"a": numbers})).values[0].tobytes() == np.array(numbers).tobytes()
