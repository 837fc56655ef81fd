"""Proof that a node of a circuit and an edge of a graph mean the same, on every input there is.

The proof is independent of the code that simplifies: it evaluates `literal_values`, which defines what a literal means,
for one value of every range that the literals distinguish, and follows the gates from there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

import numpy as np

from dln.circuit._circuit import MISSING, UNKNOWN, Above, Circuit, Literal, Values, literal_values
from dln.circuit._cone import cone
from dln.circuit._gates import GATES
from dln.circuit._graph import AND, Graph
from dln.circuit.simplify._domain import column_table

#: A rule of at most so many literals is always proved. One of more literals may have as few combinations, since k
#: cut-offs of a column make k + 1 ranges, not 2**k combinations.
MAX_LITERALS: Final = 20


def is_provable(circuit: Circuit, node: int) -> bool:
    """Return whether a node's inputs have few enough combinations for a proof."""
    tests = [circuit.literals[i] for i in cone(circuit, [node]) if i < len(circuit.literals)]
    if len(tests) <= MAX_LITERALS:
        return True
    return math.prod(map(len, _one_of_each(circuit, tests).values())) <= 2**MAX_LITERALS


def same_meaning(circuit: Circuit, node: int, graph: Graph, edge: int) -> bool:
    """Return whether a node of a circuit equals an edge of a graph on all inputs.

    >>> from dln.circuit._circuit import Column, Gate
    >>> x = Circuit((Column("x"),), (Above(0, 2.0), Above(0, 3.0)), (Gate(1, 0, 1), Gate(7, 0, 1)), (), 0.0, 0)
    >>> graph = Graph()
    >>> above_3 = graph.literal(Above(0, 3.0))
    >>> same_meaning(x, 2, graph, above_3), same_meaning(x, 3, graph, above_3)
    (True, False)
    """
    n_literals = len(circuit.literals)
    first, second = cone(circuit, [node]), graph.cone([edge >> 1])
    tests = [circuit.literals[i] for i in first if i < n_literals]
    tests += [graph.literals[i] for i in second if not graph.is_gate(i)]
    cases = _one_of_each(circuit, tests)
    sizes, columns = list(map(len, cases.values())), list(cases)
    everything = (1 << math.prod(sizes)) - 1

    def where(test: Literal) -> int:
        blocks = sum(1 << int(block) for block in np.flatnonzero(literal_values(test, cases[test.column])))
        return column_table(sizes, columns.index(test.column), blocks)

    in_circuit: dict[int, int] = {}
    for i in first:
        if i < n_literals:
            in_circuit[i] = where(circuit.literals[i])
        else:
            gate = circuit.gates[i - n_literals]
            a, b = in_circuit.get(gate.a, 0), in_circuit.get(gate.b, 0)
            parts = (~a & ~b, ~a & b, a & ~b, a & b)
            in_circuit[i] = everything & sum(p for p, on in zip(parts, GATES[gate.kind].truth, strict=True) if on)
    in_graph = {0: 0}
    for i in second:
        if graph.is_gate(i):
            a, b = (in_graph[e >> 1] ^ (everything if e & 1 else 0) for e in graph.inputs(i))
            in_graph[i] = a & b if graph.kind[i] == AND else a ^ b
        else:
            in_graph[i] = where(graph.literals[i])
    return in_circuit[node] == in_graph[edge >> 1] ^ (everything if edge & 1 else 0)


def _one_of_each(circuit: Circuit, tests: Iterable[Literal]) -> dict[int, Values]:
    """Return values of each column that is read, such that every value that can occur is treated like one of them."""
    by_column: dict[int, list[Literal]] = {}
    for test in tests:
        by_column.setdefault(test.column, []).append(test)
    cases = {}
    for column, mine in sorted(by_column.items()):
        categories = circuit.columns[column].categories
        if categories is not None:
            values: Values = np.array([MISSING, UNKNOWN, *range(len(categories))])
        else:
            values = np.array([np.nan, *sorted({test.cutoff for test in mine if isinstance(test, Above)}), np.inf])
        # Values with the same answers need one representative.
        answers = np.array([literal_values(test, values) for test in mine])
        _, first = np.unique(answers, axis=1, return_index=True)
        cases[column] = values[np.sort(first)]
    return cases
