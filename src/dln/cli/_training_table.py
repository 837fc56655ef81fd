"""A table to learn from: read, checked, and described. Commands that learn begin here."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from dln.circuit._words import name_text, thousands
from dln.cli._columns import ColumnFact, check_rows, dtype_words, judge_column
from dln.cli._messages import UsageError, nearest
from dln.cli._printing import facts, show
from dln.cli._table_file import TableFile, open_table
from dln.data import _text_values as values

#: Fewer rows than this cannot be split into rows to learn from and rows to test on.
FEWEST_ROWS: Final = 10


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """The user's wishes for columns."""

    target: str
    weight: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: Sequence[str] = ()


class Learnable(NamedTuple):
    """A table to learn from."""

    X: pl.DataFrame
    y: pl.Series
    weight: pl.Series | None
    facts: list[ColumnFact]
    n_without_target: int


def read_training_table(table: str, chosen: ColumnOptions) -> tuple[TableFile, Learnable]:
    """Return a table's file and what can be learned from it."""
    with open_table(table) as file:
        data = learnable(file, file.read(), chosen)
    n_rows, y = len(data.y), data.y
    if n_rows < FEWEST_ROWS:
        raise UsageError(
            f"{file.label} has {n_rows} rows with a target, but at least {FEWEST_ROWS} are needed to learn from"
        )
    if y.n_unique() == 1:
        raise UsageError(f"the target {y.name!r} is {y[0]:g} in every row of {file.label}: there is nothing to learn")
    return file, data


def learnable(file: TableFile, frame: pl.DataFrame, chosen: ColumnOptions) -> Learnable:
    """Return inputs, target and weights of a table that was read from a file."""
    _check_names(file, chosen)
    if chosen.missing:
        text = pl.selectors.string()
        is_missing = text.str.strip_chars().is_in(list(chosen.missing))
        frame = frame.with_columns(pl.when(is_missing).then(None).otherwise(text).name.keep())
    y = target_of(file, frame, chosen.target)
    known = y.is_not_null()
    weight = None if chosen.weight is None else _weights(file, frame, chosen.weight, known)
    found: list[ColumnFact] = []
    columns: list[pl.Series] = []
    for name in file.names:
        if name in chosen.drop:
            found.append(ColumnFact(name, "left out", "as you asked"))
        elif name not in (chosen.target, chosen.weight):
            as_category, keep = name in chosen.categorical, name in chosen.keep
            fact, made = judge_column(file, frame[name], known, as_category=as_category, keep=keep)
            found.append(fact)
            columns += made
    if not columns:
        why = "; ".join(f"{fact.name!r}: {fact.detail}" for fact in found if fact.kind == "left out")
        message = f"{file.label} has no column to learn from besides the target {chosen.target!r}"
        raise UsageError(f"{message} ({why})" if why else message)
    return Learnable(pl.DataFrame(columns), y.filter(known), weight, found, int((~known).sum()))


def _check_names(file: TableFile, chosen: ColumnOptions) -> None:
    if len(file.names) == 1:
        raise UsageError(
            f"{file.label} has only one column, {file.names[0]!r}: a table needs the target and at least one more "
            "(separated by commas, semicolons, tabs or |)"
        )
    given = {"--target": [chosen.target], "--weight": [chosen.weight] if chosen.weight else []}
    given |= {"--drop": [*chosen.drop], "--categorical": [*chosen.categorical], "--keep": [*chosen.keep]}
    used: dict[str, str] = {}
    for option, name in ((option, name) for option, names in given.items() for name in names):
        if name not in file.names:
            raise UsageError(f"{option}: {file.label} has no column {name!r}; {nearest(name, file.names)}")
        if option != "--keep" and used.setdefault(name, option) != option:
            raise UsageError(
                f"the column {name!r} was given to both {used[name]} and {option}: it can only be one of them"
            )


def target_of(file: TableFile, frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the target as Float64, null where it is missing."""
    y = _numbers_of(file, frame, name, "the target")
    if not y.count():
        raise UsageError(f"the target {name!r} is missing in every row of {file.label}: give rows where it is known")
    return y


def _weights(file: TableFile, frame: pl.DataFrame, name: str, used: pl.Series) -> pl.Series:
    weight = _numbers_of(file, frame, name, "the weight")
    wrong = used & (weight.is_null() | (weight < 0).fill_null(value=False))
    check_rows(file, weight, wrong, f"the weight {name!r} must be 0 or more in every row", "or leave the row out")
    weight = weight.filter(used)
    if not weight.sum() > 0:
        raise UsageError(f"the weight {name!r} is 0 in every row of {file.label}: give some rows a weight above 0")
    return weight


def _numbers_of(file: TableFile, frame: pl.DataFrame, name: str, what: str) -> pl.Series:
    """Return a column of numbers as Float64, null where it is missing."""
    column, must = frame[name], f"{what} {name!r} must hold numbers"
    if column.dtype == pl.String:
        known = values.text(column, values.NO_NUMBER)
        numbers = values.number(column, decimal_comma=file.decimal_comma)
    elif column.dtype.is_numeric() or column.dtype == pl.Boolean:
        known = numbers = column.cast(pl.Float64).fill_nan(None)
    else:
        raise UsageError(f"{must}, but it holds {dtype_words(column.dtype)}: choose another column")
    wrong = (known.is_not_null() & numbers.is_null()) | numbers.is_infinite().fill_null(value=False)
    check_rows(file, column, wrong, must, "or choose another column")
    return numbers


def table_digest(y: pl.Series) -> str:
    """Return the SHA-256 of a target's column, by which `dln report` knows the table that a model was fitted to."""
    return hashlib.sha256(y.to_numpy().tobytes()).hexdigest()


def show_columns(file: TableFile, data: Learnable, chosen: ColumnOptions) -> None:
    """Show what a table holds: the target, and what each column is taken for."""
    low, high = (thousands(float(end)) for end in (data.y.min(), data.y.max()))  # type: ignore[arg-type]
    rows = [("target", f"{name_text(chosen.target)}, from {low} to {high}")]
    if chosen.weight is not None:
        rows.append(("weight", name_text(chosen.weight)))
    for kind in ("numbers", "categories", "yes or no"):
        some = [fact for fact in data.facts if fact.kind == kind]
        if some:
            details = (
                f"{name_text(fact.name)} ({fact.detail})" if fact.detail else name_text(fact.name) for fact in some
            )
            rows.append((kind, ", ".join(details)))
    for kind, before in (("dates", ", split into "), ("left out", ": ")):
        rows += [(kind, f"{name_text(fact.name)}{before}{fact.detail}") for fact in data.facts if fact.kind == kind]
    if data.n_without_target:
        rows.append(("left out", f"{thousands(data.n_without_target)} rows: their target is missing"))
    n_rows = thousands(len(data.y) + data.n_without_target)
    show(f"{file.label}: {n_rows} rows, {len(file.names)} columns", facts(rows))
