"""Engines that are packages of this Python: exported SQL in SQLite and DuckDB, exported ONNX in ONNX Runtime."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import MISSING, UNKNOWN, Column, Values
from dln.export._cases import Limits
from dln.export._checks import category_kind
from dln.export._dialects import find_dialect
from dln.export._form import Form
from dln.export._language import export_facts
from dln.export._onnx import input_columns, missing_name
from dln.export._verification import Engine, EngineMissing, Floats, Value, decoded, unknown_category

#: Rows of databases whose columns of truth values hold nothing else.
TYPED: Final = Limits(unknown_booleans=False)


def package(name: str, title: str) -> None:
    """Raise `EngineMissing` unless a package is installed."""
    if find_spec(name) is None:
        message = f"{title} is not installed (pip install {name})"
        raise EngineMissing(message)


# --- SQL --------------------------------------------------------------------------------------------------------------


def sql_engine(*, dialect: str = "duckdb", **_: Any) -> Engine:
    """Return the database for a dialect, or raise `EngineMissing`."""
    name = find_dialect(dialect).name
    if name == "sqlite":
        return Engine("SQLite", run_sqlite)
    if name == "duckdb":
        package("duckdb", "DuckDB")
        return Engine("DuckDB", run_duckdb, TYPED)
    message = f"dln runs SQL in SQLite and DuckDB only, not in a database that speaks {name}"
    raise EngineMissing(message)


def table_name(path: Path) -> str:
    """Return the table that a statement selects from: a plain name, or it cannot be made here."""
    table = str((export_facts(statement_of(path)) or {}).get("table", "data"))
    if not table.replace("_", "a").isalnum():
        message = f"it selects from {table}, and dln makes only tables with a plain name"
        raise EngineMissing(message)
    return table


def statement_of(path: Path) -> str:
    """Return the statement of a file, with line breaks as they are: a name may have one."""
    return path.read_bytes().decode().strip().removesuffix(";")


def row_column(form: Form) -> str:
    """Return a name for the column that keeps the order of rows."""
    name = "dln_row"
    while any(name.casefold() == column.name.casefold() for column in form.circuit.columns):
        name += "_"
    return name


def column_definitions(form: Form, *, whole: str, double: str, text: str, boolean: str) -> list[tuple[str, str]]:
    """Return the quoted name and the type of the column of row numbers and of each column that rules read."""
    types = {"number": double, "text": text, "boolean": boolean}
    columns = [(row_column(form), whole)]
    for _, column in form.columns:
        columns.append((column.name, double if column.categories is None else types[category_kind(column, "SQL")]))
    return [('"' + name.replace('"', '""') + '"', kind) for name, kind in columns]


def run_sqlite(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a statement in SQLite, whose numbers are never NaN."""
    import sqlite3

    definitions = column_definitions(form, whole="INTEGER", double="REAL", text="TEXT", boolean="BOOLEAN")
    columns = [list(range(len(values[0]))), *map(_null_for_nan, decoded(form, values))]
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(_create(path, definitions))
        marks = ", ".join("?" * len(columns))
        connection.executemany(f"INSERT INTO {table_name(path)} VALUES ({marks})", zip(*columns, strict=True))  # noqa: S608
        return _predictions(path, connection.execute(statement_of(path)))
    except sqlite3.Error as error:
        message = f"SQLite on {path.name} failed: {error}"
        raise VerificationError(message) from error
    finally:
        connection.close()


def run_duckdb(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a statement in DuckDB."""
    import duckdb

    definitions = column_definitions(form, whole="BIGINT", double="DOUBLE", text="VARCHAR", boolean="BOOLEAN")
    columns = [list(range(len(values[0]))), *decoded(form, values)]
    connection: Any = duckdb.connect(":memory:", config={"threads": 1})
    try:
        connection.execute(_create(path, definitions))
        # One list per column: row by row would take seconds.
        lists = ", ".join(f"unnest(?::{kind}[])" for _, kind in definitions)
        connection.execute(f"INSERT INTO {table_name(path)} SELECT {lists}", columns)
        return _predictions(path, connection.execute(statement_of(path)))
    except duckdb.Error as error:
        message = f"DuckDB on {path.name} failed: {error}"
        raise VerificationError(message) from error
    finally:
        connection.close()


def _create(path: Path, definitions: Sequence[tuple[str, str]]) -> str:
    return f"CREATE TABLE {table_name(path)} ({', '.join(f'{name} {kind}' for name, kind in definitions)})"


def _predictions(path: Path, cursor: Any) -> Floats:
    """Return the last column named prediction, in the order of the first column; the table may have one too."""
    headings = [description[0] for description in cursor.description]
    if "prediction" not in headings:
        message = f"{path.name} selects no column prediction"
        raise VerificationError(message)
    position = len(headings) - 1 - headings[::-1].index("prediction")
    return np.array([float(row[position]) for row in sorted(cursor.fetchall(), key=lambda row: row[0])])


def _null_for_nan(values: list[Value]) -> list[Value]:
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


# --- ONNX -------------------------------------------------------------------------------------------------------------


def onnx_engine() -> Engine:
    """Return ONNX Runtime, or raise `EngineMissing`."""
    package("onnxruntime", "ONNX Runtime")
    return Engine("ONNX Runtime", run_onnx)


def run_onnx(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of an ONNX file."""
    import onnxruntime

    options: Any = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    feeds: dict[str, Any] = {}
    for j, column in input_columns(form):
        feeds[column.name] = _tensor(column, values[j])
        if (name := missing_name(form, j)) is not None:
            feeds[name] = values[j] == MISSING
    try:
        session = onnxruntime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
        (predictions,) = session.run(["prediction"], feeds)
    except Exception as error:  # it has exceptions of its own for every kind of failure, and they share no name
        message = f"ONNX Runtime on {path.name} failed: {error}"
        raise VerificationError(message) from error
    return np.asarray(predictions, dtype=np.float64)


def _tensor(column: Column, values: Values) -> npt.NDArray[Any]:
    if column.categories is None:
        return values.astype(np.float64)
    # One more at the end for the unknown, and one for the missing: -2 and -1 pick them.
    unknown = unknown_category(column)
    if category_kind(column, "ONNX") == "text":
        return np.array([*column.categories, unknown, unknown], dtype=object)[values]
    assert (MISSING, UNKNOWN) == (-1, -2)  # noqa: S101 (what the order above rests on)
    return np.array([*column.categories, unknown, np.nan], dtype=np.float64)[values]
