"""From a graph back to a circuit, in one fixed order: literals by column, gates by level."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dln.circuit._circuit import LARGEST_SUM, Above, Circuit, Column, Gate, IsIn, Literal, Rule, from_grid
from dln.circuit._gates import A_AND_NOT_B, NOT_A_AND_B, OR
from dln.circuit._gates import AND as AND_GATE
from dln.circuit._gates import XOR as XOR_GATE
from dln.circuit.simplify._graph import AND, Graph

_KIND_ORDER: Final = {AND_GATE: 0, A_AND_NOT_B: 1, NOT_A_AND_B: 2, OR: 3, XOR_GATE: 4}


class Emitted:
    """The literals and gates under some edges, and where each node of the graph went.

    A node may be emitted as its complement (an OR for an AND of two negations); `negated` says so.
    """

    def __init__(self, graph: Graph, edges: Sequence[int]) -> None:
        nodes = [edge >> 1 for edge in edges if edge > 1]
        cone = graph.cone(nodes)
        used = {edge >> 1 for node in cone for edge in graph.inputs(node)} | set(nodes)
        leaves = sorted((n for n in used if not graph.is_gate(n)), key=lambda n: literal_order(self._literal(graph, n)))
        self.literals = tuple(self._literal(graph, node) for node in leaves)
        self.gates: list[Gate] = []
        self.place = {node: i for i, node in enumerate(leaves)}
        self.negated = dict.fromkeys(leaves, 0)
        levels = dict.fromkeys(leaves, 0)
        by_level: dict[int, list[int]] = {}
        for node in cone:
            a, b = graph.inputs(node)
            levels[node] = 1 + max(levels[a >> 1], levels[b >> 1])
            by_level.setdefault(levels[node], []).append(node)
        for level in sorted(by_level):
            self._add_level(graph, by_level[level])

    @staticmethod
    def _literal(graph: Graph, node: int) -> Literal:
        return graph.literals[graph.literal_number[node]]

    def _add_level(self, graph: Graph, nodes: list[int]) -> None:
        made = []
        for node in nodes:
            gate, self.negated[node] = self._form(graph, node)
            made.append((gate, node))
        for gate, node in sorted(made, key=lambda pair: (_KIND_ORDER[pair[0].kind], pair[0].a, pair[0].b)):
            self.place[node] = len(self.literals) + len(self.gates)
            self.gates.append(gate)

    def _form(self, graph: Graph, node: int) -> tuple[Gate, int]:
        """Return the gate for a node, with as few negations as can be, and whether it is the complement."""
        (x, not_x), (y, not_y) = sorted(
            (self.place[edge >> 1], (edge & 1) ^ self.negated[edge >> 1]) for edge in graph.inputs(node)
        )
        if graph.kind[node] != AND:
            return Gate(XOR_GATE, x, y), not_x ^ not_y
        if not_x and not_y:
            return Gate(OR, x, y), 1
        return Gate(NOT_A_AND_B if not_x else A_AND_NOT_B if not_y else AND_GATE, x, y), 0


def literal_order(literal: Literal) -> tuple[int, int, tuple[float, ...]]:
    """Return the key that sorts literals by column, cut-offs before categories before missing."""
    if isinstance(literal, Above):
        return literal.column, 0, (literal.cutoff,)
    return (literal.column, 1, literal.codes) if isinstance(literal, IsIn) else (literal.column, 2, ())


def unmerged(graph: Graph, edges: Sequence[int], columns: tuple[Column, ...]) -> tuple[Circuit, list[int]]:
    """Return a circuit with the nodes under all edges; per edge ``2 * node + negated``, or -1 (never), -2 (always)."""
    emitted = Emitted(graph, edges)
    places = [
        -1 - edge if edge <= 1 else 2 * emitted.place[edge >> 1] + ((edge & 1) ^ emitted.negated[edge >> 1])
        for edge in edges
    ]
    return Circuit(columns, emitted.literals, tuple(emitted.gates), (), 0.0, 0), places


def merged(graph: Graph, edges: Sequence[int], circuit: Circuit) -> Circuit | None:
    """Return the sum of the circuit's weights over the edges, equal and complementary rules and constants merged.

    None where the whole-number sums would no longer be exact, because merging made the intercept too large.
    """
    intercept = circuit.grid(circuit.intercept)
    weights: dict[int, int] = {}
    for edge, rule in zip(edges, circuit.rules, strict=True):
        weight = circuit.grid(rule.weight)
        if edge & 1:  # w·(1 − r) is w − w·r
            intercept += weight
            weight = -weight
        if edge > 1:
            weights[edge >> 1] = weights.get(edge >> 1, 0) + weight
    weights = {node: weight for node, weight in weights.items() if weight}
    emitted = Emitted(graph, [2 * node for node in weights])
    for node in weights:
        if emitted.negated[node]:
            intercept += weights[node]
            weights[node] = -weights[node]
    if abs(intercept) + sum(map(abs, weights.values())) >= LARGEST_SUM:
        return None
    rules = tuple(Rule(emitted.place[node], _weight(circuit, weight)) for node, weight in weights.items())
    gates = tuple(emitted.gates)
    return Circuit(circuit.columns, emitted.literals, gates, rules, _weight(circuit, intercept), circuit.decimals)


def _weight(circuit: Circuit, steps: int) -> float:
    return float(from_grid(np.array(float(steps)), circuit.decimals))
