"""Runs an exported SELECT in SQLite, DuckDB, PostgreSQL or Spark, on a table made for it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import Column, Values
from dln.export._form import Form
from dln.export._kinds import category_kind
from dln.export._titles import export_facts
from dln.export.runners._engines import EngineMissing, package
from dln.export.runners._rows import Value, decoded

Floats = npt.NDArray[np.float64]


def table_name(path: Path) -> str:
    """Return the table that a statement selects from: one that can be made here, or it cannot be run here."""
    facts = export_facts(statement_of(path)) or {}
    table = str(facts.get("table", "data"))
    if not table.replace("_", "a").isalnum():
        message = f"a table that can be made here (this statement selects from {table})"
        raise EngineMissing(message)
    return table


def row_column(form: Form) -> str:
    """Return a name for the column that keeps the order of rows."""
    name = "dln_row"
    while any(name.casefold() == column.name.casefold() for column in form.circuit.columns):
        name += "_"
    return name


def identifier(name: str) -> str:
    """Return a name as standard SQL quotes it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def column_type(column: Column, *, double: str, text: str, boolean: str) -> str:
    """Return the type of a column in the database."""
    if column.categories is None:
        return double
    return {"number": double, "text": text, "boolean": boolean}[category_kind(column, "SQL")]


def null_for_nan(values: list[Value]) -> list[Value]:
    """Return the values with None for NaN, for databases that have none."""
    return [None if isinstance(value, float) and math.isnan(value) else value for value in values]


def run_sqlite(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a statement in SQLite."""
    columns = [list(range(len(values[0]))), *map(null_for_nan, decoded(form, values))]
    names = [row_column(form), *(column.name for _, column in form.columns)]
    types = ["INTEGER", *(column_type(c, double="REAL", text="TEXT", boolean="BOOLEAN") for _, c in form.columns)]
    connection = sqlite3.connect(":memory:")
    try:
        definitions = ", ".join(f"{identifier(name)} {kind}" for name, kind in zip(names, types, strict=True))
        connection.execute(f"CREATE TABLE {table_name(path)} ({definitions})")
        marks = ", ".join("?" * len(names))
        connection.executemany(f"INSERT INTO {table_name(path)} VALUES ({marks})", zip(*columns, strict=True))  # noqa: S608
        cursor = connection.execute(statement_of(path))
        headings = [description[0] for description in cursor.description]
        rows = sorted(cursor.fetchall(), key=lambda row: row[0])
        return _predictions(headings, rows)
    except sqlite3.Error as error:
        message = f"SQLite on {path.name} failed: {error}"
        raise VerificationError(message) from error
    finally:
        connection.close()


def run_duckdb(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a statement in DuckDB."""
    package("duckdb", "DuckDB (pip install duckdb)")
    import duckdb

    columns = [list(range(len(values[0]))), *decoded(form, values)]
    names = [row_column(form), *(column.name for _, column in form.columns)]
    types = ["BIGINT", *(column_type(c, double="DOUBLE", text="VARCHAR", boolean="BOOLEAN") for _, c in form.columns)]
    connection: Any = duckdb.connect(":memory:", config={"threads": 1})
    try:
        definitions = ", ".join(f"{identifier(name)} {kind}" for name, kind in zip(names, types, strict=True))
        connection.execute(f"CREATE TABLE {table_name(path)} ({definitions})")
        # One list per column: row by row would take seconds.
        lists = ", ".join(f"unnest(?::{kind}[])" for kind in types)
        connection.execute(f"INSERT INTO {table_name(path)} SELECT {lists}", columns)
        cursor = connection.execute(statement_of(path))
        headings = [description[0] for description in cursor.description]
        return _predictions(headings, sorted(cursor.fetchall(), key=lambda row: row[0]))
    except duckdb.Error as error:
        message = f"DuckDB on {path.name} failed: {error}"
        raise VerificationError(message) from error
    finally:
        connection.close()


def statement_of(path: Path) -> str:
    """Return the statement of a file, with line breaks as they are: a name may have one."""
    return path.read_bytes().decode().strip().removesuffix(";")


def _predictions(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> Floats:
    """Return the column of predictions; more columns than the table's and it would be wrong too."""
    position = len(headings) - 1 - list(reversed(headings)).index("prediction")
    return np.array([float(row[position]) for row in rows], dtype=np.float64)
