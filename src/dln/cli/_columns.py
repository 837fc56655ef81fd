"""What the columns of a table are, judged as a person would, to learn from.

The result needs no memory of its own: parts of dates are columns named ``sold_at (month)``, so a model's column names
tell how to make them again (`_inputs`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

import polars as pl

from dln.cli import _values as values
from dln.cli._mistakes import Mistake, listed, nearest, quoted
from dln.cli._read import TableFile
from dln.data._dates import DATE_PARTS, part_name

Kind = Literal["numbers", "categories", "yes or no", "dates", "left out"]

#: A column is taken for numbers, or dates, with mistakes in it if at least this share of its values are.
MEANT: Final = 0.9

#: Text of which more than this share is different says who a row is, not what it is like.
DIFFERENT: Final = 0.9

#: In fewer rows than this, values that are all different tell nothing.
ROWS_TO_JUDGE: Final = 20

#: Floats up to this size hold whole numbers exactly.
LARGEST_WHOLE: Final = 2.0**53

_ID_NAME: Final = re.compile(r"(?i)(^|[_\s.-])(id|uuid|guid|index|idx|row|rownum|row_number|key)$|[a-z](Id|ID)$")


@dataclass(frozen=True, slots=True)
class ColumnFact:
    """What a column is, in a word, and why it was left out or changed, in a sentence."""

    name: str
    kind: Kind
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """What the user wants done with columns."""

    target: str
    weight: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: Sequence[str] = ()


@dataclass(slots=True)
class Findings:
    """Columns to learn from, and what each column of the file was taken for."""

    columns: list[pl.Series] = field(default_factory=list)
    facts: list[ColumnFact] = field(default_factory=list)

    def add(self, name: str, kind: Kind, detail: str = "", *columns: pl.Series) -> None:
        """Enter a column of the file and the columns that were made of it."""
        self.facts.append(ColumnFact(name, kind, detail))
        self.columns.extend(columns)


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
    y = numbers_of(file, frame, chosen.target, "the target")
    known = y.is_not_null()
    if not known.any():
        message = f"the target {chosen.target!r} is missing in every row of {file.label}: give rows where it is known"
        raise Mistake(message)
    weight = None
    if chosen.weight is not None:
        weight = numbers_of(file, frame, chosen.weight, "the weight").filter(known)
        _check_weight(file, chosen.weight, weight)
    findings = Findings()
    for name in file.names:
        if name in chosen.drop:
            findings.add(name, "left out", "as you asked")
        elif name not in (chosen.target, chosen.weight):
            # Typed on the whole table, so that a message names the file's own row; judged on the rows that are used.
            _find(findings, file, name, frame[name], known, chosen)
    if not findings.columns:
        why = "; ".join(f"{fact.name!r}: {fact.detail}" for fact in findings.facts if fact.kind == "left out")
        message = f"{file.label} has no column to learn from besides the target {chosen.target!r}"
        raise Mistake(f"{message} ({why})" if why else message)
    X = pl.DataFrame(findings.columns)
    return Learnable(X, y.filter(known), weight, findings.facts, int((~known).sum()))


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


def numbers_of(file: TableFile, frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return the target or weight as Float64, null where it is missing."""
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


def _find(
    findings: Findings, file: TableFile, name: str, column: pl.Series, used: pl.Series, chosen: ColumnOptions
) -> None:
    """Enter one column of the file."""
    if not name:
        findings.add("(no name)", "left out", "a column without a name is taken for row numbers")
        return
    wanted = name in chosen.categorical or name in chosen.keep
    if column.dtype == pl.String:
        typed, order = _typed(file, name, column, as_category=name in chosen.categorical)
    else:
        typed, order = column, None
    column, typed = column.filter(used), typed.filter(used)
    missing = _missing(column, typed)
    if typed.dtype in (pl.Date, pl.Datetime, pl.Time):
        _find_dates(findings, name, typed, order, missing)
        return
    reason = _unusable(typed) or (None if wanted else _tells_nothing(name, typed))
    if typed.dtype == pl.String and order == "unclear":
        reason = "its dates may be day/month or month/day: write them like 2024-12-31"
    if reason is not None:
        findings.add(name, "left out", reason)
    elif typed.dtype == pl.Boolean:
        findings.add(name, "yes or no", missing, typed)
    elif typed.dtype.is_numeric() and name not in chosen.categorical:
        numbers = typed.cast(pl.Float64)
        rounded = not column.dtype.is_float() and (numbers.abs() >= LARGEST_WHOLE).any()
        findings.add(name, "numbers", _listed(missing, "rounded: some are above 2^53" if rounded else ""), numbers)
    else:
        findings.add(name, "categories", _listed(f"{typed.drop_nulls().n_unique()}", missing), as_text(typed))


def _missing(column: pl.Series, typed: pl.Series) -> str:
    """Return how many values are missing, and which words were read as that where numbers or dates stand."""
    n_missing = (typed.fill_nan(None) if typed.dtype.is_float() else typed).null_count()
    if not n_missing:
        return ""
    if column.dtype != pl.String or typed.dtype == pl.String:
        return f"{n_missing:,} missing"
    words = column.filter(values.text(column).is_not_null() & typed.is_null()).str.strip_chars()
    if words.is_empty():
        return f"{n_missing:,} missing"
    return f"{n_missing:,} missing, {len(words):,} of them written {listed(words.unique(maintain_order=True))}"


def _listed(*details: str) -> str:
    return ", ".join(detail for detail in details if detail)


def _typed(file: TableFile, name: str, column: pl.Series, *, as_category: bool) -> tuple[pl.Series, str | None]:
    """Return a text column as what it says: Booleans, numbers, dates (with the order of day and month) or text."""
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
            _check_all(file, name, column, known, numbers, "numbers")
            return numbers, None
    if not text.str.contains(r"^\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}").any():
        return text, None
    dates = values.date(known)
    if dates.count() >= MEANT * known.count() > 0:
        _check_all(file, name, column, known, dates, "dates")
        return dates, None
    by_order = {order: values.date(known, order) for order in values.SLASH_FORMATS}
    complete = [order for order, parsed in by_order.items() if parsed.count() == known.count() > 0]
    if len(complete) == 1:
        return by_order[complete[0]], complete[0]
    return text, "unclear" if complete else None


def _check_all(file: TableFile, name: str, column: pl.Series, known: pl.Series, read: pl.Series, what: str) -> None:
    """Raise a `Mistake` that names the first row that is not what nearly all others are."""
    wrong = known.is_not_null() & read.is_null()
    if what == "numbers":
        wrong |= read.is_infinite().fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        others = f" and {wrong.sum() - 1} more rows do too" if wrong.sum() > 1 else ""
        given = quoted(column[row].strip())
        message = (
            f"column {name!r} of {file.label} holds {what}, but row {row + 1} holds {given}{others}: correct it, or "
            f"give --missing {given}, --categorical {name!r} or --drop {name!r}"
        )
        raise Mistake(message)


def _find_dates(findings: Findings, name: str, dates: pl.Series, order: str | None, missing: str) -> None:
    if not dates.count():
        findings.add(name, "left out", "it is empty")
        return
    if isinstance(dates.dtype, pl.Datetime) and dates.dtype.time_zone is not None:
        dates = dates.dt.replace_time_zone(None)
    made = {part: values.date_part(dates, part) for part in DATE_PARTS}
    useful = {part: column for part, column in made.items() if column.drop_nulls().n_unique() > 1}
    if not useful and dates.null_count():
        # Whether there is a date tells something.
        useful = dict([(part, column) for part, column in made.items() if column.count()][:1])
    if not useful:
        findings.add(name, "left out", "it is the same in every row")
        return
    how = _listed(", ".join(useful), f"read as {order}" if order else "", missing)
    findings.add(name, "dates", how, *(column.alias(part_name(name, part, order)) for part, column in useful.items()))


def _unusable(column: pl.Series) -> str | None:
    dtype = column.dtype
    if dtype.is_nested() or dtype in (pl.Binary, pl.Object, pl.Duration):
        return f"it holds {dtype_words(dtype)}"
    if not (column.fill_nan(None) if dtype.is_float() else column).count():
        return "it is empty"
    if column.n_unique() == 1:
        return "it is the same in every row"
    return None


def _tells_nothing(name: str, column: pl.Series) -> str | None:
    """Return why a column says who a row is and not what it is like."""
    n = column.count()
    if n < ROWS_TO_JUDGE:
        return None
    n_unique = column.drop_nulls().n_unique()
    if column.dtype in (pl.String, pl.Categorical, pl.Enum):
        return "nearly every row has a text of its own" if n_unique > DIFFERENT * n else None
    if not column.dtype.is_numeric() or n_unique < n or not (column.drop_nulls() % 1 == 0).all():
        return None
    if _ID_NAME.search(name):
        return "every row has a number of its own, and its name says so too"
    steps = column.cast(pl.Float64).diff().drop_nulls()
    if column[0] in (0, 1) and (steps == 1).all():
        return "it counts the rows"
    return None


def as_text(column: pl.Series) -> pl.Series:
    """Return categories as text; 3 and 3.0 are the same one."""
    if column.dtype.is_float() and (column.drop_nulls() % 1 == 0).all():
        if (large := column.abs() >= LARGEST_WHOLE).any():
            message = (
                f"the categories of column {column.name!r} must be exact, but {column.filter(large)[0]!r} is a float, "
                "in which whole numbers above 2^53 are rounded: write the column as whole numbers or text"
            )
            raise Mistake(message)
        column = column.cast(pl.Int64)
    return column.cast(pl.String)


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
