"""Proof that a circuit's sum never falls, or never rises, as a number column rises: for every input, not by sampling.

Missing values of the column itself are apart. Two steps, of which the first decides nearly always:

1. By structure, for circuits of any size: a rule never falls as the column rises if all ways to it from the column's
   literals have an even number of negations and pass no XOR; with odd numbers it never rises. Where the signs of the
   weights agree with that, no term of the sum goes the wrong way.
2. Exactly, where a rule does not show it: from one value of the column to the next only rules that read a cut-off
   between them change. Their changes are tables over the blocks of the other columns, whose least sum is found by
   conditioning on one column after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Circuit
from dln.circuit._graph import XOR, Graph
from dln.circuit._words import name_text, number_text, weight_text
from dln.circuit.simplify._domain import Axis, axes_of, combinations, truth_table

#: Cells of one table, and of all that a search looks at: beyond them the answer is "not proved".
MAX_CELLS: Final = 1 << 20
MAX_SEARCHED_CELLS: Final = 1 << 26


class _Factor(NamedTuple):
    """A summand: a table with one axis for each of some columns."""

    columns: tuple[int, ...]
    table: npt.NDArray[np.int64]

    def at(self, column: int, block: int) -> _Factor:
        """Return the factor where a column is in one of its blocks."""
        if column not in self.columns:
            return self
        axis = self.columns.index(column)
        return _Factor(self.columns[:axis] + self.columns[axis + 1 :], np.asarray(self.table.take(block, axis=axis)))


class _TooLargeError(Exception):
    """A proof would take too long."""


def violation(circuit: Circuit, column: int, direction: int) -> str | None:
    """Return where the prediction goes against a direction as a column rises, or that there is no proof; None: proved.

    >>> from dln.circuit._circuit import Column, Gate, Rule
    >>> columns, literals = (Column("age"),), (Above(0, 40.0), Above(0, 60.0))
    >>> circuit = Circuit(columns, literals, (Gate(2, 0, 1),), (Rule(2, 5.0), Rule(1, 4.0)), 0.0, 0)
    >>> violation(circuit, 0, 1)  # 5 · [40 < age ≤ 60] + 4 · [age > 60]
    'it falls by 1 where age rises above 60'
    >>> violation(Circuit(columns, literals, circuit.gates, (Rule(2, 5.0), Rule(1, 5.0)), 0.0, 0), 0, 1)  # age > 40
    """
    graph = Graph()
    rules = [
        (edge, direction * circuit.grid(rule.weight))
        for edge, rule in zip(graph.add(circuit, [rule.node for rule in circuit.rules]), circuit.rules, strict=True)
    ]
    trends = _trends(graph, column)
    cuts = {edge: _cuts(graph, edge, column) for edge, _ in rules}
    unclear = {
        cut for edge, step in rules if (trend := _along(trends, edge)) is None or trend * step < 0 for cut in cuts[edge]
    }
    try:
        for cut in sorted(unclear, key=lambda one: one.cutoff):
            changed = [(edge, step) for edge, step in rules if cut in cuts[edge]]
            read = graph.cone([edge >> 1 for edge, _ in changed])
            axes = axes_of(graph.literals[node] for node in read if node in graph.literals)
            least = _Search().least([_change(graph, edge, step, cut, axes) for edge, step in changed])
            if least < 0:
                size = weight_text(-least * 10.0**-circuit.decimals, circuit.decimals)
                name, verb = name_text(circuit.columns[column].name), "falls" if direction > 0 else "rises"
                return f"it {verb} by {size} where {name} rises above {number_text(cut.cutoff)}"
    except _TooLargeError:
        return "its rules are too entangled for a proof"
    return None


def weight_sign(circuit: Circuit, node: int, column: int, direction: int) -> int:
    """Return the sign of a weight with which a node's term goes in a direction as a column rises, 0 for any or none."""
    graph = Graph()
    edge = graph.add(circuit, [node])[0]
    return direction * (_along(_trends(graph, column), edge) or 0)


def _cuts(graph: Graph, edge: int, column: int) -> set[Above]:
    """Return the cut-offs of a column that an edge reads."""
    literals = (graph.literals.get(node) for node in graph.cone([edge >> 1]))
    return {one for one in literals if isinstance(one, Above) and one.column == column}


def _trends(graph: Graph, column: int) -> list[int | None]:
    """Return for each node 1 if it never falls as a column rises, -1 if it never rises, 0 if both, None if unclear."""
    trends: list[int | None] = []
    for node, kind in enumerate(graph.kind):
        if graph.is_gate(node):
            found = {_along(trends, edge) for edge in graph.inputs(node)} - {0}
            trends.append(0 if not found else None if kind == XOR or len(found) > 1 else found.pop())
        else:
            literal = graph.literals.get(node)
            trends.append(int(isinstance(literal, Above) and literal.column == column))
    return trends


def _along(trends: Sequence[int | None], edge: int) -> int | None:
    trend = trends[edge >> 1]
    return -trend if trend is not None and edge & 1 else trend


def _change(graph: Graph, edge: int, step: int, cut: Above, axes: Sequence[Axis]) -> _Factor:
    """Return by how much a rule's term changes where its column rises above a cut-off, over the other columns."""
    read = {graph.literals[node].column for node in graph.cone([edge >> 1]) if node in graph.literals}
    own = [axis for axis in axes if axis.column in read]
    if combinations(own) > MAX_CELLS:
        raise _TooLargeError
    k = next(k for k, axis in enumerate(own) if axis.column == cut.column)
    above = own[k].where(cut)
    first = (above & -above).bit_length() - 1  # blocks are in the order of their values
    table = step * np.diff(truth_table(graph, edge, own).astype(np.int64), axis=k).take(first - 1, axis=k)
    return _Factor(tuple(axis.column for axis in own if axis.column != cut.column), np.asarray(table))


class _Search:
    """Finds the least sum of factors."""

    def __init__(self) -> None:
        self._n_cells = 0

    def least(self, factors: Sequence[_Factor]) -> int:
        """Return the least sum: of factors that share no column it is the sum of their own."""
        return sum(map(self._least_of_component, _components(factors)))

    def _least_of_component(self, factors: list[_Factor]) -> int:
        self._n_cells += sum(factor.table.size for factor in factors)
        if self._n_cells > MAX_SEARCHED_CELLS:
            raise _TooLargeError
        if len(factors) == 1:
            return int(factors[0].table.min())
        named = [column for factor in factors for column in factor.columns]
        column = max(sorted(set(named)), key=named.count)
        size = next(f.table.shape[f.columns.index(column)] for f in factors if column in f.columns)
        best: int | None = None
        for block in range(size):
            rest = [factor.at(column, block) for factor in factors]
            if best is None or sum(int(factor.table.min()) for factor in rest) < best:
                least = self.least(rest)
                best = least if best is None else min(best, least)
        assert best is not None  # noqa: S101 (every axis has a block)
        return best


def _components(factors: Sequence[_Factor]) -> Iterator[list[_Factor]]:
    """Yield the groups of factors that share columns, directly or through others."""
    left = list(factors)
    while left:
        component = [left.pop()]
        columns = set(component[0].columns)
        while near := [factor for factor in left if not columns.isdisjoint(factor.columns)]:
            left = [factor for factor in left if columns.isdisjoint(factor.columns)]
            component += near
            columns.update(*(factor.columns for factor in near))
        yield component
