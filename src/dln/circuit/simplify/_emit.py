"""From a rewritten graph to one in a fixed order, literals by column and gates by level, with few negations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dln.circuit import _gates
from dln.circuit._circuit import Above, IsIn, Literal
from dln.circuit._graph import AND, FALSE_EDGE, Graph

_KIND_ORDER: Final = {
    kind: i for i, kind in enumerate((_gates.AND, _gates.A_AND_NOT_B, _gates.NOT_A_AND_B, _gates.OR, _gates.XOR))
}


def in_order(graph: Graph, edges: Sequence[int]) -> tuple[Graph, list[int]]:
    """Return a graph that means the same and depends only on what is under the edges; and the edges in it."""
    nodes = graph.cone(edge >> 1 for edge in edges)
    ordered = Graph()
    moved = {0: FALSE_EDGE}
    for node in sorted((n for n in nodes if not graph.is_gate(n)), key=lambda n: literal_order(graph.literals[n])):
        moved[node] = ordered.literal(graph.literals[node])
    levels = dict.fromkeys(moved, 0)
    by_level: dict[int, list[int]] = {}
    for node in filter(graph.is_gate, nodes):
        levels[node] = 1 + max(levels[edge >> 1] for edge in graph.inputs(node))
        by_level.setdefault(levels[node], []).append(node)
    for level in sorted(by_level):
        forms = [(*_form(ordered, graph, node, moved), node) for node in by_level[level]]
        for kind, x, y, negated, node in sorted(forms, key=lambda form: (_KIND_ORDER[form[0]], *form[1:3])):
            moved[node] = ordered.gate(kind, ordered.as_written(x), ordered.as_written(y)) ^ negated
    return ordered, [moved[edge >> 1] ^ (edge & 1) for edge in edges]


def _form(ordered: Graph, graph: Graph, node: int, moved: dict[int, int]) -> tuple[int, int, int, bool]:
    """Return the gate for a node, with as few negations as can be, its input nodes, and whether it is the complement.

    An AND of two negations is written as an OR, for which the node is then the complement.
    """
    inputs = sorted(moved[edge >> 1] ^ (edge & 1) for edge in graph.inputs(node))
    x, y = (edge >> 1 for edge in inputs)
    not_x, not_y = map(ordered.is_complement, inputs)
    if graph.kind[node] != AND:
        return _gates.XOR, x, y, not_x ^ not_y
    if not_x and not_y:
        return _gates.OR, x, y, True
    return (_gates.NOT_A_AND_B if not_x else _gates.A_AND_NOT_B if not_y else _gates.AND), x, y, False


def literal_order(literal: Literal) -> tuple[int, int, tuple[float, ...]]:
    """Return the key that sorts literals by column, cut-offs before categories before missing."""
    if isinstance(literal, Above):
        return literal.column, 0, (literal.cutoff,)
    return (literal.column, 1, literal.codes) if isinstance(literal, IsIn) else (literal.column, 2, ())
