"""Compiles an exported C file with its own program, and feeds it the rows as CSV."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values, from_grid
from dln.circuit._words import category_text
from dln.export._form import Form
from dln.export.runners._engines import c_compiler, run
from dln.export.runners._rows import Value, decoded

#: Every warning is an error: what is handed over compiles clean anywhere.
FLAGS: Final = ("-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-DDLN_MAIN")


def run_c(path: Path, form: Form, values: Sequence[Values], *, flags: Sequence[str] = ()) -> npt.NDArray[np.float64]:
    """Return the predictions of a C file."""
    lines = program_output(path, csv_text(form, values), flags)
    return np.array([float(line) for line in lines], dtype=np.float64)


def run_c_integers(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of a C file without floating point, whose program prints decimal numbers."""
    lines = program_output(path, csv_text(form, values, fixed=True))
    steps = [int(Decimal(line).scaleb(form.decimals)) for line in lines]
    return from_grid(np.array(steps, dtype=np.float64), form.decimals)


def program_output(path: Path, table: bytes, flags: Sequence[str] = ()) -> list[str]:
    """Return the lines that the file's program writes for a table."""
    with tempfile.TemporaryDirectory(prefix="dln-") as folder:
        program = Path(folder) / "program"
        run([*c_compiler(), *FLAGS, *flags, str(path), "-o", str(program)], f"the C compiler on {path.name}")
        return run([str(program)], f"the program of {path.name}", table).decode().split()


def csv_text(form: Form, values: Sequence[Values], *, fixed: bool = False) -> bytes:
    """Return the rows as CSV: texts in quotes, nothing where a value is missing; `fixed` writes no exponents."""
    header = ",".join(_quoted(column.name) for _, column in form.columns)
    columns = decoded(form, values)
    lines = [",".join(_cell(value, fixed=fixed) for value in row) for row in zip(*columns, strict=True)]
    if not columns:
        header, lines = '""', ['""'] * len(values[0])
    return "\n".join([header, *lines, ""]).encode()


def _cell(value: Value, *, fixed: bool) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, float) and math.isfinite(value):
        return f"{Decimal(repr(value)):f}" if fixed else repr(value)
    return category_text(value)


def _quoted(text: str) -> str:
    doubled = text.replace('"', '""')
    return f'"{doubled}"'
