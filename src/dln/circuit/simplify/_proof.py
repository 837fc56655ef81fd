"""Proof that a node of a circuit and an edge of a graph mean the same, on every input there is.

The proof is independent of the code that simplifies: it takes the answers of `literal_values`, which defines what a
literal means, for one value of every range that the literals distinguish, and follows the gates from there.
"""

from __future__ import annotations

from typing import Final

from dln.circuit._circuit import Circuit
from dln.circuit._cone import cone
from dln.circuit._gates import GATES
from dln.circuit._graph import Graph
from dln.circuit.simplify._domain import axes_of, combinations, edge_table, literal_table

#: A rule of at most so many literals is always proved. One of more literals may have as few combinations, since k
#: cut-offs of a column make k + 1 ranges, not 2**k combinations.
MAX_LITERALS: Final = 20


def is_provable(circuit: Circuit, node: int) -> bool:
    """Return whether a node's inputs have few enough combinations for a proof."""
    tests = [circuit.literals[i] for i in cone(circuit, [node]) if i < len(circuit.literals)]
    if len(tests) <= MAX_LITERALS:
        return True
    return combinations(axes_of(tests)) <= 2**MAX_LITERALS


def same_meaning(circuit: Circuit, node: int, graph: Graph, edge: int) -> bool:
    """Return whether a node of a circuit equals an edge of a graph on all inputs."""
    n_literals = len(circuit.literals)
    nodes = cone(circuit, [node])
    tests = [circuit.literals[i] for i in nodes if i < n_literals]
    tests += [graph.literals[i] for i in graph.cone([edge >> 1]) if not graph.is_gate(i)]
    axes = axes_of(dict.fromkeys(tests))
    everything = (1 << combinations(axes)) - 1

    in_circuit: dict[int, int] = {}
    for i in nodes:
        if i < n_literals:
            in_circuit[i] = literal_table(circuit.literals[i], axes)
        else:
            gate = circuit.gates[i - n_literals]
            a, b = in_circuit.get(gate.a, 0), in_circuit.get(gate.b, 0)
            parts = (~a & ~b, ~a & b, a & ~b, a & b)
            in_circuit[i] = everything & sum(p for p, on in zip(parts, GATES[gate.kind].truth, strict=True) if on)
    return in_circuit[node] == edge_table(graph, edge, axes)
