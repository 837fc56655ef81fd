"""A circuit as a SymPy expression, and as a LaTeX formula."""

from __future__ import annotations

import itertools
from typing import Any, Final

from dln._errors import import_extra
from dln.circuit._circuit import Circuit
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._words import Notation, Written, category_text, name_text, node_text, number_text, weight_text

_NAMED: Final = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
_LATEX_SPECIAL: Final = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in _NAMED.items()}
    | {sign: f"\\{sign}" for sign in "{}$&#_%"}
    | {'"': "''"}
)


def to_sympy(circuit: Circuit) -> Any:
    """Return the circuit as a SymPy expression: the intercept, plus a Piecewise of 0 or the weight for each rule.

    A number column is an extended real symbol of its name; ``smoker = "yes"`` and ``bmi is missing`` are Boolean
    symbols of just these names. `sympy_symbols` lists them. SymPy knows no missing number: it is -oo here, above no
    cut-off, with its "is missing" true.
    """
    sympy = import_extra("sympy", "to_sympy()", "symbolic")
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
    sympy = import_extra("sympy", "to_sympy()", "symbolic")
    used: set[str] = set()
    symbols: dict[tuple[int, int | str | None], Any] = {}

    def add(key: tuple[int, int | str | None], name: str, **assumptions: bool) -> None:
        numbered = (f"{name} ({count})" for count in itertools.count(2))
        unique = next(text for text in itertools.chain([name], numbered) if text not in used)
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


def _condition(sympy: Any, condition: Formula, symbols: dict[tuple[int, int | str | None], Any]) -> Any:
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
            known = _intervals(sympy, condition, symbols[condition.column, None])
            holds_if_missing = condition.low  # of the intervals alone: a missing number is -oo
        case CategoryCondition():
            named = sympy.Or(*(symbols[condition.column, code] for code in condition.codes))
            known, holds_if_missing = sympy.Not(named) if condition.other else named, condition.other
    missing = symbols[condition.column, "missing"]
    if holds_if_missing == condition.missing:
        return known
    return sympy.Or(known, missing) if condition.missing else sympy.And(known, sympy.Not(missing))


def _intervals(sympy: Any, condition: NumberCondition, x: Any) -> Any:
    """Return the intervals of a condition; -oo, which stands for a missing number, lies in the lowest."""
    ends: list[float | None] = [None, *condition.ends] if condition.low else list(condition.ends)
    ends += [None] if len(ends) % 2 else []
    pieces = []
    for start, end in zip(ends[::2], ends[1::2], strict=True):
        above = sympy.true if start is None else x > sympy.Float(start)
        pieces.append(above if end is None else sympy.And(above, x <= sympy.Float(end)))
    return sympy.Or(*pieces)


# --- LaTeX -----------------------------------------------------------------------------------------------------------


def to_latex(circuit: Circuit, target: str = "prediction") -> str:
    """Return the circuit as a LaTeX formula, one rule per line, the strongest weight first."""
    lines = [rf"{latex_name(target)} ={{}} & {_latex_number(number_text(circuit.intercept))}"]
    for rule in sorted(circuit.rules, key=lambda rule: -abs(rule.weight)):
        sign = "-" if rule.weight < 0 else "+"
        weight = _latex_number(weight_text(abs(rule.weight), circuit.decimals))
        lines.append(rf"  & {sign} {weight} \cdot [{node_text(circuit, rule.node, LATEX)}]")
    body = " \\\\\n".join(lines)
    return f"\\begin{{aligned}}\n{body}\n\\end{{aligned}}"


def latex_name(name: str) -> str:
    """Return any text as LaTeX text: special characters escaped, control characters written out."""
    return rf"\text{{{name_text(name).translate(_LATEX_SPECIAL)}}}"


def _latex_number(text: str) -> str:
    """Return the text of a number with its power of ten written as one."""
    digits, _, exponent = text.partition("e")
    return rf"{digits} \times 10^{{{int(exponent)}}}" if exponent else digits


def _odd_of(parts: list[Written], even: bool) -> Written:  # noqa: FBT001 (as the formula has it)
    text = r" \oplus ".join(part.inside(r"\oplus") for part in parts)
    return Written(rf"\neg ({text})") if even else Written(text, r"\oplus")


LATEX: Final = Notation(
    constants=(r"\bot", r"\top"),
    all_of=r"\wedge",
    any_of=r"\vee",
    at_most=r"\le",
    relations=("=", r"\ne", r"\in", r"\notin"),
    braces=(r"\{", r"\}"),
    name=latex_name,
    number=lambda value: _latex_number(number_text(value)),
    category=lambda category: latex_name(category_text(category)),
    remark=lambda text: rf"\text{{{text}}}",
    odd_of=_odd_of,
)
