"""A circuit in words: ``bmi > 30 and smoker = "yes"``."""

from __future__ import annotations

import json
from typing import Final

from dln.circuit._circuit import Category, Circuit, Column
from dln.circuit._cone import reads
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula

#: A rule of more literals than this is told by its size: nobody reads further, and shared gates can make text explode.
MAX_LITERALS_IN_TEXT: Final = 64


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number.

    >>> number_text(30.0), number_text(30.01), number_text(1e22)
    ('30', '30.01', '1e+22')
    """
    text = repr(float(value))
    return text.removesuffix(".0")


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "rule"), counted(34, "rule")
    ('1 rule', '34 rules')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def thousands(number: float) -> str:
    """Return a number for reading: thousands apart, and no more digits than mean something.

    >>> thousands(1460), thousands(12345.678), thousands(0.012345)
    ('1,460', '12,346', '0.01235')
    """
    if number == int(number) and abs(number) < 1e15:  # noqa: PLR2004 (digits that float64 has)
        return f"{int(number):,}"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"  # noqa: PLR2004 (four digits are enough)


def weight_text(value: float, decimals: int) -> str:
    """Return a weight with all the decimals of its grid."""
    return f"{value:.{decimals}f}" if 0 <= decimals <= 15 else number_text(value)  # noqa: PLR2004 (digits of float64)


def name_text(name: str) -> str:
    r"""Return a column name that stays on one line and can be seen: in quotes where it would not.

    >>> print(name_text("age"), name_text("two\nlines"), name_text(""))
    age "two\nlines" ""
    """
    return name if name.isprintable() and name and name == name.strip() else _quoted(name)


def category_text(category: Category) -> str:
    """Return a category as a reader would write it: text in quotes, the rest bare."""
    if isinstance(category, str):
        return _quoted(category)
    return str(category).lower() if isinstance(category, bool) else number_text(category)


def _quoted(text: str) -> str:
    """Return the text as a JSON string of printable characters only: JSON itself lets U+2028 and its like through."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in quoted)


def node_text(circuit: Circuit, node: int) -> str:
    """Return a literal or gate in words, with as few parentheses as its meaning needs.

    What is printed is exact for every input. ``not x > 3`` holds for a missing x, ``x ≤ 3`` does not; ``c ≠ "a"`` and
    ``c not in {"a", "b"}`` hold for a missing or unknown c.
    """
    size = node_sizes(circuit)[node]
    if size > MAX_LITERALS_IN_TEXT:
        return f"a rule of {size} literals"
    return formula_text(formula(circuit, node), circuit.columns)


def node_sizes(circuit: Circuit) -> list[int]:
    """Return for every node how many literals it names when written out; inputs that a gate ignores are not named."""
    sizes = [1] * len(circuit.literals)
    for gate in circuit.gates:
        uses_a, uses_b = reads(gate.kind)
        sizes.append(sizes[gate.a] * uses_a + sizes[gate.b] * uses_b)
    return sizes


def formula_text(said: Formula, columns: tuple[Column, ...]) -> str:
    """Return a formula in words."""
    return _text(said, columns)[0]


def _text(said: Formula, columns: tuple[Column, ...]) -> tuple[str, str]:
    """Return the words, and the word that joins them at the top ("" if nothing does)."""
    match said:
        case bool():
            return ("always" if said else "never"), ""
        case NumberCondition():
            return _joined(number_pieces(said, name_text(columns[said.column].name)), "or")
        case CategoryCondition():
            return _category(said, columns[said.column])
        case AllOf(parts) | AnyOf(parts):
            word = "and" if isinstance(said, AllOf) else "or"
            return f" {word} ".join(_inside(part, columns, word) for part in parts), word
        case OddOf(parts, even):
            inner = "; ".join(_text(part, columns)[0] for part in parts)
            exact = ("both or neither" if even else "exactly one") if len(parts) == 2 else ""  # noqa: PLR2004 (a pair)
            return f"{exact or ('an even number' if even else 'an odd number')} of ({inner})", ""


def _inside(said: Formula, columns: tuple[Column, ...], word: str) -> str:
    text, joint = _text(said, columns)
    return f"({text})" if joint and joint != word else text


def _joined(pieces: list[str], word: str) -> tuple[str, str]:
    return f" {word} ".join(pieces), word if len(pieces) > 1 else ""


def number_pieces(said: NumberCondition, name: str) -> list[str]:
    """Return texts of which one holds wherever the condition does: intervals, "not" an interval, "is missing".

    >>> number_pieces(NumberCondition(0, ends=(18.0, 47.5), low=False, missing=False), "age")
    ['18 < age ≤ 47.5']
    >>> number_pieces(NumberCondition(0, ends=(47.5,), low=True, missing=True), "age")
    ['not age > 47.5']
    >>> number_pieces(NumberCondition(0, ends=(1.0, 2.0, 3.0), low=True, missing=True), "age")
    ['not (1 < age ≤ 2 or age > 3)']
    """
    if not said.ends and said.low:
        return [f"{name} is not missing"] if not said.missing else ["always"]
    if said.low and said.missing:
        pieces = _intervals(said.ends, low=False, name=name)
        return ["not " + (pieces[0] if len(pieces) == 1 else f"({' or '.join(pieces)})")]
    missing = [f"{name} is missing"] if said.missing else []
    return (_intervals(said.ends, low=said.low, name=name) + missing) or ["never"]


def _intervals(ends: tuple[float, ...], *, low: bool, name: str) -> list[str]:
    edges = [None, *ends] if low else list(ends)
    edges += [None] if len(edges) % 2 else []
    pieces = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        if start is None:
            pieces.append(f"{name} ≤ {number_text(end or 0.0)}")
        elif end is None:
            pieces.append(f"{name} > {number_text(start)}")
        else:
            pieces.append(f"{number_text(start)} < {name} ≤ {number_text(end)}")
    return pieces


def _category(said: CategoryCondition, column: Column) -> tuple[str, str]:
    assert column.categories is not None  # noqa: S101 (the circuit was validated)
    name = name_text(column.name)
    values = [category_text(column.categories[code]) for code in said.codes]
    if not values:
        return f"{name} is missing" if said.missing else f"{name} is not missing", ""
    if len(values) == 1:
        text = f"{name} {'≠' if said.other else '='} {values[0]}"
    else:
        text = f"{name} {'not in' if said.other else 'in'} {{{', '.join(values)}}}"
    if said.missing == said.other:
        return text, ""
    if said.missing:
        return f"{text} or {name} is missing", "or"
    return f"{text} and {name} is not missing", "and"


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
