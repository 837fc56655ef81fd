"""The one form that every writer reads: each rule as an expression of tests, small enough to print.

A circuit is a graph whose gates may be shared and nested without limit; languages have neither. Here a rule is a tree
of "all of", "any of" and "exactly one of two" over checks of columns. What several rules share, and what would make a
tree too large, is a *part* of its own that later trees name, so the form is never much larger than the circuit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, TypeAlias
from typing import Literal as TypingLiteral

from dln._errors import ExportError
from dln.circuit._circuit import Category, Circuit, Column, Literal
from dln.circuit._gates import AND, GATES, XOR
from dln.circuit._graph import TRUE_EDGE, Graph
from dln.circuit._truth_tables import literal_order
from dln.circuit._words import name_text, node_text, weight_text

#: Tests and parts that one expression names, at most: C99 promises 63 nested parentheses, Excel 64 nested functions and
#: 8192 characters.
MAX_LEAVES: Final = 16


@dataclass(frozen=True, slots=True)
class Check:
    """A literal holds, or does not where it is `negated`: that includes a missing value."""

    literal: Literal
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """An earlier part holds, or does not."""

    number: int
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every one of these holds."""

    of: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of these holds."""

    of: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Differ:
    """Exactly one of the two holds; both or neither where `negated`."""

    a: Expression
    b: Expression
    negated: bool = False


Expression: TypeAlias = bool | Check | Part | AllOf | AnyOf | Differ


@dataclass(frozen=True, slots=True)
class Term:
    """A rule: its expression, its weight as a whole number of steps of the grid and as a number, its text."""

    expression: Expression
    steps: int
    weight: float
    text: str


@dataclass(frozen=True, slots=True)
class Form:
    """A circuit as writers read it: ``prediction = (intercept + Σ steps of the rules that fire) / 10**decimals``."""

    circuit: Circuit
    target: str
    used: tuple[int, ...]
    """The columns that rules read, ascending."""
    parts: tuple[Expression, ...]
    rules: tuple[Term, ...]
    intercept: int
    decimals: int

    @property
    def columns(self) -> list[tuple[int, Column]]:
        return [(j, self.circuit.columns[j]) for j in self.used]

    @property
    def scale(self) -> float:
        """Divisor of the sum, or factor where `decimals` is negative: the same float as in `evaluate`."""
        return float(10.0 ** abs(self.decimals))

    @property
    def bound(self) -> int:
        """Bound on the absolute value of every partial sum."""
        return abs(self.intercept) + sum(abs(rule.steps) for rule in self.rules)

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*self.parts, *(rule.expression for rule in self.rules))

    def literals(self) -> list[Literal]:
        """Return the literals that the expressions test, each once, by column."""
        return sorted({one.literal for each in self.expressions for one in checks(each)}, key=literal_order)

    def n_checks_written_out(self) -> int:
        """Return how many checks the rules have where no part can be named."""
        sizes: list[int] = []
        for expression in self.expressions:  # a part may name those before it
            sizes.append(sum(sizes[leaf.number] if isinstance(leaf, Part) else 1 for leaf in leaves(expression)))
        return sum(sizes[len(self.parts) :])

    def title(self) -> str:
        """Return the formula's first line in words: the target and where it starts."""
        return f"{name_text(self.target)} = {weight_text(self.circuit.intercept, self.decimals)} + the rules that fire"


def lower(circuit: Circuit, target: str = "prediction") -> Form:
    graph = Graph()
    roots = graph.add(circuit, [rule.node for rule in circuit.rules])
    lowering = _Lowering(graph, roots)
    expressions = [lowering.expression(edge) for edge in roots]
    terms = tuple(
        Term(expression, circuit.grid(rule.weight), rule.weight, node_text(circuit, rule.node))
        for rule, expression in zip(circuit.rules, expressions, strict=True)
    )
    used = {check.literal.column for expression in (*lowering.parts, *expressions) for check in checks(expression)}
    intercept, parts = circuit.grid(circuit.intercept), tuple(lowering.parts)
    return Form(circuit, target, tuple(sorted(used)), parts, terms, intercept, circuit.decimals)


def leaves(expression: Expression) -> Iterator[bool | Check | Part]:
    match expression:
        case AllOf(inner) | AnyOf(inner):
            yield from chain.from_iterable(map(leaves, inner))
        case Differ(a, b):
            yield from chain(leaves(a), leaves(b))
        case _:
            yield expression


def checks(expression: Expression) -> list[Check]:
    return [leaf for leaf in leaves(expression) if isinstance(leaf, Check)]


def part_levels(parts: Sequence[Expression]) -> list[int]:
    """Return the level of each part, counted from 1: one above all parts that it names."""
    levels: list[int] = []
    for part in parts:
        named = [leaf.number for leaf in leaves(part) if isinstance(leaf, Part)]
        levels.append(1 + max((levels[number] for number in named), default=0))
    return levels


def negate(expression: Expression) -> Expression:
    match expression:
        case bool():
            return not expression
        case Check(literal, negated):
            return Check(literal, not negated)
        case Part(number, negated):
            return Part(number, not negated)
        case AllOf(of):
            return AnyOf(tuple(map(negate, of)))
        case AnyOf(of):
            return AllOf(tuple(map(negate, of)))
        case Differ(a, b, negated):
            return Differ(a, b, not negated)


class _Lowering:
    """Turns the nodes of a graph into expressions, inputs first; shared nodes become parts as they are met."""

    def __init__(self, graph: Graph, roots: list[int]) -> None:
        self.graph = graph
        self.parts: list[Expression] = []
        self._known: dict[int, Expression] = {}
        uses = Counter(edge >> 1 for edge in roots if edge > TRUE_EDGE)  # how often each node is read
        for gate in filter(graph.is_gate, graph.cone(uses)):
            uses.update(edge >> 1 for edge in graph.inputs(gate))
        for node in sorted(uses):  # inputs have lower numbers than the gates that read them
            self._known[node] = self._shared(self._node(node), is_shared=uses[node] > 1)

    def expression(self, edge: int) -> Expression:
        if edge <= TRUE_EDGE:
            return edge == TRUE_EDGE
        known = self._known[edge >> 1]
        return negate(known) if self.graph.is_complement(edge) else known

    def _node(self, node: int) -> Expression:
        if not self.graph.is_gate(node):
            return Check(self.graph.literals[node])
        gate = self.graph.written(node)
        a, b = self._known[gate.a], self._known[gate.b]
        while _size(a) + _size(b) > MAX_LEAVES:
            if _size(a) >= _size(b):
                a = self._shared(a, is_shared=True)
            else:
                b = self._shared(b, is_shared=True)
        return _gate(gate.kind, a, b)

    def _shared(self, expression: Expression, *, is_shared: bool) -> Expression:
        """Return a name for the expression if it is shared; a test is as short as a name."""
        if not is_shared or isinstance(expression, (bool, Check, Part)):
            return expression
        self.parts.append(expression)
        return Part(len(self.parts) - 1)


def _gate(kind: int, a: Expression, b: Expression) -> Expression:
    """Return a gate that depends on both of its inputs, as all gates of a graph do."""
    join, not_a, not_b = GATES[kind].form
    if join == XOR:
        return Differ(a, b, negated=not_a)
    joined = AllOf if join == AND else AnyOf
    sides = (negate(a) if not_a else a, negate(b) if not_b else b)
    kept = dict.fromkeys(inner for side in sides for inner in (side.of if isinstance(side, joined) else (side,)))
    return joined(tuple(kept)) if len(kept) > 1 else next(iter(kept))


def _size(expression: Expression) -> int:
    return sum(1 for _ in leaves(expression))


Kind = TypingLiteral["text", "number", "boolean"]


def kind_of(category: Category) -> Kind:
    if isinstance(category, bool):
        return "boolean"
    return "text" if isinstance(category, str) else "number"


def category_kind(column: Column, what: str) -> Kind:
    """Return the kind of a column's categories; raise `ExportError` if `what` cannot hold several kinds."""
    kinds = {kind_of(category) for category in column.categories or ()}
    if len(kinds) > 1:
        raise ExportError(
            f"{what} needs columns of one kind, but the categories of column {column.name!r} are "
            f"{' and '.join(sorted(kinds))}: make them all text and fit again"
        )
    return next(iter(kinds), "text")


def check_columns(form: Form, what: str) -> None:
    """Raise `ExportError` for names that are equal, and for categories that are in a column of one type."""
    check_names(form, what)
    for _, column in form.columns:
        if column.categories is None or category_kind(column, what) != "number":
            continue
        for category in column.categories:
            if int(float(category)) != category and float(category) != category:
                raise ExportError(
                    f"{what} holds numbers as double, and the category {category} of column "
                    f"{column.name!r} is not one: make the column text and fit again"
                )


def check_names(form: Form, what: str) -> None:
    """Raise `ExportError` if two columns that rules read have the same name."""
    names = [column.name for _, column in form.columns]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        columns = f"two columns that rules read are both named {twice[0]!r}"
        raise ExportError(f"{what} reads columns by name, but {columns}: rename one of them and fit again")
