"""A table to predict for → the columns that a model reads, made as `_columns` made them to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dln.circuit._circuit import Category, Circuit, Column
from dln.cli import _values as values
from dln.cli._columns import as_text, dtype_words
from dln.cli._mistakes import Mistake, nearest, quoted
from dln.cli._read import TableFile
from dln.data._dates import DatePart, split_part_name


@dataclass(frozen=True, slots=True)
class Input:
    """A column of the model and the column of the file that it is made of (None if it is not needed)."""

    column: Column
    source: str | None
    part: DatePart | None = None
    order: str | None = None


def find_inputs(file: TableFile, circuit: Circuit, model_name: str) -> list[Input]:
    """Return where each column of a model comes from; those that no rule reads are not read here either."""
    used = {literal.column for literal in circuit.literals}
    inputs = []
    for j, column in enumerate(circuit.columns):
        split = split_part_name(column.name)
        if j not in used:
            inputs.append(Input(column, None))
        elif column.name in file.names:
            inputs.append(Input(column, column.name))
        elif split is not None and split[0] in file.names:
            inputs.append(Input(column, *split))
        else:
            name = column.name if split is None else split[0]
            message = f"{model_name} needs the column {name!r}, but {file.label} has none; {nearest(name, file.names)}"
            raise Mistake(message)
    return inputs


def sources(inputs: Sequence[Input]) -> list[str]:
    """Return the columns of the file that are read, each once."""
    return list(dict.fromkeys(entry.source for entry in inputs if entry.source is not None))


def inputs_of(file: TableFile, frame: pl.DataFrame, inputs: Sequence[Input], first_row: int) -> pl.DataFrame:
    """Return the model's columns of some rows of the file; `first_row` is counted from 1, for messages."""
    dates = {
        (entry.source, entry.order): _dates(file, frame[entry.source], entry, first_row)
        for entry in {(entry.source, entry.order): entry for entry in inputs if entry.part is not None}.values()
        if entry.source is not None
    }
    columns = []
    for entry in inputs:
        name, is_number = entry.column.name, entry.column.categories is None
        if entry.source is None:
            column = _nothing(is_number=is_number, n_rows=frame.height)
        elif entry.part is not None:
            column = values.date_part(dates[entry.source, entry.order], entry.part)
        else:
            column = _converted(file, frame[entry.source], entry.column.categories, first_row)
        columns.append(column.alias(name))
    return pl.DataFrame(columns)


def _nothing(*, is_number: bool, n_rows: int) -> pl.Series:
    return pl.Series("", [None], dtype=pl.Float64 if is_number else pl.String).new_from_index(0, n_rows)


def _converted(
    file: TableFile, column: pl.Series, categories: tuple[Category, ...] | None, first_row: int
) -> pl.Series:
    """Return a column as what the model reads: text for categories of text, Booleans, or numbers."""
    reads_text = categories is not None and (not categories or any(isinstance(c, str) for c in categories))
    if column.dtype == pl.String:
        return values.text(column) if reads_text else _parsed(file, column, categories, first_row)
    if reads_text:
        return as_text(column)
    if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise _wrong_type(file, column, "numbers")
    is_exact = column.dtype == pl.Boolean or (categories is not None and column.dtype.is_integer())
    return column if is_exact else column.cast(pl.Float64)


def _parsed(file: TableFile, column: pl.Series, categories: tuple[Category, ...] | None, first_row: int) -> pl.Series:
    """Return a column of text as the Booleans or numbers that it says."""
    if categories is not None and all(isinstance(category, bool) for category in categories):
        return _checked(file, column, values.boolean(column), "true or false", first_row)
    numbers = _checked(file, column, values.number(column, decimal_comma=file.decimal_comma), "numbers", first_row)
    if categories is None:
        return numbers
    whole = column.str.strip_chars().cast(pl.Int64, strict=False)  # exact, however large
    return whole if whole.null_count() == numbers.null_count() else numbers


def _dates(file: TableFile, column: pl.Series, entry: Input, first_row: int) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        return column if dtype.time_zone is None else column.dt.replace_time_zone(None)
    if dtype in (pl.Date, pl.Time):
        return column
    if dtype != pl.String:
        raise _wrong_type(file, column, "dates")
    return _checked(file, column, values.date(column, entry.order), "dates", first_row)


def _checked(file: TableFile, column: pl.Series, read: pl.Series, what: str, first_row: int) -> pl.Series:
    """Return what was read of a text column, or name the first row that could not be read."""
    if read.null_count() == column.null_count():
        return read
    wrong = values.text(column, values.NO_NUMBER).is_not_null() & read.is_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        message = (
            f"column {column.name!r} must hold {what}, as it did when the model was fitted, but row {first_row + row} "
            f"of {file.label} holds {quoted(column[row])}: correct it, or leave it empty"
        )
        raise Mistake(message)
    return read


def _wrong_type(file: TableFile, column: pl.Series, what: str) -> Mistake:
    return Mistake(
        f"column {column.name!r} must hold {what}, as it did when the model was fitted, but in {file.label} it holds "
        f"{dtype_words(column.dtype)}"
    )
