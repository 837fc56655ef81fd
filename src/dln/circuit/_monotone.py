"""Proof that a circuit's sum never falls, or never rises, as a number column rises: for every input, not by sampling.

Missing values of the column itself are apart. Two steps, of which the first decides nearly always:

1. By structure, for circuits of any size: a rule whose paths from the column's literals all have an even number of
   negations, and none passes an XOR, never falls as the column rises; with odd numbers, it never rises. If the signs of
   the weights agree with that, no term of the sum goes the wrong way.
2. Exactly, where a rule does not show it: between two neighbouring values of the column only the rules that read the
   cut-off between them change. Their changes are tables over the blocks of the other columns; the least sum of these
   tables is found by conditioning on one column after another, which is exact, and bounded in its work.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import Above, Circuit, Column
from dln.circuit._graph import XOR, Graph
from dln.circuit._words import category_text, name_text, number_text, weight_text
from dln.circuit.simplify._domain import Axis, NumberAxis, axes_of, blocks_where, truth_table

#: Cells of one table, and of all that a search looks at: beyond them the answer is "not proved".
MAX_CELLS: Final = 1 << 20
MAX_SEARCHED_CELLS: Final = 1 << 26

Trend = int | None


class Factor(NamedTuple):
    """A summand: a table with one axis for each of some columns."""

    columns: tuple[int, ...]
    table: npt.NDArray[np.int64]

    def at(self, column: int, block: int) -> Factor:
        """Return the factor where a column is in one of its blocks."""
        if column not in self.columns:
            return self
        axis = self.columns.index(column)
        rest = self.columns[:axis] + self.columns[axis + 1 :]
        return Factor(rest, np.asarray(self.table.take(block, axis=axis)))


class TooLargeError(Exception):
    """A proof would take too long."""


def violation(circuit: Circuit, column: int, direction: int) -> str | None:
    """Return where the prediction goes against a direction as a column rises, or that there is no proof; None: proved.

    >>> from dln.circuit._circuit import Column, Gate, Rule
    >>> columns, literals = (Column("age"), Column("bmi")), (Above(0, 40.0), Above(0, 60.0), Above(1, 30.0))
    >>> circuit = Circuit(columns, literals, (Gate(2, 0, 1),), (Rule(3, 5.0), Rule(1, 4.0)), 0.0, 0)
    >>> violation(circuit, 0, 1)  # 5 · [40 < age ≤ 60] + 4 · [age > 60]
    'it falls by 1 where age rises above 60'
    >>> violation(Circuit(columns, literals, circuit.gates, (Rule(3, 5.0), Rule(1, 5.0)), 0.0, 0), 0, 1)  # age > 40
    """
    graph = Graph()
    edges = graph.add(circuit, [rule.node for rule in circuit.rules])
    steps = [direction * circuit.grid(rule.weight) for rule in circuit.rules]
    trends = _trends(graph, column)
    doubtful = [
        edge
        for edge, step in zip(edges, steps, strict=True)
        if (trend := _along(trends, edge)) is None or trend * step < 0
    ]
    try:
        for cutoff in sorted({one.cutoff for edge in doubtful for one in _cuts(graph, edge, column)}):
            cut = Above(column, cutoff)
            changed = [
                (edge, step) for edge, step in zip(edges, steps, strict=True) if cut in _cuts(graph, edge, column)
            ]
            axes = axes_of(
                graph.literals[node] for node in graph.cone([e >> 1 for e, _ in changed]) if node in graph.literals
            )
            total, blocks = _Search().least([_change(graph, edge, step, cut, axes) for edge, step in changed])
            if total < 0:
                return _words(circuit, cut, direction, total, [(axis, blocks.get(axis.column)) for axis in axes])
    except TooLargeError:
        return "its rules are too entangled for a proof"
    return None


def _cuts(graph: Graph, edge: int, column: int) -> set[Above]:
    """Return the cut-offs of a column that an edge reads."""
    literals = (graph.literals.get(node) for node in graph.cone([edge >> 1]))
    return {one for one in literals if isinstance(one, Above) and one.column == column}


def _trends(graph: Graph, column: int) -> list[Trend]:
    """Return for each node 1 if it never falls as a column rises, -1 if it never rises, 0 if both, None if unclear."""
    trends: list[Trend] = []
    for node, kind in enumerate(graph.kind):
        if not graph.is_gate(node):
            literal = graph.literals.get(node)
            trends.append(int(isinstance(literal, Above) and literal.column == column))
            continue
        found = {_along(trends, edge) for edge in graph.inputs(node)} - {0}
        trends.append(0 if not found else None if kind == XOR or len(found) > 1 else found.pop())
    return trends


def _along(trends: Sequence[Trend], edge: int) -> Trend:
    trend = trends[edge >> 1]
    return None if trend is None else -trend if edge & 1 else trend


def _change(graph: Graph, edge: int, step: int, cut: Above, axes: Sequence[Axis]) -> Factor:
    """Return by how much a rule's term changes where its column rises above a cut-off, over the other columns."""
    read = {graph.literals[node].column for node in graph.cone([edge >> 1]) if node in graph.literals}
    own = [axis for axis in axes if axis.column in read]
    if math.prod(axis.size for axis in own) > MAX_CELLS:
        raise TooLargeError
    k = next(k for k, axis in enumerate(own) if axis.column == cut.column)
    first = (blocks_where(own[k], cut) & -blocks_where(own[k], cut)).bit_length() - 1
    table = truth_table(graph, edge, own).astype(np.int64)
    columns = tuple(axis.column for axis in own if axis.column != cut.column)
    return Factor(columns, np.asarray(step * (table.take(first, axis=k) - table.take(first - 1, axis=k))))


class _Search:
    """Finds the least sum of factors, and the blocks in which it is reached."""

    def __init__(self) -> None:
        self._n_cells = 0

    def least(self, factors: Sequence[Factor]) -> tuple[int, dict[int, int]]:
        """Return the least sum, and a block for each column that it depends on.

        Factors that share no column are apart: the least sum of all is the sum of their least sums.
        """
        total, blocks = 0, dict[int, int]()
        for part in _components(factors):
            value, own = self._least_of_component(part)
            total, blocks = total + value, blocks | own
        return total, blocks

    def _least_of_component(self, factors: list[Factor]) -> tuple[int, dict[int, int]]:
        if len(factors) == 1:
            columns, table = factors[0]
            index = np.unravel_index(int(table.argmin()), table.shape)
            return int(table.min()), dict(zip(columns, map(int, index), strict=True))
        self._n_cells += sum(factor.table.size for factor in factors)
        if self._n_cells > MAX_SEARCHED_CELLS:
            raise TooLargeError
        named = [column for factor in factors for column in factor.columns]
        column = max(sorted(set(named)), key=named.count)
        size = next(f.table.shape[f.columns.index(column)] for f in factors if column in f.columns)
        best: tuple[int, dict[int, int]] | None = None
        for block in range(size):
            rest = [factor.at(column, block) for factor in factors]
            if best is not None and sum(int(factor.table.min()) for factor in rest) >= best[0]:
                continue
            value, blocks = self.least(rest)
            if best is None or value < best[0]:
                best = value, blocks | {column: block}
        assert best is not None  # noqa: S101 (every axis has a block)
        return best


def _components(factors: Sequence[Factor]) -> Iterator[list[Factor]]:
    """Yield the groups of factors that share columns, directly or through others."""
    left = list(factors)
    while left:
        component = [left.pop()]
        columns = set(component[0].columns)
        while near := [factor for factor in left if columns.intersection(factor.columns)]:
            component += near
            columns.update(*(factor.columns for factor in near))
            left = [factor for factor in left if not columns.intersection(factor.columns)]
        yield component


def _words(circuit: Circuit, cut: Above, direction: int, total: int, where: Sequence[tuple[Axis, int | None]]) -> str:
    """Return a violation in words, with the blocks of the other columns in which it is largest."""
    verb, name = "falls" if direction > 0 else "rises", name_text(circuit.columns[cut.column].name)
    size = weight_text(abs(total) * 10.0**-circuit.decimals, circuit.decimals)
    others = [_block_text(circuit.columns[axis.column], axis, block) for axis, block in where if block is not None]
    example = f", for example with {' and '.join(others)}" if others else ""
    return f"it {verb} by {size} where {name} rises above {number_text(cut.cutoff)}{example}"


def _block_text(column: Column, axis: Axis, block: int) -> str:
    name = name_text(column.name)
    if axis.missing and block == axis.size - 1:
        return f"{name} missing"
    if isinstance(axis, NumberAxis):
        if block:
            return f"{name} just above {number_text(axis.cutoffs[block - 1])}"
        return f"{name} up to {number_text(axis.cutoffs[0])}" if axis.cutoffs else f"{name} known"
    if block < len(axis.groups) and column.categories is not None:
        return f"{name} = {category_text(column.categories[axis.groups[block][0]])}"
    return f"{name} of another category"
