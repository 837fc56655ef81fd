"""Comparison of an exported file with the circuit, bit for bit, on every cut-off and its neighbours and odd values."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import MISSING, UNKNOWN, Above, Category, Column, Values
from dln.export._form import Form, kind_of

Floats: TypeAlias = npt.NDArray[np.float64]
#: Rows of random combinations: with few columns every case many times, with many columns a sample.
N_RANDOM: Final = 500
#: Numbers that are not ordinary: zeros of both signs, the largest, the smallest, the infinite, the missing.
ODD_NUMBERS: Final = (
    0.0, -0.0, sys.float_info.max, -sys.float_info.max, sys.float_info.min, 5e-324, -5e-324,
    math.inf, -math.inf, math.nan,
)  # fmt: skip
#: Runs an exported file on rows in codes, column by column as `Circuit.evaluate` takes them; returns the predictions.
Runner: TypeAlias = Callable[[Path, Form, Sequence[Values]], Floats]
#: A value of a row; None is missing.
Value: TypeAlias = Category | None


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
        return math.nextafter(cutoff, -math.inf), math.nextafter(cutoff, math.inf)


class Engine(NamedTuple):
    """A program or package that runs exported files, and the rows that it can hold."""

    name: str
    run: Runner
    limits: Limits = Limits()


class EngineMissing(Exception):  # noqa: N818 (the file may be right: it cannot be run)
    """No engine for an exported file is available; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class Verification:
    """Rows on which an exported file gave the circuit's predictions, every bit of them."""

    path: Path
    engine: str
    n_rows: int

    def __str__(self) -> str:
        return f"run with {self.engine} on {self.n_rows} rows, every bit as predicted by the model"


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


def verify_file(path: Path, form: Form, engine: Engine, values: Sequence[Values] | None = None) -> Verification:
    """Run a file on every case, and on these rows if any are given, as far as the engine can hold them."""
    table = cases(form, engine.limits)
    if values is not None:
        table = [np.concatenate([a, b]) for a, b in zip(table, holdable(form, values, engine.limits), strict=True)]
    return compare(path, form, table, engine)


def compare(path: Path, form: Form, values: Sequence[Values], engine: Engine) -> Verification:
    """Run an exported file; raise `VerificationError` unless every prediction has the bits of `Circuit.evaluate`."""
    expected = form.circuit.evaluate(values)
    received = engine.run(path, form, values)
    if len(received) != len(expected):
        raise VerificationError(
            f"{path.name}: {len(expected)} predictions were expected, but {engine.name} gave {len(received)}"
        )
    # As bytes: NaN equals NaN and 0.0 does not equal -0.0.
    differs = received.view(np.int64) != expected.view(np.int64)
    if differs.any():
        row = int(differs.argmax())
        raise VerificationError(
            f"{path.name}: {int(differs.sum())} of {len(expected)} rows differ from the model, the first at row {row}: "
            f"{engine.name} gave {float(received[row])!r} instead of {float(expected[row])!r}"
        )
    return Verification(path, engine.name, len(expected))


def decoded(form: Form, values: Sequence[Values]) -> list[list[Value]]:
    """Return the columns that rules read, one list each: numbers as floats, NaN where missing, categories by value."""
    return [decoded_column(column, values[j]) for j, column in form.columns]


def decoded_column(column: Column, values: Values) -> list[Value]:
    if column.categories is None:
        return [float(value) for value in values]
    known = dict(enumerate(column.categories)) | {MISSING: None, UNKNOWN: unknown_category(column)}
    return [known[code] for code in values.tolist()]


def unknown_category(column: Column) -> Category:
    """Return a value of the kind of the column's categories that is none of them."""
    known = column.categories or ()
    if not known or "text" in map(kind_of, known):
        text = "unknown"
        while text in known:
            text += "_"
        return text
    numbers = [float(category) for category in known]
    return int(min(max(numbers) + 1, 2.0**53 - 1)) if max(numbers) < 2.0**52 else -1.5
