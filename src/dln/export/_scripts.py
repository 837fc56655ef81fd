"""Shared by Python and JavaScript: a row's values are read by name into variables, each rule is an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dln.circuit._circuit import MISSING, Above, IsIn
from dln.circuit._words import number_text
from dln.export._form import Check, Form
from dln.export._language import Language, comment_text, expression_text


@dataclass(frozen=True, slots=True)
class Syntax:
    """Templates of a scripting language for tests and declarations; of two texts, the second is the negation."""

    conjunction: str
    disjunction: str
    comparison: tuple[str, str]
    """Equal, unequal."""
    true: str
    false: str
    above: tuple[str, str]
    """Of the comparison of a number; never "≤", for a missing number is not above."""
    among: tuple[str, str]
    """A code is one of several."""
    is_nan: tuple[str, str]
    part: tuple[str, str]
    declaration: str
    helper: str
    """Names of the functions and tables in the file."""
    string: Callable[[str], str]
    comment: str


class Script:
    """The variables and the rules of a model in a scripting language."""

    def __init__(self, syntax: Syntax, form: Form, names: dict[int, str]) -> None:
        self._syntax, self._form, self._names = syntax, form, names
        equal, unequal = syntax.comparison
        self._language = Language(
            check=self._check,
            part=lambda part: syntax.part[part.negated].format(number=part.number),
            conjunction=syntax.conjunction,
            disjunction=syntax.disjunction,
            unequal=unequal,
            equal=equal,
            true=syntax.true,
            false=syntax.false,
        )

    def declarations(self) -> Iterator[str]:
        """Yield a line for each column that rules read and for each part that they share."""
        syntax = self._syntax
        for j, column in self._form.columns:
            name = syntax.string(column.name)
            if column.categories is None:
                value = f"{syntax.helper.format(name='number')}(row, {name})"
            else:
                value = f"{syntax.helper.format(name='code')}(row, {name}, {syntax.helper.format(name=f'CODES_{j}')})"
            yield syntax.declaration.format(name=self._names[j], value=value)
        for i, part in enumerate(self._form.parts):
            yield syntax.declaration.format(name=f"part_{i}", value=expression_text(part, self._language))

    def rules(self) -> Iterator[str]:
        """Yield each rule's expression with its words behind it."""
        for rule in self._form.rules:
            yield f"{expression_text(rule.expression, self._language)},{self._syntax.comment}{comment_text(rule.text)}"

    def _check(self, check: Check) -> str:
        name, column = self._names[check.literal.column], self._form.circuit.columns[check.literal.column]
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
        return f"{name}{self._syntax.comparison[check.negated]}{code}"
