"""Runs an exported workbook: in LibreOffice where it is installed, else in the package `formulas`."""

from __future__ import annotations

import contextlib
import io
import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import Values
from dln.export._cases import Limits
from dln.export._excel import PREDICTION_CELL, input_cell
from dln.export._form import Form
from dln.export._verify import Runner
from dln.export.runners._engines import EngineMissing, package, run
from dln.export.runners._rows import Value, decoded

Floats = npt.NDArray[np.float64]

#: Run by a Python that has LibreOffice's bridge: types rows into the sheet Input and reads the prediction.
_BRIDGE: Final = """
import json, subprocess, sys, time, uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
office, book, profile, cells, result, columns, n_rows = json.load(sys.stdin)
pipe = "dln" + str(abs(hash(profile)))
process = subprocess.Popen([office, "--headless", "--invisible", "--norestore", "--nologo",
    "-env:UserInstallation=" + uno.systemPathToFileUrl(profile), "--accept=pipe,name=" + pipe + ";urp;"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    for attempt in range(600):
        try:
            context = resolver.resolve("uno:pipe,name=" + pipe + ";urp;StarOffice.ComponentContext")
            break
        except NoConnectException:
            time.sleep(0.1)
    desktop = context.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", context)
    hidden = PropertyValue(Name="Hidden", Value=True)
    document = desktop.loadComponentFromURL(uno.systemPathToFileUrl(book), "_blank", 0, (hidden,))
    document.calculateAll()
    document.enableAutomaticCalculation(False)
    sheet = document.Sheets.getByName("Input")
    inputs = [sheet.getCellRangeByName(cell) for cell in cells]
    predictions = []
    for i in range(n_rows):
        for cell, column in zip(inputs, columns):
            value = column[i]
            if value is None:
                cell.setFormula("")
            elif isinstance(value, bool):
                cell.setFormula("=TRUE()" if value else "=FALSE()")
            elif isinstance(value, str):
                cell.setString(value)
            else:
                cell.setValue(value)
        document.calculate()
        predictions.append(float(sheet.getCellRangeByName(result).getValue()).hex())
    json.dump(predictions, sys.stdout)
    document.close(True)
    desktop.terminate()
finally:
    process.terminate()
    process.wait()
"""


#: A cell holds no infinity and no text that cannot be typed, and numbers that differ in the 15th digit only are equal.
LIMITS: Final = Limits(infinite=False, any_text=False, digits=14)

#: `formulas` takes milliseconds for every cell of every row.
FEW_ROWS: Final = replace(LIMITS, most_rows=60)


def spreadsheet() -> tuple[str, Runner, Limits]:
    """Return what calculates workbooks here."""
    if bridge() is not None:
        return "LibreOffice", run_libreoffice, LIMITS
    package("formulas", "LibreOffice with python3-uno, or formulas (pip install formulas)")
    return "formulas", run_formulas, FEW_ROWS


@cache
def bridge() -> tuple[str, str] | None:
    """Return the command of LibreOffice and of a Python that can talk to it, or None."""
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        return None
    beside = Path(office).resolve().parent / "python"
    for python in (str(beside), "/usr/bin/python3"):
        if shutil.which(python) is not None:
            done = subprocess.run([python, "-c", "import uno"], capture_output=True, check=False)  # noqa: S603
            if done.returncode == 0:
                return office, python
    return None


def run_libreoffice(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a workbook in LibreOffice."""
    libreoffice = bridge()
    if libreoffice is None:
        message = "LibreOffice with python3-uno"
        raise EngineMissing(message)
    columns, n_rows = _typed(form, values)
    cells = [input_cell(position).replace("$", "") for position in range(len(form.used))]
    with tempfile.TemporaryDirectory(prefix="dln-") as folder:
        profile = str(Path(folder) / "profile")
        task = [libreoffice[0], str(path.resolve()), profile, cells, PREDICTION_CELL.replace("$", ""), columns, n_rows]
        written = run([libreoffice[1], "-c", _BRIDGE], f"LibreOffice on {path.name}", json.dumps(task).encode())
    return np.array([float.fromhex(text) for text in json.loads(written)], dtype=np.float64)


def run_formulas(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a workbook in the package `formulas`."""
    package("formulas", "formulas (pip install formulas)")
    import formulas

    columns, n_rows = _typed(form, values)
    start = f"'[{path.name}]INPUT'!"
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # it shows a progress bar
            model: Any = formulas.ExcelModel().loads(str(path)).finish()
        cells = [start + input_cell(position).replace("$", "") for position in range(len(form.used))]
        result = start + PREDICTION_CELL.replace("$", "")
        predictions = []
        for i in range(n_rows):
            # A cell that is left out is blank.
            row = {cell: column[i] for cell, column in zip(cells, columns, strict=True)}
            inputs = {cell: value for cell, value in row.items() if value is not None}
            predictions.append(float(model.calculate(inputs=inputs, outputs=[result])[result].value[0, 0]))
    except Exception as error:  # whatever it raises: the workbook could not be calculated
        message = f"formulas on {path.name} failed: {error!r}"
        raise VerificationError(message) from error
    return np.array(predictions, dtype=np.float64)


def _typed(form: Form, values: Sequence[Values]) -> tuple[list[list[Value]], int]:
    """Return the values as they are typed in: nothing where one is missing."""
    columns = [
        [None if isinstance(value, float) and math.isnan(value) else value for value in column]
        for column in decoded(form, values)
    ]
    return columns, len(values[0])
