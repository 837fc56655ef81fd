"""X as a source of columns, opened and checked; where in it a model's columns stand; tables that are made of them."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import DuplicateError

from dln.circuit._circuit import Column, Values
from dln.data._column_kinds import LARGEST_WHOLE, Raw, held_by, is_plain
from dln.data._dates import DatePart, split_part_name, with_dates_whole

#: Names that scikit-learn lists before it prints "...".
LISTED: Final = 5
#: Converted columns that are in memory at the same time.
CONVERTED_AT_ONCE: Final = 4


@dataclass(frozen=True, slots=True)
class Source:
    """A checked frame or 2-D array, whose columns are read one at a time."""

    data: nw.DataFrame[Any] | npt.NDArray[Any]
    names: tuple[str, ...] | None
    n_rows: int
    n_columns: int
    labels: Sequence[Any] = ()
    """The columns' names in a frame, which may be no text."""
    first_row: int = 0
    """Of the X that this is a part of."""

    def column(self, j: int) -> Raw:
        if isinstance(self.data, np.ndarray):
            return self.data[:, j]
        if nw.dependencies.is_pandas_dataframe(native := self.data.to_native()):
            # Numbers of numpy's types as they are: to wrap a column takes longer than to predict a row.
            series: Any = native[self.labels[j]]
            if isinstance(series.dtype, np.dtype) and series.dtype.kind in "fiu":
                plain: Raw = series.to_numpy()
                return plain
        return self.data.get_column(self.labels[j])

    def part(self, start: int, stop: int) -> Source:
        return replace(self, data=self.data[start:stop], n_rows=stop - start, first_row=self.first_row + start)

    def is_plain_array(self) -> bool:
        """Return whether the columns are views of an array of floats."""
        return isinstance(self.data, np.ndarray) and is_plain(self.data)


def open_source(X: Any) -> Source:
    """Return X as a source of columns, or raise as scikit-learn does: not 2-D, sparse, complex, empty."""
    if isinstance(X, (np.ndarray, list, tuple)):
        return _array_source(X)
    try:
        frame = nw.from_native(X, pass_through=True)
    except DuplicateError as error:
        raise ValueError(
            f"column names must be unique, but some are given more than once: rename them. {error}"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X must be a table in memory, but it is a lazy {type(X).__name__}: call collect() on it first")
    if not isinstance(frame, nw.DataFrame):
        return _array_source(X)
    if not all(frame.shape):
        _check_array(np.broadcast_to(np.float32(0), frame.shape))  # scikit-learn's words for "empty"
    labels = frame.columns
    names: Any = labels
    if not all(type(name) is str for name in names):
        from sklearn.utils.validation import _get_feature_names

        names = _get_feature_names(X)  # scikit-learn's rules for names that are no text
    return Source(frame, None if names is None else tuple(names), *frame.shape, labels)


def _array_source(X: Any) -> Source:
    X = without_mask(X)
    if isinstance(X, (list, tuple)):
        with suppress(ValueError):  # rows of different lengths: scikit-learn has words for them
            array = np.asarray(X)
            # numpy turns the numbers beside text into text.
            X = np.asarray(X, dtype=object) if array.dtype.kind in "US" else array
    is_table = type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and all(X.shape) and X.dtype.kind != "c"  # noqa: PLR2004
    array = np.asarray(X) if is_table else _check_array(X)
    return Source(array, None, *array.shape)


def _check_array(X: Any) -> npt.NDArray[Any]:
    """Return what is no plain array as one, or raise in scikit-learn's words; only then is it imported."""
    from sklearn.utils.validation import check_array

    array: npt.NDArray[Any] = check_array(X, dtype=None, ensure_all_finite=False)
    return array


def without_mask(X: Any) -> Any:
    """Return a masked array as a plain one whose masked values are missing; anything else as it is."""
    if not isinstance(X, np.ma.MaskedArray):
        return X
    masked: Any = X  # numpy's own types lose the mask
    if not np.ma.is_masked(X):
        return masked.data
    if X.dtype.kind == "f":
        return masked.filled(np.nan)
    if X.dtype.kind in "iub" and not (np.abs(X.compressed().astype(np.float64)) >= LARGEST_WHOLE).any():
        return masked.astype(np.float64).filled(np.nan)
    plain = masked.data.astype(object)  # text, and numbers too large for a float, stay what they are
    plain[np.ma.getmaskarray(masked)] = None
    return plain


def refuse_mask(values: Any, name: str) -> None:
    """Raise if a value of the target or of the weights is masked: its number would be used."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.flatnonzero(np.ma.getmaskarray(values).ravel())[0])
        raise ValueError(f"{name} must be known in every row, but row {row} is masked: leave such rows out")


def array_names(n_columns: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(n_columns))


def chosen_categories(categorical_features: Any, names: Sequence[str]) -> set[int] | None:
    """Return the indices of the category columns, or None to go by their types."""
    if isinstance(categorical_features, str):
        if categorical_features == "from_dtype":
            return None
        raise ValueError(
            f"categorical_features must be 'from_dtype' or a list of columns, got {categorical_features!r}"
        )
    given = [] if categorical_features is None else np.asarray(categorical_features, dtype=object).ravel().tolist()
    if given and all(isinstance(item, (bool, np.bool_)) for item in given):
        if len(given) != len(names):
            raise ValueError(f"categorical_features is a mask of {len(given)} columns, but X has {len(names)}")
        return {j for j, is_category in enumerate(given) if is_category}
    index_of: dict[Any, int] = {name: j for j, name in enumerate(names)}
    chosen = [index_of.get(item, _index(item, len(names))) for item in given]
    if None in chosen:
        wrong = [item for item, j in zip(given, chosen, strict=True) if j is None]
        raise ValueError(
            f"categorical_features must name columns of X or give their indices, got {wrong!r}; X has {list(names)!r}"
        )
    return {j for j in chosen if j is not None}


def _index(item: Any, n_columns: int) -> int | None:
    """Return an index that may count from the end as one from the start; None if it is none."""
    is_whole = isinstance(item, numbers.Integral) and not isinstance(item, bool)
    return int(item) % n_columns if is_whole and -n_columns <= item < n_columns else None


class Location(NamedTuple):
    """The column of X that a model's column is read from, and which part of its dates it is."""

    column: int
    part: DatePart | None = None


def locations_of(source: Source, columns: Sequence[Column]) -> list[Location]:
    """Return where in X each column stands; parts of dates come from a column of dates, or are there as they are."""
    expected = [column.name for column in columns]
    if source.names is not None:
        given = {name: j for j, name in enumerate(source.names)}
        origins = [_origin(name, given) for name in expected]  # dates whole, in parts, or some of either
        if given.keys() >= {origin for origin, _ in origins}:  # others, like the target, do no harm
            return [Location(given[origin], part) for origin, part in origins]
    whole = with_dates_whole(expected)
    if source.names is not None and whole != list(array_names(len(whole))):  # of an array: it has no names to go by
        raise ValueError(_wrong_names(set(given), {origin for origin, _ in origins}))
    if source.n_columns == len(columns):
        return [Location(j, _part_at(source, j, name)) for j, name in enumerate(expected)]
    if source.n_columns != len(whole):
        raise ValueError(f"X has {source.n_columns} features, but dln is expecting {len(whole)} features as input.")
    index_of = {name: j for j, name in enumerate(whole)}
    return [Location(index_of[origin], part) for origin, part in (_origin(name, index_of) for name in expected)]


def _part_at(source: Source, j: int, name: str) -> DatePart | None:
    """Return which part of a column is meant, where that is the only one of its dates."""
    split = split_part_name(name)
    return split[1] if split is not None and held_by(source.column(j), name) == {"dates"} else None


def _origin(name: str, given: Collection[str]) -> tuple[str, DatePart | None]:
    """Return the column of X that a column is made of, and the part of its dates."""
    split = None if name in given else split_part_name(name)
    return split[:2] if split is not None and split[0] in given else (name, None)


def _wrong_names(given: set[str], expected: set[str]) -> str:
    """Return scikit-learn's words for names that are not those of the fit."""
    return (
        "The feature names should match those that were passed during fit.\n"
        + _listed("Feature names unseen at fit time:", given - expected)
        + _listed("Feature names seen at fit time, yet now missing:", expected - given)
    )


def _listed(title: str, names: Iterable[str]) -> str:
    """Return the first few names below a title, in scikit-learn's words and layout."""
    lines = [f"- {name}\n" for name in sorted(names)]
    return "".join([f"{title}\n", *lines[:LISTED], *["- ...\n"] * (len(lines) > LISTED)]) if lines else ""


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and their values.

    A number column's values are float32 or float64, NaN where missing. A category column's values are int32 codes:
    an index into `Column.categories`, or `MISSING`, or `UNKNOWN`.
    """

    columns: tuple[Column, ...]
    values: Sequence[Values]
    n_rows: int
    named: bool = False
    """The columns have names to go by."""


class Columns(Sequence[Values]):
    """The values of columns, some of them converted at every use: together they might not fit in memory."""

    def __init__(self, columns: Sequence[Values | Callable[[], Values]]) -> None:
        self._columns = tuple(columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __getitem__(self, index: int) -> Values:  # type: ignore[override]  # no slices
        column = self._columns[index]
        return column() if callable(column) else column

    def is_converted(self, index: int) -> bool:
        return callable(self._columns[index])


def read_together(values: Sequence[Values], indices: Iterable[int] | None = None) -> Iterator[list[tuple[int, Values]]]:
    """Yield columns with their indices, in order, in groups to read together, some rows at a time.

    All columns in memory make one group, for those of an array that is stored row by row come into the cache together.
    Of columns that are converted there are few in a group; drop them before the next group is made.
    """
    group: list[tuple[int, Values]] = []
    n_converted = 0
    for j in range(len(values)) if indices is None else indices:
        is_converted = isinstance(values, Columns) and values.is_converted(j)
        if group and n_converted + is_converted > CONVERTED_AT_ONCE:
            yield group
            group, n_converted = [], 0  # a new list: the caller may still hold the old one
        group.append((j, values[j]))
        n_converted += is_converted
    if group:
        yield group
