"""A circuit run on a table's columns, with no more imported than that takes: `dln predict` starts within a second.

Few rows are evaluated by `Circuit.evaluate`, which is numpy alone; many by the compiled interpreter, to the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from dln.circuit._circuit import MISSING, UNKNOWN, Category, Circuit, Values
from dln.cli._columns import LARGEST_WHOLE
from dln.cli._mistakes import Mistake

#: Rows from which on it pays to load the compiler, about half a second.
MANY: Final = 50_000

Floats = npt.NDArray[np.float64]


def runner(circuit: Circuit, n_rows: int | None) -> Callable[[pl.DataFrame], Floats]:
    """Return what predicts for the columns of a model, named as they are; `n_rows` of them, if that is known."""
    used = {literal.column for literal in circuit.literals}

    def run(frame: pl.DataFrame) -> Floats:
        values = [
            _values(frame[column.name], column.categories)
            if j in used
            else np.broadcast_to(np.float64(0), frame.height)
            for j, column in enumerate(circuit.columns)
        ]
        if frame.height < MANY and (n_rows is None or n_rows < MANY):
            return circuit.evaluate(values)
        predict, prepared = _compiled(circuit)
        return np.asarray(predict(prepared, values, os.cpu_count() or 1))

    return run


@cache
def _compiled(circuit: Circuit) -> tuple[Any, Any]:
    from dln.circuit.bits import predict, prepare

    return predict, prepare(circuit)


def _values(column: pl.Series, categories: tuple[Category, ...] | None) -> Values:
    """Return numbers, NaN where missing, or codes of categories."""
    if categories is None:
        numbers = column.cast(pl.Float64).to_numpy()
        if np.isinf(numbers).any():
            message = (
                f"column {column.name!r} must hold finite numbers or nothing, but it holds infinity: leave it empty, "
                "or replace it by a large number"
            )
            raise Mistake(message)
        return numbers
    if column.dtype.is_signed_integer():
        column = column.cast(pl.Int64)  # a shorter type could not be compared with categories that it cannot hold
    known = _known(column, categories)
    if not known:
        codes = pl.Series([UNKNOWN], dtype=pl.Int32).new_from_index(0, len(column))
    else:
        codes = column.replace_strict(list(known), list(known.values()), default=UNKNOWN, return_dtype=pl.Int32)
    return codes.set(column.is_null(), MISSING).to_numpy()


def _known(column: pl.Series, categories: tuple[Category, ...]) -> dict[Any, int]:
    """Return the places of those categories that a column of this type can hold: 1, true and "1" are different ones."""
    dtype, places = column.dtype, {category: place for place, category in enumerate(categories)}
    if dtype == pl.Boolean or all(isinstance(category, bool) for category in categories):
        kind = bool if dtype == pl.Boolean else float  # Booleans with missing values often arrive as 0.0 and 1.0
        return {kind(c): place for c, place in places.items() if isinstance(c, bool)}
    numbers = {c: place for c, place in places.items() if isinstance(c, (int, float)) and not isinstance(c, bool)}
    if dtype.is_integer():
        return {int(c): place for c, place in numbers.items() if c == int(c)}
    if not dtype.is_numeric():
        return {c: place for c, place in places.items() if isinstance(c, str)}
    if any(abs(c) >= LARGEST_WHOLE for c in numbers) and (column.abs() >= LARGEST_WHOLE).any():
        message = (
            f"the categories of column {column.name!r} must be exact, but it holds floats, in which whole numbers "
            "above 2^53 are rounded: write the column as whole numbers or text"
        )
        raise Mistake(message)
    return {float(c): place for c, place in numbers.items()}
