"""Expressions as text in any language; scripts that read a row's values by name; safe strings, comments, headings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from dln._version import __version__
from dln.circuit._circuit import MISSING, Above, IsIn
from dln.circuit._words import number_text
from dln.export._form import AllOf, AnyOf, Check, Differ, Expression, Form, Part
from dln.export._names import identifiers

_MARK: Final = re.compile(r"Written by dln \S+ as (\{.*?\})\.")


@dataclass(frozen=True, slots=True)
class Language:
    """A language's syntax of expressions; a joined text is put in parentheses inside another."""

    check: Callable[[Check], str]
    part: Callable[[Part], str]
    conjunction: str
    disjunction: str
    unequal: str
    equal: str
    true: str
    false: str


def expression_text(expression: Expression, language: Language) -> str:
    return _text(expression, language).removeprefix("\0")


def _text(expression: Expression, language: Language) -> str:
    r"""Return the text; a joined one begins with ``\0``, so that the caller adds parentheses."""
    match expression:
        case bool():
            return language.true if expression else language.false
        case Check():
            return language.check(expression)
        case Part():
            return language.part(expression)
        case AllOf(of):
            return "\0" + language.conjunction.join(_inner(inner, language) for inner in of)
        case AnyOf(of):
            return "\0" + language.disjunction.join(_inner(inner, language) for inner in of)
        case Differ(a, b, negated):
            sign = language.equal if negated else language.unequal
            return f"\0{_inner(a, language, always=True)}{sign}{_inner(b, language, always=True)}"


def _inner(expression: Expression, language: Language, *, always: bool = False) -> str:
    text = _text(expression, language)
    if text.startswith("\0"):
        return f"({text[1:]})"
    return f"({text})" if always and " " in text else text


def json_string(text: str) -> str:
    """Return a string for Python and JavaScript, in ASCII, also safe inside a web page."""
    return json.dumps(text).replace("<", "\\u003c")


def comment_text(text: str) -> str:
    """Return text that is safe in a comment of any target language, and inside a web page."""
    # A backslash joins lines in C, a character that is not printable may end one, two question marks begin a trigraph.
    text = "".join(char if char.isprintable() else "?" for char in text).replace("\\", "|")
    for ending in ("*/", "/*", "</", "<!", "??"):
        while ending in text:
            text = text.replace(ending, f"{ending[0]} {ending[1]}")
    return text


def from_template(name: str, /, **values: str | Iterable[str]) -> str:
    """Return a template with its places filled: ``§name`` in a line by a text, alone in one by several lines."""

    def filled(place: re.Match[str]) -> str:
        value = values[place[1] or place[2]]
        return value if isinstance(value, str) else "".join(f"{line}\n" for line in value)

    text = (files("dln.export") / "templates" / name).read_text(encoding="utf-8")
    return re.sub(r"^§(\w+)\n|§(\w+)", filled, text, flags=re.MULTILINE)


def exported_by(target: str, **options: Any) -> str:
    """Return the sentence on the writer and its options, without a date: equal models give equal files."""
    facts = {"format": target, **{name: value for name, value in options.items() if value not in (None, False)}}
    # What could end a comment, or start something in a web page, is escaped.
    text = json.dumps(facts)
    for sign in "/<>?}":
        text = text[:-1].replace(sign, f"\\u{ord(sign):04x}") + text[-1]
    return f"Written by dln {__version__} as {text}."


def export_facts(text: str) -> dict[str, Any] | None:
    """Return format and options from an exported text's heading, or None if it has none."""
    match = _MARK.search(text)
    try:
        return None if match is None else json.loads(match[1])
    except ValueError:
        return None


# --- Python and JavaScript --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Syntax:
    """Templates of a scripting language for tests and declarations; of two texts, the second is the negation."""

    words: tuple[str, str, str, str, str, str]
    """And, or, unequal, equal, true, false."""
    above: tuple[str, str]
    """Of the comparison of a number; never "≤", for a missing number is not above."""
    among: tuple[str, str]
    """A code is one of several."""
    is_nan: tuple[str, str]
    part: tuple[str, str]
    declaration: str
    helper: str
    """Beginning of the names of functions and tables in the file."""
    string: Callable[[str], str]
    comment: str


class Script:
    def __init__(self, syntax: Syntax, form: Form) -> None:
        self._syntax, self._form = syntax, form
        self.names = dict(zip(form.used, identifiers([column.name for _, column in form.columns]), strict=True))
        self._language = Language(
            self._check, lambda part: syntax.part[part.negated].format(number=part.number), *syntax.words
        )

    def declarations(self) -> Iterator[str]:
        """Yield a line for each column that rules read and for each part that they share."""
        syntax = self._syntax
        for j, column in self._form.columns:
            value = f"{syntax.helper}number(row, {syntax.string(column.name)})"
            if column.categories is not None:
                value = f"{syntax.helper}code(row, {syntax.string(column.name)}, {syntax.helper}CODES_{j})"
            yield syntax.declaration.format(name=self.names[j], value=value)
        for i, part in enumerate(self._form.parts):
            yield syntax.declaration.format(name=f"part_{i}", value=expression_text(part, self._language))

    def rules(self) -> Iterator[str]:
        for rule in self._form.rules:
            yield f"{expression_text(rule.expression, self._language)},{self._syntax.comment}{comment_text(rule.text)}"

    def _check(self, check: Check) -> str:
        name, column = self.names[check.literal.column], self._form.circuit.columns[check.literal.column]
        match check.literal:
            case Above(cutoff=cutoff):
                return self._syntax.above[check.negated].format(f"{name} > {number_text(cutoff)}")
            case IsIn(codes=(code,)):
                pass
            case IsIn(codes=codes):
                return self._syntax.among[check.negated].format(name=name, codes=", ".join(map(str, codes)))
            case _ if column.categories is None:
                return self._syntax.is_nan[check.negated].format(name=name)
            case _:
                code = MISSING
        return f"{name}{self._language.unequal if check.negated else self._language.equal}{code}"
