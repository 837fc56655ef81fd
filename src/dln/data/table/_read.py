"""X → a table: to learn from, or to predict for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final, Literal, cast

import narwhals as nw
import numpy as np

from dln.circuit._circuit import MISSING, Column, Values
from dln.data._dates import WEEKDAYS, DatePart, Dates, date_part, part_name, telling_parts, weekday_codes
from dln.data.table._categories import distinct_of, in_order, recode, writable_text
from dln.data.table._columns import Columns, Table
from dln.data.table._kinds import Raw, dates_of, holds_dates, kind_of
from dln.data.table._numbers import numbers_of
from dln.data.table._source import Location, Source, array_names, chosen_categories, locations_of, open_source

#: Of tables with fewer rows than this, converted columns are kept: reading them again would take longer than it saves.
LARGE: Final = 50_000

#: Rows that are read at once for prediction.
BATCH: Final = 1 << 18


def learn_table(X: Any, categorical_features: Any = "from_dtype") -> Table:
    """Return X as a table, its kinds of columns decided and its categories learned.

    `categorical_features` is ``"from_dtype"`` (text, Boolean and categorical columns are categories), or the names,
    the indices or a Boolean mask of the category columns, all others being numbers. Dates become columns of their
    parts, those that differ from row to row.

    >>> table = learn_table(np.array([[1.5, "no"], [2.5, "yes"], [None, "no"]], dtype=object))
    >>> table.columns
    (Column(name='x0', categories=None), Column(name='x1', categories=('no', 'yes')))
    >>> table.values
    (array([1.5, 2.5, nan]), array([0, 1, 0], dtype=int32))
    """
    source = open_source(X)
    names = source.names if source.names is not None else array_names(source.n_columns)
    chosen = chosen_categories(categorical_features, names)
    columns: list[Column] = []
    values: list[Values | Callable[[], Values]] = []
    is_finite = source.is_finite()
    for j, name in enumerate(names):
        raw = source.column(j)
        kind = kind_of(raw, name) if chosen is None else _chosen_kind(raw, name, is_category=j in chosen)
        text = writable_text(name, "a column's name")
        if kind == "dates":
            dates = dates_of(raw, name)
            for part in telling_parts(dates):
                columns.append(Column(part_name(text, part), WEEKDAYS if part == "weekday" else None))
                values.append(_part_values(dates, part))
        elif kind == "categories":
            codes, distinct = distinct_of(raw, name)
            categories = in_order(distinct, name)
            columns.append(Column(text, categories))
            values.append(recode(codes, distinct, categories))
        else:
            columns.append(Column(text))
            numbers_ = numbers_of(raw, name, is_finite=is_finite, learns=True)
            values.append(numbers_ if _is_view(numbers_, source, j, name) else partial(source.numbers, j, name))
            del numbers_
    if len(columns) > len(names):
        _check_unique(columns)
    if any(callable(column) for column in values):
        return Table(tuple(columns), Columns(values), source.n_rows)
    return Table(tuple(columns), cast("tuple[Values, ...]", tuple(values)), source.n_rows)


def _chosen_kind(raw: Raw, name: str, *, is_category: bool) -> Literal["numbers", "categories", "dates"]:
    if not holds_dates(raw):
        return "categories" if is_category else "numbers"
    if is_category:
        message = (
            f"column {name!r} holds dates, which are split into year, month, weekday and hour: leave it out of "
            "categorical_features, or convert it to text"
        )
        raise TypeError(message)
    return "dates"


def _check_unique(columns: Sequence[Column]) -> None:
    """Raise where a part of a date is called like a column that is there already."""
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            message = f"X has a column {column.name!r}, and a date of which that is a part: rename one of them"
            raise ValueError(message)
        seen.add(column.name)


def _part_values(dates: Dates, part: DatePart) -> Values:
    return weekday_codes(dates) if part == "weekday" else date_part(dates, part)


def read_table(X: Any, columns: tuple[Column, ...], only: Collection[int] | None = None) -> Table:
    """Return X as a table of the given columns: frames are matched by name in any order, arrays by position.

    Columns that are not in `only` are not read: their values are all missing, and take no memory.

    >>> table = read_table(np.array([[1, "maybe"]], dtype=object), (Column("age"), Column("smoker", ("no", "yes"))))
    >>> table.values
    (array([1.]), array([-2], dtype=int32))
    """
    source = open_source(X)
    return _read(source, locations_of(source, columns), columns, only)


def read_batches(X: Any, columns: tuple[Column, ...], only: Collection[int] | None = None) -> Iterator[Table]:
    """Yield X as `read_table` would return it, some rows at a time where columns have to be converted.

    >>> X = np.arange(2 * BATCH).reshape(-1, 1)
    >>> [table.n_rows for table in read_batches(X, (Column("x0"),))] == [BATCH, BATCH]
    True
    """
    source = open_source(X)
    locations = locations_of(source, columns)
    if source.n_rows <= BATCH or source.is_plain_array():
        yield _read(source, locations, columns, only)
        return
    for start in range(0, source.n_rows, BATCH):
        yield _read(source.part(start, min(start + BATCH, source.n_rows)), locations, columns, only)


def _read(
    source: Source, locations: Sequence[Location], columns: tuple[Column, ...], only: Collection[int] | None
) -> Table:
    values: list[Values] = []
    dates: dict[int, Dates] = {}
    for j, (column, (origin, part)) in enumerate(zip(columns, locations, strict=True)):
        if only is not None and j not in only:
            unread = np.float32(np.nan) if column.categories is None else np.int32(MISSING)
            values.append(np.broadcast_to(unread, source.n_rows))
        elif part is not None:
            if origin not in dates:
                dates[origin] = dates_of(source.column(origin), column.name.rpartition(" (")[0])
            values.append(_part_values(dates[origin], part))
        elif column.categories is None:
            values.append(numbers_of(source.column(origin), column.name, first_row=source.first_row))
        else:
            codes, distinct = distinct_of(source.column(origin), column.name, source.first_row, column.categories)
            values.append(recode(codes, distinct, column.categories))
    return Table(columns, tuple(values), source.n_rows)


def _is_view(values: Values, source: Source, j: int, name: str) -> bool:
    """Whether a number column takes no memory of its own, or had better be kept: few rows, or objects to convert."""
    raw = source.column(j)
    is_object = isinstance(raw.dtype, nw.Object) if isinstance(raw, nw.Series) else raw.dtype.kind == "O"
    if source.n_rows < LARGE or source.is_plain_array() or is_object:
        return True
    return np.may_share_memory(values, source.numbers(j, name))
