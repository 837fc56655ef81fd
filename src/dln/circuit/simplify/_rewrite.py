"""One pass over a graph: every gate, inputs first, is replaced where something cheaper means the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dln.circuit.simplify._domain import Axis, EdgeAxis, axes_of, blocks_where, column_table, combinations
from dln.circuit.simplify._graph import AND, LITERAL, Graph
from dln.circuit.simplify._minimize import (
    Table,
    TooManyProductsError,
    Variable,
    merge_equal,
    narrow,
    synthesize,
    table_of,
    variables_of,
)

#: Rows of the truth tables that gates are minimised by: twelve literals of different columns.
MAX_ROWS: Final = 2**12
#: Where a gate depends on more, rows of the table over inner gates close below it.
MAX_CUT_ROWS: Final = 2**8

Signature = tuple[tuple[tuple[Axis, tuple[int, ...]], ...], bytes]


def rewrite(graph: Graph, roots: Sequence[int]) -> list[int]:
    """Make the graph under the roots cheaper; return the roots' edges afterwards."""
    for root in roots:
        graph.take(root >> 1)
    known: dict[Signature, int] = {}
    made: dict[Signature, int] = {}
    for node in graph.cone([root >> 1 for root in roots]):
        if graph.references[node] > 0 and graph.resolve(2 * node) == 2 * node:
            _refresh(graph, node)
            _improve(graph, node, known, made)
    return [graph.resolve(root) for root in roots]


def _refresh(graph: Graph, node: int) -> None:
    """Bring what a gate knows of itself up to date with its inputs, which may have been replaced."""
    a, b = graph.inputs(node)
    graph.support[node] = graph.support[a >> 1] | graph.support[b >> 1]
    graph.size[node] = graph.size[a >> 1] + graph.size[b >> 1]


def _improve(graph: Graph, node: int, known: dict[Signature, int], made: dict[Signature, int]) -> None:
    """Replace the gate if an equal one was met before or a cheaper form is found."""
    leaves, axes = _leaves(graph, node)
    if combinations(axes) > MAX_ROWS:
        leaves, axes = _cut(graph, node)
    cone = _between(graph, node, leaves)
    # A tree over independent inputs, each used once, has no gate to spare.
    lean = len(cone) == len(leaves) - 1 and len(axes) == len(leaves)
    if lean and any(isinstance(axis, EdgeAxis) for axis in axes):
        return
    table, variables = _table(graph, node, leaves, axes, cone)
    if not lean:
        table, variables = narrow(*merge_equal(table, variables))
    signature, flipped = _signature(table, variables)
    if signature in known:
        equal = graph.resolve(known[signature]) ^ flipped
        if equal >> 1 != node and node not in graph.cone([equal >> 1]):
            graph.replace(node, equal)
        return
    known[signature] = 2 * node ^ flipped
    if lean:
        return
    if signature not in made:
        try:
            made[signature] = synthesize(graph, table, variables, 2 * len(cone)) ^ flipped
        except TooManyProductsError:
            return
    _try(graph, node, graph.resolve(made[signature]) ^ flipped)
    known[signature] = graph.resolve(2 * node) ^ flipped


def _try(graph: Graph, node: int, edge: int) -> None:
    """Replace the gate by the edge if that costs less, or as much and reads shorter."""
    target = edge >> 1
    if target == node or node in graph.cone([target]):
        return
    freed = graph.references[node]
    before = _release(graph, node)
    after = graph.take(target)
    graph.drop(target)
    _restore(graph, node, freed)
    if (after, graph.size[target]) < (before, graph.size[node]):
        graph.replace(node, edge)


def _release(graph: Graph, node: int) -> int:
    """Free the gate and what only it uses; return their cost."""
    graph.references[node] = 1
    return graph.drop(node)


def _restore(graph: Graph, node: int, references: int) -> None:
    graph.take(node)
    graph.references[node] = references


def _leaves(graph: Graph, node: int) -> tuple[list[int], list[Axis]]:
    """Return the literals under a gate, and their axes."""
    support = graph.support[node]
    numbers = [i for i in range(support.bit_length()) if support >> i & 1]
    return [graph.literal_nodes[i] for i in numbers], list(axes_of(graph.literals[i] for i in numbers))


def _cut(graph: Graph, node: int) -> tuple[list[int], list[Axis]]:
    """Return nodes that separate the gate from the literals, few enough for a table."""
    leaves = {edge >> 1 for edge in graph.inputs(node)}
    while True:
        # Open the gate that adds the fewest leaves: that is where paths meet again.
        choices = []
        for leaf in leaves:
            if graph.is_gate(leaf):
                added = {edge >> 1 for edge in graph.inputs(leaf)} - leaves
                choices.append((len(added), leaf, added))
        for _, leaf, added in sorted(choices, key=lambda choice: choice[:2]):
            wider = (leaves - {leaf}) | added
            if combinations(_cut_axes(graph, sorted(wider))) <= MAX_CUT_ROWS:
                leaves = wider
                break
        else:
            ordered = sorted(leaves)
            return ordered, _cut_axes(graph, ordered)


def _cut_axes(graph: Graph, leaves: list[int]) -> list[Axis]:
    literals = [graph.literals[graph.literal_number[leaf]] for leaf in leaves if graph.kind[leaf] == LITERAL]
    return [*axes_of(literals), *(EdgeAxis(2 * leaf) for leaf in leaves if graph.is_gate(leaf))]


def _between(graph: Graph, node: int, leaves: list[int]) -> list[int]:
    """Return the gates from the leaves up to the gate, inputs first."""
    order: list[int] = []
    seen = set(leaves)
    stack = [(node, False)]
    while stack:
        current, ready = stack.pop()
        if ready:
            order.append(current)
        elif current not in seen:
            seen.add(current)
            a, b = graph.inputs(current)
            stack += ((current, True), (b >> 1, False), (a >> 1, False))
    return order


def _table(
    graph: Graph, node: int, leaves: list[int], axes: list[Axis], cone: list[int]
) -> tuple[Table, list[Variable]]:
    sizes = [axis.size for axis in axes]
    everything = (1 << combinations(axes)) - 1
    place = {axis.edge >> 1 if isinstance(axis, EdgeAxis) else -1 - axis.column: i for i, axis in enumerate(axes)}
    values: dict[int, int] = {0: 0}
    for leaf in leaves:
        if graph.kind[leaf] == LITERAL:
            literal = graph.literals[graph.literal_number[leaf]]
            index = place[-1 - literal.column]
            values[leaf] = column_table(sizes, index, blocks_where(axes[index], literal))
        else:
            values[leaf] = column_table(sizes, place[leaf], 0b10)
    for gate in cone:
        a, b = graph.inputs(gate)
        x = values[a >> 1] ^ everything if a & 1 else values[a >> 1]
        y = values[b >> 1] ^ everything if b & 1 else values[b >> 1]
        values[gate] = x & y if graph.kind[gate] == AND else x ^ y
    return table_of(values[node], sizes), variables_of(axes)


def _signature(table: Table, variables: list[Variable]) -> tuple[Signature, int]:
    """Return what two gates share exactly if they are equal or complementary; and whether this is the complement."""
    flipped = int(table.flat[0])
    content = (~table if flipped else table).tobytes()
    return (tuple((variable.axis, variable.classes) for variable in variables), content), flipped
