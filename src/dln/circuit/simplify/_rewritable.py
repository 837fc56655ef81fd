"""A graph that can be made cheaper: it knows what its literals imply, what its nodes cost and who uses them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from dln.circuit._circuit import Above, IsIn, IsMissing, Literal
from dln.circuit._graph import AND, FALSE_EDGE, LITERAL, TRUE_EDGE, XOR, Graph
from dln.circuit._operations import CATEGORY_BIT, COMPARISON, GATE, XOR_GATE

#: One category of one column, below the literals that name it: they share its cost.
_BIT: Final = -1


class RewritableGraph(Graph):
    """A graph with laws of logic, reference counts and replacement, so that a rewrite is judged by what it frees."""

    def __init__(self) -> None:
        super().__init__()
        self.cost: list[int] = [0]
        self.size: list[int] = [0]  # literals named when written out
        self.support: list[int] = [0]  # literals underneath, as a bit set of nodes
        self.references: list[int] = [0]
        self._bits: dict[int, list[int]] = {}
        self._bit_of: dict[tuple[int, int], int] = {}
        self._replaced: dict[int, int] = {}
        self._applies_laws = True

    # ---- building

    def literal(self, literal: Literal) -> int:
        """Return the edge of a literal, the same one for an equal literal."""
        if literal not in self._known:
            bits = [self._bit(literal.column, code) for code in literal.codes] if isinstance(literal, IsIn) else []
            node = super().literal(literal) >> 1
            self._bits[node] = bits
            self.cost[node] = _literal_cost(literal)
        return super().literal(literal)

    def both(self, a: int, b: int) -> int:
        """Return the edge of ``a AND b``."""
        return super().both(self.resolve(a), self.resolve(b))

    def differ(self, a: int, b: int) -> int:
        """Return the edge of ``a XOR b``."""
        return super().differ(self.resolve(a), self.resolve(b))

    def all_of(self, edges: Iterable[int]) -> int:
        """Return the AND of the edges, in a fixed order so that equal parts are shared."""
        result = TRUE_EDGE
        for edge in sorted(map(self.resolve, edges)):
            result = self.both(result, edge)
        return result

    @contextmanager
    def without_laws(self) -> Iterator[None]:
        """Add gates as they are: what needs no proof."""
        self._applies_laws = False
        yield
        self._applies_laws = True

    def _gate(self, kind: int, a: int, b: int) -> int:
        if (kind, a, b) not in self._known and self._applies_laws:
            simpler = self._simpler(kind, a, b)
            if simpler is not None:
                return simpler
        return self.resolve(super()._gate(kind, a, b))

    def _new(self, kind: int, left: int, right: int) -> int:
        node = super()._new(kind, left, right)
        self.cost.append(0)
        self.size.append(1)
        self.support.append(1 << node)
        self.references.append(0)
        self.refresh(node)
        return node

    def _bit(self, column: int, code: int) -> int:
        node = self._bit_of.get((column, code))
        if node is None:
            node = self._bit_of[column, code] = self._new(_BIT, FALSE_EDGE, FALSE_EDGE)
            self.cost[node] = CATEGORY_BIT
        return node

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

    def literals_under(self, node: int) -> list[Literal]:
        """Return the literals that a node rests on."""
        support = self.support[node]
        literals = []
        while support:
            lowest = support & -support
            literals.append(self.literals[lowest.bit_length() - 1])
            support ^= lowest
        return literals

    # ---- accounting

    def take(self, node: int) -> int:
        """Count one more use of the node; return the cost of what was not in use before."""
        return self._count(node, change=1, at=1)

    def drop(self, node: int) -> int:
        """Count one use less of the node; return the cost of what is no longer in use."""
        return self._count(node, change=-1, at=0)

    def replace(self, node: int, edge: int) -> None:
        """Let every use of the node be one of the edge instead."""
        uses = self.references[node]
        target = edge >> 1
        self.take(target)
        self.references[target] += uses - 1
        self.references[node] = 1
        self.drop(node)
        self._replaced[node] = edge

    def saving(self, node: int, edge: int) -> tuple[int, int]:
        """Return what it saves to use the edge instead of the node: operations, and literals when written out."""
        target, uses = edge >> 1, self.references[node]
        self.references[node] = 1
        freed = self.drop(node)
        added = self.take(target)
        self.drop(target)
        self.take(node)
        self.references[node] = uses
        return freed - added, self.size[node] - self.size[target]

    def refresh(self, node: int) -> None:
        """Bring what a gate knows of itself up to date with its inputs, which may have been replaced."""
        if self.is_gate(node):
            x, y = (edge >> 1 for edge in self.inputs(node))
            self.cost[node] = GATE if self.kind[node] == AND else XOR_GATE
            self.support[node] = self.support[x] | self.support[y]
            self.size[node] = self.size[x] + self.size[y]

    def _count(self, node: int, *, change: int, at: int) -> int:
        cost = 0
        stack = [node]
        while stack:
            node = stack.pop()
            self.references[node] += change
            if self.references[node] == at:
                cost += self.cost[node]
                stack += self._below(node)
        return cost

    def _below(self, node: int) -> list[int]:
        return [edge >> 1 for edge in self.inputs(node)] if self.is_gate(node) else self._bits.get(node, [])

    # ---- laws

    def _simpler(self, kind: int, a: int, b: int) -> int | None:
        """Return a smaller edge for a gate, or None."""
        if self.kind[a >> 1] == self.kind[b >> 1] == LITERAL:
            return self._and_of_literals(a, b) if kind == AND else self._xor_of_literals(a, b)
        law = self._and_with_gate if kind == AND else self._xor_with_gate
        for x, y in ((a, b), (b, a)):
            simpler = law(x, y) if self.is_gate(y >> 1) else None
            if simpler is not None:
                return simpler
        return None

    def _and_of_literals(self, a: int, b: int) -> int | None:
        if self._implies(a, b):
            return a
        if self._implies(b, a):
            return b
        if self._implies(a, b ^ 1):
            return FALSE_EDGE
        match self.literals[a >> 1], self.literals[b >> 1]:
            case IsIn(column, (x,)), IsIn(other, (y,)) if column == other and a & b & 1:
                # Neither of two categories: a set. Larger sets are left to the tables, which see all that is asked.
                return self.literal(IsIn(column, (min(x, y), max(x, y)))) ^ 1
        return None

    def _xor_of_literals(self, a: int, b: int) -> int | None:
        """Return a smaller edge for ``a XOR b`` of two literals that are not negated, or None."""
        if self._implies(a, b ^ 1):
            return self.either(a, b)
        if self._implies(a, b):
            return self.both(a ^ 1, b)
        return self.both(a, b ^ 1) if self._implies(b, a) else None

    def _implies(self, a: int, b: int) -> bool:
        """Return whether one literal, perhaps negated, implies another on the same column."""
        first, second = self.literals[a >> 1], self.literals[b >> 1]
        if first.column != second.column:
            return False
        if a & 1:
            # Something is always neither of two sets of categories, numbers or missing: no "not" implies a literal.
            return bool(b & 1) and within(second, first)
        return apart(first, second) if b & 1 else within(first, second)

    def _and_with_gate(self, x: int, y: int) -> int | None:
        """Return a smaller edge for ``x AND y`` if x is an input of the gate y, or None."""
        p, q = self.inputs(y >> 1)
        if x >> 1 not in {p >> 1, q >> 1}:
            return None
        mine, other = (p, q) if x >> 1 == p >> 1 else (q, p)
        if self.kind[y >> 1] == XOR:  # x fixes one side
            return self.both(x, other ^ (x == mine) ^ (y & 1))
        if not y & 1:  # x and (x and q), x and (not x and q)
            return y if x == mine else FALSE_EDGE
        # x and not (x and q), x and not (not x and q)
        return self.both(x, other ^ 1) if x == mine else x

    def _xor_with_gate(self, x: int, y: int) -> int | None:
        """Return a smaller edge for ``x XOR y``, neither negated, if x is an input of the gate y, or None."""
        p, q = self.inputs(y >> 1)
        mine, other = (p, q) if p >> 1 == x >> 1 else (q, p)
        if mine >> 1 != x >> 1:
            return None
        if self.kind[y >> 1] == XOR:
            return other ^ (mine & 1)
        # x xor (x and q) is x and not q; x xor (not x and q) is x or q
        return self.both(x, other ^ 1) if mine == x else self.either(x, other)


def _literal_cost(literal: Literal) -> int:
    """Return the operations of a literal, without those of its categories, which other literals may share."""
    if isinstance(literal, IsIn):
        return (len(literal.codes) - 1) * GATE
    return COMPARISON if isinstance(literal, Above) else CATEGORY_BIT


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
