r"""Rules as text → formulas: the inverse of `_words`, and the one grammar of rules that people write.

::

    rule      = all {"or" all}
    all       = part {"and" part}                        "and" binds more tightly than "or"
    part      = ["not"] ("(" rule ")" | odd | condition)
    odd       = ("exactly one of" | "both or neither of") "(" rule ";" rule ")"
              | ("an odd number of" | "an even number of") "(" rule ";" rule {";" rule} ")"
    condition = column (">" | "≥") number
              | [number ("<" | "≤")] column ("<" | "≤") number ["(not missing)"]
              | column ("=" | "≠") category | column "=" (0 | 1)
              | column ["not"] "in" "{" category {"," category} "}"
              | column "is" ["not"] "missing"

A column is its name, as `column_text` prints it: bare, or as a JSON string. A category is a JSON string, ``true``,
``false`` or a number. ``<=``, ``>=``, ``!=`` and ``==`` are other spellings of ≤, ≥, ≠ and =. Models know ``>`` and
``≤`` only: ``x ≥ 3`` becomes ``x > 2.9999999999999996``, which is the same for every number that there is. A missing
number is below every cut-off, except where ``(not missing)`` follows. On columns of whole numbers from 0 up ``x = 0``
is ``x ≤ 0.5``, and on those of 0 and 1 ``x = 1`` is ``x > 0.5``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Final, NoReturn

from dln._errors import RuleSyntaxError
from dln._text import closest
from dln.circuit._circuit import Category, Column
from dln.circuit._formula import CategoryCondition, Formula, NumberCondition, all_of, any_of, negate, odd_of
from dln.circuit._words import NUMBER, ODD_OF, PHRASE, RELATION, category_text, column_text

_LOWER_END: Final = re.compile(rf"{NUMBER}\s*[<≤]")
_PLAIN: Final = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "="}
#: Categories that an error lists, at most.
_LISTED: Final = 8
#: Python reads whole numbers of so many digits.
_MAX_DIGITS: Final = 4300


def parse_rule(text: str, columns: tuple[Column, ...], others: str = "") -> Formula:
    """Return the formula of a rule over some columns; an error about a category says where `others` come from."""
    if text.strip() in {"never", "always"}:
        return text.strip() == "always"
    return _Parser(text, columns, others).rule()


class _Parser:
    """A parser by recursive descent; `at` is the position of what is read next."""

    def __init__(self, text: str, columns: tuple[Column, ...], others: str) -> None:
        self.text, self.columns, self.others, self.at = text, columns, others, 0
        self._index = {column.name: j for j, column in enumerate(columns)}
        self._skip()

    def rule(self) -> Formula:
        try:
            meaning = self._any()
        except RecursionError:
            self._fail("less deeply nested parentheses")
        if self.at < len(self.text):
            self._fail('"and", "or" or the end')
        return meaning

    # ---- joints

    def _any(self) -> Formula:
        return any_of(self._list(lambda: all_of(self._list(self._part, r"and\b")), r"or\b"))

    def _list(self, part: Callable[[], Formula], joint: str) -> list[Formula]:
        parts = [part()]
        while self._take(joint):
            parts.append(part())
        return parts

    def _part(self) -> Formula:
        if self._take(r"not(?=[\s(])"):
            return negate(self._part())
        if self._take(r"\("):
            inner = self._any()
            self._take(r"\)") or self._fail('"and", "or" or ")"')
            return inner
        start = self.at
        if not (found := self._take(PHRASE)):
            return self._condition()
        phrase, parts = found[1], self._list(self._any, ";")
        self._take(r"\)") or self._fail('"and", "or", ";" or ")"')
        of_two = phrase in ODD_OF[False]
        if len(parts) < 2 or (of_two and len(parts) > 2):  # noqa: PLR2004 (a pair)
            self._fail(f"{'two' if of_two else 'at least two'} parts after {phrase!r}, separated by semicolons", start)
        return odd_of(parts, even=phrase in {even for _, even in ODD_OF})

    # ---- conditions

    def _condition(self) -> Formula:
        start, lower = self.at, None
        if _LOWER_END.match(self.text, start):
            lower = self._number()
            lower = lower if self._take("<=|<|≤")[0] == "<" else self._below(lower)  # type: ignore[index]
        j, relation = self._column_and_relation()
        is_number = self.columns[j].categories is None
        if lower is not None and relation not in {"<", "≤"}:
            self._fail("no number before a column, except in intervals like 18 < age ≤ 47", start)
        negated = relation in {"≠", "not in", "is not missing"}
        if relation.startswith("is"):
            kind: Callable[..., Formula] = NumberCondition if is_number else CategoryCondition
            return kind(j, (), negated, not negated)
        if is_number:
            relation, end = self._whole(j) if relation == "=" else (relation, self._number())
            end = self._below(end) if relation in {"<", "≥"} else end
            if relation in {">", "≥"}:
                return NumberCondition(j, (end,), low=False, missing=False)
            if lower is None:
                return NumberCondition(j, (end,), low=True, missing=not self._take(r"\(\s*not\s+missing\s*\)"))
            if lower >= end:
                self._fail("the lower end of an interval before the upper one", start)
            return NumberCondition(j, (lower, end), low=False, missing=False)
        codes = [self._category(j)]
        if relation.endswith("in"):
            while self._take(","):
                codes.append(self._category(j))
            self._take("}") or self._fail('"," or "}"')
        return CategoryCondition(j, tuple(sorted(set(codes))), other=negated, missing=negated)

    def _whole(self, j: int) -> tuple[str, float]:
        """Return the relation and cut-off that "= 0" of a column of whole numbers is or, of 0 and 1, "= 1"."""
        start, number = self.at, self._number()
        is_flag = self.columns[j].whole_to == 1
        if number not in ({0, 1} if is_flag else {0}):
            self._fail("0 or 1" if is_flag else "0, or a comparison by > or ≤", start)
        return ">" if number else "≤", 0.5

    def _column_and_relation(self) -> tuple[int, str]:
        """Return the column that is named next, and the relation that follows, in its plain spelling."""
        start, is_quoted = self.at, self.text.startswith('"', self.at)
        if is_quoted:
            name = self._string()
            relation = re.compile(r"\s*" + RELATION).match(self.text, self.at)
        else:
            relation = re.compile(RELATION).search(self.text, start)
            self.at = relation.start() if relation else len(self.text)
            name = self.text[start : self.at].strip()
        if not name and not is_quoted:
            self._fail("a column and a comparison, like age > 60", start)
        if name not in self._index:
            near = closest(name, self._index)
            hint = "none has this name" if near is None else f"the nearest is {column_text(near)}"
            self._fail(f"a column that is known ({hint})", start)
        j = self._index[name]
        is_number = self.columns[j].categories is None
        plain = re.sub(r"[\s{]+", " ", relation[0]).strip() if relation else ""
        plain = _PLAIN.get(plain, plain)
        is_whole = plain == "=" and self.columns[j].whole_to is not None
        if not (plain.startswith("is") or is_whole) and (not plain or (plain in {"<", "≤", ">", "≥"}) != is_number):
            allowed, holds = ("> or ≤", "numbers") if is_number else ("=, ≠ or in", "categories")
            self._fail(f"{allowed}, or is missing, after {column_text(name)}, which holds {holds}")
        self.at = self.at if relation is None else relation.end()
        self._skip()
        return j, plain

    # ---- words

    def _number(self) -> float:
        start = self.at
        found = self._take(NUMBER)
        if found is None or not math.isfinite(float(found[0])):
            self._fail("a number that a float can hold" if found else "a number", start)
        return float(found[0])

    def _below(self, number: float) -> float:
        below = math.nextafter(number, -math.inf)
        return below if math.isfinite(below) else self._fail("a number that a float can hold")

    def _category(self, j: int) -> int:
        """Return the code of the category that is named next."""
        known = {_key(category): code for code, category in enumerate(self.columns[j].categories or ())}
        start = self.at
        category: Category | None = None
        if self.text.startswith('"', start):
            category = self._string()
            self._skip()
        elif found := self._take(rf"(true|false)\b|{NUMBER}"):
            is_whole = found[0].lstrip("+-").isdecimal() and len(found[0]) < _MAX_DIGITS
            category = found[0] == "true" if found[1] else int(found[0]) if is_whole else float(found[0])
        if category is None or _key(category) not in known:
            shown = [category_text(one) for _, one in known]
            listed = ", ".join([*shown[:_LISTED], *["…"] * (len(shown) > _LISTED)]) or "none is known"
            self._fail(f"a category of {column_text(self.columns[j].name)} ({listed}{self.others})", start)
        return known[_key(category)]

    def _string(self) -> str:
        try:
            text, self.at = JSONDecoder().raw_decode(self.text, self.at)
        except ValueError:
            self._fail('text in double quotes, in which \\" is a quote and \\\\ a backslash')
        return str(text)

    def _skip(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def _take(self, pattern: str) -> re.Match[str] | None:
        """Return what comes next if it matches, and go on behind it and the white space that follows."""
        if found := re.compile(pattern).match(self.text, self.at):
            self.at = found.end()
            self._skip()
        return found

    def _fail(self, expected: str, at: int | None = None) -> NoReturn:
        raise RuleSyntaxError(self.text, self.at if at is None else at, expected)


def _key(category: Category) -> tuple[type, Category]:
    """Return what tells categories apart: to Python, True equals 1."""
    return (type(category) if isinstance(category, (str, bool)) else float), category
