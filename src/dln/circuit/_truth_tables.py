"""Truth tables over columns: the literals on a column divide its values into a few *blocks*.

The cut-offs 2 and 3 of one column make three blocks (up to 2, up to 3, above), not four combinations of two bits; its
missing values are a fourth block if a literal tests for them, and count as "not above" otherwise. A truth table over
blocks has no impossible rows.

A table is an array with one axis per column; on the way there it is a Python int, one bit per combination of blocks,
the last axis fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
    """A column and its blocks: of each, the answers of all tests on the column.

    A test is a literal, or, of a column that is not there, a number that stands for a free bit.
    """

    column: int
    tests: tuple[Literal | int, ...]
    answers: tuple[tuple[bool, ...], ...]

    def blocks(self, values: Values) -> npt.NDArray[np.intp]:
        """Return the block of each value, ``(n_rows,)``."""
        held = np.array([literal_values(test, values) for test in self.tests if not isinstance(test, int)]).T
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


def combinations(axes: Iterable[Axis]) -> int:
    """Return the number of rows of a table over the axes."""
    return math.prod(len(axis.answers) for axis in axes)


def truth_table(graph: Graph, edge: int, axes: Sequence[Axis]) -> Table:
    """Return where an edge holds, for every combination of blocks of the columns that it reads."""
    n_rows = combinations(axes)
    bits = edge_table(graph, edge, tables_of(axes), n_rows)
    packed = np.frombuffer(bits.to_bytes((n_rows + 7) // 8, "little"), dtype=np.uint8)
    table = np.unpackbits(packed, count=n_rows, bitorder="little")
    return table.astype(np.bool_).reshape([len(axis.answers) for axis in axes])


def edge_table(graph: Graph, edge: int, of_tests: Mapping[Literal | int, int], n_rows: int) -> int:
    """Return the truth table of an edge as bits, given those of its literals."""
    inverted = (0, (1 << n_rows) - 1)
    tables: dict[int, int] = {0: 0}
    for node in graph.cone([edge >> 1]):
        if graph.is_gate(node):
            a, b = (tables[wire >> 1] ^ inverted[wire & 1] for wire in graph.inputs(node))
            tables[node] = a & b if graph.kind[node] == AND else a ^ b
        else:
            tables[node] = of_tests[graph.literals[node]]
    return tables[edge >> 1] ^ inverted[edge & 1]


def tables_of(axes: Sequence[Axis]) -> dict[Literal | int, int]:
    """Return the truth tables of all tests of the axes, as bits."""
    tables: dict[Literal | int, int] = {}
    n_rows, stride = combinations(axes), 1
    for axis in reversed(axes):
        ones, period = (1 << stride) - 1, stride * len(axis.answers)
        for i, test in enumerate(axis.tests):
            table = sum(ones << (block * stride) for block, answers in enumerate(axis.answers) if answers[i])
            filled = period
            while filled < n_rows:
                table |= table << filled
                filled *= 2
            tables[test] = table & ((1 << n_rows) - 1)
        stride = period
    return tables
