"""Circuit → smaller circuit with the same meaning, proved rule by rule."""

from __future__ import annotations

import logging

from dln._errors import CircuitError
from dln.circuit._circuit import Circuit
from dln.circuit._cone import cone
from dln.circuit._cost import circuit_cost
from dln.circuit._graph import FALSE_EDGE, Graph
from dln.circuit._words import node_sizes
from dln.circuit.simplify._domain import literal_order
from dln.circuit.simplify._proof import is_provable, same_meaning
from dln.circuit.simplify._restrict import restricted

__all__ = ["simplify"]

_log = logging.getLogger("dln")


def simplify(circuit: Circuit) -> Circuit:
    """Return a circuit with the same predictions on every input that costs no more and reads no longer.

    A rule with too many cases for a proof keeps its gates; the others are simplified around it.
    """
    best, measure = circuit, _measure(circuit)
    # A pass that does not make the circuit smaller is discarded, so simplifying twice is the same as simplifying once.
    while True:
        candidate = _one_pass(best)
        measured = _measure(candidate)
        if measured >= measure:
            return best
        best, measure = candidate, measured


def _one_pass(circuit: Circuit) -> Circuit:
    nodes = [rule.node for rule in circuit.rules]
    provable = {node for node in nodes if is_provable(circuit, node)}
    kept = set(cone(circuit, [node for node in nodes if node not in provable]))
    graph, n_literals = Graph(), len(circuit.literals)
    for literal in sorted(circuit.literals, key=literal_order):
        graph.literal(literal)
    edge_of: dict[int, int] = {}
    for node in cone(circuit, nodes):
        if node < n_literals:
            edge_of[node] = graph.literal(circuit.literals[node])
        else:
            gate = circuit.gates[node - n_literals]
            # An input that the gate ignores may not be there.
            edge = graph.gate(gate.kind, edge_of.get(gate.a, FALSE_EDGE), edge_of.get(gate.b, FALSE_EDGE))
            edge_of[node] = edge if node in kept else restricted(graph, edge)
    edges = [edge_of[node] for node in nodes]
    proved = [
        same_meaning(circuit, node, graph, edge) for node, edge in zip(nodes, edges, strict=True) if node in provable
    ]
    if not all(proved):
        n_failed = len(proved) - sum(proved)
        _log.warning("simplify: no proof for %d of %d rules, the circuit stays as it was", n_failed, len(nodes))
        return circuit
    rules = zip(edges, (rule.weight for rule in circuit.rules), strict=True)
    try:
        return graph.circuit(circuit.columns, circuit.intercept, rules, decimals=circuit.decimals)
    except CircuitError:
        _log.warning("simplify: the merged intercept would be too large for exact sums, the circuit stays as it was")
        return circuit


def _measure(circuit: Circuit) -> tuple[int, ...]:
    """Return what simplification makes smaller, the most important first."""
    # There are never more rules than before, so what costs no more with weights selected costs no more multiplied.
    cost = circuit_cost(circuit, "select")
    sizes = node_sizes(circuit)
    length = sum(sizes[rule.node] for rule in circuit.rules)
    return cost.total, length, len(circuit.gates), len(circuit.literals)
