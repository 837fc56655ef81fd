"""From a truth table back to gates: the fewest that a few honest methods find.

A table is taken apart from the outside (``f = literal AND g``, OR, XOR), then from the inside (two or three columns
that matter only through one bit become that bit). What cannot be taken apart is covered by products, on its ones or on
its zeros, and factored; the cheapest of these wins.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from dln.circuit._graph import FALSE_EDGE, TRUE_EDGE
from dln.circuit.simplify._cover import Cube, cover
from dln.circuit.simplify._domain import Axis, CategoryAxis, EdgeAxis, NumberAxis, Table
from dln.circuit.simplify._indicator import indicator, indicator_terms
from dln.circuit.simplify._rewritable import RewritableGraph

#: Up to this many rows, three columns at a time are tried; pairs are tried always.
_TRIPLES_UP_TO: Final = 512
#: Up to this many rows, a table that resists is also split on each of its columns.
_SPLITS_UP_TO: Final = 32


class TooManyProductsError(Exception):
    """A table would take more products than the gates it came from are worth."""


@dataclass(frozen=True, slots=True)
class Variable:
    """An axis of a table, its blocks gathered into classes that the table does not tell apart (bit sets of blocks)."""

    axis: Axis
    classes: tuple[int, ...]

    def where(self, graph: RewritableGraph, chosen: Sequence[int]) -> int:
        """Return the edge that is 1 in the chosen classes and 0 in the others."""
        on, off = self._sets(chosen)
        return indicator(graph, self.axis, on, off)

    def terms(self, graph: RewritableGraph, chosen: Sequence[int]) -> list[int]:
        """Return edges whose AND is `where`."""
        on, off = self._sets(chosen)
        return indicator_terms(graph, self.axis, on, off)

    def _sets(self, chosen: Sequence[int]) -> tuple[int, int]:
        on = sum(self.classes[i] for i in chosen)
        return on, sum(self.classes) - on


def variables_of(axes: Sequence[Axis]) -> list[Variable]:
    """Return one variable per axis, every block a class of its own."""
    return [Variable(axis, tuple(1 << block for block in range(axis.size))) for axis in axes]


def merge_equal(table: Table, variables: list[Variable]) -> tuple[Table, list[Variable]]:
    """Gather classes between which the table never changes; drop the variables that do not matter."""
    kept: list[Variable] = []
    axis = 0
    for variable in variables:
        slices = [np.ascontiguousarray(part).tobytes() for part in table.swapaxes(0, axis)]
        first: dict[bytes, int] = {}
        classes: list[int] = []
        for i, content in enumerate(slices):
            j = first.setdefault(content, len(classes))
            if j == len(classes):
                classes.append(variable.classes[i])
            else:
                classes[j] |= variable.classes[i]
        if len(classes) == 1:
            table = _slice(table, axis, 0)
            continue
        if len(classes) < len(slices):
            table = table.take([slices.index(content) for content in first], axis=axis)
        kept.append(Variable(variable.axis, tuple(classes)))
        axis += 1
    return table, kept


def _slice(table: Table, axis: int, index: int) -> Table:
    return np.asarray(table.take(index, axis=axis))


def narrow(table: Table, variables: list[Variable]) -> tuple[Table, list[Variable]]:
    """Return the same table over axes with only the cut-offs and categories that matter: equal functions look equal."""
    narrowed = []
    for i, variable in enumerate(variables):
        axis, classes = _narrow_axis(variable)
        order = sorted(range(len(classes)), key=lambda j: classes[j] & -classes[j])
        if order != list(range(len(classes))):
            table = table.take(order, axis=i)
        narrowed.append(Variable(axis, tuple(classes[j] for j in order)))
    return table, narrowed


def _narrow_axis(variable: Variable) -> tuple[Axis, list[int]]:
    """Return the axis without what does not matter, and the blocks of its classes."""
    axis = variable.axis
    if isinstance(axis, EdgeAxis):
        return axis, list(variable.classes)
    class_of = [next(j for j, blocks in enumerate(variable.classes) if blocks >> b & 1) for b in range(axis.size)]
    narrowed, kept = _narrow_numbers(axis, class_of) if isinstance(axis, NumberAxis) else _narrow_sets(axis, class_of)
    kept += [class_of[-1]] if narrowed.missing else []
    return narrowed, [sum(1 << b for b, j in enumerate(kept) if j == i) for i in range(len(variable.classes))]


def _narrow_numbers(axis: NumberAxis, class_of: list[int]) -> tuple[NumberAxis, list[int]]:
    """Return the axis with the cut-offs at which the class changes; and the classes of its blocks, missing apart."""
    ends = [j for j in range(len(axis.cutoffs)) if class_of[j] != class_of[j + 1]]
    missing = axis.missing and class_of[-1] != class_of[0]
    narrowed = NumberAxis(axis.column, tuple(axis.cutoffs[j] for j in ends), missing)
    return narrowed, [class_of[0], *(class_of[j + 1] for j in ends)]


def _narrow_sets(axis: CategoryAxis, class_of: list[int]) -> tuple[CategoryAxis, list[int]]:
    """Return the axis with one group per class that is not that of all other categories; and the classes, as above."""
    other = class_of[len(axis.groups)]
    codes: dict[int, list[int]] = {}
    for group, j in zip(axis.groups, class_of, strict=False):
        if j != other:
            codes.setdefault(j, []).extend(group)
    named = sorted((tuple(sorted(group)), j) for j, group in codes.items())
    missing = axis.missing and class_of[-1] != other
    return CategoryAxis(axis.column, tuple(group for group, _ in named), missing), [*(j for _, j in named), other]


def synthesize(graph: RewritableGraph, table: Table, variables: list[Variable], most: int) -> int:
    """Return an edge of the graph with this truth table.

    `TooManyProductsError` where a part that cannot be taken apart needs more than `most` products.
    """
    table, variables = merge_equal(table, variables)
    if not variables:
        return TRUE_EDGE if table else FALSE_EDGE
    if len(variables) == 1:
        return variables[0].where(graph, np.flatnonzero(table).tolist())
    outside = _take_from_outside(graph, table, variables, most)
    if outside is not None:
        return outside
    inside = _take_from_inside(graph, table, variables, most)
    if inside is not None:
        return synthesize(graph, *inside, most)
    return _hard_table(graph, table, variables, most)


def _take_from_outside(graph: RewritableGraph, table: Table, variables: list[Variable], most: int) -> int | None:
    """Return the edge if the table is a literal (or set of blocks) AND, OR or XOR the rest; else None."""
    for i, variable in enumerate(variables):
        flat = table.swapaxes(0, i).reshape(table.shape[i], -1)
        full, empty = flat.all(axis=1), ~flat.any(axis=1)
        for constant, join in ((empty, graph.both), (full, graph.either)):
            if constant.any():
                rest = np.flatnonzero(~constant).tolist()
                chosen = rest if join == graph.both else np.flatnonzero(constant).tolist()
                # Outside the rest the remainder may be anything, so those blocks leave the variable.
                narrowed = Variable(variable.axis, tuple(variable.classes[j] for j in rest))
                remainder = synthesize(
                    graph, table.take(rest, axis=i), [*variables[:i], narrowed, *variables[i + 1 :]], most
                )
                return join(variable.where(graph, chosen), remainder)
        if len(flat) == 2 and (flat[0] != flat[1]).all():  # noqa: PLR2004 (two classes: a bit)
            remainder = synthesize(graph, _slice(table, i, 0), variables[:i] + variables[i + 1 :], most)
            return graph.differ(variable.where(graph, [1]), remainder)
    return None


def _take_from_inside(
    graph: RewritableGraph, table: Table, variables: list[Variable], most: int
) -> tuple[Table, list[Variable]] | None:
    """Return the table with some variables replaced by the one bit through which they matter; else None."""
    for size in (2, 3):
        if len(variables) <= size or (size == 3 and table.size > _TRIPLES_UP_TO):  # noqa: PLR2004
            break
        for group in itertools.combinations(range(len(variables)), size):
            rest = [i for i in range(len(variables)) if i not in group]
            shape = [table.shape[i] for i in group]
            rows = table.transpose(*group, *rest).reshape(int(np.prod(shape)), -1)
            differs = (rows != rows[0]).any(axis=1)
            others = rows[differs]
            if (others != others[0]).any():
                continue
            bit = synthesize(graph, differs.reshape(shape), [variables[i] for i in group], most)
            smaller = np.stack([rows[0], others[0]]).reshape([2, *(table.shape[i] for i in rest)])
            return smaller, [Variable(EdgeAxis(bit), (1, 2)), *(variables[i] for i in rest)]
    return None


def _hard_table(graph: RewritableGraph, table: Table, variables: list[Variable], most: int) -> int:
    """Return the cheapest edge found for a table that cannot be taken apart."""
    edges = []
    for negated, side in enumerate((table, ~table)):
        products = cover(side, most)
        if products is not None:
            edges.append(_sum_of_products(graph, products, variables) ^ negated)
    if table.size <= _SPLITS_UP_TO:
        for i, variable in enumerate(variables):
            if table.shape[i] == 2:  # noqa: PLR2004 (two classes: a bit)
                rest = variables[:i] + variables[i + 1 :]
                test = variable.where(graph, [1])
                low, high = (synthesize(graph, _slice(table, i, j), rest, most) for j in (0, 1))
                edges.append(graph.either(graph.both(test, high), graph.both(test ^ 1, low)))
    if not edges:
        raise TooManyProductsError
    return min(edges, key=lambda edge: (cone_cost(graph, edge), graph.size[edge >> 1], edge))


def _sum_of_products(graph: RewritableGraph, products: list[Cube], variables: list[Variable]) -> int:
    terms = [
        frozenset(
            term
            for variable, chosen in zip(variables, cube, strict=True)
            if len(chosen) < len(variable.classes)
            for term in variable.terms(graph, chosen)
        )
        for cube in products
    ]
    return _factor(graph, terms)


def _factor(graph: RewritableGraph, products: list[frozenset[int]]) -> int:
    """Return the OR of the products, with common terms taken out."""
    if not products:
        return FALSE_EDGE
    counts: dict[int, int] = {}
    for product in products:
        for term in product:
            counts[term] = counts.get(term, 0) + 1
    best = max(counts, key=lambda term: (counts[term], -term), default=None)
    if best is None:
        return TRUE_EDGE
    if len(products) == 1 or counts[best] == 1:
        result = FALSE_EDGE
        for edge in sorted(graph.all_of(product) for product in products):
            result = graph.either(result, edge)
        return result
    inside = [product - {best} for product in products if best in product]
    outside = [product for product in products if best not in product]
    return graph.either(graph.both(best, _factor(graph, inside)), _factor(graph, outside))


def cone_cost(graph: RewritableGraph, edge: int) -> int:
    """Return the cost of the gates under an edge."""
    return sum(graph.cost[node] for node in graph.cone([edge >> 1]) if graph.is_gate(node))
