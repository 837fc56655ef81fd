"""From a circuit to a program for the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, Above, Circuit, IsIn, IsMissing, Literal
from dln.circuit._graph import AND, Graph, merge_rules

Floats: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]

#: Tests on a column: above a cut-off, missing, one of a run of codes.
ABOVE, IS_MISSING, IN_RUN = 0, 1, 2

#: Operations on words. Complements are moved into them: an AND of which input a (1) or b (2) or both (3) are inverted,
#: or an XOR.
AND_WORDS: Final = 0
XOR_WORDS: Final = 4

#: Sums of fewer steps fit in 32 bits, which are twice as fast to add up.
_NARROW: Final = 2**31


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCircuit:
    """A circuit as the interpreter reads it. Its nodes are rows of one buffer of words, literals first."""

    circuit: Circuit
    used: tuple[int, ...]
    """The columns that are read."""
    used_array: Int64
    reads_categories: bool
    tests: Int64
    """(n_tests, 5): index of the column in `used`, kind of test, node, first code, number of codes. A node with several
    runs of codes has several tests, one after the other."""
    limits: Floats
    """(n_tests, 2): cut-offs for float64 and for float32."""
    gates: Int64
    """(n_gates, 4): operation, two nodes read, node written."""
    rules: Int64
    """(n_rules,): nodes that enter the sum."""
    steps: Floats
    """(n_rules,): their weights, whole numbers of steps of the grid."""
    scale: Floats
    """(3,): the intercept in steps, what the sum is divided by, what it is multiplied by."""
    n_nodes: int
    narrow: bool
    """Whether every sum of steps fits in 32 bits."""


def prepare(circuit: Circuit) -> PreparedCircuit:
    """Return the circuit's program: equal nodes merged, NOT, pass and constants moved into their readers."""
    graph = Graph()
    edges = graph.add(circuit, [rule.node for rule in circuit.rules])
    steps = zip(edges, (circuit.grid(rule.weight) for rule in circuit.rules), strict=True)
    intercept, weights = merge_rules(circuit.grid(circuit.intercept), steps)
    needed = sorted(graph.cone(weights))  # inputs have lower numbers than the gates that read them
    literals = sorted((node for node in needed if not graph.is_gate(node)), key=lambda n: graph.literals[n].column)
    gates = [node for node in needed if graph.is_gate(node)]
    row_of = {node: i for i, node in enumerate([*literals, *gates])}
    used = tuple(sorted({graph.literals[node].column for node in literals}))
    tests, limits = _tests([graph.literals[node] for node in literals], used)
    largest = abs(intercept) + sum(map(abs, weights.values()))
    return PreparedCircuit(
        circuit=circuit,
        used=used,
        used_array=np.array(used, dtype=np.int64),
        reads_categories=any(circuit.columns[j].categories is not None for j in used),
        tests=np.array(tests, dtype=np.int64).reshape(-1, 5),
        limits=np.array(limits, dtype=np.float64).reshape(-1, 2),
        gates=np.array([_operation(graph, node, row_of) for node in gates], dtype=np.int64).reshape(-1, 4),
        rules=np.array([row_of[node] for node in weights], dtype=np.int64),
        steps=np.array(list(weights.values()), dtype=np.float64),
        scale=np.array([intercept, 10.0 ** max(circuit.decimals, 0), 10.0 ** max(-circuit.decimals, 0)]),
        n_nodes=len(row_of),
        narrow=largest < _NARROW,
    )


def _operation(graph: Graph, node: int, row_of: dict[int, int]) -> tuple[int, int, int, int]:
    """Return the operation of a gate, the rows of words that it reads and the one that it writes."""
    a, b = graph.inputs(node)
    operation = AND_WORDS + (a & 1) + 2 * (b & 1) if graph.kind[node] == AND else XOR_WORDS
    return operation, row_of[a >> 1], row_of[b >> 1], row_of[node]


def _tests(
    literals: Sequence[Literal], used: tuple[int, ...]
) -> tuple[list[tuple[int, ...]], list[tuple[float, float]]]:
    """Return the tests of the literals and their cut-offs: one each, but one for every run of codes."""
    tests: list[tuple[int, ...]] = []
    limits: list[tuple[float, float]] = []
    for node, literal in enumerate(literals):
        slot = used.index(literal.column)
        match literal:
            case Above(cutoff=cutoff):
                tests.append((slot, ABOVE, node, 0, 0))
                limits.append((cutoff, float32_below(cutoff)))
            case IsMissing():
                tests.append((slot, IS_MISSING, node, MISSING, 1))
                limits.append((0.0, 0.0))
            case IsIn(codes=codes):
                for first, length in _runs(codes):
                    tests.append((slot, IN_RUN, node, first, length))
                    limits.append((0.0, 0.0))
    return tests, limits


def _runs(codes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return ascending codes as runs of neighbours: first code and length.

    >>> _runs((0, 1, 2, 5))
    [(0, 3), (5, 1)]
    """
    starts = [i for i, code in enumerate(codes) if i == 0 or codes[i - 1] != code - 1]
    return [(codes[i], j - i) for i, j in zip(starts, [*starts[1:], len(codes)], strict=True)]


def float32_below(cutoff: float) -> float:
    """Return the largest float32 that is not above the cut-off: what float32 is above the one is above the other."""
    with np.errstate(over="ignore"):
        nearest = np.float32(cutoff)
    return float(nearest if float(nearest) <= cutoff else np.nextafter(nearest, np.float32(-np.inf)))
