"""From a circuit to a program for the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Above, Circuit, IsIn, Literal
from dln.circuit._graph import AND, Graph, merge_rules

Floats: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]

#: Tests on a column: above a cut-off, not a number, in a run of codes, in this run or one before.
ABOVE, IS_NAN, IN_RUN, OR_IN_RUN = range(4)

#: Operations on bytes. Complements are moved into them: an AND of which input a (1) or b (2) or both (3) are inverted,
#: or an XOR.
AND_BYTES: Final = 0
XOR_BYTES: Final = 4


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCircuit:
    """A circuit as the kernel reads it. Its nodes are rows of one buffer of bytes, literals first."""

    circuit: Circuit
    used: tuple[int, ...]
    """The columns that are read."""
    used_array: Int64
    reads_categories: bool
    tests: Int64
    """(n_tests, 3): index of the column in `used`, kind of test, node; tests of one column, and of one node, are
    neighbours."""
    limits: Floats
    """(n_tests, 2): the cut-off, or the first and the last code of a run."""
    limits_32: npt.NDArray[np.float32]
    """The same for float32 columns."""
    gates: Int64
    """(n_gates, 4): operation, two nodes read, node written."""
    rules: Int64
    """(n_rules,): nodes that enter the sum."""
    steps: Floats
    """(n_rules,): their weights, whole numbers of steps of the grid."""
    scale: Floats
    """(3,): the intercept in steps, the divisor of the sum, its factor."""
    n_nodes: int
    run: Callable[..., bool]
    """The kernel."""

    def program(self, dtype: np.dtype[Any]) -> tuple[Any, ...]:
        """Return what the kernel needs to run on columns of a type."""
        limits = self.limits_32 if dtype.char == "f" else self.limits
        return limits, self.tests, self.gates, self.rules, self.steps, self.scale, self.n_nodes


def prepare(circuit: Circuit) -> PreparedCircuit:
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
    tests, limits = _tests(circuit, [graph.literals[node] for node in literals], used)
    return PreparedCircuit(
        circuit=circuit,
        used=used,
        used_array=np.array(used, dtype=np.int64),
        reads_categories=any(circuit.columns[j].categories is not None for j in used),
        tests=np.array(tests, dtype=np.int64).reshape(-1, 3),
        limits=np.array(limits, dtype=np.float64).reshape(-1, 2),
        limits_32=np.array([[float32_below(limit) for limit in pair] for pair in limits], np.float32).reshape(-1, 2),
        gates=np.array([_operation(graph, node, row_of) for node in gates], dtype=np.int64).reshape(-1, 4),
        rules=np.array([row_of[node] for node in weights], dtype=np.int64),
        steps=np.array(list(weights.values()), dtype=np.float64),
        scale=np.array([intercept, 10.0 ** max(circuit.decimals, 0), 10.0 ** max(-circuit.decimals, 0)]),
        n_nodes=len(row_of),
        run=run,
    )


def _operation(graph: Graph, node: int, row_of: dict[int, int]) -> tuple[int, int, int, int]:
    """Return the operation of a gate, the nodes that it reads and the one that it writes."""
    a, b = graph.inputs(node)
    operation = AND_BYTES + (a & 1) + 2 * (b & 1) if graph.kind[node] == AND else XOR_BYTES
    return operation, row_of[a >> 1], row_of[b >> 1], row_of[node]


def _tests(
    circuit: Circuit, literals: Sequence[Literal], used: tuple[int, ...]
) -> tuple[list[tuple[int, int, int]], list[tuple[float, float]]]:
    """Return the tests of the literals and their limits: one each, but one for every run of codes."""
    tests: list[tuple[int, int, int]] = []
    limits: list[tuple[float, float]] = []
    for node, literal in enumerate(literals):
        slot = used.index(literal.column)
        if isinstance(literal, Above):
            tests.append((slot, ABOVE, node))
            limits.append((literal.cutoff, 0.0))
        elif circuit.columns[literal.column].categories is None:
            tests.append((slot, IS_NAN, node))
            limits.append((0.0, 0.0))
        else:
            for k, run in enumerate(_runs(literal.codes if isinstance(literal, IsIn) else (MISSING,))):
                tests.append((slot, OR_IN_RUN if k else IN_RUN, node))
                limits.append(run)
    return tests, limits


def _runs(codes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return ascending codes as runs of neighbours: first and last code."""
    firsts = [code for code in codes if code - 1 not in codes]
    lasts = [code for code in codes if code + 1 not in codes]
    return list(zip(firsts, lasts, strict=True))


def float32_below(cutoff: float) -> float:
    """Return the largest float32 that is not above the cut-off: what float32 is above the one is above the other."""
    with np.errstate(over="ignore"):
        nearest = np.float32(cutoff)
    return float(nearest if float(nearest) <= cutoff else np.nextafter(nearest, np.float32(-np.inf)))
