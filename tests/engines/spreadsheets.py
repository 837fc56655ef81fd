"""Spreadsheets: exported workbooks calculated in LibreOffice, or in the package `formulas`."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import math
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import VerificationError
from dln.circuit._circuit import Category, Column, Values
from dln.export._cases import Limits
from dln.export._engines import package
from dln.export._excel import PREDICTION_CELL, input_cell
from dln.export._form import Form
from dln.export._verification import Engine, EngineMissing, Floats, Value, decoded

#: Run by a Python that has LibreOffice's bridge: types rows into the sheet Input of workbooks, reads the predictions.
_BRIDGE: Final = """
import json, subprocess, sys, time, uno
from com.sun.star.beans import PropertyValue
from com.sun.star.connection import NoConnectException
office, profile = sys.argv[1:]
pipe = "dln" + str(abs(hash(profile)))
process = subprocess.Popen([office, "--headless", "--invisible", "--norestore", "--nologo",
    "-env:UserInstallation=" + uno.systemPathToFileUrl(profile), "--accept=pipe,name=" + pipe + ";urp;"],
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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
    for line in sys.stdin:
        book, cells, result, columns, n_rows = json.loads(line)
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
        document.close(True)
        print(json.dumps(predictions), flush=True)
    desktop.terminate()
finally:
    process.terminate()
    process.wait()
"""


#: Digits of numbers, with one in reserve: numbers that differ in the 15th digit only are equal.
DIGITS: Final = 14


class SheetLimits(Limits):
    """A cell holds no infinity, no number of more digits and no text that cannot be typed."""

    def holds(self, column: Column, values: Values) -> npt.NDArray[np.bool_]:
        """Return which values of a column can be typed into a cell."""
        if column.categories is None:
            return np.array([_has_digits(float(number)) for number in values], dtype=np.bool_)
        odd = [code for code, category in enumerate(column.categories) if not _is_typable(category)]
        return ~np.isin(values, odd)

    def neighbours(self, cutoff: float) -> tuple[float, ...]:
        """Return the next numbers of so many digits."""
        step = 10.0 ** (math.floor(math.log10(abs(cutoff))) - DIGITS + 2) if cutoff else 10.0**-DIGITS
        return tuple(float(f"{cutoff + sign * step:.{DIGITS - 1}e}") for sign in (-1, 1))


def _has_digits(number: float) -> bool:
    if math.isnan(number) or number == 0:
        return True
    return 1e-300 < abs(number) < 1e300 and float(f"{number:.{DIGITS - 1}e}") == number


def _is_typable(category: Category) -> bool:
    text = str(category)
    return text != "" and text.replace("\n", " ").isprintable()


#: LibreOffice takes milliseconds for every row, `formulas` for every cell of every row.
LIMITS: Final = SheetLimits(most_rows=150)
FEW_ROWS: Final = SheetLimits(most_rows=60)


def spreadsheet() -> Engine:
    """Return what calculates workbooks here."""
    if bridge() is not None:
        return Engine("LibreOffice", run_libreoffice, LIMITS)
    package("formulas", "LibreOffice with python3-uno, or the package formulas,")
    return Engine("formulas", run_formulas, FEW_ROWS)


@cache
def bridge() -> tuple[str, str] | None:
    """Return the command of LibreOffice and of a Python that can talk to it, or None."""
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        return None
    beside = Path(office).resolve().parent / "python"
    for python in (str(beside), "/usr/bin/python3"):
        if shutil.which(python) is not None:
            done = subprocess.run([python, "-c", "import uno"], capture_output=True, check=False)
            if done.returncode == 0:
                return office, python
    return None


def run_libreoffice(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a workbook in LibreOffice."""
    columns, n_rows = _typed(form, values)
    cells = [input_cell(position).replace("$", "") for position in range(len(form.used))]
    task = [str(path.resolve()), cells, PREDICTION_CELL.replace("$", ""), columns, n_rows]
    process = office()
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(task) + "\n")
    process.stdin.flush()
    written = process.stdout.readline()
    if not written:
        message = f"LibreOffice on {path.name} failed with exit code {process.wait()}"
        raise VerificationError(message)
    return np.array([float.fromhex(text) for text in json.loads(written)], dtype=np.float64)


@cache
def office() -> subprocess.Popen[str]:
    """Return LibreOffice behind its bridge, the same one for the whole process; it takes a workbook per line."""
    libreoffice = bridge()
    if libreoffice is None:
        message = "LibreOffice with python3-uno is not installed"
        raise EngineMissing(message)
    folder = tempfile.TemporaryDirectory(prefix="dln-", ignore_cleanup_errors=True)
    command = [libreoffice[1], "-c", _BRIDGE, libreoffice[0], str(Path(folder.name) / "profile")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end() -> None:
        process.communicate()
        folder.cleanup()

    atexit.register(end)
    return process


def run_formulas(path: Path, form: Form, values: Sequence[Values]) -> Floats:
    """Return the predictions of a workbook in the package `formulas`."""
    package("formulas", "formulas")
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
