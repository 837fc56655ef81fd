"""A circuit run on a table's columns, with no more imported than that takes: `dln predict` starts within a second.

Few rows are evaluated by `Circuit.evaluate`, which is numpy alone; many by the compiled interpreter, to the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
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
    """Return the codes of those categories that a column of this type can hold: 1, true and "1" are different ones."""
    codes: dict[type, dict[Any, int]] = {bool: {}, float: {}, str: {}}
    for code, category in enumerate(categories):
        codes[_kind(category)][category] = code
    if column.dtype == pl.Boolean:
        return codes[bool]
    if len(codes[bool]) == len(categories):  # Booleans with missing values often arrive as 0.0 and 1.0
        return {float(category): code for category, code in codes[bool].items()}
    if not column.dtype.is_numeric():
        return codes[str]
    if column.dtype.is_integer():
        return {int(number): code for number, code in codes[float].items() if number == int(number)}
    _check_exact(column, codes[float])
    return {float(number): code for number, code in codes[float].items()}


def _kind(category: Category) -> type:
    """Return bool, str, or float for numbers of either type: to Python, True is a number too."""
    return type(category) if isinstance(category, (bool, str)) else float


def _check_exact(column: pl.Series, numbers: Iterable[float]) -> None:
    """Raise a `Mistake` if floats stand for whole numbers that they cannot tell apart."""
    if any(abs(number) >= LARGEST_WHOLE for number in numbers) and (column.abs() >= LARGEST_WHOLE).any():
        message = (
            f"the categories of column {column.name!r} must be exact, but it holds floats, in which whole numbers "
            "above 2^53 are rounded: write the column as whole numbers or text"
        )
        raise Mistake(message)
