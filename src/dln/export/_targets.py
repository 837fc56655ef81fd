"""The formats: their endings, their writers, and the engines that run them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dln._errors import ExportError
from dln.export._c import to_c
from dln.export._excel import to_excel
from dln.export._form import Form
from dln.export._javascript import to_javascript
from dln.export._language import export_facts
from dln.export._onnx import to_onnx
from dln.export._python import to_python
from dln.export._run_packages import onnx_engine, sql_engine
from dln.export._run_programs import c_engine, node_engine, python_engine
from dln.export._sql import to_sql
from dln.export._verification import Engine, EngineMissing
from dln.export._verilog import to_verilog


@dataclass(frozen=True, slots=True)
class Target:
    """A format: its name, the endings of its files, its writer and its engine.

    `writer` takes the form and the target's own options; `find_engine` raises `EngineMissing` where nothing here can
    run the file.
    """

    name: str
    endings: tuple[str, ...]
    writer: Callable[..., str | bytes]
    find_engine: Callable[..., Engine]

    def write(self, form: Form, **options: Any) -> bytes:
        """Return the bytes of the file."""
        written = self.writer(form, **options)
        return written.encode() if isinstance(written, str) else written

    def engine(self, **options: Any) -> Engine:
        """Return the engine for a file with these options, of which only the dialect of SQL matters."""
        return self.find_engine(**options) if self.name == "sql" else self.find_engine()


def _no_spreadsheet() -> Engine:
    message = "dln runs no spreadsheet program"
    raise EngineMissing(message)


def _no_simulator() -> Engine:
    message = "dln runs no Verilog simulator"
    raise EngineMissing(message)


TARGETS: Final = {
    target.name: target
    for target in (
        Target("c", (".c", ".h"), to_c, c_engine),
        Target("sql", (".sql",), to_sql, sql_engine),
        Target("javascript", (".js", ".mjs"), to_javascript, node_engine),
        Target("python", (".py",), to_python, python_engine),
        Target("onnx", (".onnx",), to_onnx, onnx_engine),
        Target("excel", (".xlsx",), to_excel, _no_spreadsheet),
        Target("verilog", (".v", ".sv"), to_verilog, _no_simulator),
    )
}


def written_options(path: Path, target: Target) -> dict[str, Any]:
    """Return the options in a file's heading."""
    if target.name in ("onnx", "excel"):
        return {}
    facts = export_facts(path.read_bytes().decode(errors="replace")) or {}
    return {name: value for name, value in facts.items() if name != "format"}


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
    message = f"the ending of {path.name!r} names no format: use one of {endings}, or set format="
    raise ExportError(message)
