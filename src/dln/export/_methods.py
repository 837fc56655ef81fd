"""The exports as methods of a fitted model, which has its circuit as ``circuit_``."""

from __future__ import annotations

import inspect
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from sklearn.utils.validation import check_is_fitted

from dln._atomic import AnyPath, write_atomically
from dln._errors import ExportError, NotVerifiedWarning
from dln.circuit._circuit import Circuit, Values
from dln.circuit._words import thousands
from dln.export._c import to_c
from dln.export._engines import c_engine, node_engine, onnx_engine, python_engine, sql_engine
from dln.export._excel import to_excel
from dln.export._form import Form, lower
from dln.export._javascript import to_javascript
from dln.export._language import export_facts
from dln.export._onnx import to_onnx
from dln.export._python import to_python
from dln.export._sql import to_sql
from dln.export._verification import Engine, EngineMissing, Verification, verify_file
from dln.export._verilog import to_verilog


@dataclass(frozen=True, slots=True)
class Target:
    """A format: `writer` takes the form and its own options; `engine` may raise `EngineMissing`."""

    name: str
    endings: tuple[str, ...]
    writer: Callable[..., str | bytes]
    engine: Callable[..., Engine]

    def write(self, form: Form, **options: Any) -> bytes:
        written = self.writer(form, **options)
        return written.encode() if isinstance(written, str) else written


def _no_engine(program: str, **_: Any) -> Engine:
    raise EngineMissing(f"dln runs no {program}")


TARGETS: Final = {
    target.name: target
    for target in (
        Target("c", (".c", ".h"), to_c, c_engine),
        Target("sql", (".sql",), to_sql, sql_engine),
        Target("javascript", (".js", ".mjs"), to_javascript, node_engine),
        Target("python", (".py",), to_python, python_engine),
        Target("onnx", (".onnx",), to_onnx, onnx_engine),
        Target("excel", (".xlsx",), to_excel, partial(_no_engine, "spreadsheet program")),
        Target("verilog", (".v", ".sv"), to_verilog, partial(_no_engine, "Verilog simulator")),
    )
}


def find_target(path: Path, name: str | None = None) -> Target:
    by_ending = {ending: target for target in TARGETS.values() for ending in target.endings}
    if name is not None:
        named = TARGETS.get(name.lower()) or by_ending.get(f".{name.lower()}")
        if named is None:
            raise ExportError(f"format must be one of {', '.join(TARGETS)}, got {name!r}")
        return named
    if path.suffix.lower() not in by_ending:
        endings = ", ".join(by_ending)
        raise ExportError(f"the ending of {path.name!r} names no format: use one of {endings}, or name the format")
    return by_ending[path.suffix.lower()]


@dataclass(frozen=True, slots=True)
class Export:
    """A file that a model was written to, and its comparison with the model.

    Attributes
    ----------
    path : Path
    format : str
        One of "c", "sql", "javascript", "python", "onnx", "verilog", "excel".
    verification : Verification or None
        Engine and rows of the comparison with the model, None if it was not run.
    note : str
        The same in words.

    """

    path: Path
    format: str
    verification: Verification | None
    note: str

    def __str__(self) -> str:
        return f"{self.path}: {thousands(self.path.stat().st_size)} bytes, {self.note}"


class ExportableModel:
    """The exports of a model: ``export`` writes and verifies a file, ``to_…`` returns the text."""

    circuit_: Circuit
    _values: Callable[[Any], Sequence[Values]]

    def export(
        self,
        path: AnyPath,
        format: str | None = None,  # noqa: A002 (the usual name)
        *,
        dialect: str | None = None,
        verify: bool = True,
        **options: Any,
    ) -> Export:
        """Write the model as C, SQL, JavaScript, Python, ONNX, Verilog or an Excel workbook.

        Before it is written, the file is run by a real engine, if there is one here (a C compiler, Python, Node.js,
        SQLite, DuckDB, ONNX Runtime; otherwise there is a `NotVerifiedWarning`), as by `verify`.

        Parameters
        ----------
        path : path
            Its ending chooses the format: .c, .sql, .js, .mjs, .py, .onnx, .v or .xlsx.
        format : str, optional
            "c", "sql", "javascript", "python", "onnx", "verilog" or "excel", whatever the ending.
        dialect : str, optional
            Of SQL: "duckdb" (default), "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark", "tsql" …
        verify : bool, default=True
            Run and compare it.
        **options
            Options of the format's own method: ``integers=True`` for C, ``table="houses"`` for SQL, ``latency=3`` for
            Verilog.

        Returns
        -------
        Export

        Raises
        ------
        ExportError
            If there is no such format, or the format cannot hold the model.
        VerificationError
            If the file does not give the model's predictions; then none is written.

        """
        target = find_target(Path(path), format)
        options |= {} if dialect is None else {"dialect": dialect}
        known = inspect.signature(getattr(type(self), f"to_{target.name}")).parameters.keys() - {"self", "path"}
        if unknown := sorted(options.keys() - known):
            others = f", only {', '.join(sorted(known))}" if known else ""
            raise ExportError(f"{target.name} has no option {unknown[0]!r}{others}")
        form = self._form()
        data = target.write(form, **options)
        verification, note = None, "not verified"
        if verify:
            try:
                with tempfile.TemporaryDirectory(prefix="dln-") as folder:
                    trial = Path(folder) / Path(path).name
                    trial.write_bytes(data)
                    verification = verify_file(trial, form, target.engine(**options))
                    note = str(verification)
            except EngineMissing as missing:
                note = f"not verified: {missing}"
                warnings.warn(f"{trial.name} was {note}", NotVerifiedWarning, stacklevel=2)
        write_atomically(path, data)
        return Export(Path(path), target.name, verification, note)

    def verify(
        self,
        path: AnyPath,
        X: Any = None,
        *,
        format: str | None = None,  # noqa: A002 (the usual name)
        dialect: str | None = None,
    ) -> Verification:
        """Run an exported file and compare it with this model, bit for bit; raise `VerificationError` if it differs.

        The file is run on the rows of X, and on rows that visit every cut-off and its neighbours, every category, the
        missing, the unknown and odd values.

        Parameters
        ----------
        path : path
            The exported file; its heading has the options that it was exported with.
        X : pandas, polars or pyarrow table, or array of shape (n_samples, n_features), optional
            More rows to run it on.
        format, dialect : str, optional
            As for `export`, if the file has no heading.

        Returns
        -------
        Verification
            The engine and the number of rows; `ExportError` is raised if there is no engine.

        """
        target = find_target(Path(path), format)
        options = export_facts(Path(path).read_bytes().decode(errors="replace")) or {}
        try:
            engine = target.engine(**options | ({} if dialect is None else {"dialect": dialect}))
            return verify_file(Path(path), self._form(), engine, None if X is None else self._values(X))
        except EngineMissing as missing:
            raise ExportError(f"{Path(path).name} cannot be verified here: {missing}") from None

    def to_c(self, *, integers: bool = False, name: str | None = None) -> str:
        """Return one C99 file that is header and source in one and needs nothing but ``stdint.h``.

        Parameters
        ----------
        integers : bool, default=False
            Use whole numbers only, for machines without floating point; the file states the scale of each input.
        name : str, optional
            Prefix of every name in the file; by default the target's name.

        Returns
        -------
        str

        """
        return self._written("c", integers=integers, name=name).decode()

    def to_sql(self, dialect: str = "duckdb", *, table: str = "data", contributions: bool = False) -> str:
        """Return a SELECT of all columns of a table and ``prediction``. Needs ``dln[export]``.

        Parameters
        ----------
        dialect : str, default="duckdb"
            "duckdb", "postgres", "sqlite", "mysql", "bigquery", "snowflake", "spark", "databricks", "tsql" or "athena".
        table : str, default="data"
            A table, or any other source that may follow FROM.
        contributions : bool, default=False
            Add a column for each rule: its contribution to the prediction.

        Returns
        -------
        str

        """
        return self._written("sql", dialect=dialect, table=table, contributions=contributions).decode()

    def to_javascript(self) -> str:
        """Return an ES module with ``predict(row)`` and ``explain(row)``; a row is an object by column name.

        Returns
        -------
        str

        """
        return self._written("javascript").decode()

    def to_python(self) -> str:
        """Return a Python module with ``predict(row)`` and ``predict_rows(rows)``; a row is a dict by column name.

        Returns
        -------
        str

        """
        return self._written("python").decode()

    def to_onnx(self) -> bytes:
        """Return an ONNX file: one input per column by name, ``prediction`` out, in double. Needs ``dln[export]``.

        Returns
        -------
        bytes

        """
        return self._written("onnx")

    def to_excel(self, path: AnyPath | None = None) -> bytes:
        """Return a workbook with live formulas. Needs ``dln[export]``.

        Parameters
        ----------
        path : path, optional
            A file to write the workbook to.

        Returns
        -------
        bytes

        """
        data = self._written("excel")
        if path is not None:
            write_atomically(path, data)
        return data

    def to_verilog(self, *, latency: int = 0, name: str | None = None) -> str:
        """Return a synthesisable module: fixed-point inputs with a stated scale, category codes, missing bits.

        Parameters
        ----------
        latency : int, default=0
            Clock cycles from inputs to their result, with a result each cycle; 0 for a module without registers.
        name : str, optional
            The module's name; by default the target's.

        Returns
        -------
        str

        """
        return self._written("verilog", latency=latency, name=name).decode()

    def _form(self) -> Form:
        check_is_fitted(self, "circuit_")
        return lower(self.circuit_, getattr(self, "target_name_", None) or "prediction")

    def _written(self, target: str, **options: Any) -> bytes:
        return TARGETS[target].write(self._form(), **options)
