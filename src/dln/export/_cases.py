"""Rows on which an exported model is compared: every cut-off and its neighbours, and odd values."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Above, Column, Values
from dln.export._form import Form

#: Rows of random combinations: with few columns every case many times, with many columns a sample.
N_RANDOM: Final = 500

#: Numbers that are not ordinary: zeros of both signs, the largest, the smallest, the infinite, the missing.
ODD_NUMBERS: Final = (
    0.0, -0.0, sys.float_info.max, -sys.float_info.max, sys.float_info.min, 5e-324, -5e-324,
    math.inf, -math.inf, math.nan,
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """Limits of the rows that an engine can hold."""

    unknown_booleans: bool = True
    """Columns of truth values can hold other values."""
    most_rows: int | None = None
    """Largest number of rows, for engines that are slow for each."""

    def holds(self, column: Column, values: Values) -> npt.NDArray[np.bool_]:
        """Return which values of a column the engine can hold, ``(n_rows,) bool``."""
        is_boolean = any(isinstance(category, bool) for category in column.categories or ())
        return np.asarray(self.unknown_booleans | (not is_boolean) | (values != UNKNOWN))

    def neighbours(self, cutoff: float) -> tuple[float, ...]:
        """Return the numbers next to a cut-off."""
        return math.nextafter(cutoff, -math.inf), math.nextafter(cutoff, math.inf)


def cases(form: Form, limits: Limits = Limits()) -> list[Values]:
    """Return rows that visit every cut-off, one step above and below it, every category, the missing and the unknown.

    First each value of a column alone, the rest of the row at random; then random combinations.
    """
    rng = np.random.default_rng(0)
    choices = [_choices(form, j, column, limits) for j, column in enumerate(form.circuit.columns)]
    n_rows = sum(map(len, choices)) + N_RANDOM
    table = [rng.choice(values, n_rows) for values in choices]
    start = 0
    for column, values in zip(table, choices, strict=True):
        column[start : start + len(values)] = values
        start += len(values)
    return holdable(form, table, limits)


def holdable(form: Form, values: Sequence[Values], limits: Limits) -> list[Values]:
    """Return the rows that an engine can hold, at most `most_rows` of them."""
    everything = np.ones(len(values[0]), dtype=np.bool_)
    rows = np.flatnonzero(reduce(np.logical_and, (limits.holds(c, values[j]) for j, c in form.columns), everything))
    if limits.most_rows is not None and len(rows) > limits.most_rows:
        rows = np.sort(np.random.default_rng(0).choice(rows, limits.most_rows, replace=False))
    return [column[rows] for column in values]


def _choices(form: Form, j: int, column: Column, limits: Limits) -> Values:
    """Return the values of a column that are worth a visit."""
    if column.categories is not None:
        choices: Values = np.array([MISSING, UNKNOWN, *range(len(column.categories))], dtype=np.int32)
    else:
        cutoffs = sorted({one.cutoff for one in form.circuit.literals if isinstance(one, Above) and one.column == j})
        near = [near for cut in cutoffs for near in (cut, *limits.neighbours(cut), cut - 1.0, cut + 1.0)]
        choices = np.array([*near, *ODD_NUMBERS], dtype=np.float64)
    return choices[limits.holds(column, choices)]
