"""Scores of predictions on rows whose target is known, and their errors along each column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Column, Values
from dln.circuit._words import category_text, name_text
from dln.readers._intervals import USUAL, Intervals
from dln.report._geometry import plain
from dln.report._page_data import ErrorBin, ErrorsByColumn, Scores, Tenth

Floats = npt.NDArray[np.float64]

#: Squares along each side of the plot of predicted against true. A page shows the density of rows, not each one:
#: tables are private, and a million points would show no more.
_SQUARES: Final = 48
#: Largest number of groups of rows along a column.
_GROUPS: Final = 8
#: Largest number of columns that errors are broken down by.
_MOST_COLUMNS: Final = 20
#: Rows that a tenth needs, at least, for its mean to say something.
_ROWS_OF_A_TENTH: Final = 5


def score_rows(
    columns: Sequence[tuple[Column, Values]], y: Floats, predicted: Floats, intervals: Intervals | None
) -> Scores:
    """Return the scores of predictions; errors are broken down by `columns`."""
    error = predicted - y
    inside = None
    if intervals is not None:
        low, high = intervals.ends(predicted, USUAL)
        inside = (low <= y) & (y <= high)
    ends = float(min(y.min(), predicted.min())), float(max(y.max(), predicted.max()))
    return Scores(
        n_rows=len(y),
        r2=_r2(y, error),
        mean_absolute_error=float(np.abs(error).mean()),
        bias=float(error.mean()),
        covered=None if inside is None else float(inside.mean()),
        ends=ends,
        cells=_cells(y, predicted, ends),
        by_column=tuple(one for one in errors_by(columns, error, inside) if len(one.bins) > 1)[:_MOST_COLUMNS],
        calibration=_tenths(y, predicted),
    )


def _r2(y: Floats, error: Floats) -> float | None:
    """Return R², or None where the target does not vary, or hardly against the errors."""
    spread = y - y.mean()
    size = float(np.abs(spread).max())  # squares of huge and tiny targets neither overflow nor vanish in this unit
    if size == 0:
        return None
    with np.errstate(over="ignore"):
        r2 = float(1.0 - ((error / size) ** 2).sum() / ((spread / size) ** 2).sum())
    return r2 if np.isfinite(r2) else None


def _cells(y: Floats, predicted: Floats, ends: tuple[float, float]) -> tuple[tuple[float, float, int], ...]:
    low, high = ends
    width = (high - low) / _SQUARES or 1.0
    squares = [np.clip(((values - low) / width).astype(np.intp), 0, _SQUARES - 1) for values in (y, predicted)]
    counts = np.zeros((_SQUARES, _SQUARES), dtype=np.intp)
    np.add.at(counts, (squares[0], squares[1]), 1)
    return tuple((low + (i + 0.5) * width, low + (k + 0.5) * width, int(counts[i, k])) for i, k in np.argwhere(counts))


def errors_by(
    columns: Iterable[tuple[Column, Values]], error: Floats, inside: npt.NDArray[np.bool_] | None = None
) -> list[ErrorsByColumn]:
    """Return the errors of rows by the categories of columns, or by bands of numbers, the largest biases first."""
    by_column = []
    for column, values in columns:
        groups = _category_groups(column, values) if column.categories is not None else _number_groups(values)
        bins = []
        for label, rows in ((label, rows) for label, rows in groups if rows.any()):
            own, covered = error[rows], None if inside is None else float(inside[rows].mean())
            bins.append(ErrorBin(label, len(own), float(own.mean()), float(np.abs(own).mean()), covered))
        by_column.append(ErrorsByColumn(name_text(column.name), tuple(bins)))
    return sorted(by_column, key=lambda one: -sum(group.n_rows * abs(group.bias) for group in one.bins))


def _tenths(y: Floats, predicted: Floats) -> tuple[Tenth, ...]:
    """Return the mean prediction and the mean target of tenths of the rows, by prediction; fewer of few rows."""
    order = np.argsort(predicted, kind="stable")
    groups = np.array_split(order, max(1, min(10, len(y) // _ROWS_OF_A_TENTH)))
    return tuple(Tenth(len(rows), float(predicted[rows].mean()), float(y[rows].mean())) for rows in groups)


def _number_groups(values: Values) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    """Return groups of about equally many rows, and those where it is missing."""
    missing = np.isnan(values)
    known = values[~missing].astype(np.float64)
    groups: list[tuple[str, npt.NDArray[np.bool_]]] = []
    if len(known):
        distinct = np.unique(known)
        inner = np.unique(np.quantile(known, np.arange(1, _GROUPS) / _GROUPS, method="lower"))
        uppers = distinct if len(distinct) <= _GROUPS else np.unique(np.append(inner, known.max()))
        for lower, upper in pairwise([-np.inf, *uppers.tolist()]):  # every group ends at a value of the column
            inside = (values > lower) & (values <= upper)
            first, last = plain(float(values[inside].min())), plain(float(values[inside].max()))
            groups.append((first if first == last else f"{first} to {last}", inside))
    return [*groups, ("missing", missing)] if missing.any() else groups


def _category_groups(column: Column, codes: Values) -> list[tuple[str, npt.NDArray[np.bool_]]]:
    """Return the most frequent categories, all others together, and those where it is missing."""
    known = column.categories or ()
    counts = np.bincount(codes[codes >= 0], minlength=len(known)) if len(known) else np.zeros(0, dtype=np.intp)
    frequent = sorted(np.argsort(-counts, kind="stable")[: _GROUPS - 2].tolist())
    groups = [(category_text(known[code]), codes == code) for code in frequent]
    rest = (codes != MISSING) & ~np.isin(codes, frequent)
    return [*groups, ("others", rest), ("missing", codes == MISSING)]
