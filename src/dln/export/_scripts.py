"""The model as one script without dependencies: an ES module for browsers and Node, or a Python file.

Python 3.8 and later run the file, and so does MicroPython.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dln.circuit._circuit import MISSING, Above, Category, Column, IsIn
from dln.circuit._words import number_text
from dln.export._form import Check, Form, check_names
from dln.export._language import (
    Language,
    comment_text,
    exported_by,
    expression_text,
    from_template,
    identifiers,
    json_string,
)


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


#: Whole numbers beyond this are BigInt in JavaScript: a number would stand for its neighbours too.
_LARGEST_WHOLE = 2**53
_JAVASCRIPT = Syntax(
    words=(" && ", " || ", " !== ", " === ", "true", "false"),
    above=("{}", "!({})"),
    among=("[{codes}].includes({name})", "![{codes}].includes({name})"),
    is_nan=("Number.isNaN({name})", "!Number.isNaN({name})"),
    part=("part_{number}", "!part_{number}"),
    declaration="  const {name} = {value};",
    helper="",
    string=json_string,
    comment=" // ",
)


def to_javascript(form: Form) -> str:
    check_names(form, "a JavaScript module")
    script = Script(_JAVASCRIPT, form)
    return from_template(
        "module.js",
        title=comment_text(form.title()),
        facts=exported_by("javascript"),
        # With the columns' names, for those of variables may differ.
        properties=[
            f" * @property {{{_type(c)}|null}} {script.names[j]} the column {comment_text(json_string(c.name))}"
            for j, c in form.columns
        ],
        target=json_string(form.target),
        columns=", ".join(json_string(column.name) for _, column in form.columns),
        intercept=number_text(form.circuit.intercept),
        rules=[f"  {{ rule: {json_string(r.text)}, weight: {number_text(r.weight)} }}," for r in form.rules],
        exponent=str(-form.decimals),
        scale=number_text(form.scale),
        start=str(form.intercept),
        steps=", ".join(str(rule.steps) for rule in form.rules),
        codes=[
            f"const CODES_{j} = [{', '.join(map(value_text, column.categories))}];"
            for j, column in form.columns
            if column.categories is not None
        ],
        declarations=script.declarations(),
        fires=[f"    {line}" for line in script.rules()],
        sign="/" if form.decimals >= 0 else "*",
    )


def value_text(category: Category) -> str:
    if isinstance(category, str):
        return json_string(category)
    if isinstance(category, bool):
        return str(category).lower()
    if isinstance(category, int) and abs(category) >= _LARGEST_WHOLE:
        return f"{category}n"
    return number_text(category)


def _type(column: Column) -> str:
    if column.categories is None:
        return "number"
    kinds = {str: "string", bool: "boolean"}
    return "|".join(sorted({kinds.get(type(category), "number") for category in column.categories})) or "string"


_PYTHON = Syntax(
    words=(" and ", " or ", " != ", " == ", "True", "False"),
    above=("{}", "not {}"),
    among=("{name} in ({codes})", "{name} not in ({codes})"),
    is_nan=("{name} != {name}", "{name} == {name}"),
    part=("part_{number}", "not part_{number}"),
    declaration="    {name} = {value}",
    helper="_",
    string=ascii,
    comment="  # ",
)


def to_python(form: Form) -> str:
    check_names(form, "a Python module")
    script = Script(_PYTHON, form)
    return from_template(
        "module.py.txt",
        title=comment_text(form.title()).replace('"', "'"),
        facts=exported_by("python"),
        target=ascii(form.target),
        columns="".join(f"{column.name!a}, " for _, column in form.columns).rstrip(),
        start=str(form.intercept),
        exponent=str(-form.decimals),
        rules=[f"    ({rule.text!a}, {rule.steps})," for rule in form.rules],
        codes=[f"_CODES_{j} = {_codes(column)}" for j, column in form.columns if column.categories is not None],
        declarations=script.declarations(),
        fires=[f"        {line}" for line in script.rules()],
        scaled=_scaled(form, "total"),
        contribution=_scaled(form, "rule[1]"),
    )


def _codes(column: Column) -> str:
    """Return the codes by kind and value: to Python, True equals 1."""
    kinds = {bool: 0, str: 2}
    entries = (
        f"({kinds.get(type(value), 1)}, {value!a}): {code}" for code, value in enumerate(column.categories or ())
    )
    return f"{{{', '.join(entries)}}}"


def _scaled(form: Form, steps: str) -> str:
    return f"{steps} {'/' if form.decimals >= 0 else '*'} {form.scale!r}"
