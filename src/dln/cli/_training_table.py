"""A table to learn from: read, checked, and described. Commands that learn begin here."""

from __future__ import annotations

import hashlib
from typing import Final

import polars as pl

from dln.circuit._words import name_text, thousands
from dln.cli._columns import ColumnOptions, Learnable, learnable
from dln.cli._mistakes import Mistake
from dln.cli._table_file import TableFile, open_table
from dln.cli._terminal import facts, show

#: Fewer rows than this cannot be split into rows to learn from and rows to test on.
FEWEST_ROWS: Final = 10


def read_training_table(table: str, chosen: ColumnOptions) -> tuple[TableFile, Learnable]:
    """Return a table's file and what can be learned from it."""
    with open_table(table) as file:
        data = learnable(file, file.read(), chosen)
        _check_rows(file, data)
    return file, data


def _check_rows(file: TableFile, data: Learnable) -> None:
    if len(data.y) < FEWEST_ROWS:
        message = (
            f"{file.label} has {len(data.y)} rows with a target, but at least {FEWEST_ROWS} are needed to learn from"
        )
        raise Mistake(message)
    if data.y.n_unique() == 1:
        message = f"the target {data.y.name!r} is {data.y[0]:g} in every row of {file.label}: there is nothing to learn"
        raise Mistake(message)


def table_digest(y: pl.Series) -> str:
    """Return the SHA-256 of a target's column, by which `dln report` knows the table that a model was fitted to.

    The other columns have no part in it: of those that no rule reads, a later table need not have any.
    """
    return hashlib.sha256(y.to_numpy().tobytes()).hexdigest()


def check_test_size(data: Learnable, test_size: float) -> None:
    """Raise a mistake where a share of the rows is too few to test on, or leaves too few to learn from."""
    n_test = round(test_size * len(data.y))
    if test_size and not 1 < n_test < len(data.y) - 1:
        message = f"--test-size {test_size:g} of {len(data.y)} rows leaves too few rows to test on or to learn from"
        raise Mistake(message)


def tell_columns(file: TableFile, data: Learnable, chosen: ColumnOptions) -> None:
    """Show what a table holds: the target, and what each column was taken for."""
    low, high = (thousands(float(end)) for end in (data.y.min(), data.y.max()))  # type: ignore[arg-type]
    rows = [("target", f"{name_text(chosen.target)}, from {low} to {high}")]
    if chosen.weight is not None:
        rows.append(("weight", name_text(chosen.weight)))
    for kind in ("numbers", "categories", "yes or no"):
        names = [
            name_text(entry.name) + (f" ({entry.detail})" if entry.detail else "")
            for entry in data.facts
            if entry.kind == kind
        ]
        if names:
            rows.append((kind, ", ".join(names)))
    dates = [entry for entry in data.facts if entry.kind == "dates"]
    rows += [("dates", f"{name_text(entry.name)}, split into {entry.detail}") for entry in dates]
    rows += [
        ("left out", f"{name_text(entry.name)}: {entry.detail}") for entry in data.facts if entry.kind == "left out"
    ]
    if data.n_without_target:
        rows.append(("left out", f"{thousands(data.n_without_target)} rows: their target is missing"))
    n_rows = thousands(len(data.y) + data.n_without_target)
    show(f"{file.label}: {n_rows} rows, {len(file.names)} columns", facts(rows))
