"""Rows on which an exported model is compared: every cut-off and its neighbours, and odd values."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Above, Category, Column, Values
from dln.export._form import Form

#: Rows of random combinations: with few columns every case many times, with many columns a sample.
N_RANDOM: Final = 500

#: Numbers that are not ordinary: zeros of both signs, the largest, the smallest, the infinite, the missing.
ODD_NUMBERS: Final = (
    0.0, -0.0, sys.float_info.max, -sys.float_info.max, sys.float_info.min, 5e-324, -5e-324,
    math.inf, -math.inf, math.nan,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the rows that a target can hold."""

    infinite: bool = True
    unknown_booleans: bool = True
    """Columns of truth values can hold other values."""
    any_text: bool = True
    """Texts may be empty, which otherwise means missing, or have characters that cannot be typed."""
    digits: int | None = None
    """Significant decimal digits of numbers; None: every bit."""
    most_rows: int | None = None
    """Largest number of rows, for engines that are slow for each."""


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
    """Return the rows that a target can hold, at most `most_rows` of them."""
    keep = np.ones(len(values[0]), dtype=np.bool_)
    for j, column in form.columns:
        if column.categories is None:
            keep &= limits.infinite | ~np.isinf(values[j])
            if limits.digits is not None:
                keep &= np.array([_has_digits(float(number), limits.digits) for number in values[j]], dtype=np.bool_)
        elif not limits.unknown_booleans and _is_boolean(column):
            keep &= values[j] != UNKNOWN
        if column.categories is not None and not limits.any_text:
            odd = [code for code, category in enumerate(column.categories) if not _is_typable(category)]
            keep &= ~np.isin(values[j], odd)
    rows = np.flatnonzero(keep)
    if limits.most_rows is not None and len(rows) > limits.most_rows:
        rows = np.sort(np.random.default_rng(0).choice(rows, limits.most_rows, replace=False))
    return [column[rows] for column in values]


def _choices(form: Form, j: int, column: Column, limits: Limits) -> npt.NDArray[np.float64] | npt.NDArray[np.int32]:
    if column.categories is not None:
        unknown = [UNKNOWN] if limits.unknown_booleans or not _is_boolean(column) else []
        return np.array([MISSING, *unknown, *range(len(column.categories))], dtype=np.int32)
    literals = form.circuit.literals
    cutoffs = sorted({literal.cutoff for literal in literals if isinstance(literal, Above) and literal.column == j})
    numbers = [near for cutoff in cutoffs for near in _around(cutoff, limits.digits)]
    numbers += [number for number in ODD_NUMBERS if limits.digits is None or _has_digits(number, limits.digits)]
    return np.array([n for n in numbers if limits.infinite or not math.isinf(n)], dtype=np.float64)


def _around(cutoff: float, digits: int | None) -> list[float]:
    """Return the cut-off, its neighbours, and numbers further away."""
    if digits is None:
        near = [math.nextafter(cutoff, -math.inf), math.nextafter(cutoff, math.inf)]
    else:
        step = 10.0 ** (math.floor(math.log10(abs(cutoff))) - digits + 2) if cutoff else 10.0**-digits
        near = [float(f"{cutoff + sign * step:.{digits - 1}e}") for sign in (-1, 1)]
    return [cutoff, *near, cutoff - 1.0, cutoff + 1.0]


def _has_digits(number: float, digits: int) -> bool:
    """Return True for numbers of at most that many digits within the range of spreadsheets."""
    if math.isnan(number) or number == 0:
        return True
    return 1e-300 < abs(number) < 1e300 and float(f"{number:.{digits - 1}e}") == number  # noqa: PLR2004


def _is_typable(category: Category) -> bool:
    text = str(category)
    return text != "" and text.replace("\n", " ").isprintable()


def _is_boolean(column: Column) -> bool:
    return any(isinstance(category, bool) for category in column.categories or ())
