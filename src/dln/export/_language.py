"""Expressions as text in any language with and, or and not-equal; safe strings and comments; file headings."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dln._version import __version__
from dln.export._form import AllOf, AnyOf, Check, Differ, Expression, Part

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
    """Return an expression in a language."""
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
    r"""Return a string for Python and JavaScript, in ASCII, also safe inside a web page.

    >>> print(json_string('</script>"\n'), json_string("é"))
    "\u003c/script>\"\n" "\u00e9"
    """
    return json.dumps(text).replace("<", "\\u003c")


def comment_text(text: str) -> str:
    """Return text that is safe in a comment of any target language, and inside a web page.

    >>> comment_text("a */ b /* c </script> <!-- ??/")
    'a * / b / * c < /script> < !-- ? ?/'
    """
    # A backslash joins lines in C, a character that is not printable may end one, two question marks begin a trigraph.
    text = "".join(char if char.isprintable() else "?" for char in text).replace("\\", "|")
    for ending in ("*/", "/*", "</", "<!", "??"):
        while ending in text:
            text = text.replace(ending, f"{ending[0]} {ending[1]}")
    return text


def exported_by(target: str, **options: Any) -> str:
    r"""Return the sentence on the writer and its options, without a date: equal models give equal files.

    >>> exported_by("sql", table="a*/b")
    'Written by dln 0.1.0 as {"format": "sql", "table": "a*\\u002fb"}.'
    """
    facts = {"format": target, **{name: value for name, value in options.items() if value not in (None, False)}}
    # What could end a comment, or start something in a web page, is escaped.
    text = json.dumps(facts)
    for sign in "/<>?}":
        text = text[:-1].replace(sign, f"\\u{ord(sign):04x}") + text[-1]
    return f"Written by dln {__version__} as {text}."


def export_facts(text: str) -> dict[str, Any] | None:
    """Return format and options from an exported text's heading, or None if it has none.

    >>> export_facts(exported_by("sql", table="a}*/b"))
    {'format': 'sql', 'table': 'a}*/b'}
    """
    match = _MARK.search(text)
    if match is None:
        return None
    try:
        facts = json.loads(match[1])
    except ValueError:
        return None
    return facts if isinstance(facts, dict) else None
