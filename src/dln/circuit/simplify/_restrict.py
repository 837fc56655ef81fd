"""Gates made simpler by don't cares: an input of an AND matters only where the other input is true.

The idea is Coudert and Madre's *restrict*, on truth tables instead of decision diagrams. On the rows of a table that
matter, the *care set*, a node may equal a constant or a literal, which then replaces it. In ``x AND y`` on a care set
C, x matters only on ``C AND y``; let x' be what replaces x, then y matters only on ``C AND x'``. Absorption and
cut-offs that imply each other are special cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from dln.circuit._graph import AND, FALSE_EDGE, TRUE_EDGE, Graph
from dln.circuit.simplify._domain import axes_of, column_table, combinations, literal_table

#: Rows of a truth table, at most: twelve literals of different columns.
MAX_ROWS: Final = 2**12
#: Paths from the top of a window to its leaves, at most: they bound the time of `Window.restrict`.
MAX_PATHS: Final = 2**9


class Window:
    """The gates directly under a node, with truth tables over the leaves below them.

    Gates are opened from the node downwards while the tables stay small. A gate that is not opened is a leaf, a free
    bit, so that what holds on all rows of a table holds on every input.
    """

    def __init__(self, graph: Graph, node: int) -> None:
        self._graph = graph
        paths = {node: 1}  # from the node to every leaf
        opened: list[int] = []
        while gates := [leaf for leaf in paths if graph.is_gate(leaf)]:
            top = max(gates)  # only open gates of the window read it, so all paths to it are counted
            below = paths.copy()
            n = below.pop(top)
            for edge in graph.inputs(top):
                below[edge >> 1] = below.get(edge >> 1, 0) + n
            if _n_rows(graph, below) > MAX_ROWS or sum(below.values()) > MAX_PATHS:
                break
            paths = below
            opened.append(top)
        self._leaves = sorted(paths)
        self._tables = {0: 0, **_leaf_tables(graph, self._leaves)}
        self.all_rows = (1 << _n_rows(graph, paths)) - 1
        for gate in reversed(opened):
            self._add_table(gate)

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
        inputs = [self._graph.inputs(edge >> 1) for edge in (a, b) if edge & 1 and self._is_open_and(edge >> 1)]
        if len(inputs) == 2:  # noqa: PLR2004 (two ORs: complements of ANDs)
            first, second = map(set, inputs)
            if len(first & second) == 1:
                (common,), (q, r) = first & second, first ^ second
                return self._graph.both(common, self._graph.either(q, r)) ^ 1
        return self._graph.both(a, b)

    def _is_open_and(self, node: int) -> bool:
        return self._graph.kind[node] == AND and node not in self._leaves

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
            for below in self._graph.inputs(node):
                self._known(below)
            self._add_table(node)
        return edge

    def _add_table(self, gate: int) -> None:
        a, b = map(self._table, self._graph.inputs(gate))
        self._tables[gate] = a & b if self._graph.kind[gate] == AND else a ^ b


def restricted(graph: Graph, edge: int) -> int:
    """Return an edge with the same meaning; written out, it has no more literals."""
    if not graph.is_gate(edge >> 1):
        return edge
    window = Window(graph, edge >> 1)
    return window.restrict(edge, window.all_rows)


def _n_rows(graph: Graph, leaves: Iterable[int]) -> int:
    """Return the rows of a table over the leaves: the combinations of the columns' blocks and of the gates' bits."""
    leaves = list(leaves)
    literals = [graph.literals[leaf] for leaf in leaves if not graph.is_gate(leaf)]
    return combinations(axes_of(literals)) << (len(leaves) - len(literals))


def _leaf_tables(graph: Graph, leaves: Sequence[int]) -> dict[int, int]:
    """Return the truth table of every leaf."""
    literals = {leaf: graph.literals[leaf] for leaf in leaves if not graph.is_gate(leaf)}
    axes = axes_of(literals.values())
    gates = [leaf for leaf in leaves if leaf not in literals]
    sizes = [axis.size for axis in axes] + [2] * len(gates)
    tables = {gate: column_table(sizes, len(axes) + i, 0b10) for i, gate in enumerate(gates)}
    return tables | {leaf: literal_table(literal, axes, len(gates)) for leaf, literal in literals.items()}
