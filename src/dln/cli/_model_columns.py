"""A table → the columns that a model reads, under the model's names for them."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals as nw
import polars as pl

from dln.circuit._circuit import Category, Circuit, Column, Values
from dln.circuit._words import counted
from dln.cli._columns import check_rows, dtype_words
from dln.cli._messages import UsageError, errors_as_sentences, nearest
from dln.cli._table_file import TableFile
from dln.data import _text_values as values
from dln.data._categories import codes_of
from dln.data._column_kinds import dates_of
from dln.data._dates import Dates, split_part_name
from dln.data._reader import read_table


def needed_columns(file: TableFile, circuit: Circuit, model_name: str) -> list[str]:
    """Return the columns of a file that rules read, each once, or raise a `UsageError` if one is not there.

    The first column, if a model has no rules: the rows are still to be counted.
    """
    needed: dict[str, None] = {}
    for j in sorted({literal.column for literal in circuit.literals}):
        own = circuit.columns[j].name
        split = split_part_name(own)  # a part of dates is made of their column
        name = own if split is None or own in file.names else split[0]
        if name not in file.names:
            raise UsageError(
                f"{model_name} needs the column {name!r}, but {file.label} has none; {nearest(name, file.names)}"
            )
        needed[name] = None
    return list(needed) or [file.names[0]]


def model_columns(file: TableFile, frame: pl.DataFrame, circuit: Circuit, first_row: int = 1) -> pl.DataFrame:
    """Return the model's columns for some rows of a file, null in columns that no rule reads.

    Text is read as what the model expects; the rest is the reader's. `first_row` is that of messages.
    """
    used = {literal.column for literal in circuit.literals}
    made, dates = [], {}
    for j, column in enumerate(circuit.columns):
        split = split_part_name(column.name)
        if j not in used:
            made.append(pl.Series(column.name, [None]).new_from_index(0, frame.height))
        elif column.name in file.names or split is None:
            made.append(_converted(file, frame[column.name], column.categories, first_row))
        else:
            origin, part, order = split
            if (origin, order) not in dates:
                dates[origin, order] = _dates(file, frame[origin], order, first_row)
            made.append(values.part_of_dates(column.name, dates[origin, order], part))
    return pl.DataFrame({column.name: column for column in made})  # a list of columns would name one without a name


def model_values(file: TableFile, frame: pl.DataFrame, circuit: Circuit, first_row: int = 1) -> Sequence[Values]:
    """Return `model_columns` as a circuit takes them."""
    return read_table(model_columns(file, frame, circuit, first_row), circuit.columns).values


def one_row(file: TableFile, circuit: Circuit, needed: list[str], row: int, option: str = "--row") -> pl.DataFrame:
    """Return the model's columns of one row of an open file; `option` is the one that chose it."""
    with file.reading():
        frame = file.scan().select(needed).slice(row - 1, 1).collect(engine="streaming")
    if row < 1 or not frame.height:
        n_rows = counted(file.count_rows(), "row")
        raise UsageError(f"{option} must be one of the {n_rows} of {file.label}, got {row}")
    return model_columns(file, frame, circuit, row)


def _dates(file: TableFile, column: pl.Series, order: str | None, first_row: int) -> Dates:
    if column.dtype == pl.String:
        column = _read(file, column, values.date(column, order), "dates", first_row)
    elif column.dtype not in (pl.Date, pl.Datetime, pl.Time):
        raise _wrong_type(file, column, "dates")
    return dates_of(nw.from_native(column, series_only=True), column.name)


def _converted(
    file: TableFile, column: pl.Series, categories: tuple[Category, ...] | None, first_row: int
) -> pl.Series:
    """Return a column of numbers or categories as the model reads it."""
    given = column
    if column.dtype == pl.String:
        if categories is not None and (not categories or any(isinstance(one, str) for one in categories)):
            return values.text(column)
        if categories is not None and all(isinstance(one, bool) for one in categories):
            return _read(file, column, values.boolean(column), "true or false", first_row)
        column = _read(file, column, values.number(column, decimal_comma=file.decimal_comma), "numbers", first_row)
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)) and not (
        categories is not None and column.dtype in (pl.Categorical, pl.Enum)
    ):
        raise _wrong_type(file, column, "numbers" if categories is None else "categories")
    if column.dtype.is_float():
        must, infinite = f"column {column.name!r} must hold finite numbers or nothing", column.is_infinite()
        check_rows(file, column, infinite.fill_null(value=False), must, "or leave it empty", first_row)
    if categories is None:
        return column
    if given.dtype == pl.String:
        whole = given.str.strip_chars().cast(pl.Int64, strict=False)  # exact, however large
        return whole if whole.null_count() == column.null_count() else column
    if column.dtype.is_float():
        with errors_as_sentences():  # floats that may be rounded
            codes_of(nw.from_native(column, series_only=True), Column(column.name, categories))
    return column


def _read(file: TableFile, column: pl.Series, read: pl.Series, what: str, first_row: int) -> pl.Series:
    """Return what was read of a text column, or name the first row that could not be read."""
    if read.null_count() > column.null_count():
        wrong = values.text(column, values.NO_NUMBER).is_not_null() & read.is_null()
        must = f"column {column.name!r} must hold {what}, as it did when the model was fitted"
        check_rows(file, column, wrong, must, "or leave it empty", first_row)
    return read


def _wrong_type(file: TableFile, column: pl.Series, what: str) -> UsageError:
    return UsageError(
        f"column {column.name!r} must hold {what}, as it did when the model was fitted, but in {file.label} it holds "
        f"{dtype_words(column.dtype)}"
    )
