"""A circuit in words: ``bmi > 30 and smoker = "yes"``."""

from __future__ import annotations

import json
from typing import Final

from dln._circuit import Above, Category, Circuit, Column, IsIn, Literal
from dln._gates import AND, GATES, NOT_A, NOT_B, OR, XNOR, XOR, A, B, complement

#: A rule of more literals than this is told by its size: nobody reads further, and shared gates can make text explode.
MAX_LITERALS_IN_TEXT: Final = 64
_AND_FORMS: Final = {1: ("", ""), 2: ("", "not "), 4: ("not ", ""), 8: ("not ", "not ")}
_OR_FORMS: Final = {7: ("", ""), 11: ("", "not "), 13: ("not ", ""), 14: ("not ", "not ")}


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number.

    >>> number_text(30.0), number_text(30.01), number_text(1e22)
    ('30', '30.01', '1e+22')
    """
    text = repr(float(value))
    return text.removesuffix(".0")


def weight_text(value: float, decimals: int) -> str:
    """Return a weight with all the decimals of its grid."""
    return f"{value:.{decimals}f}" if 0 <= decimals <= 15 else number_text(value)  # noqa: PLR2004 (digits of float64)


def name_text(name: str) -> str:
    """Return a column name that stays on one line: control characters and line breaks are escaped."""
    return name if name.isprintable() else _quoted(name)


def category_text(category: Category) -> str:
    """Return a category as a reader would write it: text in quotes, the rest bare."""
    if isinstance(category, str):
        return _quoted(category)
    return str(category).lower() if isinstance(category, bool) else number_text(category)


def _quoted(text: str) -> str:
    """Return the text as a JSON string of printable characters only: JSON itself lets U+2028 and its like through."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in quoted)


def literal_text(literal: Literal, columns: tuple[Column, ...]) -> str:
    """Return a literal in words.

    >>> literal_text(Above(0, 47.5), (Column("age"),))
    'age > 47.5'
    """
    column = columns[literal.column]
    name = name_text(column.name)
    if isinstance(literal, Above):
        return f"{name} > {number_text(literal.cutoff)}"
    if isinstance(literal, IsIn):
        assert column.categories is not None  # noqa: S101 (the circuit was validated)
        values = [category_text(column.categories[code]) for code in literal.codes]
        return f"{name} = {values[0]}" if len(values) == 1 else f"{name} in {{{', '.join(values)}}}"
    return f"{name} is missing"


def node_text(circuit: Circuit, node: int) -> str:
    """Return a literal or gate in words, with as few parentheses as its meaning needs."""
    sizes = node_sizes(circuit)
    if sizes[node] > MAX_LITERALS_IN_TEXT:
        return f"a rule of {sizes[node]} literals"
    return _text(circuit, node)


def node_sizes(circuit: Circuit) -> list[int]:
    """Return for every node how many literals its text would name."""
    sizes = [1] * len(circuit.literals)
    for gate in circuit.gates:
        sizes.append(sizes[gate.a] + sizes[gate.b])
    return sizes


def _text(circuit: Circuit, node: int) -> str:
    n_literals = len(circuit.literals)
    if node < n_literals:
        return literal_text(circuit.literals[node], circuit.columns)
    gate = circuit.gates[node - n_literals]
    kind = gate.kind
    if kind in {A, B}:
        return _text(circuit, gate.a if kind == A else gate.b)
    if kind in {NOT_A, NOT_B}:
        return _side(circuit, gate.a if kind == NOT_A else gate.b, "not ", AND)
    if kind in _AND_FORMS:
        return " and ".join(_side(circuit, n, p, AND) for n, p in zip((gate.a, gate.b), _AND_FORMS[kind], strict=True))
    if kind in _OR_FORMS:
        return " or ".join(_side(circuit, n, p, OR) for n, p in zip((gate.a, gate.b), _OR_FORMS[kind], strict=True))
    if kind in {XOR, XNOR}:
        words = "exactly one of" if kind == XOR else "both or neither of"
        return f"{words} ({_text(circuit, gate.a)}; {_text(circuit, gate.b)})"
    return "always" if GATES[kind].index == complement(0) else "never"


def _side(circuit: Circuit, node: int, prefix: str, parent: int) -> str:
    return prefix + _inner(circuit, node, parent if not prefix else -1)


def _inner(circuit: Circuit, node: int, parent: int) -> str:
    """Return the text of an input, in parentheses unless it is a literal or a gate of the parent's kind."""
    text = _text(circuit, node)
    n_literals = len(circuit.literals)
    if node < n_literals:
        return text
    kind = circuit.gates[node - n_literals].kind
    same = (parent == AND and kind in _AND_FORMS) or (parent == OR and kind in _OR_FORMS)
    return text if same or kind in {XOR, XNOR} else f"({text})"


def circuit_text(circuit: Circuit, target: str = "prediction") -> str:
    """Return the whole circuit, one rule per line, strongest weight first."""
    rules = sorted(circuit.rules, key=lambda rule: -abs(rule.weight))
    weights = [weight_text(abs(rule.weight), circuit.decimals) for rule in rules]
    width = max(map(len, weights), default=0)
    lines = [f"{name_text(target)} = {number_text(circuit.intercept)}"]
    for rule, weight in zip(rules, weights, strict=True):
        sign = "-" if rule.weight < 0 else "+"
        lines.append(f"  {sign} {weight:>{width}} · [{node_text(circuit, rule.node)}]")
    return "\n".join(lines)
