"""A circuit in words: ``bmi > 30 and smoker = "yes"``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dln.circuit._circuit import Category, Circuit, Column
from dln.circuit._formula import AllOf, AnyOf, CategoryCondition, Formula, NumberCondition, OddOf, formula
from dln.circuit._graph import reads

#: A rule of more literals than this is printed as its size: with shared gates, text can grow exponentially.
MAX_LITERALS_IN_TEXT: Final = 64

#: The words of rules, as `_parse` reads them: patterns, and the phrases for an odd or even number of two or more parts.
NUMBER: Final = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
RELATION: Final = r"(?:<=|>=|!=|==|[<>=≤≥≠]|\s(?:not\s+)?in\s*\{|\sis\s+(?:not\s+)?missing\b)"
ODD_OF: Final = (("exactly one", "both or neither"), ("an odd number", "an even number"))
PHRASE: Final = rf"({'|'.join(one for pair in ODD_OF for one in pair)}) of\s*\("
_NEEDS_QUOTES: Final = re.compile(
    rf"[\"(]|not(?=[\s(]|$)|.*\snot$|(?:never|always|{NUMBER})$|{PHRASE}|.*?{RELATION}", re.DOTALL
)


def number_text(value: float) -> str:
    """Return the shortest text that reads back as the same number.

    >>> number_text(30.0), number_text(30.01), number_text(1e22)
    ('30', '30.01', '1e+22')
    """
    text = repr(float(value))
    return text.removesuffix(".0")


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "rule"), counted(1700, "rule")
    ('1 rule', '1,700 rules')
    """
    return f"{number:,} {what}{'s' * (number != 1)}"


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


def column_text(name: str) -> str:
    """Return a column's name as it stands in rules: in quotes, too, where it could be read as something else.

    >>> print(column_text("sold_at (year)"), column_text("price in €"), column_text("x > 3"), column_text("2021"))
    sold_at (year) price in € "x > 3" "2021"
    """
    return _quoted(name) if _NEEDS_QUOTES.match(name) else name_text(name)


def category_text(category: Category) -> str:
    """Return a category as a reader would write it: text in quotes, the rest bare."""
    if isinstance(category, str):
        return _quoted(category)
    # Whole numbers may have more digits than a float holds.
    return str(category).lower() if isinstance(category, int) else number_text(category)


def _quoted(text: str) -> str:
    """Return the text as a JSON string of printable characters only: JSON itself lets U+2028 and its like through."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in quoted)


@dataclass(frozen=True, slots=True)
class Notation:
    """The signs in which formulas are written; `remark` writes remarks in words, `odd_of` joins parts."""

    constants: tuple[str, str]
    """The constants "never" and "always"."""
    all_of: str
    any_of: str
    at_most: str
    relations: tuple[str, str, str, str]
    """Equal, different, in a set, not in a set."""
    braces: tuple[str, str]
    name: Callable[[str], str]
    number: Callable[[float], str]
    category: Callable[[Category], str]
    remark: Callable[[str], str]
    odd_of: Callable[[list[Written], bool], Written]


class Written(NamedTuple):
    """A formula as text, and the sign that joins it at the top ("" if none does)."""

    text: str
    joint: str = ""

    def inside(self, joint: str) -> str:
        """Return the text as a part of what `joint` joins: in parentheses where another sign joins its own parts."""
        return f"({self.text})" if self.joint not in {"", joint} else self.text


def _odd_of(parts: list[Written], even: bool) -> Written:  # noqa: FBT001 (as the formula has it)
    return Written(f"{ODD_OF[len(parts) > 2][even]} of ({'; '.join(part.text for part in parts)})")  # noqa: PLR2004 (a pair)


WORDS: Final = Notation(
    constants=("never", "always"),
    all_of="and",
    any_of="or",
    at_most="≤",
    relations=("=", "≠", "in", "not in"),
    braces=("{", "}"),
    name=column_text,
    number=number_text,
    category=category_text,
    remark=str,
    odd_of=_odd_of,
)


def node_text(circuit: Circuit, node: int, notation: Notation = WORDS) -> str:
    """Return a literal or gate in words, or in another notation, with as few parentheses as its meaning needs.

    What is printed is exact for every input. A missing number is below every cut-off: ``x ≤ 3`` holds for it, as
    ``c ≠ "a"`` and ``c not in {"a", "b"}`` hold for a missing or unknown c.
    """
    size = node_sizes(circuit)[node]
    if size > MAX_LITERALS_IN_TEXT:
        return notation.remark(f"a rule of {size} literals")
    return formula_text(formula(circuit, node), circuit.columns, notation)


def node_sizes(circuit: Circuit) -> list[int]:
    """Return for every node how many literals it names when written out; inputs that a gate ignores are not named."""
    sizes = [1] * len(circuit.literals)
    for gate in circuit.gates:
        uses_a, uses_b = reads(gate.kind)
        sizes.append(sizes[gate.a] * uses_a + sizes[gate.b] * uses_b)
    return sizes


def formula_text(meaning: Formula, columns: tuple[Column, ...], notation: Notation = WORDS) -> str:
    """Return a formula in words, or in another notation."""
    return _written(meaning, columns, notation).text


def _written(meaning: Formula, columns: tuple[Column, ...], notation: Notation) -> Written:
    match meaning:
        case bool():
            return Written(notation.constants[meaning])
        case NumberCondition():
            column = columns[meaning.column]
            pieces = number_pieces(meaning, notation.name(column.name), notation, column.whole_to)
            return Written(f" {notation.any_of} ".join(pieces), notation.any_of if len(pieces) > 1 else "")
        case CategoryCondition():
            return _category(meaning, columns[meaning.column], notation)
        case OddOf(parts, even):
            return notation.odd_of([_written(part, columns, notation) for part in parts], even)
        case AllOf(parts) | AnyOf(parts):
            joint = notation.all_of if isinstance(meaning, AllOf) else notation.any_of
            return Written(f" {joint} ".join(_written(part, columns, notation).inside(joint) for part in parts), joint)


def number_pieces(
    condition: NumberCondition, name: str, notation: Notation = WORDS, whole_to: int | None = None
) -> list[str]:
    """Return texts of which one holds wherever the condition does: intervals and "is missing".

    A missing number is below every cut-off; if it is excluded, the lowest interval is marked. Of whole numbers from 0
    up to `whole_to`, the lowest and, of 0 and 1, the highest interval are named by the one number in them.

    >>> number_pieces(NumberCondition(0, ends=(18.0, 47.5), low=False, missing=False), "age")
    ['18 < age ≤ 47.5']
    >>> number_pieces(NumberCondition(0, ends=(1.0, 2.0), low=True, missing=True), "age")
    ['age ≤ 1', 'age > 2']
    >>> number_pieces(NumberCondition(0, ends=(47.5,), low=True, missing=False), "age")
    ['age ≤ 47.5 (not missing)']
    >>> number_pieces(NumberCondition(0, ends=(0.5,), low=False, missing=False), "smoker", whole_to=1)
    ['smoker = 1']
    """
    if not condition.ends:
        return [name + notation.remark(" is missing" if condition.missing else " is not missing")]
    edges = [notation.number(end) for end in condition.ends]
    edges = ["", *edges] if condition.low else edges
    edges += [""] if len(edges) % 2 else []
    pieces = []
    for start, end in zip(edges[::2], edges[1::2], strict=True):
        above = f"{start} < " if start else ""
        pieces.append(f"{above}{name} {notation.at_most} {end}" if end else f"{name} > {start}")
    is_one = f"{name} {notation.relations[0]} "
    if whole_to is not None and condition.low and 0 <= condition.ends[0] < 1:
        pieces[0] = is_one + notation.number(0.0)
    if whole_to == 1 and not edges[-1] and 0 <= condition.ends[-1] < 1:
        pieces[-1] = is_one + notation.number(1.0)
    if condition.low and not condition.missing:
        pieces[0] += notation.remark(" (not missing)")
    elif condition.missing and not condition.low:
        pieces.append(name + notation.remark(" is missing"))
    return pieces


def _category(condition: CategoryCondition, column: Column, notation: Notation) -> Written:
    assert column.categories is not None  # noqa: S101 (the circuit was validated)
    name = notation.name(column.name)
    missing = name + notation.remark(" is missing" if condition.missing else " is not missing")
    values = [notation.category(column.categories[code]) for code in condition.codes]
    if not values:
        return Written(missing)
    several = len(values) > 1
    named = ", ".join(values).join(notation.braces) if several else values[0]
    text = f"{name} {notation.relations[2 * several + condition.other]} {named}"
    if condition.missing == condition.other:
        return Written(text)
    joint = notation.any_of if condition.missing else notation.all_of
    return Written(f"{text} {joint} {missing}", joint)


def aligned(cells: Sequence[Sequence[str]], left: int = 0) -> list[str]:
    """Return a line for each row: the last column and the first `left` ones are text, the others numbers."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)][:-1]
    lines = []
    for *row, last in cells:
        padded = [
            f"{text:<{w}}" if k < left else f"{text:>{w}}" for k, (text, w) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join([*padded, last]))
    return lines


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
