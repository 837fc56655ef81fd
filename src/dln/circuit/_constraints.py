"""Limits that a user sets a model: not to fall, or to rise, as a column rises, and columns that may meet in a rule.

That a circuit's sum never falls, or never rises, is proved for every input, missing values of the column itself apart.
Two steps, of which the first decides nearly always:

1. By structure, for circuits of any size: a rule never falls as the column rises if all ways to it from the column's
   literals have an even number of negations and pass no XOR; with odd numbers it never rises. Where the signs of the
   weights agree with that, no term of the sum goes the wrong way.
2. Exactly, where a rule does not show it: from one value of the column to the next only rules that read a cut-off
   between them change. Their changes are tables over the blocks of the other columns, whose least sum is found by
   eliminating one column after another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dln._errors import ConstraintError
from dln.circuit._circuit import Above, Circuit, Column
from dln.circuit._graph import XOR, Graph, node_columns
from dln.circuit._truth_tables import Axis, axes_of, combinations, truth_table
from dln.circuit._words import name_text, number_text, weight_text

#: Columns of a group that are listed by name.
MAX_NAMES: Final = 20
#: Cells of a rule's table, and of the tables of several rules joined: beyond them the answer is "not proved".
MAX_CELLS: Final = 1 << 20
MAX_JOINED_CELLS: Final = 1 << 23


@dataclass(frozen=True, slots=True)
class Monotone:
    """The prediction never falls as a number column rises (1), or never rises (-1); missing values apart."""

    column: int
    direction: Literal[-1, 1]

    def sentence(self, columns: Sequence[Column], target: str) -> str:
        """Return the constraint in words."""
        verb, name = "fall" if self.direction > 0 else "rise", columns[self.column].name
        return f"{name_text(target)} never {_verb(target, verb)} as {name_text(name)} {_verb(name, 'rise')}"

    def broken_by(self, circuit: Circuit) -> str | None:
        """Return how a circuit breaks the constraint, or that it could not be proved; None: it is proved."""
        return violation(circuit, self.column, self.direction)


@dataclass(frozen=True, slots=True)
class Interactions:
    """The columns that a rule reads lie in at most `most` of these groups, which together name every column."""

    groups: tuple[tuple[int, ...], ...]
    most: Literal[1, 2] = 1

    def sentence(self, columns: Sequence[Column], _target: str) -> str:
        """Return the constraint in words."""
        if self.most > 1 or all(len(group) == 1 for group in self.groups):
            return f"no rule reads more than {'two columns' if self.most > 1 else 'one column'}"
        groups = (", ".join([name_text(columns[j].name) for j in group[:MAX_NAMES]]) for group in self.groups)
        more = (f", … ({len(group)} in all)" * (len(group) > MAX_NAMES) for group in self.groups)
        texts = (f"{{{names}{rest}}}" for names, rest in zip(groups, more, strict=True))
        return f"every rule reads columns of one group only: {', '.join(texts)}"

    def broken_by(self, circuit: Circuit) -> str | None:
        """Return how a circuit breaks the constraint; None: it is proved."""
        for rule in circuit.rules:
            columns = node_columns(circuit, rule.node)
            is_within_one = any(set(group).issuperset(columns) for group in self.groups)
            n_read = sum(not set(group).isdisjoint(columns) for group in self.groups)
            if not (is_within_one if self.most == 1 else n_read <= self.most):
                return f"a rule reads {', '.join(name_text(circuit.columns[j].name) for j in columns)}"
        return None


Constraint: TypeAlias = Monotone | Interactions


def _verb(name: str, verb: str) -> str:
    """Return a verb for a name that may be a plural: price rises, charges rise."""
    return verb if name.endswith("s") and not name.endswith("ss") else f"{verb}s"


def weight_signs(circuit: Circuit, constraints: Sequence[Constraint]) -> list[int] | None:
    """Return for every rule the sign that keeps its term monotone, 0 for any; None without such constraints."""
    monotone = [one for one in constraints if isinstance(one, Monotone)]
    if not monotone:
        return None
    graph = Graph()
    edges = graph.add(circuit, [rule.node for rule in circuit.rules])
    signs = [0] * len(edges)
    for one in monotone:
        trends = _trends(graph, one.column)
        signs = [sign or one.direction * (trends[edge] or 0) for sign, edge in zip(signs, edges, strict=True)]
    return signs


def check_constraints(circuit: Circuit, constraints: Sequence[Constraint], target: str = "prediction") -> None:
    """Raise `ConstraintError` unless it is proved that a circuit keeps all constraints, on every input."""
    for constraint in constraints:
        if (reason := constraint.broken_by(circuit)) is not None:
            raise ConstraintError(f"not proved: {constraint.sentence(circuit.columns, target)}: {reason}")


# --- proof of monotonicity --------------------------------------------------------------------------------------------


class _Factor(NamedTuple):
    """A summand: a table with one axis for each of some columns, ascending."""

    columns: tuple[int, ...]
    table: npt.NDArray[np.int64]


class _TooLargeError(Exception):
    """A proof would take too long."""


def violation(circuit: Circuit, column: int, direction: int) -> str | None:
    """Return where a prediction goes against a direction as a column rises, or that it is not proved; None: it is."""
    graph = Graph()
    rules = [
        (edge, direction * circuit.grid(rule.weight))
        for edge, rule in zip(graph.add(circuit, [rule.node for rule in circuit.rules]), circuit.rules, strict=True)
    ]
    trends = _trends(graph, column)
    read = {
        edge: [graph.literals[node] for node in graph.cone([edge >> 1]) if node in graph.literals] for edge, _ in rules
    }
    unclear = {
        literal
        for edge, step in rules
        if (trend := trends[edge]) is None or trend * step < 0
        for literal in read[edge]
        if isinstance(literal, Above) and literal.column == column
    }
    try:
        for cut in sorted(unclear, key=lambda one: one.cutoff):
            changed = [(edge, step) for edge, step in rules if cut in read[edge]]
            axes = axes_of(dict.fromkeys(literal for edge, _ in changed for literal in read[edge]))
            columns = {edge: {literal.column for literal in read[edge]} for edge, _ in changed}
            own = {edge: [axis for axis in axes if axis.column in columns[edge]] for edge, _ in changed}
            least = _least_sum([_change(graph, edge, step, cut, own[edge]) for edge, step in changed])
            if least < 0:
                size = weight_text(-least * 10.0**-circuit.decimals, circuit.decimals)
                name, verb = name_text(circuit.columns[column].name), "falls" if direction > 0 else "rises"
                return f"it {verb} by {size} where {name} rises above {number_text(cut.cutoff)}"
    except _TooLargeError:
        return "its rules are too entangled for a proof"
    return None


def _trends(graph: Graph, column: int) -> list[int | None]:
    """Return for each edge 1 if it never falls as a column rises, -1 if it never rises, 0 if both, None if unclear."""
    trends: list[int | None] = []
    for node, kind in enumerate(graph.kind):
        trend: int | None
        if graph.is_gate(node):
            found = {trends[edge] for edge in graph.inputs(node)} - {0}
            trend = 0 if not found else None if kind == XOR or len(found) > 1 else found.pop()
        else:
            literal = graph.literals.get(node)
            trend = int(isinstance(literal, Above) and literal.column == column)
        trends += [trend, None if trend is None else -trend]
    return trends


def _change(graph: Graph, edge: int, step: int, cut: Above, own: Sequence[Axis]) -> _Factor:
    """Return by how much a rule's term changes where its column rises above a cut-off, over the other columns."""
    if combinations(own) > MAX_CELLS:
        raise _TooLargeError
    k = next(k for k, axis in enumerate(own) if axis.column == cut.column)
    above = own[k].tests.index(cut)
    first = next(block for block, answers in enumerate(own[k].answers) if answers[above])  # blocks ascend
    table = step * np.diff(truth_table(graph, edge, own).astype(np.int64), axis=k).take(first - 1, axis=k)
    return _Factor(tuple(axis.column for axis in own if axis.column != cut.column), np.asarray(table))


def _least_sum(factors: list[_Factor]) -> int:
    """Return the least sum of factors, by eliminating columns: the one first whose factors make the smallest table."""
    sizes = {column: size for one in factors for column, size in zip(one.columns, one.table.shape, strict=True)}
    while sizes:
        joined = {column: _joined(factors, column) for column in sizes}
        cells, column = min((math.prod(sizes[j] for j in joined[column]), column) for column in sizes)
        if cells > MAX_JOINED_CELLS:
            raise _TooLargeError
        near = [one for one in factors if column in one.columns]
        shapes = ([sizes[j] if j in one.columns else 1 for j in joined[column]] for one in near)
        total = np.asarray(sum(one.table.reshape(shape) for one, shape in zip(near, shapes, strict=True)))
        rest = tuple(j for j in joined[column] if j != column)
        least = _Factor(rest, np.asarray(total.min(axis=joined[column].index(column))))
        factors = [*(one for one in factors if column not in one.columns), least]
        del sizes[column]
    return sum(int(one.table) for one in factors)


def _joined(factors: Sequence[_Factor], column: int) -> list[int]:
    """Return the columns that share a factor with a column, itself among them, ascending."""
    return sorted({j for one in factors if column in one.columns for j in one.columns})
