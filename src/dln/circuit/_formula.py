"""A rule as a formula for readers: one condition for each column, joined by and, or, exactly one of.

Negations are pushed down to the columns, nested ands and ors are flattened, and all tests of one column in an "and" or
"or" become one `Condition`, so that two cut-offs read as an interval. The meaning stays exact for every input, also for
a missing one: a missing number is below every cut-off, unless a condition states otherwise.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from operator import and_, or_, xor
from typing import TypeAlias

from dln.circuit import _gates as gates
from dln.circuit._circuit import Above, Circuit, IsIn, Literal
from dln.circuit._gates import GATES


@dataclass(frozen=True, slots=True)
class NumberCondition:
    """A test on a number column: `low` up to the first of the `ends`, then changing at each; `missing` if missing.

    >>> NumberCondition(0, ends=(18.0, 47.5), low=False, missing=False)  # 18 < x ≤ 47.5
    NumberCondition(column=0, ends=(18.0, 47.5), low=False, missing=False)
    """

    column: int
    ends: tuple[float, ...]
    low: bool
    missing: bool


@dataclass(frozen=True, slots=True)
class CategoryCondition:
    """A test on a category column: `other`, except for the codes, where it is the contrary; `missing` if missing."""

    column: int
    codes: tuple[int, ...]
    other: bool
    missing: bool


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class OddOf:
    """An odd number of the parts hold; of two parts: exactly one. An even number where `even` is set."""

    parts: tuple[Formula, ...]
    even: bool


Condition: TypeAlias = NumberCondition | CategoryCondition
Formula: TypeAlias = Condition | AllOf | AnyOf | OddOf | bool


def formula(circuit: Circuit, node: int) -> Formula:
    """Return the formula of a literal or gate.

    >>> from dln.circuit._circuit import Column, Gate
    >>> circuit = Circuit((Column("age"),), (Above(0, 18.0), Above(0, 47.5)), (Gate(2, 0, 1),), (), 0.0, 0)
    >>> formula(circuit, 2)
    NumberCondition(column=0, ends=(18.0, 47.5), low=False, missing=False)
    """
    n_literals = len(circuit.literals)
    known: dict[int, Formula] = {}

    def read(node: int) -> Formula:
        if node not in known:
            known[node] = (
                condition(circuit, circuit.literals[node])
                if node < n_literals
                else _gate(circuit.gates[node - n_literals].kind, *map(read, _inputs(circuit, node)))
            )
        return known[node]

    return read(node)


def condition(circuit: Circuit, literal: Literal) -> Condition:
    """Return a literal as a condition on its column."""
    if isinstance(literal, Above):
        return NumberCondition(literal.column, (literal.cutoff,), low=False, missing=False)
    if isinstance(literal, IsIn):
        return CategoryCondition(literal.column, literal.codes, other=False, missing=False)
    if circuit.columns[literal.column].categories is None:
        return NumberCondition(literal.column, (), low=False, missing=True)
    return CategoryCondition(literal.column, (), other=False, missing=True)


def _inputs(circuit: Circuit, node: int) -> tuple[int, int]:
    gate = circuit.gates[node - len(circuit.literals)]
    return gate.a, gate.b


def _gate(kind: int, a: Formula, b: Formula) -> Formula:
    join, not_a, not_b = GATES[kind].form
    if join == gates.XOR:
        return odd_of([a, b], even=not_a)
    a, b = negate(a) if not_a else a, negate(b) if not_b else b
    match join:
        case gates.AND:
            return all_of([a, b])
        case gates.OR:
            return any_of([a, b])
        case gates.A | gates.B:
            return a if join == gates.A else b
        case _:
            return join == gates.TRUE


def negate(meaning: Formula) -> Formula:
    """Return what holds exactly where this does not."""
    match meaning:
        case bool():
            return not meaning
        case NumberCondition():
            return replace(meaning, low=not meaning.low, missing=not meaning.missing)
        case CategoryCondition():
            return replace(meaning, other=not meaning.other, missing=not meaning.missing)
        case AllOf(parts):
            return any_of(map(negate, parts))
        case AnyOf(parts):
            return all_of(map(negate, parts))
        case OddOf(parts, even):
            return OddOf(parts, not even)


def all_of(parts: Iterable[Formula]) -> Formula:
    """Return what holds where all parts do."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AllOf) else (part,))]
    joined = _join_columns(flat, and_)
    if False in joined:
        return False
    kept = tuple(dict.fromkeys(part for part in joined if part is not True))
    return AllOf(kept) if len(kept) > 1 else kept[0] if kept else True


def any_of(parts: Iterable[Formula]) -> Formula:
    """Return what holds where at least one part does."""
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, AnyOf) else (part,))]
    joined = _join_columns(flat, or_)
    if True in joined:
        return True
    kept = tuple(dict.fromkeys(part for part in joined if part is not False))
    return AnyOf(kept) if len(kept) > 1 else kept[0] if kept else False


def odd_of(parts: Iterable[Formula], *, even: bool) -> Formula:
    """Return what holds where an odd (or even) number of parts do."""
    flat: list[Formula] = []
    for part in parts:
        if isinstance(part, OddOf):
            flat += part.parts
            even ^= part.even
        else:
            flat.append(part)
    kept: dict[Formula, None] = {}
    for part in _join_columns(flat, xor):
        if isinstance(part, bool):
            even ^= part
        elif part in kept:  # a part and itself again: neither matters
            del kept[part]
        else:
            kept[part] = None
    if len(kept) > 1:
        return OddOf(tuple(kept), even)
    return (negate(*kept) if even else next(iter(kept))) if kept else even


def _join_columns(parts: list[Formula], join: Callable[[bool, bool], bool]) -> list[Formula]:
    """Return the parts with one condition per column, conditions first, each where its column was first named."""
    conditions: dict[int, Condition] = {}
    rest: list[Formula] = []
    for part in parts:
        if isinstance(part, NumberCondition | CategoryCondition):
            before = conditions.get(part.column)
            conditions[part.column] = part if before is None else _both(before, part, join)
        else:
            rest.append(part)
    return [*(_constant_or(condition) for condition in conditions.values()), *rest]


def _constant_or(condition: Condition) -> Formula:
    marks: tuple[float, ...]
    if isinstance(condition, NumberCondition):
        marks, start = condition.ends, condition.low
    else:
        marks, start = condition.codes, condition.other
    return start if not marks and start == condition.missing else condition


def _both(first: Condition, second: Condition, join: Callable[[bool, bool], bool]) -> Condition:
    missing = join(first.missing, second.missing)
    if isinstance(first, NumberCondition) and isinstance(second, NumberCondition):
        low = value = join(first.low, second.low)
        ends = []
        for end in sorted({*first.ends, *second.ends}):
            above = join(_just_above(first, end), _just_above(second, end))
            if above != value:
                ends.append(end)
                value = above
        return NumberCondition(first.column, tuple(ends), low, missing)
    assert isinstance(first, CategoryCondition)  # noqa: S101 (a column has one kind)
    assert isinstance(second, CategoryCondition)  # noqa: S101
    other = join(first.other, second.other)
    named = sorted({*first.codes, *second.codes})
    codes = [
        code
        for code in named
        if join(first.other ^ (code in first.codes), second.other ^ (code in second.codes)) != other
    ]
    return CategoryCondition(first.column, tuple(codes), other, missing)


def _just_above(condition: NumberCondition, end: float) -> bool:
    passed = bisect_left(condition.ends, end) + (end in condition.ends)
    return condition.low ^ bool(passed % 2)
