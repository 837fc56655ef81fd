"""Any frame or array → columns of plain arrays: `learn_table` for fit, `read_table` to read the same columns again.

Columns are views of X where they can be; of a large X, those that cannot are read again whenever they are needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, cast

import narwhals as nw
import numpy as np

from dln.circuit._circuit import MISSING, Category, Column, Values
from dln.data._categories import codes_of, learn_categories, recoded, warn_of_text, warn_of_unknown, writable_text
from dln.data._column_kinds import Raw, dates_of, held_by, kind_of, numbers_of, warn_of_row_numbers
from dln.data._dates import WEEKDAYS, DatePart, Dates, date_part, part_name, varying_parts, weekday_codes
from dln.data._source import Columns, Location, Source, Table, array_names, chosen_categories, locations_of, open_source

#: Of tables with fewer rows than this, converted columns are kept: reading them again would take longer than it saves.
LARGE: Final = 50_000
#: Rows that are read at once for prediction.
BATCH: Final = 1 << 18


def learn_table(X: Any, categorical_features: Any = "from_dtype") -> Table:
    """Return X as a table, its kinds of columns decided and its categories learned.

    `categorical_features` is ``"from_dtype"`` (text, Boolean and categorical columns are categories), or the names,
    the indices or a Boolean mask of the category columns, all others being numbers. Dates become columns of their
    parts, those that differ from row to row.
    """
    source = open_source(X)
    names = source.names if source.names is not None else array_names(source.n_columns)
    chosen = chosen_categories(categorical_features, names)
    columns: list[Column] = []
    values: list[Values | Callable[[], Values]] = []
    for j, name in enumerate(names):
        raw = source.column(j)
        kind = kind_of(raw, name, is_category=None if chosen is None else j in chosen)
        text = writable_text(name, "a column's name")
        if kind == "dates":
            dates = dates_of(raw, name)
            for part in varying_parts(dates):
                columns.append(Column(part_name(text, part), WEEKDAYS if part == "weekday" else None))
                values.append(_part_values(dates, part, columns[-1].categories))
        elif kind == "categories":
            codes, categories = learn_categories(raw, name)
            is_meant = isinstance(raw.dtype, (nw.Categorical, nw.Enum))
            if chosen is None and not is_meant and held_by(raw, name) == {"text"}:
                warn_of_text(name, codes, categories)
            columns.append(Column(text, categories))
            values.append(codes)
        else:
            columns.append(Column(text))
            numbers = numbers_of(raw, name, learns=True)
            if source.names is not None:
                warn_of_row_numbers(name, numbers)
            values.append(numbers if _is_kept(numbers, raw, source) else partial(numbers_of, raw, name))
            del numbers
    learned = [column.name for column in columns]
    if twice := [name for name in dict.fromkeys(learned) if len(learned) > len(names) and learned.count(name) > 1]:
        raise ValueError(f"X has a column {twice[0]!r}, and a date of which that is a part: rename one of them")
    if any(callable(column) for column in values):
        return Table(tuple(columns), Columns(values), source.n_rows)
    return Table(tuple(columns), cast("tuple[Values, ...]", tuple(values)), source.n_rows)


def _is_kept(numbers: Values, raw: Raw, source: Source) -> bool:
    """Return whether to keep a number column: a view of X, of few rows, or converted from objects."""
    is_object = isinstance(raw.dtype, nw.Object) if isinstance(raw, nw.Series) else raw.dtype.kind == "O"
    if source.n_rows < LARGE or source.is_plain_array() or is_object:
        return True
    return np.may_share_memory(numbers, numbers_of(raw, ""))


def _part_values(dates: Dates, part: DatePart, categories: tuple[Category, ...] | None) -> Values:
    """Return numbers, or the codes of weekdays among those that the model knows."""
    return date_part(dates, part) if categories is None else recoded(weekday_codes(dates), WEEKDAYS, categories)


def read_table(X: Any, columns: tuple[Column, ...], only: Collection[int] | None = None) -> Table:
    """Return X as a table of the given columns: frames are matched by name in any order, arrays by position.

    Columns that are not in `only` are not read: their values are all missing, and take no memory.
    """
    source, unknown = open_source(X), Counter[tuple[str, Category]]()
    table = _read(source, locations_of(source, columns), columns, only, unknown)
    warn_of_unknown(unknown)
    return table


def with_categories_of(X: Any, columns: tuple[Column, ...]) -> tuple[Column, ...]:
    """Return the columns with the categories that they have in X after their own."""
    source, made = open_source(X), list(columns)
    for j, (column, (origin, part)) in enumerate(zip(columns, locations_of(source, columns), strict=True)):
        if (known := column.categories) is not None:
            found = WEEKDAYS if part is not None else learn_categories(source.column(origin), column.name)[1]
            if known and all(isinstance(category, str) for category in known):
                found = tuple(map(str, found))
            made[j] = replace(column, categories=(*known, *(one for one in found if one not in known)))
    return tuple(made)


def read_batches(
    X: Any, columns: tuple[Column, ...], only: Collection[int], unknown: Counter[tuple[str, Category]]
) -> Iterator[Table]:
    """Yield X as `read_table` would return it, some rows at a time where columns have to be converted.

    Rows of categories that the training table did not have are counted in `unknown`.
    """
    source = open_source(X)
    locations = locations_of(source, columns)
    if source.n_rows <= BATCH or source.is_plain_array():
        yield _read(source, locations, columns, only, unknown)
        return
    for start in range(0, source.n_rows, BATCH):
        yield _read(source.part(start, min(start + BATCH, source.n_rows)), locations, columns, only, unknown)


def _read(
    source: Source,
    locations: Sequence[Location],
    columns: tuple[Column, ...],
    only: Collection[int] | None,
    unknown: Counter[tuple[str, Category]] | None = None,
) -> Table:
    values: list[Values] = []
    dates: dict[int, Dates] = {}
    for j, (column, (origin, part)) in enumerate(zip(columns, locations, strict=True)):
        name, first_row = column.name, source.first_row
        if only is not None and j not in only:
            unread = np.float32(np.nan) if column.categories is None else np.int32(MISSING)
            values.append(np.broadcast_to(unread, source.n_rows))
        elif part is not None:
            if origin not in dates:
                dates[origin] = dates_of(source.column(origin), name.rpartition(" (")[0])
            values.append(_part_values(dates[origin], part, column.categories))
        elif column.categories is None:
            values.append(numbers_of(source.column(origin), name, first_row=first_row))
        else:
            values.append(codes_of(source.column(origin), column, first_row, unknown))
    return Table(columns, tuple(values), source.n_rows, source.names is not None)
