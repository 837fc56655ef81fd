"""Any frame or array → columns of plain arrays.

`learn_table` is for fit: it decides which columns are numbers and which are categories, and learns the categories.
`read_table` is for predict: it reads the same columns again. Both check what they read; a mistake gets one sentence.

Tables may be large. Columns are views of X where they can be; of a large X, those that cannot are not kept but read
again whenever they are asked for, and `read_batches` takes some rows at a time.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, Final, TypeAlias, cast, overload

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError
from sklearn.utils.validation import _get_feature_names, check_array

from dln._circuit import MISSING, UNKNOWN, Category, Column, Values

#: Floats below this size hold whole numbers exactly: 3.0 and 3 are the same category.
LARGEST_WHOLE: Final = 2.0**53

#: A column as it came: of an array, or of a frame.
Raw: TypeAlias = npt.NDArray[Any] | nw.Series[Any]
Codes: TypeAlias = npt.NDArray[np.int32]

#: Number types that numpy lacks, and Booleans that may be missing.
NOT_IN_NUMPY: Final = (nw.Decimal, nw.Int128, nw.UInt128, nw.Boolean)

#: Frame types that are categories whatever they hold.
CATEGORY_TYPES: Final = (nw.Boolean, nw.String, nw.Categorical, nw.Enum)

#: How many names scikit-learn lists before it says "...".
LISTED: Final = 5

#: Of tables with fewer rows than this, converted columns are kept: reading them again would take longer than it saves.
LARGE: Final = 50_000

#: Rows that are read at once for prediction, and looked through at once for infinity.
BATCH: Final = 1 << 18
CHUNK: Final = 8192

#: Converted columns that are in memory at the same time.
CONVERTED_AT_ONCE: Final = 4


class Columns(Sequence[Values]):
    """The values of columns, some of them read anew each time they are asked for: a conversion of all would be large.

    >>> columns = Columns([np.zeros(2), lambda: np.ones(2)])
    >>> columns[1], columns.is_read_anew(0), columns.is_read_anew(1)
    (array([1., 1.]), False, True)
    """

    def __init__(self, columns: Sequence[Values | Callable[[], Values]]) -> None:
        self._columns = tuple(columns)

    def __len__(self) -> int:
        return len(self._columns)

    @overload
    def __getitem__(self, place: int) -> Values: ...
    @overload
    def __getitem__(self, place: slice) -> Columns: ...
    def __getitem__(self, place: int | slice) -> Values | Columns:
        if isinstance(place, slice):
            return Columns(self._columns[place])
        column = self._columns[place]
        return column() if callable(column) else column

    def is_read_anew(self, place: int) -> bool:
        """Whether a column is not in memory before it is asked for."""
        return callable(self._columns[place])


def read_together(
    values: Sequence[Values], places: Iterable[int] | None = None, most: int | None = None
) -> Iterator[list[tuple[int, Values]]]:
    """Yield columns with their places, in order, in groups that are read row by row: at most so many, if given.

    All columns that are in memory make one group, for those of an array that is stored row by row come into the cache
    together. Of columns that are read anew there are few in a group; forget them before you ask for the next.
    """
    group: list[tuple[int, Values]] = []
    n_anew = 0
    for j in range(len(values)) if places is None else places:
        anew = isinstance(values, Columns) and values.is_read_anew(j)
        if group and (len(group) == most or n_anew + anew > CONVERTED_AT_ONCE):
            yield group
            group, n_anew = [], 0  # a new list: whoever keeps the old one keeps its columns
        group.append((j, values[j]))
        n_anew += anew
    if group:
        yield group


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and their values.

    A number column's values are float32 or float64, NaN where missing. A category column's values are int32 codes:
    an index into `Column.categories`, or `MISSING`, or `UNKNOWN`.
    """

    columns: tuple[Column, ...]
    values: Sequence[Values]
    n_rows: int


def learn_table(X: Any, categorical_features: Any = "from_dtype", feature_names: Sequence[str] | None = None) -> Table:
    """Return X as a table, its kinds of columns decided and its categories learned.

    `categorical_features` is ``"from_dtype"`` (text, Boolean and categorical columns are categories), or the names,
    the indices or a Boolean mask of the category columns, all others being numbers. `feature_names` names the columns
    of an array.

    >>> table = learn_table(np.array([[1.5, "no"], [2.5, "yes"], [None, "no"]], dtype=object))
    >>> table.columns
    (Column(name='x0', categories=None), Column(name='x1', categories=('no', 'yes')))
    >>> table.values
    (array([1.5, 2.5, nan]), array([0, 1, 0], dtype=int32))
    """
    source = _open(X)
    names = source.names if source.names is not None else _array_names(source.n_columns, feature_names)
    chosen = _chosen(categorical_features, names)
    columns: list[Column] = []
    values: list[Values | Callable[[], Values]] = []
    is_finite = source.is_finite()
    for j, name in enumerate(names):
        raw = source.column(j)
        if _is_category(raw, name) if chosen is None else j in chosen:
            codes, distinct = _distinct(raw, name)
            categories = _in_order(distinct, name)
            columns.append(Column(_text(name, "a column's name"), categories))
            values.append(_recode(codes, distinct, categories))
        else:
            columns.append(Column(_text(name, "a column's name")))
            numbers_ = _numbers(raw, name, is_finite=is_finite)
            values.append(numbers_ if _is_view(numbers_, source, j, name) else partial(source.numbers, j, name))
            del numbers_
    if any(callable(column) for column in values):
        return Table(tuple(columns), Columns(values), source.n_rows)
    return Table(tuple(columns), cast("tuple[Values, ...]", tuple(values)), source.n_rows)


def read_table(X: Any, columns: tuple[Column, ...], only: Collection[int] | None = None) -> Table:
    """Return X as a table of the given columns: frames are matched by name in any order, arrays by position.

    Columns that are not in `only` are not read: their values are all missing, and take no memory.

    >>> table = read_table(np.array([[1, "maybe"]], dtype=object), (Column("age"), Column("smoker", ("no", "yes"))))
    >>> table.values
    (array([1.]), array([-2], dtype=int32))
    """
    source = _open(X)
    return _read(source, _places(source, columns), columns, only)


def read_batches(X: Any, columns: tuple[Column, ...], only: Collection[int] | None = None) -> Iterator[Table]:
    """Yield X as `read_table` would return it, some rows at a time where columns have to be converted.

    >>> X = np.arange(2 * BATCH).reshape(-1, 1)
    >>> [table.n_rows for table in read_batches(X, (Column("x0"),))] == [BATCH, BATCH]
    True
    """
    source = _open(X)
    places = _places(source, columns)
    if source.n_rows <= BATCH or source.is_plain():
        yield _read(source, places, columns, only)
        return
    for start in range(0, source.n_rows, BATCH):
        yield _read(source.part(start, min(start + BATCH, source.n_rows)), places, columns, only)


def _read(source: _Source, places: Sequence[int], columns: tuple[Column, ...], only: Collection[int] | None) -> Table:
    values: list[Values] = []
    for j, (column, place) in enumerate(zip(columns, places, strict=True)):
        if only is not None and j not in only:
            unread = np.float32(np.nan) if column.categories is None else np.int32(MISSING)
            values.append(np.broadcast_to(unread, source.n_rows))
        elif column.categories is None:
            values.append(_numbers(source.column(place), column.name, first_row=source.first_row))
        else:
            codes, distinct = _distinct(source.column(place), column.name, source.first_row)
            values.append(_recode(codes, distinct, column.categories))
    return Table(columns, tuple(values), source.n_rows)


# --- where columns come from ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Source:
    """A checked frame or 2-D array, whose columns are read one at a time."""

    data: nw.DataFrame[Any] | npt.NDArray[Any]
    names: tuple[str, ...] | None
    n_rows: int
    n_columns: int
    first_row: int = 0
    """Of the X that this is a part of."""

    def column(self, j: int) -> Raw:
        return self.data[:, j]

    def numbers(self, j: int, name: str) -> Values:
        """Return a number column that has been read and checked before."""
        return _numbers(self.column(j), name, is_finite=True)

    def part(self, start: int, stop: int) -> _Source:
        """Return some of the rows."""
        return replace(self, data=self.data[start:stop], n_rows=stop - start, first_row=self.first_row + start)

    def is_plain(self) -> bool:
        """Whether the columns are views of an array of numbers."""
        return isinstance(self.data, np.ndarray) and _is_plain(self.data)

    def is_finite(self) -> bool:
        """Whether this is an array of numbers and none is infinite: found faster row by row than column by column."""
        if not isinstance(self.data, np.ndarray) or not _is_plain(self.data) or not self.data.flags.c_contiguous:
            return False
        chunk = max(1, CHUNK * 16 // self.n_columns)
        return not any(np.isinf(self.data[start : start + chunk]).any() for start in range(0, self.n_rows, chunk))


def _open(X: Any) -> _Source:
    """Return X as a source of columns, or raise as scikit-learn does: not 2-D, sparse, complex, empty."""
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        message = f"column names must be unique, but some are given more than once: rename them. {error}"
        raise ValueError(message) from None
    if isinstance(frame, nw.LazyFrame):
        message = f"X must be a table in memory, but it is a lazy {type(X).__name__}: call collect() on it first"
        raise TypeError(message)
    if isinstance(frame, nw.DataFrame):
        names = _get_feature_names(X)
        check_array(np.broadcast_to(np.float32(0), frame.shape), ensure_all_finite=False)  # its words for "empty"
        return _Source(frame, None if names is None else tuple(names), *frame.shape)
    if isinstance(X, (list, tuple)) and np.asarray(X).dtype.kind in "US":
        X = np.asarray(X, dtype=object)  # numpy would turn the numbers beside text into text
    array = check_array(X, dtype=None, ensure_all_finite=False)
    return _Source(array, None, *array.shape)


def _array_names(n_columns: int, given: Sequence[str] | None) -> tuple[str, ...]:
    if given is None:
        return tuple(f"x{j}" for j in range(n_columns))
    if len(given) != n_columns or len(set(given)) != n_columns:
        message = f"feature_names must be {n_columns} different names, one per column of X, got {list(given)!r}"
        raise ValueError(message)
    return tuple(given)


def _chosen(categorical_features: Any, names: tuple[str, ...]) -> set[int] | None:
    """Return the indices of the category columns, or None to go by their types."""
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return None
        message = f"categorical_features must be 'from_dtype' or a list of columns, got {categorical_features!r}"
        raise ValueError(message)
    given = [] if categorical_features is None else np.asarray(categorical_features, dtype=object).ravel().tolist()
    if all(isinstance(item, (bool, np.bool_)) for item in given) and given:
        if len(given) != len(names):
            message = f"categorical_features is a mask of {len(given)} columns, but X has {len(names)}"
            raise ValueError(message)
        return {j for j, item in enumerate(given) if item}
    place = {name: j for j, name in enumerate(names)}
    chosen = {place.get(item) if isinstance(item, str) else _index(item, len(names)) for item in given}
    if None in chosen:
        wrong = [item for item in given if item not in place and _index(item, len(names)) is None]
        message = (
            f"categorical_features must name columns of X or give their indices, got {wrong!r}; X has {list(names)!r}"
        )
        raise ValueError(message)
    return cast("set[int]", chosen)


def _index(item: object, n_columns: int) -> int | None:
    whole = isinstance(item, numbers.Integral) and not isinstance(item, bool)
    return int(item) % n_columns if whole and -n_columns <= item < n_columns else None  # type: ignore[operator, call-overload]


def _places(source: _Source, columns: tuple[Column, ...]) -> Sequence[int]:
    """Return where in X each column stands."""
    expected = [column.name for column in columns]
    if source.names is not None:
        if set(source.names) == set(expected):
            place = {name: j for j, name in enumerate(source.names)}
            return [place[name] for name in expected]
        if expected != list(_array_names(len(expected), None)):  # a model of an array has no names to go by
            message = "The feature names should match those that were passed during fit.\n"
            message += _listed("Feature names unseen at fit time:", set(source.names) - set(expected))
            message += _listed("Feature names seen at fit time, yet now missing:", set(expected) - set(source.names))
            raise ValueError(message)
    if source.n_columns != len(columns):
        message = f"X has {source.n_columns} features, but dln is expecting {len(columns)} features as input."
        raise ValueError(message)
    return range(len(columns))


def _listed(title: str, names: Iterable[str]) -> str:
    """Return the first few names below a title, in scikit-learn's words and layout."""
    lines = [f"- {name}\n" for name in sorted(names)]
    return "".join([f"{title}\n", *lines[:LISTED], *["- ...\n"] * (len(lines) > LISTED)]) if lines else ""


# --- what a column holds ----------------------------------------------------------------------------------------------


def _is_category(raw: Raw, name: str) -> bool:
    """Tell a category column from a number column by its type, and an object column by what it holds."""
    if isinstance(raw, nw.Series):
        dtype = raw.dtype
        if dtype.is_numeric():
            return False
        if isinstance(dtype, CATEGORY_TYPES):
            return True
        raw = _array(raw, name)
    if raw.dtype.kind != "O":
        return raw.dtype.kind in "UT"
    kinds = _object_kinds(raw, name)
    if len(kinds) > 1:
        message = (
            f"column {name!r} must hold numbers or categories, but it mixes {' and '.join(sorted(kinds))}: convert it, "
            "or name it in categorical_features"
        )
        raise ValueError(message)
    return bool(kinds) and kinds != {"numbers"}


def _array(series: nw.Series[Any], name: str) -> npt.NDArray[Any]:
    """Return a frame's column that is neither text nor category as an array; dates, lists and structs are refused."""
    dtype = series.dtype
    if isinstance(dtype, (nw.Object, nw.Unknown)):
        return series.to_numpy()
    if isinstance(dtype, NOT_IN_NUMPY):
        return series.cast(nw.Float64).to_numpy()
    if dtype.is_numeric():
        return series.to_numpy()
    raise _wrong_type(name, f"{dtype}")


def _wrong_type(name: str, what: str) -> TypeError:
    return TypeError(
        f"column {name!r} must hold numbers, text, Booleans or categories, but it holds {what}: convert it to numbers "
        "or text, or drop it"
    )


def _complex(name: str, what: str) -> ValueError:
    return ValueError(f"Complex data not supported: column {name!r} must hold real numbers, but it holds {what}")


def _object_kinds(array: npt.NDArray[Any], name: str, first_row: int = 0) -> set[str]:
    """Return which of Booleans, numbers and text an object column holds."""
    kinds: set[str] = set()
    for kind in set(map(type, array)):
        if issubclass(kind, (bool, np.bool_)):
            kinds.add("Booleans")
        elif issubclass(kind, (numbers.Real, Decimal)):
            kinds.add("numbers")
        elif issubclass(kind, str):
            kinds.add("text")
        elif issubclass(kind, numbers.Complex):
            raise _complex(name, kind.__name__)
        elif not _is_missing_type(kind):
            row = first_row + next(i for i, value in enumerate(array) if type(value) is kind)
            # "argument must be a string or a number" is what scikit-learn's checks look for.
            message = (
                f"column {name!r}, row {row}: argument must be a string or a number, not {kind.__name__!r}; convert it "
                "to numbers or text, or drop the column"
            )
            raise TypeError(message)
    return kinds


def _is_missing_type(kind: type) -> bool:
    """Tell None, pandas.NA and pandas.NaT, without importing pandas."""
    return kind is type(None) or (kind.__name__ in ("NAType", "NaTType") and kind.__module__.startswith("pandas."))


# --- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(raw: Raw, name: str, *, is_finite: bool = False, first_row: int = 0) -> Values:
    """Return a number column, ``(n_rows,) float32 or float64``: a view if X holds such floats already."""
    if isinstance(raw, nw.Series):
        if isinstance(raw.dtype, (nw.String, nw.Categorical, nw.Enum)):
            if raw.null_count() < len(raw):
                raise _not_numbers(name, "text")
            return np.full(len(raw), np.nan)
        raw = _array(raw, name)
    if raw.dtype.kind == "O":
        raw = _object_numbers(raw, name, first_row)
    elif raw.dtype.kind == "c":
        raise _complex(name, str(raw.dtype))
    elif raw.dtype.kind in "UT":
        raise _not_numbers(name, "text")
    elif raw.dtype.kind not in "fiub":
        raise _wrong_type(name, f"{raw.dtype}")
    values = raw if _is_plain(raw) else raw.astype(np.float64)
    if not is_finite:
        _check_finite(values, name, first_row)
    return values


def _is_plain(array: npt.NDArray[Any]) -> bool:
    return array.dtype in (np.float32, np.float64) and array.dtype.isnative


def _is_view(values: Values, source: _Source, j: int, name: str) -> bool:
    """Whether a number column takes no memory of its own, or had better be kept: few rows, or objects to convert."""
    raw = source.column(j)
    is_object = isinstance(raw.dtype, nw.Object) if isinstance(raw, nw.Series) else raw.dtype.kind == "O"
    if source.n_rows < LARGE or source.is_plain() or is_object:
        return True
    return np.may_share_memory(values, source.numbers(j, name))


def _object_numbers(array: npt.NDArray[Any], name: str, first_row: int) -> Values:
    if "text" in _object_kinds(array, name, first_row):
        raise _not_numbers(name, "text")
    try:
        return np.array([math.nan if _is_missing_type(type(value)) else float(value) for value in array])
    except OverflowError:
        message = f"column {name!r} must hold numbers that fit in float64, but one is too large: scale the column"
        raise ValueError(message) from None


def _not_numbers(name: str, what: str) -> ValueError:
    return ValueError(
        f"column {name!r} must hold numbers, but it holds {what}: convert it, or let categorical_features at fit take "
        "it as categories"
    )


def _check_finite(values: Values, name: str, first_row: int = 0) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        message = (
            f"Input X contains infinity: column {name!r} must hold finite numbers or NaN, but row "
            f"{first_row + int(infinite.argmax())} holds inf; replace it by NaN or a large number"
        )
        raise ValueError(message)


# --- categories -------------------------------------------------------------------------------------------------------


def _distinct(raw: Raw, name: str, first_row: int = 0) -> tuple[Codes, list[Category]]:
    """Return the distinct values of a column, and for each row its place among them or `MISSING`."""
    if isinstance(raw, nw.Series):
        if isinstance(raw.dtype, CATEGORY_TYPES):
            return _distinct_in_series(raw)
        raw = _array(raw, name)
    if raw.dtype.kind == "T":
        raw = raw.astype(object)
    if raw.dtype.kind == "O":
        _object_kinds(raw, name, first_row)
        place: dict[tuple[int, Category], int] = {}
        codes = [MISSING if value is None else place.setdefault(_key(value), len(place)) for value in map(_plain, raw)]
        return np.array(codes, dtype=np.int32), [value for _, value in place]
    if raw.dtype.kind not in "Ub":
        raw = _numbers(raw, name, first_row=first_row) if raw.dtype.kind not in "iu" else raw
    known = raw == raw  # noqa: PLR0124 — all but NaN
    values, inverse = np.unique(raw[known], return_inverse=True)
    codes_of_rows = np.full(len(raw), MISSING, dtype=np.int32)
    codes_of_rows[known] = inverse
    return codes_of_rows, [cast("Category", _plain(value)) for value in values.tolist()]


def _distinct_in_series(series: nw.Series[Any]) -> tuple[Codes, list[Category]]:
    if isinstance(series.dtype, nw.String):
        series = series.cast(nw.String)  # pyarrow's string_view lacks the kernels that follow
    native = series.drop_nulls().unique().to_list()
    if not native:
        return np.full(len(series), MISSING, dtype=np.int32), []
    codes = series.replace_strict(native, list(range(len(native))), default=MISSING, return_dtype=nw.Int32)
    return codes.to_numpy().astype(np.int32, copy=False), [cast("Category", _plain(value)) for value in native]


def _plain(value: Any) -> Category | None:
    """Return a value as a plain str, bool, int or float; None if it is missing."""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if _is_missing_type(type(value)) or math.isnan(value):
        return None
    number = float(value)
    return int(number) if number.is_integer() and abs(number) < LARGEST_WHOLE else number


def _key(category: Category) -> tuple[int, Category]:
    """Return what sorts categories and tells them apart: to Python, True equals 1."""
    return (0 if isinstance(category, bool) else 2 if isinstance(category, str) else 1), category


def _in_order(distinct: list[Category], name: str) -> tuple[Category, ...]:
    """Return the categories to learn, sorted: Booleans, numbers by value, text by code point."""
    for category in distinct:
        if isinstance(category, str):
            _text(category, f"a category of column {name!r}")
        elif math.isinf(category):
            _check_finite(np.array([category]), name)
    if distinct and all(isinstance(category, bool) for category in distinct):
        return False, True
    return tuple(sorted(distinct, key=_key))


def _text(text: str, what: str) -> str:
    """Return the text if it can be written to a file."""
    try:
        text.encode()
    except UnicodeEncodeError:
        message = f"{what} must be valid Unicode text, but {text!r} holds half a character: repair the text"
        raise ValueError(message) from None
    return text


def _recode(codes: Codes, distinct: list[Category], categories: tuple[Category, ...]) -> Codes:
    """Return the rows' places among `categories`; values that are not there are `UNKNOWN`."""
    place = {_key(category): code for code, category in enumerate(categories)}
    if categories == (False, True) and isinstance(categories[0], bool):
        place |= {(1, 0): 0, (1, 1): 1}  # Booleans with missing values often arrive as 0.0 and 1.0
    # MISSING is -1: it picks the last entry.
    new = np.array([*(place.get(_key(category), UNKNOWN) for category in distinct), MISSING], dtype=np.int32)
    return new[codes]
