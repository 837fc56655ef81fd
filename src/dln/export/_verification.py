"""Comparison of an exported file with the circuit, bit for bit, on rows of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import MISSING, UNKNOWN, Category, Column, Values
from dln.export._cases import Limits, cases, holdable
from dln.export._form import Form, kind_of

Floats: TypeAlias = npt.NDArray[np.float64]

#: Runs an exported file on rows in codes, column by column as `Circuit.evaluate` takes them; returns the predictions.
Runner: TypeAlias = Callable[[Path, Form, Sequence[Values]], Floats]

#: A value of a row; None is missing.
Value: TypeAlias = Category | None


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
    columns: list[list[Value]] = []
    for j, column in form.columns:
        if column.categories is None:
            columns.append([float(value) for value in values[j]])
        else:
            known = dict(enumerate(column.categories)) | {MISSING: None, UNKNOWN: unknown_category(column)}
            columns.append([known[code] for code in values[j].tolist()])
    return columns


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
