"""Rows of the data for the page, only where they were asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Column, Values
from dln.report._data import DataRows

#: Rows that ``include_rows=True`` means, at most: a page should open at once.
USUAL_ROWS: Final = 1000


def data_rows(
    columns: Sequence[tuple[Column, Values]],
    y: npt.NDArray[np.float64] | None,
    include_rows: bool | int,  # noqa: FBT001 (the user's own word)
    row_numbers: npt.NDArray[np.intp],
) -> DataRows | None:
    """Return the rows that go into the page, spread evenly over the data where they are too many, or None.

    `row_numbers` are what the rows are called.
    """
    wanted = USUAL_ROWS if include_rows is True else int(include_rows)
    if wanted < 0:
        message = f"include_rows must be True, False or the number of rows to put into the page, got {include_rows!r}"
        raise ValueError(message)
    if not wanted or not columns:
        return None
    n_all = len(row_numbers)
    rows = evenly_spread(n_all, wanted)
    return DataRows(
        tuple(row_numbers[rows].tolist()),
        tuple(_plain(column, values[rows]) for column, values in columns),
        None if y is None else tuple(y[rows].tolist()),
        n_all,
    )


def evenly_spread(n_rows: int, wanted: int) -> npt.NDArray[np.intp]:
    """Return the indices of so many rows, or of all if there are fewer, spread evenly."""
    return np.unique(np.linspace(0, n_rows - 1, min(wanted, n_rows)).round().astype(np.intp))


def _plain(column: Column, values: Values) -> tuple[float | int | None, ...]:
    if column.categories is not None:
        return tuple(None if code == MISSING else int(code) for code in values.tolist())
    # whole numbers without ".0": the page's code sees no difference, and the page is smaller
    return tuple(
        None if math.isnan(value) else int(value) if value.is_integer() and abs(value) < 2**53 else value
        for value in map(float, values.tolist())
    )
