"""An and-xor graph: the form in which circuits are rewritten.

Every gate becomes an AND or an XOR of *edges*. An edge is ``2 * node + negated``, so NOT is free, a gate and its
complement are one node, and equal gates are found by hashing. Nodes know their cost in basic logic operations and who
uses them, so that a rewrite can be judged by what it frees and what it adds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from dln.circuit._circuit import Above, Circuit, IsIn, IsMissing, Literal
from dln.circuit._cone import live_nodes
from dln.circuit._gates import GATES
from dln.circuit._operations import CATEGORY_BIT, COMPARISON, GATE, XOR_GATE

FALSE_EDGE: Final = 0
TRUE_EDGE: Final = 1

#: Kinds of node. A BIT is one category of one column: literals that name the same category share its cost.
CONSTANT, BIT, LITERAL, AND, XOR = range(5)


class Graph:
    """Nodes with complement edges, structural hashing, reference counts and replacement.

    A `plain` graph shares equal gates and folds constants, and applies no other law of logic.
    """

    def __init__(self, *, plain: bool = False) -> None:
        self._plain = plain
        self.kind: list[int] = [CONSTANT]
        self.left: list[int] = [0]
        self.right: list[int] = [0]
        self.cost: list[int] = [0]
        self.size: list[int] = [0]  # literals named when written out
        self.support: list[int] = [0]  # literal numbers as a bit set
        self.references: list[int] = [0]
        self.literals: list[Literal] = []
        self.literal_nodes: list[int] = []
        self.literal_number: dict[int, int] = {}
        self._bits: dict[int, tuple[int, ...]] = {}
        self._table: dict[tuple[int, int, int], int] = {}
        self._literal_table: dict[Literal, int] = {}
        self._bit_table: dict[tuple[int, int], int] = {}
        self._replaced: dict[int, int] = {}

    # ---- building

    def literal(self, literal: Literal) -> int:
        """Return the edge of a literal."""
        node = self._literal_table.get(literal)
        if node is not None:
            return 2 * node
        number = len(self.literals)
        bits: tuple[int, ...] = ()
        cost = COMPARISON
        if isinstance(literal, IsIn):
            bits = tuple(self._bit(literal.column, code) for code in literal.codes)
            cost = (len(bits) - 1) * GATE
        elif isinstance(literal, IsMissing):
            cost = CATEGORY_BIT
        node = self._new(LITERAL, 0, 0, cost, 1, 1 << number)
        self.literals.append(literal)
        self.literal_nodes.append(node)
        self.literal_number[node] = number
        self._bits[node] = bits
        self._literal_table[literal] = node
        return 2 * node

    def both(self, a: int, b: int) -> int:
        """Return the edge of ``a AND b``."""
        a, b = self.resolve(a), self.resolve(b)
        if a > b:
            a, b = b, a
        if a <= TRUE_EDGE:
            return FALSE_EDGE if a == FALSE_EDGE else b
        if a == b:
            return a
        if a ^ b == 1:
            return FALSE_EDGE
        known = self._table.get((AND, a, b))
        if known is not None:
            return self.resolve(2 * known)
        simpler = self._simpler_and(a, b)
        return self._gate(AND, a, b, GATE) if simpler is None else simpler

    def either(self, a: int, b: int) -> int:
        """Return the edge of ``a OR b``."""
        return self.both(a ^ 1, b ^ 1) ^ 1

    def differ(self, a: int, b: int) -> int:
        """Return the edge of ``a XOR b``."""
        a, b = self.resolve(a), self.resolve(b)
        negated = (a ^ b) & 1
        a, b = sorted((a & ~1, b & ~1))
        if a == FALSE_EDGE:
            return b ^ negated
        if a == b:
            return FALSE_EDGE ^ negated
        known = self._table.get((XOR, a, b))
        if known is not None:
            return self.resolve(2 * known) ^ negated
        simpler = self._simpler_xor(a, b)
        return (self._gate(XOR, a, b, XOR_GATE) if simpler is None else simpler) ^ negated

    def gate(self, kind: int, a: int, b: int) -> int:
        """Return the edge of one of the sixteen gates."""
        t00, t01, t10, t11 = GATES[kind].truth
        match t00 + t01 + t10 + t11:
            case 0:
                return FALSE_EDGE
            case 4:
                return TRUE_EDGE
            case 1:
                return self.both(a ^ 1 ^ (t10 | t11), b ^ 1 ^ (t01 | t11))
            case 3:
                return self.either(a ^ (1 - (t10 & t11)), b ^ (1 - (t01 & t11)))
        if t00 == t11:
            return self.differ(a, b) ^ t00
        return a ^ t00 if t00 == t01 else b ^ t00

    def all_of(self, edges: Iterable[int]) -> int:
        """Return the AND of the edges, in a fixed order so that equal parts are shared."""
        result = TRUE_EDGE
        for edge in sorted(map(self.resolve, edges)):
            result = self.both(result, edge)
        return result

    # ---- reading

    def resolve(self, edge: int) -> int:
        """Return the edge after all replacements."""
        node = edge >> 1
        if node not in self._replaced:
            return edge
        final = self.resolve(self._replaced[node])
        self._replaced[node] = final
        return final ^ (edge & 1)

    def inputs(self, node: int) -> tuple[int, int]:
        """Return the two edges of a gate."""
        return self.resolve(self.left[node]), self.resolve(self.right[node])

    def is_gate(self, node: int) -> bool:
        """Return whether the node is an AND or XOR."""
        return self.kind[node] >= AND

    def cone(self, roots: Iterable[int]) -> list[int]:
        """Return the gates under the nodes, inputs first."""
        order: list[int] = []
        seen: set[int] = set()
        stack = [(node, False) for node in reversed(list(roots))]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node not in seen and self.kind[node] >= AND:
                seen.add(node)
                a, b = self.inputs(node)
                stack += ((node, True), (b >> 1, False), (a >> 1, False))
        return order

    # ---- accounting

    def take(self, node: int) -> int:
        """Count one more use of the node; return the cost of what was not in use before."""
        cost = 0
        stack = [node]
        while stack:
            node = stack.pop()
            self.references[node] += 1
            if self.references[node] == 1:
                cost += self.cost[node]
                stack += self._below(node)
        return cost

    def drop(self, node: int) -> int:
        """Count one use less of the node; return the cost of what is no longer in use."""
        cost = 0
        stack = [node]
        while stack:
            node = stack.pop()
            self.references[node] -= 1
            if self.references[node] == 0:
                cost += self.cost[node]
                stack += self._below(node)
        return cost

    def replace(self, node: int, edge: int) -> None:
        """Let every use of the node be one of the edge instead."""
        uses = self.references[node]
        target = edge >> 1
        self.take(target)
        self.references[target] += uses - 1
        self.references[node] = 1
        self.drop(node)
        self._replaced[node] = edge

    def _below(self, node: int) -> tuple[int, ...]:
        if self.kind[node] >= AND:
            a, b = self.inputs(node)
            return (a >> 1, b >> 1)
        return self._bits.get(node, ())

    # ---- inside

    def _new(self, kind: int, left: int, right: int, cost: int, size: int, support: int) -> int:
        node = len(self.kind)
        self.kind.append(kind)
        self.left.append(left)
        self.right.append(right)
        self.cost.append(cost)
        self.size.append(size)
        self.support.append(support)
        self.references.append(0)
        return node

    def _bit(self, column: int, code: int) -> int:
        node = self._bit_table.get((column, code))
        if node is None:
            node = self._bit_table[column, code] = self._new(BIT, 0, 0, CATEGORY_BIT, 0, 0)
        return node

    def _gate(self, kind: int, a: int, b: int, cost: int) -> int:
        x, y = a >> 1, b >> 1
        node = self._new(kind, a, b, cost, self.size[x] + self.size[y], self.support[x] | self.support[y])
        self._table[kind, a, b] = node
        return 2 * node

    def _simpler_and(self, a: int, b: int) -> int | None:
        """Return a smaller edge for ``a AND b``, or None."""
        if self._plain:
            return None
        kind_a, kind_b = self.kind[a >> 1], self.kind[b >> 1]
        if kind_a == LITERAL and kind_b == LITERAL:
            return self._and_of_literals(a, b)
        for x, y, kind in ((a, b, kind_b), (b, a, kind_a)):
            if kind < AND:
                continue
            p, q = self.inputs(y >> 1)
            if kind == AND and not y & 1:  # x and (p and q)
                if x in {p, q}:
                    return y
                if x ^ 1 in {p, q}:
                    return FALSE_EDGE
            elif kind == AND:  # x and not (p and q)
                if x ^ 1 in {p, q}:
                    return x
                if x in {p, q}:
                    return self.both(x, (q if x == p else p) ^ 1)
            elif x >> 1 in {p >> 1, q >> 1}:  # x and (p xor q): x fixes one side
                mine, other = (p, q) if x >> 1 == p >> 1 else (q, p)
                return self.both(x, other ^ (x == mine) ^ (y & 1))
        return None

    def _and_of_literals(self, a: int, b: int) -> int | None:
        first, second = self.literals[self.literal_number[a >> 1]], self.literals[self.literal_number[b >> 1]]
        if first.column != second.column:
            return None
        if not a & 1 and not b & 1:
            if apart(first, second):
                return FALSE_EDGE
            return a if within(first, second) else b if within(second, first) else None
        if a & 1 and b & 1:
            if within(first, second):
                return b
            if within(second, first):
                return a
            if isinstance(first, IsIn) and isinstance(second, IsIn) and len(first.codes) == len(second.codes) == 1:
                return self.literal(IsIn(first.column, tuple(sorted(first.codes + second.codes)))) ^ 1
            return None
        positive, x, negative = (a, first, second) if not a & 1 else (b, second, first)
        if within(x, negative):
            return FALSE_EDGE
        return positive if apart(x, negative) else None

    def _simpler_xor(self, a: int, b: int) -> int | None:
        """Return a smaller edge for ``a XOR b`` of two edges that are not negated, or None."""
        if self._plain:
            return None
        kind_a, kind_b = self.kind[a >> 1], self.kind[b >> 1]
        if kind_a == LITERAL and kind_b == LITERAL:
            first, second = self.literals[self.literal_number[a >> 1]], self.literals[self.literal_number[b >> 1]]
            if first.column != second.column:
                return None
            if apart(first, second):
                return self.either(a, b)
            return (
                self.both(a ^ 1, b) if within(first, second) else self.both(a, b ^ 1) if within(second, first) else None
            )
        for x, y, kind in ((a, b, kind_b), (b, a, kind_a)):
            if kind < AND:
                continue
            p, q = self.inputs(y >> 1)
            mine, other = (p, q) if p >> 1 == x >> 1 else (q, p)
            if mine >> 1 != x >> 1:
                continue
            if kind == XOR:
                return other
            # x xor (x and q) is x and not q; x xor (not x and q) is x or q
            return self.both(x, other ^ 1) if mine == x else self.either(x, other)
        return None


def within(inner: Literal, outer: Literal) -> bool:
    """Return whether the first literal (on the same column) implies the second.

    >>> within(Above(0, 3.0), Above(0, 2.0)), within(Above(0, 2.0), Above(0, 3.0))
    (True, False)
    """
    if isinstance(inner, Above) and isinstance(outer, Above):
        return inner.cutoff >= outer.cutoff
    if isinstance(inner, IsIn) and isinstance(outer, IsIn):
        return set(inner.codes) <= set(outer.codes)
    return inner == outer


def apart(first: Literal, second: Literal) -> bool:
    """Return whether two literals on one column can never hold together.

    >>> apart(IsIn(0, (1,)), IsIn(0, (2, 3))), apart(Above(0, 3.0), IsMissing(0))
    (True, True)
    """
    if isinstance(first, IsIn) and isinstance(second, IsIn):
        return not set(first.codes) & set(second.codes)
    return isinstance(first, IsMissing) != isinstance(second, IsMissing)


def read_circuit(graph: Graph, circuit: Circuit) -> list[int]:
    """Put a circuit's live nodes into the graph; return one edge per rule."""
    n_literals = len(circuit.literals)
    live = live_nodes(circuit)
    edges = [graph.literal(literal) if live[i] else FALSE_EDGE for i, literal in enumerate(circuit.literals)]
    for i, gate in enumerate(circuit.gates):
        edges.append(graph.gate(gate.kind, edges[gate.a], edges[gate.b]) if live[n_literals + i] else FALSE_EDGE)
    return [edges[rule.node] for rule in circuit.rules]
