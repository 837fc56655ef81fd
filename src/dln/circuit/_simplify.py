"""Circuit → smaller circuit with the same meaning, proved rule by rule.

Gates are made simpler by don't cares: an input of an AND matters only where the other input is true. The idea is
Coudert and Madre's *restrict*, on truth tables instead of decision diagrams. On the rows of a table that matter, the
*care set*, a node may equal a constant or a literal, which then replaces it. In ``x AND y`` on a care set C, x matters
only on ``C AND y``; let x' be what replaces x, then y matters only on ``C AND x'``. Absorption and cut-offs that imply
each other are special cases.

The proof is independent of that: it takes the answers of `literal_values`, which defines what a literal means, for one
value of every range that the literals distinguish, and follows the gates from there.
"""

from __future__ import annotations

import logging
from typing import Final

from dln._errors import CircuitError
from dln.circuit._circuit import Circuit
from dln.circuit._cost import circuit_cost, count_conditions
from dln.circuit._gates import GATES
from dln.circuit._graph import AND, FALSE_EDGE, TRUE_EDGE, Graph, cone
from dln.circuit._truth_tables import Axis, axes_of, combinations, edge_table, literal_order, tables_of
from dln.circuit._words import node_sizes

#: A rule of at most so many literals is always proved. One of more literals may have as few combinations, since k
#: cut-offs of a column make k + 1 ranges, not 2**k combinations.
MAX_LITERALS: Final = 20
#: Rows of a window's truth table, at most: twelve literals of different columns.
MAX_ROWS: Final = 2**12
#: Paths from the top of a window to its leaves, at most: they bound the time of `Window.restrict`.
MAX_PATHS: Final = 2**9

#: The answers of a free bit.
_BIT: Final = ((False,), (True,))

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


def readable(circuit: Circuit) -> Circuit:
    """Return a circuit of the same meaning that costs no more and has no more conditions, in all and in a rule."""
    simplified = simplify(circuit)
    before, after = count_conditions(circuit), count_conditions(simplified)
    # Fewer operations come first in `simplify`: what is cheaper to compute may be longer to read.
    if sum(after) > sum(before) or max(after, default=0) > max(before, default=0):
        return circuit
    return simplified


def _one_pass(circuit: Circuit) -> Circuit:
    nodes = [rule.node for rule in circuit.rules]
    graph, n_literals, provable = Graph(), len(circuit.literals), set()
    for node in nodes:
        tests = [circuit.literals[i] for i in cone(circuit, [node]) if i < n_literals]
        if len(tests) <= MAX_LITERALS or combinations(axes_of(tests)) <= 2**MAX_LITERALS:
            provable.add(node)
    kept = set(cone(circuit, [node for node in nodes if node not in provable]))
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
            if node not in kept and graph.is_gate(edge >> 1):
                window = Window(graph, edge >> 1)
                edge = window.restrict(edge, window.all_rows)
            edge_of[node] = edge
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
    total, sizes = circuit_cost(circuit, "select").total, node_sizes(circuit)
    return total, sum(sizes[rule.node] for rule in circuit.rules), len(circuit.gates), len(circuit.literals)


class Window:
    """The gates directly under a node, with truth tables over the leaves below them.

    Gates are opened from the node downwards while the tables stay small. A gate that is not opened is a leaf, a free
    bit, so that what holds on all rows of a table holds on every input.
    """

    def __init__(self, graph: Graph, node: int) -> None:
        self._graph = graph
        paths = {node: 1}  # from the node to every leaf
        axes = [Axis(-1, (node,), _BIT)]
        opened: list[int] = []
        while gates := [leaf for leaf in paths if graph.is_gate(leaf)]:
            top = max(gates)  # only open gates of the window read it, so all paths to it are counted
            below = paths.copy()
            n = below.pop(top)
            for edge in graph.inputs(top):
                below[edge >> 1] = below.get(edge >> 1, 0) + n
            bits = [Axis(-1, (leaf,), _BIT) for leaf in below if graph.is_gate(leaf)]
            wider = axes_of(graph.literals[leaf] for leaf in below if not graph.is_gate(leaf)) + bits
            if combinations(wider) > MAX_ROWS or sum(below.values()) > MAX_PATHS:
                break
            paths, axes = below, wider
            opened.append(top)
        self._leaves = sorted(paths)
        of_tests = tables_of(axes)
        self._tables = {0: 0, **{leaf: of_tests[graph.literals.get(leaf, leaf)] for leaf in self._leaves}}
        self.all_rows = (1 << combinations(axes)) - 1
        for gate in reversed(opened):
            self._known(2 * gate)

    def restrict(self, edge: int, care: int) -> int:
        """Return an edge that equals this one on the rows of the care set; written out, it has no more literals."""
        graph, table = self._graph, self._table(edge)
        if not table & care:
            return FALSE_EDGE
        if not ~table & care:
            return TRUE_EDGE
        node = edge >> 1
        if node in self._leaves:
            return edge
        for leaf in self._leaves:
            differs = (table ^ self._tables[leaf]) & care
            if differs in {0, care} and not graph.is_gate(leaf):
                return 2 * leaf + (differs != 0)
        x, y = graph.inputs(node)
        if graph.kind[node] == AND:
            x = self.restrict(x, care & self._table(y))
            y = self.restrict(y, care & self._table(x))
            return self._known(self._both(x, y)) ^ (edge & 1)
        x, y = self.restrict(x, care), self.restrict(y, care)
        return self._known(self._differ(x, y, care)) ^ (edge & 1)

    def _both(self, a: int, b: int) -> int:
        """Return the edge of ``a AND b``; (p or q) and (p or r) is written p or (q and r)."""
        graph = self._graph
        ors = [edge >> 1 for edge in (a, b) if edge & 1 and graph.kind[edge >> 1] == AND]
        inputs = [graph.inputs(node) for node in ors if node not in self._leaves]
        if len(inputs) == 2:  # noqa: PLR2004 (two ORs: complements of ANDs)
            first, second = map(set, inputs)
            if len(first & second) == 1:
                (common,), (q, r) = first & second, first ^ second
                return graph.both(common, graph.either(q, r)) ^ 1
        return graph.both(a, b)

    def _differ(self, x: int, y: int, care: int) -> int:
        """Return an edge that is ``x XOR y`` on the care set: an OR of x and y, perhaps negated, if they exclude."""
        for not_x in (0, 1):
            for not_y in (0, 1):
                if not self._table(x ^ not_x) & self._table(y ^ not_y) & care:
                    return self._graph.either(x ^ not_x, y ^ not_y) ^ not_x ^ not_y
        return self._graph.differ(x, y)

    def _table(self, edge: int) -> int:
        return self._tables[edge >> 1] ^ (self.all_rows if edge & 1 else 0)

    def _known(self, edge: int) -> int:
        """Return an edge after adding its table, and those of the new gates under it."""
        node = edge >> 1
        if node not in self._tables:
            a, b = (self._table(self._known(below)) for below in self._graph.inputs(node))
            self._tables[node] = a & b if self._graph.kind[node] == AND else a ^ b
        return edge


def same_meaning(circuit: Circuit, node: int, graph: Graph, edge: int) -> bool:
    """Return whether a node of a circuit equals an edge of a graph on all inputs."""
    n_literals = len(circuit.literals)
    nodes = cone(circuit, [node])
    tests = [circuit.literals[i] for i in nodes if i < n_literals]
    tests += [graph.literals[i] for i in graph.cone([edge >> 1]) if not graph.is_gate(i)]
    axes = axes_of(dict.fromkeys(tests))
    of_tests, n_rows = tables_of(axes), combinations(axes)
    in_circuit: dict[int, int] = {}
    for i in nodes:
        if i < n_literals:
            in_circuit[i] = of_tests[circuit.literals[i]]
        else:
            gate = circuit.gates[i - n_literals]
            a, b = in_circuit.get(gate.a, 0), in_circuit.get(gate.b, 0)
            parts = (~a & ~b, ~a & b, a & ~b, a & b)
            held = sum(part for part, on in zip(parts, GATES[gate.kind].truth, strict=True) if on)
            in_circuit[i] = held & ((1 << n_rows) - 1)
    return in_circuit[node] == edge_table(graph, edge, of_tests, n_rows)
