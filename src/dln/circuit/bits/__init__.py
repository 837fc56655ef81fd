"""Fast evaluation of a circuit, block by block.

`prepare` turns a circuit into a short program: tests on columns, two-input gates, weighted rules. One compiled kernel
runs every program, so no model is ever compiled. Weights are summed as whole numbers of grid steps, so their order does
not matter and the predictions are those of `Circuit.evaluate`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import CircuitError
from dln.circuit._circuit import Circuit, Values
from dln.circuit.bits._prepare import Floats, PreparedCircuit, prepare

__all__ = ["PreparedCircuit", "predict", "predict_array", "prepare"]

#: Rows of columns that are copied to contiguous memory at a time.
COPIED_ROWS: Final = 4096
#: Rows for each thread, at least: starting a thread takes as long as predicting some ten thousand rows.
ROWS_PER_THREAD: Final = 50_000


def predict(circuit: Circuit | PreparedCircuit, values: Sequence[Values], n_threads: int = 1) -> Floats:
    """Return the predictions for a table given column by column, ``(n_rows,) float64``.

    Numbers are float32 or float64, NaN where missing; categories are int codes. Columns may be views of a larger
    array; they are copied block by block. Only the columns that the rules use are read.
    """
    prepared = circuit if isinstance(circuit, PreparedCircuit) else prepare(circuit)
    prepared.circuit._check_columns(values)  # noqa: SLF001 (one wording for one mistake)
    return _predict_columns(prepared, values, n_threads)[0]


def predict_array(prepared: PreparedCircuit, array: npt.NDArray[Any], n_threads: int = 1) -> Floats | None:
    """Return the predictions for a 2-D float32 or float64 array; None if a column that is read holds an infinity."""
    if array.ndim != 2 or array.shape[1] != len(prepared.circuit.columns):  # noqa: PLR2004
        expected = len(prepared.circuit.columns)
        raise CircuitError(f"the circuit reads {expected} columns, but an array of shape {array.shape} was given")
    if prepared.reads_categories or array.dtype.char not in "fd" or not array.dtype.isnative:
        raise CircuitError(
            f"an array must be float32 or float64, and all columns that are read numbers; got {array.dtype}"
        )
    # The kernel is compiled for memory that is contiguous, aligned and writeable; other arrays are copied by blocks.
    n_rows, n_columns = array.shape
    if array.flags.carray:
        row_stride, column_stride = n_columns, 1
    elif array.flags.farray:
        row_stride, column_stride = 1, n_rows
    else:
        out, infinite = _predict_columns(prepared, list(array.T), n_threads)
        return None if infinite else out
    flat, out = array.ravel("K"), np.empty(n_rows)
    program = prepared.program(array.dtype)

    def run_part(start: int, stop: int) -> bool:
        return prepared.run(flat, row_stride, column_stride, prepared.used_array, *program, start, stop, out)

    infinite = _in_threads(run_part, n_rows, n_threads) if n_rows > ROWS_PER_THREAD else run_part(0, n_rows)
    return None if infinite else out


def _predict_columns(prepared: PreparedCircuit, values: Sequence[Values], n_threads: int) -> tuple[Floats, bool]:
    """Return the predictions, and whether a column that was read holds infinity."""
    columns = [_checked(prepared, j, values[j]) for j in prepared.used]
    dtype = np.dtype(np.float32 if columns and all(one.dtype == np.float32 for one in columns) else np.float64)
    out = np.empty(len(values[0]))
    program = prepared.program(dtype)

    def run_part(start: int, stop: int) -> bool:
        block = np.empty((len(columns), COPIED_ROWS), dtype=dtype)
        flat, slots = block.reshape(-1), np.arange(len(columns))
        infinite = False
        for first in range(start, stop, COPIED_ROWS):
            rows = slice(first, min(first + COPIED_ROWS, stop))
            n = rows.stop - first
            for k, column in enumerate(columns):
                block[k, :n] = column[rows]
            infinite |= prepared.run(flat, 1, COPIED_ROWS, slots, *program, 0, n, out[rows])
        return infinite

    return out, _in_threads(run_part, len(out), n_threads)


def _in_threads(run_part: Callable[[int, int], bool], n_rows: int, n_threads: int) -> bool:
    """Run a function on all rows, some in each thread; return whether it returned True for any."""
    n_parts = min(n_threads, n_rows // ROWS_PER_THREAD)
    if n_parts <= 1:
        return run_part(0, n_rows)
    ends = [n_rows * part // n_parts for part in range(n_parts + 1)]
    with ThreadPoolExecutor(n_parts) as pool:
        return any(list(pool.map(run_part, ends[:-1], ends[1:])))


def _checked(prepared: PreparedCircuit, j: int, values: Values) -> Values:
    """Return a column that is read, or raise if it has a wrong type."""
    if prepared.circuit.columns[j].categories is not None:
        if values.dtype.kind in "iu":
            return values
        required = "integer codes"
    elif values.dtype.char in "fd" and values.dtype.isnative:
        return values
    else:
        required = "float32 or float64"
    raise CircuitError(f"column {j}: values must be {required}, got {values.dtype}")
