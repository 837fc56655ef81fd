"""Truth tables over columns: the literals on a column divide its values into a few *blocks*.

The cut-offs 2 and 3 of one column make three blocks (up to 2, up to 3, above), not four combinations of two bits; its
missing values are a fourth block if a literal tests for them, and count as "not above" otherwise. A truth table over
blocks has no impossible rows.

A table is an array with one axis per column; on the way there it is a Python int, one bit per combination of blocks,
the last axis fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dln.circuit._circuit import MISSING, UNKNOWN, Above, IsIn, Literal, Values, literal_values
from dln.circuit._graph import AND, Graph

Table: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Axis:
    """A column and its blocks: of each, the answers of all literals on the column."""

    column: int
    literals: tuple[Literal, ...]
    answers: tuple[tuple[bool, ...], ...]

    @property
    def size(self) -> int:
        """Return the number of blocks."""
        return len(self.answers)

    def where(self, literal: Literal) -> int:
        """Return the blocks where a literal holds, as a bit set."""
        i = self.literals.index(literal)
        return sum(1 << block for block, answers in enumerate(self.answers) if answers[i])

    def blocks(self, values: Values) -> npt.NDArray[np.intp]:
        """Return the block of each value, ``(n_rows,)``."""
        held = np.array([literal_values(literal, values) for literal in self.literals]).T
        different, place = np.unique(held, axis=0, return_inverse=True)
        blocks = [self.answers.index(tuple(answers)) for answers in different.tolist()]
        return np.array(blocks, dtype=np.intp)[place.reshape(-1)]


def axes_of(literals: Iterable[Literal]) -> list[Axis]:
    """Return one axis per column that the literals read, in order."""
    by_column: dict[int, list[Literal]] = {}
    for literal in literals:
        by_column.setdefault(literal.column, []).append(literal)
    return [_axis(column, tuple(by_column[column])) for column in sorted(by_column)]


@lru_cache(maxsize=4096)
def _axis(column: int, literals: tuple[Literal, ...]) -> Axis:
    """Return the axis of a column: each value that can occur gets the same answers as one of a few."""
    cutoffs = sorted({literal.cutoff for literal in literals if isinstance(literal, Above)})
    codes = sorted({code for literal in literals if isinstance(literal, IsIn) for code in literal.codes})
    values = np.array([*codes, UNKNOWN, MISSING]) if codes else np.array([*cutoffs, np.inf, np.nan])
    answers = zip(*(literal_values(literal, values).tolist() for literal in literals), strict=True)
    return Axis(column, literals, tuple(dict.fromkeys(answers)))


def literal_order(literal: Literal) -> tuple[int, int, tuple[float, ...]]:
    """Return the key that sorts literals by column, cut-offs before categories before missing."""
    if isinstance(literal, Above):
        return literal.column, 0, (literal.cutoff,)
    return (literal.column, 1, literal.codes) if isinstance(literal, IsIn) else (literal.column, 2, ())


def truth_table(graph: Graph, edge: int, axes: Sequence[Axis]) -> Table:
    """Return where an edge holds, for every combination of blocks of the columns that it reads."""
    n_rows = combinations(axes)
    packed = np.frombuffer(edge_table(graph, edge, axes).to_bytes((n_rows + 7) // 8, "little"), dtype=np.uint8)
    table = np.unpackbits(packed, count=n_rows, bitorder="little")
    return table.astype(np.bool_).reshape([axis.size for axis in axes])


def edge_table(graph: Graph, edge: int, axes: Sequence[Axis]) -> int:
    """Return the truth table of an edge as bits."""
    everything = (1 << combinations(axes)) - 1
    tables: dict[int, int] = {0: 0}

    def along(wire: int) -> int:
        return tables[wire >> 1] ^ (everything if wire & 1 else 0)

    for node in graph.cone([edge >> 1]):
        if graph.is_gate(node):
            a, b = map(along, graph.inputs(node))
            tables[node] = a & b if graph.kind[node] == AND else a ^ b
        else:
            tables[node] = literal_table(graph.literals[node], axes)
    return along(edge)


def literal_table(literal: Literal, axes: Sequence[Axis], n_bits: int = 0) -> int:
    """Return the truth table of a literal as bits, over the axes and so many free bits after them."""
    i = [axis.column for axis in axes].index(literal.column)
    return column_table([axis.size for axis in axes] + [2] * n_bits, i, axes[i].where(literal))


def combinations(axes: Sequence[Axis]) -> int:
    """Return the number of rows of a table over the axes."""
    return math.prod(axis.size for axis in axes)


def column_table(sizes: Sequence[int], index: int, blocks: int) -> int:
    """Return the table over axes of these sizes that is 1 where axis `index` is in one of the blocks."""
    stride = math.prod(sizes[index + 1 :])
    period = sizes[index] * stride
    ones = (1 << stride) - 1
    pattern = 0
    for block in range(sizes[index]):
        if blocks >> block & 1:
            pattern |= ones << (block * stride)
    return pattern * _repeat(period, math.prod(sizes[:index]))


@lru_cache(maxsize=4096)
def _repeat(period: int, times: int) -> int:
    """Return the number whose product with a pattern of `period` bits repeats it."""
    result, n = 1, 1
    while n < times:
        result |= result << (n * period)
        n *= 2
    return result & ((1 << (times * period)) - 1)
