"""The columns of a table to learn from, and what each is taken for.

The result needs no memory of its own: parts of dates are columns named ``sold_at (month)``, so a model's column names
are enough to make them again (`_model_columns`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from dln.cli._mistakes import Mistake, listed, nearest, quoted
from dln.cli._table_file import TableFile
from dln.data import _text_values as values
from dln.data._categories import learn_categories
from dln.data._column_kinds import dates_of
from dln.data._dates import part_name, telling_parts
from dln.data._numbers import LARGEST_WHOLE

Kind = Literal["numbers", "categories", "yes or no", "dates", "left out"]

#: A column is taken for numbers, or dates, with mistakes in it if at least this share of its values are.
MEANT: Final = 0.9

#: Text of which more than this share is different names a row and does not describe it.
DIFFERENT: Final = 0.9

#: In fewer rows than this, values may all be different by chance.
ROWS_TO_JUDGE: Final = 20

#: Dates in which every day could be a month, and every month a day.
UNCLEAR: Final = "unclear"

_ID_NAME: Final = re.compile(r"(?i)(^|[_\s.-])(id|uuid|guid|index|idx|row|rownum|row_number|key)$|[a-z](Id|ID)$")


@dataclass(frozen=True, slots=True)
class ColumnFact:
    """What a column is taken for, and a detail: the reason why it was left out, or what was found in it."""

    name: str
    kind: Kind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The user's wishes for columns."""

    target: str
    weight: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: Sequence[str] = ()


class Learnable(NamedTuple):
    """A table to learn from."""

    X: pl.DataFrame
    y: pl.Series
    weight: pl.Series | None
    facts: list[ColumnFact]
    n_without_target: int


def learnable(file: TableFile, frame: pl.DataFrame, chosen: ColumnOptions) -> Learnable:
    """Return inputs, target and weights of a table that was read from a file."""
    _check_names(file, chosen)
    frame = _without_values(frame, chosen.missing)
    y = target_of(file, frame, chosen.target)
    known = y.is_not_null()
    weight = None
    if chosen.weight is not None:
        weight = _numbers_of(file, frame, chosen.weight, "the weight").filter(known)
        _check_weight(file, chosen.weight, weight)
    facts, columns = [], []
    for name in file.names:
        if name in chosen.drop:
            facts.append(ColumnFact(name, "left out", "as you asked"))
        elif name not in (chosen.target, chosen.weight):
            fact, made = _judge(file, frame[name], known, chosen)
            facts.append(fact)
            columns += made
    if not columns:
        why = "; ".join(f"{fact.name!r}: {fact.detail}" for fact in facts if fact.kind == "left out")
        message = f"{file.label} has no column to learn from besides the target {chosen.target!r}"
        raise Mistake(f"{message} ({why})" if why else message)
    return Learnable(pl.DataFrame(columns), y.filter(known), weight, facts, int((~known).sum()))


def _check_names(file: TableFile, chosen: ColumnOptions) -> None:
    if len(file.names) == 1:
        message = (
            f"{file.label} has only one column, {file.names[0]!r}: a table needs the target and at least one more "
            "(separated by commas, semicolons, tabs or |)"
        )
        raise Mistake(message)
    options: tuple[tuple[str, Iterable[str]], ...] = (
        ("--target", [chosen.target]),
        ("--weight", [] if chosen.weight is None else [chosen.weight]),
        ("--drop", chosen.drop),
        ("--categorical", chosen.categorical),
        ("--keep", chosen.keep),
    )
    for option, names in options:
        for name in names:
            if name not in file.names:
                message = f"{option}: {file.label} has no column {name!r}; {nearest(name, file.names)}"
                raise Mistake(message)
    used = {chosen.target: "--target"}
    for option, names in options[1:4]:
        for name in names:
            if name in used and used[name] != option:
                message = f"the column {name!r} was given to both {used[name]} and {option}: it can only be one of them"
                raise Mistake(message)
            used[name] = option


def _without_values(frame: pl.DataFrame, missing: Sequence[str]) -> pl.DataFrame:
    if not missing:
        return frame
    text = pl.selectors.string()
    return frame.with_columns(
        pl.when(text.str.strip_chars().is_in(list(missing))).then(None).otherwise(text).name.keep()
    )


def target_of(file: TableFile, frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the target as Float64, null where it is missing."""
    y = _numbers_of(file, frame, name, "the target")
    if not y.count():
        message = f"the target {name!r} is missing in every row of {file.label}: give rows where it is known"
        raise Mistake(message)
    return y


def _numbers_of(file: TableFile, frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return a column of numbers as Float64, null where it is missing."""
    column = frame[name]
    if column.dtype == pl.String:
        known = values.text(column, values.NO_NUMBER)
        numbers = values.number(column, decimal_comma=file.decimal_comma)
    elif column.dtype.is_numeric() or column.dtype == pl.Boolean:
        known, numbers = column, column.cast(pl.Float64).fill_nan(None)
    else:
        message = f"{what} {name!r} must hold numbers, but it holds {dtype_words(column.dtype)}: choose another column"
        raise Mistake(message)
    wrong = known.is_not_null() & numbers.is_null() & (known.dtype == pl.String)
    wrong |= numbers.is_infinite().fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        few = f" (and {wrong.sum() - 1} more)" if wrong.sum() > 1 else ""
        message = (
            f"{what} {name!r} must hold numbers, but row {row + 1} of {file.label} holds {quoted(column[row])}{few}: "
            "correct it, or choose another column"
        )
        raise Mistake(message)
    return numbers


def _check_weight(file: TableFile, name: str, weight: pl.Series) -> None:
    wrong = weight.is_null() | (weight < 0).fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        what = "nothing" if weight[row] is None else f"{weight[row]:g}"
        message = f"the weight {name!r} must be 0 or more in every row, but row {row + 1} of {file.label} holds {what}"
        raise Mistake(message)
    if not weight.sum() > 0:
        message = f"the weight {name!r} is 0 in every row of {file.label}: give some rows a weight above 0"
        raise Mistake(message)


# --- what a column is -------------------------------------------------------------------------------------------------


def _judge(
    file: TableFile, column: pl.Series, used: pl.Series, chosen: ColumnOptions
) -> tuple[ColumnFact, list[pl.Series]]:
    """Return what a column is taken for, and the columns to learn from that are made of it.

    It is typed on all rows, so that a message names the file's own row, and judged on the rows that are used.
    """
    name, is_category = column.name, column.name in chosen.categorical
    if not name:
        return ColumnFact("(no name)", "left out", "a column without a name is taken for row numbers"), []
    typed, order = column, None
    if column.dtype == pl.String:
        typed, order = _typed(file, column, as_category=is_category)
    column, typed = column.filter(used), typed.filter(used)
    reason = _unusable(typed, order) or (None if is_category or name in chosen.keep else _names_rows(typed))
    if reason is not None:
        return ColumnFact(name, "left out", reason), []
    missing = _missing(column, typed)
    if typed.dtype in (pl.Date, pl.Datetime, pl.Time):
        return _split_dates(typed, order, missing)
    if typed.dtype == pl.Boolean:
        return ColumnFact(name, "yes or no", missing), [typed]
    if typed.dtype.is_numeric() and not is_category:
        numbers = typed.cast(pl.Float64)
        rounded = not column.dtype.is_float() and (numbers.abs() >= LARGEST_WHOLE).any()
        detail = _joined(missing, "rounded: some are above 2^53" if rounded else "")
        return ColumnFact(name, "numbers", detail), [numbers]
    detail = _joined(f"{typed.drop_nulls().n_unique()}", missing)
    return ColumnFact(name, "categories", detail), [_as_text(typed)]


def _joined(*details: str) -> str:
    return ", ".join(detail for detail in details if detail)


def _missing(column: pl.Series, typed: pl.Series) -> str:
    """Return how many values are missing, and which words were read as that among numbers or dates."""
    n_missing = (typed.fill_nan(None) if typed.dtype.is_float() else typed).null_count()
    if not n_missing:
        return ""
    if column.dtype != pl.String or typed.dtype == pl.String:
        return f"{n_missing:,} missing"
    words = column.filter(values.text(column).is_not_null() & typed.is_null()).str.strip_chars()
    if words.is_empty():
        return f"{n_missing:,} missing"
    return f"{n_missing:,} missing, {len(words):,} of them written {listed(words.unique(maintain_order=True))}"


def _typed(file: TableFile, column: pl.Series, *, as_category: bool) -> tuple[pl.Series, str | None]:
    """Return a text column as Booleans, numbers, dates (with the order of day and month) or text."""
    text = values.text(column)
    n_known = column.len() - text.null_count()
    if as_category or not n_known:
        return text, None
    truth = values.boolean(text)
    if truth.count() == n_known:
        return truth, None
    known = values.text(column, values.NO_NUMBER)
    if file.is_text and not values.is_code(text).any():
        numbers = values.number(known, decimal_comma=file.decimal_comma)
        if numbers.count() >= MEANT * known.count() > 0:
            _check_all(file, column, known, numbers, "numbers")
            return numbers, None
    if not text.str.contains(r"^\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").any():
        return text, None
    dates = values.date(known)
    if dates.count() >= MEANT * known.count() > 0:
        _check_all(file, column, known, dates, "dates")
        return dates, None
    by_order = {order: values.date(known, order) for order in values.SLASH_FORMATS}
    complete = [order for order, parsed in by_order.items() if parsed.count() == known.count() > 0]
    if len(complete) == 1:
        return by_order[complete[0]], complete[0]
    return text, UNCLEAR if complete else None


def _check_all(file: TableFile, column: pl.Series, known: pl.Series, read: pl.Series, what: str) -> None:
    """Raise a `Mistake` that names the first row that is not what nearly all others are."""
    wrong = known.is_not_null() & read.is_null()
    if what == "numbers":
        wrong |= read.is_infinite().fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        others = f" and {wrong.sum() - 1} more rows do too" if wrong.sum() > 1 else ""
        given, name = quoted(column[row].strip()), column.name
        message = (
            f"column {name!r} of {file.label} holds {what}, but row {row + 1} holds {given}{others}: correct it, or "
            f"give --missing {given}, --categorical {name!r} or --drop {name!r}"
        )
        raise Mistake(message)


def _split_dates(column: pl.Series, order: str | None, missing: str) -> tuple[ColumnFact, list[pl.Series]]:
    """Return the parts of dates that differ from row to row; the first, if only some dates are missing."""
    name, dates = column.name, dates_of(nw.from_native(column, series_only=True), column.name)
    parts = telling_parts(dates)
    made = [values.part_of_dates(part_name(name, part, order), dates, part) for part in parts]
    if all(part.n_unique() == 1 for part in made):
        return ColumnFact(name, "left out", "it is the same in every row"), []
    return ColumnFact(name, "dates", _joined(*parts, f"read as {order}" if order else "", missing)), made


def _unusable(column: pl.Series, order: str | None) -> str | None:
    """Return why nothing can be learned from a column."""
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
        return f"it holds {dtype_words(dtype)}"
    if not (column.fill_nan(None) if dtype.is_float() else column).count():
        return "it is empty"
    if column.n_unique() == 1:
        return "it is the same in every row"
    if order == UNCLEAR:
        return "its dates may be day/month or month/day: write them like 2024-12-31"
    return None


def _names_rows(column: pl.Series) -> str | None:
    """Return why a column names the rows and does not describe them."""
    n, n_unique = column.count(), column.drop_nulls().n_unique()
    if n < ROWS_TO_JUDGE:
        return None
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "nearly every row has a text of its own" if n_unique > DIFFERENT * n else None
    if not column.dtype.is_numeric() or n_unique < n or not (column.drop_nulls() % 1 == 0).all():
        return None
    if _ID_NAME.search(column.name):
        return "every row has a number of its own, and its name says so too"
    counts = column[0] in (0, 1) and (column.cast(pl.Float64).diff().drop_nulls() == 1).all()
    return "it counts the rows" if counts else None


def _as_text(column: pl.Series) -> pl.Series:
    """Return categories as text; 3 and 3.0 are the same one."""
    if not column.dtype.is_numeric():
        return column.cast(pl.String)
    try:
        codes, categories = learn_categories(nw.from_native(column, series_only=True), column.name)
    except ValueError as error:  # floats that may be rounded
        raise Mistake(str(error)) from error
    return pl.Series(column.name, np.array([*map(str, categories), None], dtype=object)[codes], dtype=pl.String)


def dtype_words(dtype: pl.DataType) -> str:
    """Return what a column of this type holds, in a word."""
    words: dict[Any, str] = {
        pl.String: "text",
        pl.Date: "dates",
        pl.Datetime: "dates",
        pl.Binary: "bytes",
        pl.Duration: "durations",
    }
    words |= {pl.Categorical: "categories", pl.Enum: "categories", pl.Time: "times", pl.List: "lists"}
    words |= {pl.Array: "lists", pl.Struct: "records", pl.Null: "nothing"}
    return words.get(type(dtype), str(dtype))
