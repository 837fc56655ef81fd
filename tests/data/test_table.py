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

import dln
from dln.circuit._circuit import MISSING, UNKNOWN, Column
from dln.data._dates import WEEKDAYS
from dln.data.table import learn_table, read_table, refuse_mask

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
@pytest.mark.filterwarnings("ignore::dln.PrecisionWarning")  # of 2**70
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
    """Whole numbers beyond 2**53 are rounded in number columns, and a warning says so and what to do."""
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


# --- exact whole numbers, masks ---------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("dtype", [np.int64, np.float32, np.float64, bool, object, str])
def test_masked_values_are_missing(dtype):
    """What is masked in an array of any type is missing, to learn from and to predict for."""
    X = np.ma.array(np.array([[1], [0], [1]]).astype(dtype), mask=[[0], [1], [0]])
    table = learn_table(X)
    missing = MISSING if table.columns[0].categories is not None else NAN
    for values in (table.values[0], read_table(X, table.columns).values[0]):
        np.testing.assert_array_equal(values == values[0], [True, False, True])
        np.testing.assert_array_equal(values[1], missing)


def test_masked_targets_and_weights_are_refused():
    """A masked target or weight is refused with its row; a mask that hides nothing is none."""
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    with pytest.raises(ValueError, match="y must be known in every row, but row 1 is masked"):
        refuse_mask(masked, "y")
    refuse_mask(masked[:1], "y")
    refuse_mask([1.0], "y")
    with pytest.raises(ValueError, match="y must be known in every row"):
        dln.DLNRegressor().fit([[1.0], [2.0]], masked)
    with pytest.raises(ValueError, match="sample_weight must be known in every row"):
        dln.DLNRegressor().fit([[1.0], [2.0]], [1.0, 2.0], sample_weight=masked)


# --- dates ------------------------------------------------------------------------------------------------------------

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
    with pytest.raises(TypeError, match=r"column 'when' must hold dates, as it did .* but it holds String"):
        read_table(X.with_columns(when=pl.lit("2024-01-01")), table.columns)


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


def test_dates_are_no_categories():
    """A date that is named among the categories, and a part that is called like another column, are refused."""
    X = pl.DataFrame({"when": WHEN, "when (month)": [1, 2, 3]})
    with pytest.raises(TypeError, match=r"column 'when' holds dates, which are split.*categorical_features"):
        learn_table(X, ["when"])
    with pytest.raises(ValueError, match=r"X has a column 'when \(month\)', and a date of which that is a part"):
        learn_table(X)
