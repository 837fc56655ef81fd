"""The kind of each column of a table to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from dln.cli._messages import UsageError, errors_as_sentences, listed, quoted
from dln.cli._table_file import TableFile
from dln.data import _text_values as values
from dln.data._categories import learn_categories
from dln.data._column_kinds import DIFFERENT, LARGEST_WHOLE, MEANT, ROWS_TO_JUDGE, dates_of, row_numbers
from dln.data._dates import part_name, varying_parts

Kind = Literal["numbers", "categories", "yes or no", "dates", "left out"]
#: The order of day and month of dates in which every day could be a month, and every month a day.
UNCLEAR: Final = "unclear"
#: Characters of a value that are shown as an example.
EXAMPLE: Final = 20
#: Most text is no date, and trying all formats is slow.
_LIKE_A_DATE: Final = r"^\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"


class ColumnFact(NamedTuple):
    """The kind of a column, and a detail: the reason why it is left out, or what was found in it."""

    name: str
    kind: Kind
    detail: str = ""
    missing: int = 0
    examples: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """The detail, also where it does not stand beside its kind."""
        number, *others = self.detail.split(", ")
        return ", ".join([f"{number} different", *others]) if self.kind == "categories" else self.detail


def judge_column(
    file: TableFile, column: pl.Series, used: pl.Series, *, as_category: bool = False, keep: bool = False
) -> tuple[ColumnFact, Sequence[pl.Series]]:
    """Return what a column is taken for, and the columns to learn from that are made of it."""
    fact, made = _judged(file, column, used, as_category=as_category, keep=keep)
    known = column.filter(used).drop_nulls()
    some = known.head(3) if known.dtype.is_nested() else known.head(1000).unique(maintain_order=True).head(3)
    examples = tuple(str(value)[:EXAMPLE] for value in some.to_list())
    missing = made[0].null_count() if made else int(used.sum()) - len(known)
    return fact._replace(missing=missing, examples=examples), made


def _judged(
    file: TableFile, column: pl.Series, used: pl.Series, *, as_category: bool, keep: bool
) -> tuple[ColumnFact, Sequence[pl.Series]]:
    """Type a column on all rows, so that a message names the file's own row, and judge it on the used rows."""
    name = column.name
    if not name:
        return ColumnFact("(no name)", "left out", "a column without a name is taken for row numbers"), ()
    typed, order = column, None
    if column.dtype == pl.String:
        typed, order = (values.text(column), None) if as_category else typed_text(file, column)
    column, typed = column.filter(used), typed.filter(used)
    if (reason := _unusable(typed, order, names_rows=not (as_category or keep))) is not None:
        return ColumnFact(name, "left out", reason), ()
    missing = _missing(column, typed)
    if typed.dtype in (pl.Date, pl.Datetime, pl.Time):
        return _split_dates(typed, order, missing)
    if typed.dtype == pl.Boolean:
        return ColumnFact(name, "yes or no", missing), (typed,)
    if typed.dtype.is_numeric() and not as_category:
        numbers = typed.cast(pl.Float64)
        is_rounded = not column.dtype.is_float() and (numbers.abs() >= LARGEST_WHOLE).any()
        return ColumnFact(name, "numbers", joined(missing, "rounded: some are above 2^53" * is_rounded)), (numbers,)
    return ColumnFact(name, "categories", joined(f"{typed.drop_nulls().n_unique():,}", missing)), (_as_text(typed),)


def joined(*details: str) -> str:
    return ", ".join(filter(None, details))


def typed_text(file: TableFile, column: pl.Series) -> tuple[pl.Series, str | None]:
    """Return a text column as Booleans, numbers, dates (with the order of day and month) or text."""
    text, known, name = values.text(column), values.text(column, values.NO_NUMBER), column.name
    truth = values.boolean(text)
    if truth.count() == text.count() > 0:
        return truth, None
    if file.separator is not None and not values.is_code(text).any():
        numbers = values.number(known, decimal_comma=file.decimal_comma)
        if numbers.count() >= MEANT * known.count() > 0:
            wrong = (known.is_not_null() & numbers.is_null()) | numbers.is_infinite().fill_null(value=False)
            check_rows(file, column, wrong, f"column {name!r} holds numbers")
            return numbers, None
    if not text.str.contains(_LIKE_A_DATE).any():
        return text, None
    dates = values.date(known)
    if dates.count() >= MEANT * known.count() > 0:
        check_rows(file, column, known.is_not_null() & dates.is_null(), f"column {name!r} holds dates")
        return dates, None
    by_order = {order: values.date(known, order) for order in values.SLASH_FORMATS}
    complete = [order for order, parsed in by_order.items() if parsed.count() == known.count() > 0]
    if len(complete) == 1:
        return by_order[complete[0]], complete[0]
    return text, UNCLEAR if complete else None


def check_rows(
    file: TableFile, column: pl.Series, wrong: pl.Series, must: str, remedy: str = "", first_row: int = 1
) -> None:
    """Raise a `UsageError` that names the first wrong row of a column; the remedy is that of an input to learn from."""
    if not wrong.any():
        return
    row = int(wrong.arg_max() or 0)
    value = column[row]
    given = quoted(value.strip()) if isinstance(value, str) else "nothing" if value is None else f"{value:g}"
    more = f" (and {wrong.sum() - 1} more)" if wrong.sum() > 1 else ""
    remedy = remedy or f"or give --missing {given}, --categorical {column.name!r} or --drop {column.name!r}"
    raise UsageError(f"{must}, but row {first_row + row} of {file.label} holds {given}{more}: correct it, {remedy}")


def _missing(column: pl.Series, typed: pl.Series) -> str:
    """Return how many values are missing, and which words were read as that among numbers or dates."""
    n_missing = (typed.fill_nan(None) if typed.dtype.is_float() else typed).null_count()
    if not n_missing:
        return ""
    words: list[str] = []
    if column.dtype == pl.String != typed.dtype:
        words = column.filter(values.text(column).is_not_null() & typed.is_null()).str.strip_chars().to_list()
    written = f", {len(words):,} of them written {listed(dict.fromkeys(words))}" if words else ""
    return f"{n_missing:,} missing{written}"


def _unusable(column: pl.Series, order: str | None, *, names_rows: bool) -> str | None:
    """Return why nothing can be learned from a column; with `names_rows`, also where it names the rows."""
    dtype, n = column.dtype, (column.fill_nan(None) if column.dtype.is_float() else column).count()
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
        return f"it holds {dtype_words(dtype)}"
    if not n:
        return "it is empty"
    if column.n_unique() == 1:
        return "it is the same in every row"
    if order == UNCLEAR:
        return "its dates may be day/month or month/day: write them like 2024-12-31"
    if n < ROWS_TO_JUDGE or not names_rows:
        return None
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "nearly every row has a text of its own" if column.drop_nulls().n_unique() > DIFFERENT * n else None
    return row_numbers(column.name, column.cast(pl.Float64).to_numpy()) if dtype.is_numeric() else None


def _split_dates(column: pl.Series, order: str | None, missing: str) -> tuple[ColumnFact, Sequence[pl.Series]]:
    """Return the parts of dates that differ from row to row; the first, if only some dates are missing."""
    name, dates = column.name, dates_of(nw.from_native(column, series_only=True), column.name)
    parts = varying_parts(dates)
    made = [values.part_of_dates(part_name(name, part, order), dates, part) for part in parts]
    if all(part.n_unique() == 1 for part in made):
        return ColumnFact(name, "left out", "it is the same in every row"), ()
    return ColumnFact(name, "dates", joined(*parts, f"read as {order}" if order else "", missing)), made


def _as_text(column: pl.Series) -> pl.Series:
    """Return categories as text; 3 and 3.0 are the same one."""
    if not column.dtype.is_numeric():
        return column.cast(pl.String)
    with errors_as_sentences():  # floats that may be rounded
        codes, categories = learn_categories(nw.from_native(column, series_only=True), column.name)
    return pl.Series(column.name, np.array([*map(str, categories), None], dtype=object)[codes], dtype=pl.String)


def dtype_words(dtype: pl.DataType) -> str:
    """Return what a column of this type holds, in a word."""
    words: dict[Any, str] = {pl.String: "text", pl.Null: "nothing", pl.Binary: "bytes", pl.Struct: "records"}
    words |= {pl.Date: "dates", pl.Datetime: "dates", pl.Time: "times", pl.Duration: "durations"}
    words |= {pl.Categorical: "categories", pl.Enum: "categories", pl.List: "lists", pl.Array: "lists"}
    return words.get(type(dtype), str(dtype))
