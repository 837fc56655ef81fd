"""Expressions as text in any language; safe names, strings, comments and headings."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from dln._version import __version__
from dln.circuit._words import category_text, number_text
from dln.export._form import AllOf, AnyOf, Check, Differ, Expression, Part

#: Words with a meaning in C and C++, JavaScript, Python, Verilog, and in the exported texts themselves.
_WORDS: Final = (files("dln.export") / "templates" / "reserved.txt").read_text(encoding="ascii")
RESERVED: Final = frozenset(_WORDS.split())
_OURS: Final = re.compile(r"(part|rule|codes|stage)_?\d+", re.IGNORECASE)
#: Longest name in code: C99 guarantees that 63 characters are significant, and suffixes follow.
_LONGEST: Final = 40
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


def from_template(name: str, /, **values: object) -> str:
    """Return a template of Jinja filled: ``«name»`` is a value, ``«% if … %»`` a statement."""
    text: str = _environment().get_template(name).render(values)
    return text


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # takes a while

    environment = Environment(  # noqa: S701 (code, not HTML)
        *("«%", "%»", "«", "»", "«#", "#»"),  # signs that none of the languages uses
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        loader=PackageLoader("dln.export"),
        undefined=StrictUndefined,
    )
    filters = {"comment": comment_text, "json": json_string, "number": number_text, "category": category_text}
    environment.filters |= {**filters, "ascii": ascii}
    return environment


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


def identifiers(names: Sequence[str], taken: Iterable[str] = ()) -> list[str]:
    """Return names that are legal in all target languages, and that differ in more than case.

    >>> identifiers(["Größe (m²)", "size", "SIZE", "2nd", "class", "🏠", "'; DROP TABLE x"])
    ['Gro_e_m2', 'size', 'SIZE_2', 'c2nd', 'class_', 'c5', 'DROP_TABLE_x']
    """
    seen = {name.casefold() for name in taken}
    chosen = []
    for j, name in enumerate(names):
        plain = _plain(name) or f"c{j}"
        base = f"{plain}_" if plain.casefold() in RESERVED or _OURS.fullmatch(plain) else plain
        candidate, n = base, 2
        while candidate.casefold() in seen:
            candidate, n = f"{base.rstrip('_')}_{n}", n + 1
        seen.add(candidate.casefold())
        chosen.append(candidate)
    return chosen


def _plain(name: str) -> str:
    """Return the letters, digits and underscores of a name, as far as ASCII has them."""
    decomposed = unicodedata.normalize("NFKD", name)
    kept = "".join(
        char if char.isascii() and char.isalnum() else "_" for char in decomposed if not unicodedata.combining(char)
    )
    words = "_".join(filter(None, kept.split("_")))[:_LONGEST].strip("_")
    return f"c{words}" if words[:1].isdigit() else words
