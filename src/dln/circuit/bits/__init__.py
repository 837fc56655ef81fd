"""Fast evaluation of a circuit, block by block.

`prepare` turns a circuit into a short program: tests on columns, two-input gates, weighted rules. One compiled kernel
runs every program, so no model is ever compiled. Weights are summed as whole numbers of grid steps, so their order does
not matter and the predictions are those of `Circuit.evaluate`, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._errors import CircuitError
from dln.circuit._circuit import MISSING, Above, Circuit, IsIn, Literal, Values
from dln.circuit._graph import AND, Graph, merge_rules

Floats: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]

#: Tests on a column: above a cut-off, not a number, in a run of codes, in this run or one before.
ABOVE, IS_NAN, IN_RUN, OR_IN_RUN = range(4)

#: Operations on bytes. Complements are moved into them: an AND of which input a (1) or b (2) or both (3) are inverted,
#: or an XOR.
AND_BYTES: Final = 0
XOR_BYTES: Final = 4

#: Rows of columns that are copied to contiguous memory at a time.
COPIED_ROWS: Final = 4096
#: Rows for each thread, at least: starting a thread takes as long as predicting some ten thousand rows.
ROWS_PER_THREAD: Final = 50_000


class Program(NamedTuple):
    """A circuit as the kernel reads it."""

    used: tuple[int, ...]
    """The columns that are read."""
    columns: Int64
    """The same."""
    reads_categories: bool
    parts: tuple[Any, ...]
    """What the kernel needs besides the rows: see `run`."""
    run: Callable[..., bool]
    """The kernel."""


@dataclass(eq=False)
class PreparedCircuit:
    """A circuit and its program, which is made when it first predicts: no fit waits for it."""

    circuit: Circuit

    @cached_property
    def program(self) -> Program:
        """The program."""
        return prepare(self.circuit)


def prepare(circuit: Circuit) -> Program:
    """Return the circuit's program: equal nodes merged, NOT, pass and constants moved into their readers."""
    # Imported when the first circuit is prepared: importing Numba takes half a second.
    from dln.circuit.bits._kernel import run

    graph = Graph()
    edges = graph.add(circuit, [rule.node for rule in circuit.rules])
    steps = zip(edges, (circuit.grid(rule.weight) for rule in circuit.rules), strict=True)
    intercept, weights = merge_rules(circuit.grid(circuit.intercept), steps)
    needed = sorted(graph.cone(weights))  # inputs have lower numbers than the gates that read them
    literals = sorted((node for node in needed if not graph.is_gate(node)), key=lambda n: graph.literals[n].column)
    gates = [node for node in needed if graph.is_gate(node)]
    row_of = {node: i for i, node in enumerate([*literals, *gates])}
    used = tuple(sorted({graph.literals[node].column for node in literals}))
    tests = _tests(circuit, [graph.literals[node] for node in literals], used)
    parts = (
        np.array([limits for _, limits in tests], dtype=np.float64).reshape(-1, 2),
        np.array([test for test, _ in tests], dtype=np.int64).reshape(-1, 3),
        np.array([_operation(graph, node, row_of) for node in gates], dtype=np.int64).reshape(-1, 4),
        np.array([row_of[node] for node in weights], dtype=np.int64),
        np.array(list(weights.values()), dtype=np.float64),
        np.array([intercept, 10.0 ** max(circuit.decimals, 0), 10.0 ** max(-circuit.decimals, 0)]),
        len(row_of),
    )
    reads_categories = any(circuit.columns[j].categories is not None for j in used)
    return Program(used, np.array(used, dtype=np.int64), reads_categories, parts, run)


def predict(circuit: Circuit | PreparedCircuit, values: Sequence[Values], n_threads: int = 1) -> Floats:
    """Return the predictions for a table given column by column, ``(n_rows,) float64``.

    Numbers are float32 or float64, NaN where missing; categories are int codes. Columns may be views of a larger
    array; they are copied block by block. Only the columns that the rules use are read.
    """
    prepared = circuit if isinstance(circuit, PreparedCircuit) else PreparedCircuit(circuit)
    prepared.circuit._check_columns(values)  # noqa: SLF001 (one wording for one mistake)
    return _predict_columns(prepared, values, n_threads)[0]


def predict_array(prepared: PreparedCircuit, array: npt.NDArray[Any], n_threads: int = 1) -> Floats | None:
    """Return the predictions for a 2-D float32 or float64 array; None if a column that is read holds an infinity."""
    program = prepared.program
    if array.ndim != 2 or array.shape[1] != len(prepared.circuit.columns):  # noqa: PLR2004
        expected = len(prepared.circuit.columns)
        raise CircuitError(f"the circuit reads {expected} columns, but an array of shape {array.shape} was given")
    if program.reads_categories or array.dtype.char not in "fd" or not array.dtype.isnative:
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

    def run_part(start: int, stop: int) -> bool:
        return program.run(flat, row_stride, column_stride, program.columns, *program.parts, start, stop, out)

    infinite = _in_threads(run_part, n_rows, n_threads) if n_rows > ROWS_PER_THREAD else run_part(0, n_rows)
    return None if infinite else out


def _predict_columns(prepared: PreparedCircuit, values: Sequence[Values], n_threads: int) -> tuple[Floats, bool]:
    """Return the predictions, and whether a column that was read holds infinity."""
    program = prepared.program
    columns = [values[j] for j in program.used]
    for j, column in zip(program.used, columns, strict=True):
        is_number = prepared.circuit.columns[j].categories is None
        if not (column.dtype.char in "fd" and column.dtype.isnative if is_number else column.dtype.kind in "iu"):
            required = "float32 or float64" if is_number else "integer codes"
            raise CircuitError(f"column {j}: values must be {required}, got {column.dtype}")
    dtype = np.float32 if columns and all(one.dtype == np.float32 for one in columns) else np.float64
    out, slots = np.empty(len(values[0])), np.arange(len(columns))

    def run_part(start: int, stop: int) -> bool:
        block = np.empty((len(columns), COPIED_ROWS), dtype=dtype)
        flat, infinite = block.reshape(-1), False
        for first in range(start, stop, COPIED_ROWS):
            rows = slice(first, min(first + COPIED_ROWS, stop))
            n = rows.stop - first
            for k, column in enumerate(columns):
                block[k, :n] = column[rows]
            infinite |= program.run(flat, 1, COPIED_ROWS, slots, *program.parts, 0, n, out[rows])
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


def _operation(graph: Graph, node: int, row_of: dict[int, int]) -> tuple[int, int, int, int]:
    """Return the operation of a gate, the nodes that it reads and the one that it writes."""
    a, b = graph.inputs(node)
    operation = AND_BYTES + (a & 1) + 2 * (b & 1) if graph.kind[node] == AND else XOR_BYTES
    return operation, row_of[a >> 1], row_of[b >> 1], row_of[node]


def _tests(
    circuit: Circuit, literals: Sequence[Literal], used: tuple[int, ...]
) -> list[tuple[tuple[int, int, int], tuple[float, float]]]:
    """Return the tests of the literals and their limits: one each, but one for every run of codes."""
    tests = []
    for node, literal in enumerate(literals):
        if isinstance(literal, Above):
            kinds = [(ABOVE, (literal.cutoff, 0.0))]
        elif circuit.columns[literal.column].categories is None:
            kinds = [(IS_NAN, (0.0, 0.0))]
        else:
            runs = _runs(literal.codes if isinstance(literal, IsIn) else (MISSING,))
            kinds = [(OR_IN_RUN if k else IN_RUN, run) for k, run in enumerate(runs)]
        tests += [((used.index(literal.column), kind, node), limits) for kind, limits in kinds]
    return tests


def _runs(codes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return ascending codes as runs of neighbours: first and last code."""
    firsts = [code for code in codes if code - 1 not in codes]
    lasts = [code for code in codes if code + 1 not in codes]
    return list(zip(firsts, lasts, strict=True))
