r"""Rules as text → formulas: the inverse of `_words`, and the one grammar of rules that people write.

::

    rule      = all {"or" all}
    all       = part {"and" part}                        "and" binds more tightly than "or"
    part      = ["not"] ("(" rule ")" | odd | condition)
    odd       = ("exactly one of" | "both or neither of") "(" rule ";" rule ")"
              | ("an odd number of" | "an even number of") "(" rule ";" rule {";" rule} ")"
    condition = column (">" | "≥") number
              | [number ("<" | "≤")] column ("<" | "≤") number ["(not missing)"]
              | column ("=" | "≠") category
              | column ["not"] "in" "{" category {"," category} "}"
              | column "is" ["not"] "missing"

A column is its name, as `column_text` prints it: bare, or as a JSON string. A category is a JSON string, ``true``,
``false`` or a number. ``<=``, ``>=``, ``!=`` and ``==`` are other spellings of ≤, ≥, ≠ and =. Models know ``>`` and
``≤`` only: ``x ≥ 3`` becomes ``x > 2.9999999999999996``, which is the same for every number that there is. A missing
number is below every cut-off, except where ``(not missing)`` follows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from json import JSONDecoder
from typing import Final, NoReturn

from dln._closest import closest
from dln._errors import RuleSyntaxError
from dln.circuit._circuit import Category, Column
from dln.circuit._formula import CategoryCondition, Formula, NumberCondition, all_of, any_of, negate, odd_of
from dln.circuit._words import NUMBER, ODD_OF, PHRASE, RELATION, category_text, column_text

_LOWER_END: Final = re.compile(rf"({NUMBER})\s*(<=?|≤)")
_PLAIN: Final = {"<=": "≤", ">=": "≥", "!=": "≠", "==": "="}
#: Categories that an error lists, at most.
_LISTED: Final = 8


def parse_rule(text: str, columns: tuple[Column, ...], others: str = "") -> Formula:
    """Return the formula of a rule over some columns; an error about a category says where `others` come from.

    >>> columns = (Column("age"), Column("smoker", ("no", "yes")))
    >>> parse_rule('age > 60 and smoker = "yes"', columns).parts[0]
    NumberCondition(column=0, ends=(60.0,), low=False, missing=False)
    >>> parse_rule("age > 60 und smoker", columns)
    Traceback (most recent call last):
    dln._errors.RuleSyntaxError: the rule 'age > 60 und smoker' cannot be read at character 10, 'und smoker': expected \
"and", "or" or the end

    Raises
    ------
    RuleSyntaxError
        If the text is no rule over these columns.

    """
    if text.strip() in {"never", "always"}:
        return text.strip() == "always"
    return _Parser(text, columns, others).rule()


class _Parser:
    """A parser by recursive descent; `at` is the position of what is read next."""

    def __init__(self, text: str, columns: tuple[Column, ...], others: str) -> None:
        self.text, self.columns, self.others, self.at = text, columns, others, 0
        self._index = {column.name: j for j, column in enumerate(columns)}

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
        return any_of(self._list(self._all, r"or\b"))

    def _all(self) -> Formula:
        return all_of(self._list(self._part, r"and\b"))

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
        if phrase := self._take(PHRASE):
            return self._odd(phrase[1], start)
        return self._condition()

    def _odd(self, phrase: str, start: int) -> Formula:
        parts = self._list(self._any, ";")
        self._take(r"\)") or self._fail('"and", "or", ";" or ")"')
        of_two = phrase in ODD_OF[False]
        if len(parts) < 2 or (of_two and len(parts) > 2):  # noqa: PLR2004 (a pair)
            self.at = start
            self._fail(f"{'two' if of_two else 'at least two'} parts after {phrase!r}, separated by semicolons")
        return odd_of(parts, even=phrase in {even for _, even in ODD_OF})

    # ---- conditions

    def _condition(self) -> Formula:
        lower = self._take(_LOWER_END)
        j, relation = self._column_and_relation()
        if lower and relation not in {"<", "≤"}:
            self.at = lower.start()
            self._fail("no number before a column, except in intervals like 18 < age ≤ 47")
        if relation.startswith("is"):
            missing = "not" not in relation
            if self.columns[j].categories is None:
                return NumberCondition(j, (), low=not missing, missing=missing)
            return CategoryCondition(j, (), other=not missing, missing=missing)
        if self.columns[j].categories is None:
            return self._numbers(j, relation, lower)
        negated = relation in {"≠", "not in"}
        codes = [self._category(j)]
        if relation.endswith("in"):
            while self._take(","):
                codes.append(self._category(j))
            self._take("}") or self._fail('"," or "}"')
        return CategoryCondition(j, tuple(sorted(set(codes))), other=negated, missing=negated)

    def _numbers(self, j: int, relation: str, lower: re.Match[str] | None) -> Formula:
        end = self._number()
        if relation in {"<", "≥"}:
            end = self._below(end)
        if relation in {">", "≥"}:
            return NumberCondition(j, (end,), low=False, missing=False)
        if lower is None:
            missing = self._take(r"\(\s*not\s+missing\s*\)") is None
            return NumberCondition(j, (end,), low=True, missing=missing)
        start = self._finite(lower[1], lower.start())
        start = start if lower[2] == "<" else self._below(start)
        if start >= end:
            self.at = lower.start()
            self._fail("the lower end of an interval before the upper one")
        return NumberCondition(j, (start, end), low=False, missing=False)

    def _column_and_relation(self) -> tuple[int, str]:
        """Return the column that is named next, and the relation that follows, in its plain spelling."""
        self._skip()
        start = self.at
        if self.text.startswith('"', start):
            name = self._string()
            relation = re.compile(r"\s*" + RELATION).match(self.text, self.at)
        else:
            relation = re.compile(RELATION).search(self.text, start)
            name = self.text[start : relation.start()].strip() if relation else ""
            if relation is None and any(self._starts_with(column.name) for column in self.columns):
                known = max(filter(self._starts_with, self._index), key=len)
                name, self.at = known, start + len(known)
        if not name and not self.text.startswith('"', start):
            self._fail("a column and a comparison, like age > 60")
        if name not in self._index:
            self.at = start
            near = closest(name, self._index)
            hint = f"the nearest is {column_text(near)}" if near is not None else "there is none of this name"
            self._fail(f"a column that is known ({hint})")
        j = self._index[name]
        if relation is None:
            self._fail(f"a comparison after {column_text(name)}: {self._allowed(j)}")
        plain = re.sub(r"[\s{]+", " ", relation[0]).strip()
        plain = _PLAIN.get(plain, plain)
        numeric = plain in {"<", "≤", ">", "≥"}
        if not plain.startswith("is") and numeric != (self.columns[j].categories is None):
            self.at = relation.start()
            holds = "numbers" if self.columns[j].categories is None else "categories"
            self._fail(f"{self._allowed(j)}, for {column_text(name)} holds {holds}")
        self.at = relation.end()
        return j, plain

    def _allowed(self, j: int) -> str:
        return "> or ≤, or is missing" if self.columns[j].categories is None else "=, ≠ or in, or is missing"

    def _starts_with(self, name: str) -> bool:
        return bool(name) and self.text.startswith(name, self.at)

    # ---- words

    def _number(self) -> float:
        found = self._take(NUMBER) or self._fail("a number")
        return self._finite(found[0], found.start())

    def _finite(self, text: str, start: int) -> float:
        if not math.isfinite(number := float(text)):
            self.at = start
            self._fail("a number that a float can hold")
        return number

    def _below(self, number: float) -> float:
        below = math.nextafter(number, -math.inf)
        return below if math.isfinite(below) else self._fail("a number that a float can hold")

    def _category(self, j: int) -> int:
        """Return the code of the category that is named next."""
        known = {_key(category): code for code, category in enumerate(self.columns[j].categories or ())}
        self._skip()
        start = self.at
        category: Category | None = None
        if self.text.startswith('"', start):
            category = self._string()
        elif found := self._take(rf"(true|false)\b|{NUMBER}"):
            category = found[0] == "true" if found[1] else _number_of(found[0])
        if category is None or _key(category) not in known:
            self.at = start
            shown = [category_text(one) for one in (self.columns[j].categories or ())]
            listed = ", ".join(shown[:_LISTED]) + (f" or {len(shown) - _LISTED} more" if len(shown) > _LISTED else "")
            self._fail(f"a category of {column_text(self.columns[j].name)} ({listed or 'none is known'}{self.others})")
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

    def _take(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        """Return what comes next if it matches, and go on behind it."""
        self._skip()
        if found := re.compile(pattern).match(self.text, self.at):
            self.at = found.end()
            self._skip()
        return found

    def _fail(self, expected: str) -> NoReturn:
        raise RuleSyntaxError(self.text, self.at, expected)


def _key(category: Category) -> tuple[type, Category]:
    """Return what tells categories apart: to Python, True equals 1."""
    return (type(category) if isinstance(category, (str, bool)) else float), category


def _number_of(text: str) -> float | int:
    return int(text) if re.fullmatch(r"[+-]?[0-9]+", text) else float(text)
