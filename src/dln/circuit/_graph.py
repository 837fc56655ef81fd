"""The Boolean graph: literals and gates on their way into a circuit, through simplification, and into a program.

Every gate is an AND or an XOR of *edges*. An edge is ``2 * node + negated``, so NOT is free, a gate and its complement
are one node, and equal gates are found by hashing; node 0 is the constant. Constants, NOTs and pass-throughs vanish as
they come, and only what a rule needs ends up in a circuit. A circuit, too, is read as one: `cone` follows its gates.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from dln.circuit import _gates
from dln.circuit._circuit import Circuit, Column, Gate, Literal, Rule, from_grid, to_grid
from dln.circuit._gates import GATES, complement, negate_a, negate_b

FALSE_EDGE: Final = 0
TRUE_EDGE: Final = 1

#: Kinds of node.
CONSTANT, LITERAL, AND, XOR = range(4)


class Graph:
    """Literals and gates, each once, inputs before what reads them; `circuit` freezes what the rules use.

    >>> from dln.circuit._circuit import Above
    >>> graph = Graph()
    >>> old, older = graph.literal(Above(0, 40.0)), graph.literal(Above(0, 60.0))
    >>> graph.gate(1, old, TRUE_EDGE) == old  # AND with true is nothing new
    True
    >>> rules = [(old ^ 1, 2.0), (graph.gate(2, old, older), 1.0)]
    >>> graph.circuit((Column("age"),), 5.0, rules, decimals=0)
    prediction = 7
      - 2 · [age > 40]
      + 1 · [40 < age ≤ 60]
    """

    def __init__(self) -> None:
        self.kind: list[int] = [CONSTANT]
        self.left: list[int] = [FALSE_EDGE]
        self.right: list[int] = [FALSE_EDGE]
        self.literals: dict[int, Literal] = {}
        # Whether a gate was first made as the complement of its node, and so is written.
        self._negated: list[bool] = [False]
        self._known: dict[Literal | tuple[int, int, int], int] = {}

    # ---- building

    def literal(self, literal: Literal) -> int:
        """Return the edge of a literal, the same one for an equal literal."""
        node = self._known.get(literal)
        if node is None:
            node = self._known[literal] = self._new(LITERAL, FALSE_EDGE, FALSE_EDGE)
            self.literals[node] = literal
        return 2 * node

    def both(self, a: int, b: int) -> int:
        """Return the edge of ``a AND b``."""
        if a > b:
            a, b = b, a
        if a <= TRUE_EDGE:
            return FALSE_EDGE if a == FALSE_EDGE else b
        if a >> 1 == b >> 1:
            return a if a == b else FALSE_EDGE
        return self._gate(AND, a, b)

    def either(self, a: int, b: int) -> int:
        """Return the edge of ``a OR b``."""
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        """Return the edge of ``a XOR b``."""
        negated = (a ^ b) & 1
        a, b = sorted((a & ~1, b & ~1))
        if a == FALSE_EDGE:
            return b ^ negated
        return (FALSE_EDGE if a == b else self._gate(XOR, a, b)) ^ negated

    def gate(self, kind: int, a: int, b: int) -> int:
        """Return the edge of one of the sixteen gates, simpler where constants, equal or unused inputs allow."""
        n_nodes = len(self.kind)
        form = GATES[kind].form
        a, b = a ^ form.not_a, b ^ form.not_b
        match form.join:
            case _gates.AND:
                edge = self.both(a, b)
            case _gates.OR:
                edge = self.either(a, b)
            case _gates.XOR:
                edge = self.differ(a, b)
            case _gates.A | _gates.B:
                return a if form.join == _gates.A else b
            case constant:
                return TRUE_EDGE if constant else FALSE_EDGE
        if edge >> 1 >= n_nodes:
            self._negated[edge >> 1] = bool(edge & 1)
        return edge

    def add(self, circuit: Circuit, nodes: Sequence[int]) -> list[int]:
        """Add what these nodes of a circuit need; return an edge for each."""
        n_literals = len(circuit.literals)
        edges: dict[int, int] = {}
        for node in cone(circuit, nodes):
            if node < n_literals:
                edges[node] = self.literal(circuit.literals[node])
            else:
                gate = circuit.gates[node - n_literals]
                # An input that the gate ignores may not be there.
                edges[node] = self.gate(gate.kind, edges.get(gate.a, FALSE_EDGE), edges.get(gate.b, FALSE_EDGE))
        return [edges[node] for node in nodes]

    # ---- reading

    def is_gate(self, node: int) -> bool:
        """Return whether the node is an AND or XOR."""
        return self.kind[node] >= AND

    def inputs(self, node: int) -> tuple[int, int]:
        """Return the two edges of a gate."""
        return self.left[node], self.right[node]

    def cone(self, roots: Iterable[int]) -> list[int]:
        """Return the literals and gates under the nodes and the nodes themselves, inputs first."""
        order: list[int] = []
        seen: set[int] = {0}
        stack = [(node, False) for node in reversed(list(roots))]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node not in seen:
                seen.add(node)
                stack.append((node, True))
                if self.kind[node] >= AND:
                    a, b = self.inputs(node)
                    stack += ((b >> 1, False), (a >> 1, False))
        return order

    def written(self, node: int) -> Gate:
        """Return a gate in the form in which it was first made, on the written forms of its input nodes."""
        a, b = self.inputs(node)
        kind = _gates.AND if self.kind[node] == AND else _gates.XOR
        kind = negate_a(kind) if (a & 1) ^ self._negated[a >> 1] else kind
        kind = negate_b(kind) if (b & 1) ^ self._negated[b >> 1] else kind
        return Gate(complement(kind) if self._negated[node] else kind, a >> 1, b >> 1)

    def as_written(self, node: int) -> int:
        """Return the edge that a node's written form computes."""
        return 2 * node + self._negated[node]

    def is_complement(self, edge: int) -> bool:
        """Return whether the edge is the complement of its node's written form."""
        return edge != self.as_written(edge >> 1)

    # ---- freezing

    def circuit(
        self, columns: tuple[Column, ...], intercept: float, rules: Iterable[tuple[int, float]], *, decimals: int
    ) -> Circuit:
        """Return the circuit of these rules, edges with weights; nodes keep the order in which they were made.

        Weights are put on the grid first, so that no prediction depends on what was moved where.
        """
        steps = [(2 * (edge >> 1) + self.is_complement(edge), to_grid(weight, decimals)) for edge, weight in rules]
        total, weights = merge_rules(to_grid(intercept, decimals), steps)
        used = sorted(self.cone(weights))
        literals = [node for node in used if not self.is_gate(node)]
        gates = [node for node in used if self.is_gate(node)]
        index_of = {node: i for i, node in enumerate([*literals, *gates])}
        written = map(self.written, gates)
        return Circuit(
            columns=columns,
            literals=tuple(self.literals[node] for node in literals),
            gates=tuple(Gate(gate.kind, index_of[gate.a], index_of[gate.b]) for gate in written),
            rules=tuple(Rule(index_of[node], _off_grid(step, decimals)) for node, step in weights.items()),
            intercept=_off_grid(total, decimals),
            decimals=decimals,
        )

    # ---- inside

    def _gate(self, kind: int, a: int, b: int) -> int:
        """Return the edge of a gate on two different nodes, a below b and neither constant."""
        node = self._known.get((kind, a, b))
        if node is None:
            node = self._known[kind, a, b] = self._new(kind, a, b)
        return 2 * node

    def _new(self, kind: int, left: int, right: int) -> int:
        self.kind.append(kind)
        self.left.append(left)
        self.right.append(right)
        self._negated.append(False)
        return len(self.kind) - 1


@cache  # called for every gate whenever a circuit is measured or prepared for prediction
def reads(kind: int) -> tuple[bool, bool]:
    """Return whether a gate depends on its first and on its second input.

    >>> reads(1), reads(3), reads(10), reads(15)
    ((True, True), (True, False), (False, True), (False, False))
    """
    t00, t01, t10, t11 = GATES[kind].truth
    return (t00, t01) != (t10, t11), (t00, t10) != (t01, t11)


def cone(circuit: Circuit, nodes: Iterable[int]) -> list[int]:
    """Return the nodes and all that they depend on, inputs first; a gate does not depend on an input it ignores."""
    n_literals = len(circuit.literals)
    needed = set(nodes)
    for node in range(max(needed, default=-1), n_literals - 1, -1):
        if node in needed:
            gate = circuit.gates[node - n_literals]
            uses_a, uses_b = reads(gate.kind)
            if uses_a:
                needed.add(gate.a)
            if uses_b:
                needed.add(gate.b)
    return sorted(needed)


def node_columns(circuit: Circuit, node: int) -> list[int]:
    """Return the columns that a node reads, ascending."""
    return sorted({circuit.literals[i].column for i in cone(circuit, [node]) if i < len(circuit.literals)})


def merge_rules(intercept: int, rules: Iterable[tuple[int, int]]) -> tuple[int, dict[int, int]]:
    """Return the intercept and the weights of nodes for a sum of weighted edges, all in steps of the grid.

    Constants move into the intercept, w·[not n] is w - w·[n], equal nodes add up, and what cancels goes.

    >>> merge_rules(5, [(TRUE_EDGE, 1), (2 * 7 + 1, 10), (2 * 7, 4), (2 * 8, 3), (2 * 8, -3)])
    (16, {7: -6})
    """
    weights: dict[int, int] = {}
    for edge, step in rules:
        if edge & 1:
            intercept += step
        if edge > TRUE_EDGE:
            weights[edge >> 1] = weights.get(edge >> 1, 0) + (-step if edge & 1 else step)
    return intercept, {node: step for node, step in weights.items() if step}


def _off_grid(step: int, decimals: int) -> float:
    return float(from_grid(float(step), decimals))  # type: ignore[arg-type]
