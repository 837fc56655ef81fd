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

from dln.circuit._circuit import Above, IsIn, IsMissing, Literal
from dln.circuit._graph import AND, Graph

Table: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NumberAxis:
    """A number column; block j holds the values above exactly j of the cut-offs, the last one what is missing."""

    column: int
    cutoffs: tuple[float, ...]
    missing: bool

    @property
    def size(self) -> int:
        """Return the number of blocks."""
        return len(self.cutoffs) + 1 + self.missing


@dataclass(frozen=True, slots=True)
class CategoryAxis:
    """A category column; one block per group of categories, one for all others, one for what is missing."""

    column: int
    groups: tuple[tuple[int, ...], ...]
    missing: bool

    @property
    def size(self) -> int:
        """Return the number of blocks."""
        return len(self.groups) + 1 + self.missing


Axis: TypeAlias = NumberAxis | CategoryAxis


def axes_of(literals: Iterable[Literal]) -> list[Axis]:
    """Return one axis per column that the literals read, in order.

    >>> axes_of([Above(0, 3.0), IsIn(1, (2,)), Above(0, 2.0)])
    [NumberAxis(column=0, cutoffs=(2.0, 3.0), missing=False), CategoryAxis(column=1, groups=((2,),), missing=False)]
    """
    by_column: dict[int, list[Literal]] = {}
    for literal in literals:
        by_column.setdefault(literal.column, []).append(literal)
    return [_axis(column, by_column[column]) for column in sorted(by_column)]


def _axis(column: int, literals: list[Literal]) -> Axis:
    missing = any(isinstance(literal, IsMissing) for literal in literals)
    sets = [set(literal.codes) for literal in literals if isinstance(literal, IsIn)]
    if not sets:
        cutoffs = sorted({literal.cutoff for literal in literals if isinstance(literal, Above)})
        return NumberAxis(column, tuple(cutoffs), missing)
    groups: dict[tuple[bool, ...], list[int]] = {}
    for code in sorted(set().union(*sets)):
        groups.setdefault(tuple(code in codes for codes in sets), []).append(code)
    return CategoryAxis(column, tuple(map(tuple, groups.values())), missing)


def literal_order(literal: Literal) -> tuple[int, int, tuple[float, ...]]:
    """Return the key that sorts literals by column, cut-offs before categories before missing."""
    if isinstance(literal, Above):
        return literal.column, 0, (literal.cutoff,)
    return (literal.column, 1, literal.codes) if isinstance(literal, IsIn) else (literal.column, 2, ())


def blocks_where(axis: Axis, literal: Literal) -> int:
    """Return the blocks where a literal on the axis' column holds, as a bit set.

    >>> bin(blocks_where(NumberAxis(0, (2.0, 3.0), missing=True), Above(0, 2.0)))
    '0b110'
    """
    if isinstance(literal, IsMissing):
        return 1 << (axis.size - 1)
    if isinstance(axis, NumberAxis) and isinstance(literal, Above):
        first = axis.cutoffs.index(literal.cutoff) + 1
        return (1 << (len(axis.cutoffs) + 1)) - (1 << first)
    assert isinstance(axis, CategoryAxis)  # noqa: S101 (axes are made from these literals)
    assert isinstance(literal, IsIn)  # noqa: S101
    return sum(1 << block for block, codes in enumerate(axis.groups) if codes[0] in literal.codes)


def truth_table(graph: Graph, edge: int, axes: Sequence[Axis]) -> Table:
    """Return where an edge holds, for every combination of blocks of the columns that it reads."""
    sizes = [axis.size for axis in axes]
    n_rows = math.prod(sizes)
    everything = (1 << n_rows) - 1
    axis_of = {axis.column: i for i, axis in enumerate(axes)}
    values: dict[int, int] = {0: 0}

    def along(wire: int) -> int:
        return values[wire >> 1] ^ (everything if wire & 1 else 0)

    for inner in graph.cone([edge >> 1]):
        if graph.is_gate(inner):
            a, b = map(along, graph.inputs(inner))
            values[inner] = a & b if graph.kind[inner] == AND else a ^ b
        else:
            literal = graph.literals[inner]
            i = axis_of[literal.column]
            values[inner] = column_table(sizes, i, blocks_where(axes[i], literal))
    packed = np.frombuffer(along(edge).to_bytes((n_rows + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=n_rows, bitorder="little").astype(np.bool_).reshape(sizes)


def combinations(axes: Sequence[Axis]) -> int:
    """Return the number of rows of a table over the axes."""
    return math.prod(axis.size for axis in axes)


def column_table(sizes: Sequence[int], index: int, blocks: int) -> int:
    """Return the table over axes of these sizes that is 1 where axis `index` is in one of the blocks.

    >>> bin(column_table((2, 3), 1, 0b100)), bin(column_table((2, 3), 0, 0b10))
    ('0b100100', '0b111000')
    """
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
