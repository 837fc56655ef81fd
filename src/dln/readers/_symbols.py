"""A circuit as a SymPy expression."""

from __future__ import annotations

from typing import Any

from dln._errors import import_extra
from dln.circuit._circuit import Circuit
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._words import category_text, name_text


def to_sympy(circuit: Circuit) -> Any:
    """Return the circuit as a SymPy expression: the intercept, plus a Piecewise of 0 or the weight for each rule.

    A number column is an extended real symbol of its name; ``smoker = "yes"`` and ``bmi is missing`` are Boolean
    symbols of just these names. `sympy_symbols` lists them. SymPy knows no missing number: it is -oo here, above no
    cut-off, with its "is missing" true.

    >>> from dln.circuit._circuit import Above, Column, Rule
    >>> to_sympy(Circuit((Column("age"),), (Above(0, 47.5),), (), (Rule(0, 2.0),), 1.0, 0))
    Piecewise((2.0, age > 47.5), (0, True)) + 1.0
    """
    sympy = _sympy()
    symbols = sympy_symbols(circuit)
    terms = [sympy.Float(circuit.intercept)]
    for rule in circuit.rules:
        condition = _condition(sympy, formula(circuit, rule.node), symbols)
        terms.append(sympy.Piecewise((sympy.Float(rule.weight), condition), (0, True)))
    return sympy.Add(*terms)


def sympy_symbols(circuit: Circuit) -> dict[tuple[int, int | str | None], Any]:
    """Return the symbols by ``(column, None)`` for numbers, ``(column, code)`` and ``(column, "missing")``.

    Names that would be the same, of two columns of one name, get a number.
    """
    sympy = _sympy()
    used: set[str] = set()
    symbols: dict[tuple[int, int | str | None], Any] = {}

    def add(key: tuple[int, int | str | None], name: str, **assumptions: bool) -> None:
        unique, count = name, 1
        while unique in used:
            count += 1
            unique = f"{name} ({count})"
        used.add(unique)
        symbols[key] = sympy.Symbol(unique, **assumptions)

    for i, column in enumerate(circuit.columns):
        name = name_text(column.name)
        if column.categories is None:
            add((i, None), name, extended_real=True)
        for code, category in enumerate(column.categories or ()):
            add((i, code), f"{name} = {category_text(category)}")
        add((i, "missing"), f"{name} is missing")
    return symbols


def _sympy() -> Any:
    return import_extra("sympy", "to_sympy()", "symbolic")


def _condition(sympy: Any, condition: Formula, symbols: dict[tuple[int, int | str | None], Any]) -> Any:
    """Return a formula as a SymPy expression."""
    match condition:
        case bool():
            return sympy.true if condition else sympy.false
        case AllOf(parts):
            return sympy.And(*(_condition(sympy, part, symbols) for part in parts))
        case AnyOf(parts):
            return sympy.Or(*(_condition(sympy, part, symbols) for part in parts))
        case OddOf(parts, even):
            odd = sympy.Xor(*(_condition(sympy, part, symbols) for part in parts))
            return sympy.Not(odd) if even else odd
        case NumberCondition():
            return _number(sympy, condition, symbols[condition.column, None], symbols[condition.column, "missing"])
        case CategoryCondition():
            named = sympy.Or(*(symbols[condition.column, code] for code in condition.codes))
            return _category(sympy, condition, named, symbols[condition.column, "missing"])


def _number(sympy: Any, condition: NumberCondition, x: Any, missing: Any) -> Any:
    """Return the intervals of a condition, and what it says of missing numbers where they say something else."""
    intervals = _intervals(sympy, condition, x)
    if condition.low == condition.missing:
        return intervals
    return sympy.Or(intervals, missing) if condition.missing else sympy.And(intervals, sympy.Not(missing))


def _category(sympy: Any, condition: CategoryCondition, named: Any, missing: Any) -> Any:
    """Return a condition on categories: those that it names, or all others."""
    if not condition.other:
        return sympy.Or(named, missing) if condition.missing else named
    return sympy.Not(named) if condition.missing else sympy.And(sympy.Not(named), sympy.Not(missing))


def _intervals(sympy: Any, condition: NumberCondition, x: Any) -> Any:
    """Return the intervals of a condition; -oo, which stands for a missing number, lies in the lowest."""
    ends: list[float | None] = [None, *condition.ends] if condition.low else list(condition.ends)
    ends += [None] if len(ends) % 2 else []
    pieces = []
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        above = sympy.true if start is None else x > sympy.Float(start)
        pieces.append(above if end is None else sympy.And(above, x <= sympy.Float(end)))
    return sympy.Or(*pieces)
