"""One pass over a graph: every gate, inputs first, is replaced where something cheaper means the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from dln.circuit.simplify._domain import Axis, Table, axes_of, combinations, truth_table
from dln.circuit.simplify._minimize import TooManyProductsError, Variable, merge_equal, narrow, synthesize, variables_of
from dln.circuit.simplify._rewritable import RewritableGraph

#: Rows of the truth tables that gates are minimised by: ten literals of different columns. A rule of a default model
#: has at most six, so it is minimised whole. In the paper's deep networks the gates above stay as their inputs make
#: them. Measured on a trained network of five layers of 1000, 905 rules of 7666 conditions: 2^8 rows left 7395 in 8 s,
#: 2^10 rows 7366 in 10 s, 2^12 rows 7360 in 15 s.
MAX_ROWS: Final = 2**10

Signature = tuple[tuple[tuple[Axis, tuple[int, ...]], ...], bytes]


def rewrite(graph: RewritableGraph, roots: Sequence[int], keep: Collection[int] = ()) -> list[int]:
    """Make the graph under the roots cheaper, but for the nodes to keep; return the roots' edges afterwards."""
    for root in roots:
        graph.take(root >> 1)
    known: dict[Signature, int] = {}
    made: dict[Signature, int] = {}
    for node in graph.cone(root >> 1 for root in roots):
        in_use = graph.references[node] > 0 and graph.resolve(2 * node) == 2 * node
        if graph.is_gate(node) and in_use and node not in keep:
            graph.refresh(node)
            _improve(graph, node, known, made)
    return [graph.resolve(root) for root in roots]


def _improve(graph: RewritableGraph, node: int, known: dict[Signature, int], made: dict[Signature, int]) -> None:
    """Replace the gate if an equal one was met before or a cheaper form is found."""
    literals = graph.literals_under(node)
    axes = axes_of(literals)
    if combinations(axes) > MAX_ROWS:
        return
    n_gates = sum(map(graph.is_gate, graph.cone([node])))
    table, variables = truth_table(graph, 2 * node, axes), variables_of(axes)
    # A tree over independent inputs, each used once, has no gate to spare.
    is_tree = n_gates == len(literals) - 1 and len(axes) == len(literals)
    if not is_tree:
        table, variables = narrow(*merge_equal(table, variables))
    signature, flipped = _signature(table, variables)
    if signature in known:
        equal = graph.resolve(known[signature]) ^ flipped
        if equal >> 1 != node and node not in graph.cone([equal >> 1]):
            graph.replace(node, equal)
        return
    known[signature] = 2 * node ^ flipped
    if is_tree:
        return
    if signature not in made:
        try:
            made[signature] = synthesize(graph, table, variables, 2 * n_gates) ^ flipped
        except TooManyProductsError:
            return
    edge = graph.resolve(made[signature]) ^ flipped
    if edge >> 1 != node and node not in graph.cone([edge >> 1]) and graph.saving(node, edge) > (0, 0):
        graph.replace(node, edge)
    known[signature] = graph.resolve(2 * node) ^ flipped


def _signature(table: Table, variables: list[Variable]) -> tuple[Signature, int]:
    """Return what two gates share exactly if they are equal or complementary; and whether this is the complement."""
    flipped = int(table.flat[0])
    content = (~table if flipped else table).tobytes()
    return (tuple((variable.axis, variable.classes) for variable in variables), content), flipped
