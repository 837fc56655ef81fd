"""Runs an exported ES module in Node.js."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Values
from dln.export._form import Form
from dln.export._javascript import value_text
from dln.export.runners._engines import node, run
from dln.export.runners._rows import Value, decoded

#: Object.fromEntries makes own properties of any name; an object literal would take "__proto__" for something else.
_DRIVER = """
import {{ predict }} from "./model.mjs";
const names = {names};
const columns = [{columns}];
const row = (i) => Object.fromEntries(names.map((name, j) => [name, columns[j][i]]));
const rows = Array.from({{ length: {n_rows} }}, (_, i) => row(i));
console.log(JSON.stringify(rows.map(predict)));
"""


def run_javascript(path: Path, form: Form, values: Sequence[Values]) -> npt.NDArray[np.float64]:
    """Return the predictions of an ES module."""
    program = node()
    columns = ",\n".join(f"[{','.join(map(_source, column))}]" for column in decoded(form, values))
    names = json.dumps([column.name for _, column in form.columns])
    with tempfile.TemporaryDirectory(prefix="dln-") as name:
        folder = Path(name)
        shutil.copyfile(path, folder / "model.mjs")
        driver = _DRIVER.format(names=names, columns=columns, n_rows=len(values[0]))
        (folder / "driver.mjs").write_text(driver, encoding="utf-8")
        written = run([program, str(folder / "driver.mjs")], f"Node.js on {path.name}")
    return np.array(json.loads(written), dtype=np.float64)


def _source(value: Value) -> str:
    if value is None:
        return "null"
    # JSON's spelling of NaN and infinity is JavaScript's own.
    return json.dumps(value) if isinstance(value, float) else value_text(value)
