"""The kernel: runs a prepared circuit on a block of rows at a time, one byte per node and row.

Each operation is a plain loop over a block, which LLVM vectorises; blocks are long enough for the choice of an
operation to cost little.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._compile import compiled, inner
from dln.circuit.bits import ABOVE, IN_RUN, IS_NAN, XOR_BYTES, Floats, Int64

#: Rows that are evaluated at a time: few enough for those of a table to stay in a core's first cache.
BLOCK: Final = 512

Bytes: TypeAlias = npt.NDArray[np.uint8]
_loop: Any = inner(forceinline=True, error_model="numpy")


@compiled(nogil=True, error_model="numpy")
def run(
    flat: npt.NDArray[Any],
    row_stride: int,
    column_stride: int,
    columns: Int64,
    limits: Floats,
    tests: Int64,
    gates: Int64,
    rules: Int64,
    steps: Floats,
    scale: Floats,
    n_nodes: int,
    start: int,
    stop: int,
    out: Floats,
) -> bool:
    """Write the predictions of the rows from `start` to `stop`; return whether a column that was read holds infinity.

    `flat` holds all values of the table, `row_stride` and `column_stride` apart are those of neighbouring rows and
    columns. `columns` are the columns that are read. The rest is the program, whose nodes are rows of one buffer of
    bytes, literals first.

    limits : (n_tests, 2)
        The cut-off, or the first and the last code of a run.
    tests : (n_tests, 3)
        Index among `columns`, kind of test, node; tests of one column, and of one node, are neighbours.
    gates : (n_gates, 4)
        Operation, two nodes read, node written.
    rules, steps : (n_rules,)
        Nodes that enter the sum, and their weights, whole numbers of steps of the grid.
    scale : (3,)
        The intercept in steps, the divisor of the sum, its factor.
    """
    size = min(BLOCK, stop - start)
    nodes = np.empty((n_nodes, size), dtype=np.uint8)
    values = np.empty(size, dtype=np.float64)  # float32, too, is compared exactly with any cut-off
    total = np.empty(size, dtype=np.float64)
    n_infinite = 0
    for first in range(start, stop, BLOCK):
        n = min(BLOCK, stop - first)
        column = -1
        for t in range(tests.shape[0]):
            if tests[t, 0] != column:
                column = tests[t, 0]
                origin = columns[column] * column_stride + first * row_stride
                if row_stride == 1:  # a loop by itself, which is vectorised
                    n_infinite += _load(flat[origin : origin + n], values, n)
                else:
                    n_infinite += _load(flat[origin : origin + (n - 1) * row_stride + 1 : row_stride], values, n)
            node = nodes[tests[t, 2]]
            if tests[t, 1] == ABOVE:
                _above(values, limits[t, 0], node, n)
            elif tests[t, 1] == IS_NAN:
                _is_nan(values, node, n)
            else:
                if tests[t, 1] == IN_RUN:
                    node[:] = 0
                _or_in_run(values, limits[t, 0], limits[t, 1], node, n)
        for g in range(gates.shape[0]):
            a, b, node = nodes[gates[g, 1]], nodes[gates[g, 2]], nodes[gates[g, 3]]
            if gates[g, 0] == XOR_BYTES:
                _xor(a, b, node, n)
            else:
                _and(a, np.uint8(gates[g, 0] & 1), b, np.uint8(gates[g, 0] >> 1), node, n)
        total[:] = scale[0]
        for r in range(rules.shape[0]):
            _add(nodes[rules[r]], steps[r], total, n)
        for i in range(n):
            out[first + i] = total[i] / scale[1] * scale[2]  # one of the two is 1, so only one rounds
    return n_infinite > 0


@_loop
def _load(source: npt.NDArray[Any], values: Floats, n: int) -> int:
    """Copy a column's rows to contiguous memory; return how many are infinite."""
    n_infinite = 0
    for i in range(n):
        values[i] = source[i]
    for i in range(n):
        n_infinite += abs(values[i]) == np.inf
    return n_infinite


@_loop
def _above(values: Floats, cutoff: float, node: Bytes, n: int) -> None:
    for i in range(n):
        node[i] = values[i] > cutoff


@_loop
def _is_nan(values: Floats, node: Bytes, n: int) -> None:
    for i in range(n):
        node[i] = values[i] != values[i]


@_loop
def _or_in_run(values: Floats, low: float, high: float, node: Bytes, n: int) -> None:
    for i in range(n):
        node[i] |= (low <= values[i]) & (values[i] <= high)


@_loop
def _and(a: Bytes, not_a: int, b: Bytes, not_b: int, node: Bytes, n: int) -> None:
    for i in range(n):
        node[i] = (a[i] ^ not_a) & (b[i] ^ not_b)


@_loop
def _xor(a: Bytes, b: Bytes, node: Bytes, n: int) -> None:
    for i in range(n):
        node[i] = a[i] ^ b[i]


@_loop
def _add(node: Bytes, step: float, total: Floats, n: int) -> None:
    for i in range(n):
        total[i] += step if node[i] else 0.0
