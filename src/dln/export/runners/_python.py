"""Runs an exported Python file in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values
from dln.export._form import Form
from dln.export.runners._engines import run
from dln.export.runners._rows import decoded

_DRIVER = """
import json, runpy, sys
model = runpy.run_path(sys.argv[1])
names, *columns = json.load(sys.stdin)
rows = [dict(zip(names, row)) for row in zip(*columns)] if names else [{}] * columns[0]
json.dump([float(x).hex() for x in model["predict_rows"](rows)], sys.stdout)
"""


def run_python(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of a Python file, run without any package but the standard library."""
    names = [column.name for _, column in form.columns]
    table: list[Any] = [names, *decoded(form, values)] if names else [names, len(values[0])]
    command = [sys.executable, "-I", "-S", "-c", _DRIVER, str(path)]
    written = run(command, f"Python on {path.name}", json.dumps(table).encode())
    return np.array([float.fromhex(text) for text in json.loads(written)], dtype=np.float64)
