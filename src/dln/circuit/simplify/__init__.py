"""Circuit → smaller circuit with the same meaning, proved rule by rule."""

from __future__ import annotations

import logging

from dln.circuit._circuit import Circuit, Rule
from dln.circuit._gates import GATES
from dln.circuit._operations import circuit_cost
from dln.circuit._words import node_sizes
from dln.circuit.simplify._emit import merged, unmerged
from dln.circuit.simplify._graph import Graph, read_circuit
from dln.circuit.simplify._proof import same_meaning
from dln.circuit.simplify._rewrite import rewrite

__all__ = ["simplify"]

_log = logging.getLogger("dln")


def simplify(circuit: Circuit, *, thorough: bool = True) -> Circuit:
    """Return a circuit with the same predictions on every input that costs no more and reads no longer.

    Without `thorough` only what the literals' meaning shows at once is simplified, gate by gate: for circuits of
    thousands of gates, where minimising tables takes seconds and gains little.

    >>> from dln.circuit._circuit import Above, Circuit, Column, Gate, Rule
    >>> literals, gates = (Above(0, 2.0), Above(0, 3.0)), (Gate(1, 0, 1), Gate(14, 1, 1))
    >>> simplify(Circuit((Column("x"),), literals, gates, (Rule(2, 5.0), Rule(3, 1.5)), 1.0, 1))
    prediction = 2.5
      + 3.5 · [x > 3]
    """
    best, measure = circuit, _measure(circuit)
    # A pass that does not make the circuit smaller is thrown away, so what comes out is what would come out again.
    while True:
        candidate = _one_pass(best, thorough=thorough)
        measured = _measure(candidate)
        if measured >= measure:
            return best
        best, measure = candidate, measured


def _one_pass(circuit: Circuit, *, thorough: bool) -> Circuit:
    graph = Graph()
    edges = read_circuit(graph, circuit)
    edges = rewrite(graph, edges) if thorough else edges
    written, places = unmerged(graph, edges, circuit.columns)
    failed = [
        i
        for i, (rule, place) in enumerate(zip(circuit.rules, places, strict=True))
        if not same_meaning(circuit, rule.node, written, place)
    ]
    if failed:
        _log.warning("simplify: no proof for %d of %d rules, which stay as they were", len(failed), len(circuit.rules))
        graph, edges = _put_back(circuit, written, places, failed)
    result = merged(graph, edges, circuit)
    if result is None:
        _log.warning("simplify: the merged intercept would be too large for exact sums, the circuit stays as it was")
        return circuit
    return result


def _put_back(circuit: Circuit, written: Circuit, places: list[int], failed: list[int]) -> tuple[Graph, list[int]]:
    """Return a graph in which the failed rules are the original gates and the others the rewritten ones."""
    graph = Graph(plain=True)
    original = read_circuit(graph, circuit)
    nodes = [Rule(place >> 1, 0.0) if place >= 0 else Rule(0, 0.0) for place in places]
    kept = Circuit(circuit.columns, written.literals, written.gates, tuple(nodes) if written.literals else (), 0.0, 0)
    rewritten = read_circuit(graph, kept) if written.literals else [0] * len(places)
    edges = [
        original[i] if i in failed else -1 - place if place < 0 else rewritten[i] ^ (place & 1)
        for i, place in enumerate(places)
    ]
    return graph, edges


def _measure(circuit: Circuit) -> tuple[int, ...]:
    """Return what simplification makes smaller, the most important first."""
    cost = circuit_cost(circuit)
    sizes = node_sizes(circuit)
    negations = sum(
        GATES[gate.kind].truth[0] + (GATES[gate.kind].cost == 1) * _negated_inputs(gate.kind) for gate in circuit.gates
    )
    length = sum(sizes[rule.node] for rule in circuit.rules)
    return cost.total, length, len(circuit.gates), len(circuit.literals), negations


def _negated_inputs(kind: int) -> int:
    t00, t01, t10, t11 = GATES[kind].truth
    return int(t10 < t00 or t11 < t01) + int(t01 < t00 or t11 < t10)
