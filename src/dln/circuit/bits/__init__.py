"""Bit-parallel evaluation of a circuit: sixty-four rows to a word.

`prepare` turns a circuit into a short program: tests on columns, two-input gates, weighted rules. One compiled
interpreter runs every program, so no model is ever compiled. Weights are summed as whole numbers of grid steps, so
their order does not matter and the predictions are those of `Circuit.evaluate`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from dln._errors import CircuitError
from dln.circuit._circuit import Circuit, Values
from dln.circuit.bits._prepare import Floats, Int64, PreparedCircuit, prepare

__all__ = ["PreparedCircuit", "predict", "predict_array", "prepare"]

#: Rows that are worth a thread of their own: starting one takes as long as predicting some ten thousand rows.
ROWS_PER_THREAD: Final = 50_000


def predict(circuit: Circuit | PreparedCircuit, values: Sequence[Values], n_threads: int = 1) -> Floats:
    """Return the predictions for a table given column by column, ``(n_rows,) float64``.

    Numbers are float32 or float64, NaN where missing; categories are int codes. Columns may be views of a larger
    array: none is copied. Only the columns that the rules use are read.

    >>> from dln.circuit._circuit import Above, Column, Rule
    >>> circuit = Circuit((Column("bmi"),), (Above(0, 30.0),), (), (Rule(0, 23900.5),), 8410.0, 1)
    >>> predict(circuit, [np.array([35.0, 30.0, np.nan])])
    array([32310.5,  8410. ,  8410. ])
    """
    prepared = circuit if isinstance(circuit, PreparedCircuit) else prepare(circuit)
    prepared.circuit._check_columns(values)  # noqa: SLF001 (one wording for one mistake)
    columns = [_readable(prepared, j, values[j]) for j in prepared.used]
    addresses = np.array([column.__array_interface__["data"][0] for column in columns], dtype=np.int64)
    strides = np.array([column.strides[0] for column in columns], dtype=np.int64)
    kinds = np.array([_kind(column.dtype) for column in columns], dtype=np.int64)
    out, _ = _predict(prepared, addresses, strides, kinds, len(values[0]), n_threads)
    return out


def predict_array(prepared: PreparedCircuit, array: npt.NDArray[Any], n_threads: int = 1) -> Floats | None:
    """Return the predictions for a 2-D float32 or float64 array; None if a column that is read holds an infinity.

    The shortest way for an array: one row takes microseconds, and a large array is read once, in either order. The
    caller has the words for what is wrong with infinity.

    >>> from dln.circuit._circuit import Above, Column, Rule
    >>> circuit = Circuit((Column("bmi"),), (Above(0, 30.0),), (), (Rule(0, 23900.5),), 8410.0, 1)
    >>> predict_array(prepare(circuit), np.array([[35.0], [30.0]], dtype=np.float32))
    array([32310.5,  8410. ])
    """
    if array.ndim != 2 or array.shape[1] != len(prepared.circuit.columns):  # noqa: PLR2004
        message = (
            f"the circuit reads {len(prepared.circuit.columns)} columns, but an array of shape {array.shape} was given"
        )
        raise CircuitError(message)
    if prepared.reads_categories or array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        message = f"an array must be float32 or float64, and all columns that are read numbers; got {array.dtype}"
        raise CircuitError(message)
    first, stride = array.__array_interface__["data"][0], array.strides[1]
    addresses = first + stride * prepared.used_array
    n_used = len(addresses)
    strides = np.full(n_used, array.strides[0], dtype=np.int64)
    kinds = np.full(n_used, _kind(array.dtype), dtype=np.int64)
    out, infinite = _predict(prepared, addresses, strides, kinds, len(array), n_threads)
    return None if infinite else out


def _predict(
    prepared: PreparedCircuit, addresses: Int64, strides: Int64, kinds: Int64, n_rows: int, n_threads: int
) -> tuple[Floats, bool]:
    """Return the predictions, and whether a column that was read holds infinity."""
    # Imported on first use: the package must import fast, and reading compiled code takes a moment.
    from dln.circuit.bits._interpreter import BLOCK, run

    out = np.empty(n_rows)
    p = prepared
    program = (p.tests, p.limits, p.gates, p.rules, p.steps, p.scale, p.n_nodes, p.narrow)
    n_parts = min(n_threads, n_rows // ROWS_PER_THREAD)
    if n_parts <= 1:
        return out, run(addresses, strides, kinds, *program, 0, n_rows, out)
    ends = [n_rows * part // n_parts // BLOCK * BLOCK for part in range(n_parts)] + [n_rows]

    def run_part(start: int, stop: int) -> bool:
        return bool(run(addresses, strides, kinds, *program, start, stop, out))

    with ThreadPoolExecutor(n_parts) as pool:
        return out, any(list(pool.map(run_part, ends[:-1], ends[1:])))


def _readable(prepared: PreparedCircuit, j: int, values: Values) -> Values:
    """Return a column that the interpreter can read, or say what is wrong with it."""
    if prepared.circuit.columns[j].categories is None:
        if values.dtype in (np.float32, np.float64) and values.dtype.isnative:
            return values
        required = "float32 or float64"
    elif values.dtype.kind in "iu":
        return values.astype(np.int32, copy=False)
    else:
        required = "integer codes"
    message = f"column {j}: values must be {required}, got {values.dtype}"
    raise CircuitError(message)


def _kind(dtype: np.dtype[Any]) -> int:
    """Return the interpreter's number for how a column is stored."""
    return 2 if dtype.kind == "i" else 0 if dtype == np.float32 else 1
