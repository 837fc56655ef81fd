"""The targets: which ending names which, what writes it, what runs it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dln._errors import ExportError
from dln.circuit._circuit import Values
from dln.export._c import to_c
from dln.export._cases import Limits, cases, holdable
from dln.export._excel import to_excel
from dln.export._form import Form
from dln.export._javascript import to_javascript
from dln.export._onnx import to_onnx
from dln.export._python import to_python
from dln.export._sql import to_sql
from dln.export._titles import export_facts
from dln.export._verify import Runner, Verification, compare
from dln.export._verilog import to_verilog

#: The name of an engine, how it runs a file, and what rows it can hold.
Engine = tuple[str, Runner, Limits]


@dataclass(frozen=True, slots=True)
class Target:
    """A format: its name, the endings of its files, how it is written and run.

    `writer` takes the form and the target's own options; `engine` takes the options and raises `EngineMissing` where
    nothing here can run the file.
    """

    name: str
    endings: tuple[str, ...]
    writer: Callable[..., str | bytes]
    engine: Callable[..., Engine]

    def write(self, form: Form, **options: Any) -> bytes:
        """Return the bytes of the file."""
        written = self.writer(form, **options)
        return written.encode() if isinstance(written, str) else written


def _run_c(*, integers: bool = False, **_: Any) -> Engine:
    from dln.export.runners import _c as runner
    from dln.export.runners._engines import c_compiler

    engine = Path(c_compiler()[0]).name if len(c_compiler()) == 1 else "zig cc"
    return engine, runner.run_c_integers if integers else runner.run_c, Limits()


def _run_python(**_: Any) -> Engine:
    from dln.export.runners._python import run_python

    return "Python", run_python, Limits()


def _run_javascript(**_: Any) -> Engine:
    from dln.export.runners._engines import node
    from dln.export.runners._javascript import run_javascript

    node()
    return "Node.js", run_javascript, Limits()


def _run_sql(*, dialect: str = "duckdb", **_: Any) -> Engine:
    from dln.export.runners._databases import database

    return database(dialect)


def _run_onnx(**_: Any) -> Engine:
    from dln.export.runners._engines import package
    from dln.export.runners._onnx import run_onnx

    package("onnxruntime", "ONNX Runtime (pip install onnxruntime)")
    return "ONNX Runtime", run_onnx, Limits()


def _run_excel(**_: Any) -> Engine:
    from dln.export.runners._excel import spreadsheet

    return spreadsheet()


def _run_verilog(**_: Any) -> Engine:
    from dln.export.runners._verilog import run_verilog, verilator

    verilator()
    return "Verilator", run_verilog, Limits()


TARGETS: Final = {
    target.name: target
    for target in (
        Target("c", (".c", ".h"), to_c, _run_c),
        Target("sql", (".sql",), to_sql, _run_sql),
        Target("javascript", (".js", ".mjs"), to_javascript, _run_javascript),
        Target("python", (".py",), to_python, _run_python),
        Target("onnx", (".onnx",), to_onnx, _run_onnx),
        Target("excel", (".xlsx",), to_excel, _run_excel),
        Target("verilog", (".v", ".sv"), to_verilog, _run_verilog),
    )
}


def written_options(path: Path, target: Target) -> dict[str, Any]:
    """Return the options that a file says it was written with."""
    if target.name in ("onnx", "excel"):
        return {}
    facts = export_facts(path.read_bytes().decode(errors="replace")) or {}
    return {name: value for name, value in facts.items() if name != "format"}


def run_and_compare(
    path: Path, form: Form, target: Target, options: dict[str, Any], values: Sequence[Values] | None = None
) -> Verification:
    """Run a file on every case, and on these rows if any are given, as far as the engine can hold them."""
    engine, runner, limits = target.engine(**options)
    table = cases(form, limits)
    if values is not None:
        own = holdable(form, values, limits)
        table = [np.concatenate([a, b]) for a, b in zip(table, own, strict=True)]
    return compare(path, form, table, runner, engine)


#: Other words for the formats.
_ALIASES: Final = {"js": "javascript", "py": "python", "xlsx": "excel", "v": "verilog", "sv": "verilog"}


def find_target(path: Path, name: str | None = None) -> Target:
    """Return the target of a name, or else of a file's ending.

    >>> find_target(Path("price.mjs")).name
    'javascript'
    """
    if name is not None:
        target = TARGETS.get(_ALIASES.get(name.lower(), name.lower()))
        if target is None:
            message = f"format must be one of {', '.join(TARGETS)}, got {name!r}"
            raise ExportError(message)
        return target
    for target in TARGETS.values():
        if path.suffix.lower() in target.endings:
            return target
    endings = ", ".join(ending for target in TARGETS.values() for ending in target.endings)
    message = f"the ending of {path.name!r} names no format: use one of {endings}, or say format="
    raise ExportError(message)
