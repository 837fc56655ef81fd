"""A table to learn from: read, checked, and described. Commands that learn begin here."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from dln.circuit._words import counted, name_text, thousands
from dln.cli._columns import ColumnFact, check_rows, dtype_words, joined, judge_column, typed_text
from dln.cli._messages import UsageError, nearest, print_error, quoted
from dln.cli._printing import facts, print_json, show, table
from dln.cli._table_file import TableFile, open_table
from dln.data import _text_values as values
from dln.data._column_kinds import LEAK_ROWS, leak_text, predicts_alone

#: Fewer groups, or times, than this cannot be split into some to train, to validate and to test on.
FEWEST_LABELS: Final = 3


class ColumnOptions(NamedTuple):
    target: str
    weight: str | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    keep: Sequence[str] = ()
    missing: Sequence[str] = ()
    group: str | None = None
    time: str | None = None


class Learnable(NamedTuple):
    """Rows to learn from or to test on, and what is known of their table."""

    X: pl.DataFrame
    y: pl.Series
    weight: pl.Series | None
    facts: list[ColumnFact]
    n_without_target: int
    labels: pl.Series | None = None
    """The groups, or the times, of the rows."""

    def at(self, rows: npt.NDArray[np.intp]) -> Learnable:
        weight, labels = (None if one is None else one[rows] for one in (self.weight, self.labels))
        return self._replace(X=self.X[rows], y=self.y[rows], weight=weight, labels=labels)


def read_training_table(name: str, chosen: ColumnOptions, fewest: int = 10) -> tuple[TableFile, Learnable]:
    """Return a table's file and what can be learned from it; it must have at least the `fewest` rows."""
    with open_table(name) as file:
        return file, learnable(file, file.read(), chosen, fewest)


def learnable(file: TableFile, frame: pl.DataFrame, chosen: ColumnOptions, fewest: int = 2) -> Learnable:
    """Return inputs, target and weights of a table that was read from a file."""
    _check_names(file, chosen)
    if chosen.missing:
        text = pl.selectors.string()
        is_missing = text.str.strip_chars().is_in(list(chosen.missing))
        frame = frame.with_columns(pl.when(is_missing).then(None).otherwise(text).name.keep())
    y = target_of(file, frame, chosen.target)
    known = y.is_not_null()
    if y.count() < fewest:
        n_rows = counted(y.count(), "row")
        raise UsageError(f"{file.label} has {n_rows} with a target, but at least {fewest} are needed to learn from")
    if y.drop_nulls().n_unique() == 1:
        raise UsageError(
            f"the target {y.name!r} is {y.drop_nulls()[0]:g} in every row of {file.label}: there is nothing to learn"
        )
    weight = None if chosen.weight is None else _weights(file, frame, chosen.weight, known)
    found: list[ColumnFact] = []
    columns: list[pl.Series] = []
    for name in file.names:
        if name in chosen.drop:
            found.append(ColumnFact(name, "left out", "as you asked"))
        elif name not in (chosen.target, chosen.weight, chosen.group):
            as_category, keep = name in chosen.categorical, name in chosen.keep
            fact, made = judge_column(file, frame[name], known, as_category=as_category, keep=keep)
            found.append(fact)
            columns += made
    if not columns:
        why = "; ".join(f"{fact.name!r}: {fact.detail}" for fact in found if fact.kind == "left out")
        message = f"{file.label} has no column to learn from besides the target {chosen.target!r}"
        raise UsageError(f"{message} ({why})" if why else message)
    found = [_with_leak(fact, columns, y.filter(known)) for fact in found]
    n_without_target = int((~known).sum())
    labels = labels_of(file, frame, known, chosen.group or chosen.time, by_time=chosen.time is not None)
    return Learnable(pl.DataFrame(columns), y.filter(known), weight, found, n_without_target, labels)


def _with_leak(fact: ColumnFact, columns: Sequence[pl.Series], y: pl.Series) -> ColumnFact:
    """Return a column's fact; where it may contain the target, with that as a detail and a warning."""
    some = np.random.default_rng(0).permutation(len(y))[:LEAK_ROWS]
    own = [column for column in columns if column.name == fact.name and fact.kind == "numbers"]
    if len(columns) == 1 or not own or not predicts_alone(own[0].to_numpy()[some], y.to_numpy()[some]):
        return fact
    print_error(leak_text(fact.name, f" (--drop {shlex.quote(fact.name)})"))
    return fact._replace(detail=joined(fact.detail, "may contain the target"))


def _check_names(file: TableFile, chosen: ColumnOptions) -> None:
    if len(file.names) == 1:
        raise UsageError(
            f"{file.label} has only one column, {file.names[0]!r}: a table needs the target and at least one more "
            "(separated by commas, semicolons, tabs or |)"
        )
    given = {"--target": [chosen.target], "--weight": [chosen.weight] if chosen.weight else []}
    given |= {"--group": [chosen.group] if chosen.group else [], "--time": [chosen.time] if chosen.time else []}
    given |= {"--drop": [*chosen.drop], "--categorical": [*chosen.categorical], "--keep": [*chosen.keep]}
    used: dict[str, str] = {}
    for option, name in ((option, name) for option, names in given.items() for name in names):
        if name not in file.names:
            raise UsageError(f"{option}: {file.label} has no column {name!r}; {nearest(name, file.names)}")
        # A column of times is an input, unless it is dropped.
        if option not in ("--keep", "--time") and used.setdefault(name, option) != option:
            raise UsageError(
                f"the column {name!r} was given to both {used[name]} and {option}: it can only be one of them"
            )
    if chosen.group and chosen.time:
        raise UsageError("--group and --time were both given, but rows are held out by one of them: leave one out")


def target_of(file: TableFile, frame: pl.DataFrame, name: str) -> pl.Series:
    """Return the target as Float64, null where it is missing."""
    y = _numbers_of(file, frame, name, "the target")
    if not y.count():
        raise UsageError(f"the target {name!r} is missing in every row of {file.label}: give rows where it is known")
    return y


def labels_of(
    file: TableFile, frame: pl.DataFrame, used: pl.Series, name: str | None, *, by_time: bool
) -> pl.Series | None:
    """Return the groups of the used rows, or their times as numbers; None without a column of them."""
    if name is None:
        return None
    option = "--time" if by_time else "--group"
    labels = frame[name]
    if labels.dtype == pl.String:
        labels = typed_text(file, labels)[0] if by_time else values.text(labels)
    if by_time:
        if not (labels.dtype.is_numeric() or labels.dtype in (pl.Date, pl.Datetime)):
            held = dtype_words(labels.dtype)
            raise UsageError(f"--time {name!r} must hold dates like 2024-12-31, or numbers, but it holds {held}")
        labels = labels.to_physical()
    labels = labels.fill_nan(None) if labels.dtype.is_float() else labels
    missing = labels.is_null() & used
    if missing.any():
        row = int(missing.arg_max() or 0)
        raise UsageError(
            f"{option} {name!r} must hold a value in every row, but row {row + 1} of {file.label} holds none"
        )
    labels = labels.filter(used)
    if (n_labels := labels.n_unique()) < FEWEST_LABELS:
        raise UsageError(f"{option} {name!r} must hold at least {FEWEST_LABELS} different values, got {n_labels}")
    return labels


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
    classes = "" if numbers.count() else "; of two classes, one can be written as 1 and the other as 0"
    check_rows(file, column, wrong, must, f"or choose another column{classes}")
    return numbers


def table_digest(y: pl.Series) -> str:
    """Return the SHA-256 of a target's column, by which `dln report` knows the table that a model was fitted to."""
    return hashlib.sha256(y.to_numpy().tobytes()).hexdigest()


def show_columns(file: TableFile, data: Learnable, chosen: ColumnOptions) -> None:
    """Show what a table holds: the target, and what each column is taken for."""
    low, high = (thousands(float(end)) for end in (data.y.min(), data.y.max()))  # type: ignore[arg-type]
    rows = [("target", f"{name_text(chosen.target)}, from {low} to {high}")]
    others = ((what, getattr(chosen, what)) for what in ("weight", "group", "time"))
    rows += [(what, name_text(name)) for what, name in others if name is not None]
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
        rows.append(("left out", f"{counted(data.n_without_target, 'row')}: the target is missing"))
    n_rows = thousands(len(data.y) + data.n_without_target)
    show(f"{file.label}: {n_rows} rows, {len(file.names)} columns", facts(rows))


def show_dry_run(file: TableFile, data: Learnable, chosen: ColumnOptions, *, as_json: bool) -> None:
    """Show each column of a table as it is understood: its kind, missing values, examples, and why it is left out."""
    if as_json:
        rows = {"train": len(data.y), "without_target": data.n_without_target}
        columns = [fact._asdict() for fact in data.facts]
        print_json({"table": file.label, "target": chosen.target, "rows": rows, "columns": columns})
        return
    cells = [
        (name_text(fact.name), fact.kind, thousands(fact.missing), ", ".join(map(quoted, fact.examples)), fact.remark)
        for fact in data.facts
    ]
    n_rows = thousands(len(data.y) + data.n_without_target)
    show(f"{file.label}: {n_rows} rows, {len(file.names)} columns; the target is {name_text(chosen.target)}.\n")
    show(table(headings := ("column", "kind", "missing", "examples", "remarks"), cells, left=headings))
