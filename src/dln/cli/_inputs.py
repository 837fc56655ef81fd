"""A table to predict for → the columns that a model reads, made as `_columns` made them to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from dln._circuit import Circuit, Column
from dln.cli import _values as values
from dln.cli._columns import as_text, dtype_words, has_part
from dln.cli._mistakes import Mistake, nearest
from dln.cli._read import TableFile


@dataclass(frozen=True, slots=True)
class Input:
    """A column of the model and the column of the file that it is made of (None if it is not needed)."""

    column: Column
    source: str | None
    part: values.DatePart | None = None
    order: str | None = None


def find_inputs(file: TableFile, circuit: Circuit, model_said: str) -> list[Input]:
    """Return where each column of a model comes from; columns that no rule reads may be missing from the file."""
    used = {literal.column for literal in circuit.literals}
    inputs = []
    for j, column in enumerate(circuit.columns):
        split = values.split_part_name(column.name)
        if column.name in file.names:
            inputs.append(Input(column, column.name))
        elif split is not None and split[0] in file.names:
            inputs.append(Input(column, *split))
        elif j not in used:
            inputs.append(Input(column, None))
        else:
            name = column.name if split is None else split[0]
            message = f"{model_said} needs the column {name!r}, but {file.said} has none; {nearest(name, file.names)}"
            raise Mistake(message)
    return inputs


def sources(inputs: Sequence[Input]) -> list[str]:
    """Return the columns of the file that are read, each once."""
    return list(dict.fromkeys(entry.source for entry in inputs if entry.source is not None))


def inputs_of(file: TableFile, frame: pl.DataFrame, inputs: Sequence[Input], first_row: int) -> pl.DataFrame:
    """Return the model's columns of some rows of the file; `first_row` is counted from 1, for messages."""
    return pl.DataFrame([_input(file, frame, entry, first_row) for entry in inputs])


def _input(file: TableFile, frame: pl.DataFrame, entry: Input, first_row: int) -> pl.Series:
    name = entry.column.name
    categories = entry.column.categories
    if entry.source is None:
        dtype = pl.Float64 if categories is None else pl.String
        return pl.Series(name, [None], dtype=dtype).new_from_index(0, frame.height)
    column = frame[entry.source]
    col = pl.col(entry.source)
    if entry.part is not None:
        dates = _dates(file, column, entry, first_row)
        if not has_part(dates.dtype, entry.part):
            empty = pl.Float64 if categories is None else pl.String
            return pl.Series(name, [None], dtype=empty).new_from_index(0, frame.height)
        return dates.to_frame().select(values.date_part(col, entry.part).alias(name)).to_series()
    if categories is not None and any(isinstance(category, str) for category in categories):
        if column.dtype == pl.String:
            return frame.select(values.text(col).alias(name)).to_series()
        return as_text(column).alias(name)
    if column.dtype != pl.String:
        if not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
            raise _wrong_type(file, column, "numbers")
        return column.alias(name) if column.dtype == pl.Boolean else column.cast(pl.Float64).alias(name)
    if categories is not None:  # Booleans
        return _checked(file, column, values.boolean(col), "true or false", first_row).alias(name)
    number = values.number(col, decimal_comma=file.decimal_comma)
    return _checked(file, column, number, "numbers", first_row).alias(name)


def _dates(file: TableFile, column: pl.Series, entry: Input, first_row: int) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.Datetime):
        return column if dtype.time_zone is None else column.dt.replace_time_zone(None)
    if dtype in (pl.Date, pl.Time):
        return column
    if dtype != pl.String:
        raise _wrong_type(file, column, "dates")
    return _checked(file, column, values.date(pl.col(column.name), entry.order), "dates", first_row)


def _checked(file: TableFile, column: pl.Series, read: pl.Expr, what: str, first_row: int) -> pl.Series:
    """Return a text column as it was read, or name the first row that could not be."""
    known = values.text(pl.col(column.name), values.NO_NUMBER).is_not_null()
    frame = column.to_frame().select(known.alias("known"), read.alias("read"))
    wrong = frame["known"] & frame["read"].is_null()
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        message = (
            f"column {column.name!r} must hold {what}, as it did when the model was fitted, but row {first_row + row} "
            f"of {file.said} holds {column[row]!r}: correct it, or leave it empty"
        )
        raise Mistake(message)
    return frame["read"].alias(column.name)


def _wrong_type(file: TableFile, column: pl.Series, what: str) -> Mistake:
    return Mistake(
        f"column {column.name!r} must hold {what}, as it did when the model was fitted, but in {file.said} it holds "
        f"{dtype_words(column.dtype)}"
    )
