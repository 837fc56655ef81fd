"""The model as one script without dependencies: an ES module for browsers and Node, or a Python file.

Python 3.8 and later run the file, and so does MicroPython.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dln.circuit._circuit import MISSING, Above, Category, Column, IsIn
from dln.circuit._words import number_text
from dln.export._form import Check, Form, check_names
from dln.export._language import Language, exported_by, expression_text, from_template, identifiers, json_string

#: Tests of a script and their negations; never "≤", for a missing number is not above.
_JAVASCRIPT: Final = {
    "above": ("{name} > {value}", "!({name} > {value})"),
    "code": ("{name} === {value}", "{name} !== {value}"),
    "codes": ("[{value}].includes({name})", "![{value}].includes({name})"),
    "is nan": ("Number.isNaN({name})", "!Number.isNaN({name})"),
    "part": ("part_{value}", "!part_{value}"),
}
_PYTHON: Final = {
    "above": ("{name} > {value}", "not {name} > {value}"),
    "code": ("{name} == {value}", "{name} != {value}"),
    "codes": ("{name} in ({value})", "{name} not in ({value})"),
    "is nan": ("{name} != {name}", "{name} == {name}"),
    "part": ("part_{value}", "not part_{value}"),
}
#: Whole numbers beyond this are BigInt in JavaScript: a number would stand for its neighbours too.
_LARGEST_WHOLE: Final = 2**53


def to_javascript(form: Form) -> str:
    check_names(form, "a JavaScript module")
    return _script(
        form,
        "module.js",
        _JAVASCRIPT,
        (" && ", " || ", " !== ", " === ", "true", "false"),
        facts=exported_by("javascript"),
        columns=", ".join(json_string(column.name) for _, column in form.columns),
        types=_types,
        codes=lambda column: ", ".join(map(value_text, column.categories)),
    )


def to_python(form: Form) -> str:
    check_names(form, "a Python module")
    return _script(
        form,
        "module.py.txt",
        _PYTHON,
        (" and ", " or ", " != ", " == ", "True", "False"),
        facts=exported_by("python"),
        columns="".join(f"{column.name!a}, " for _, column in form.columns).rstrip(),
        codes=_codes,
    )


def _script(
    form: Form, template: str, tests: Mapping[str, tuple[str, str]], words: tuple[str, ...], **values: Any
) -> str:
    names = dict(zip(form.used, identifiers([column.name for _, column in form.columns]), strict=True))

    def check_text(check: Check) -> str:
        match check.literal:
            case Above(cutoff=cutoff):
                test, value = "above", number_text(cutoff)
            case IsIn(codes=codes):
                test, value = "code" if len(codes) == 1 else "codes", ", ".join(map(str, codes))
            case _:
                is_number = form.circuit.columns[check.literal.column].categories is None
                test, value = "is nan" if is_number else "code", str(MISSING)
        return tests[test][check.negated].format(name=names[check.literal.column], value=value)

    language = Language(check_text, lambda part: tests["part"][part.negated].format(value=part.number), *words)
    return from_template(
        template, form=form, names=names, text=lambda expression: expression_text(expression, language), **values
    )


def value_text(category: Category) -> str:
    """Return a category in JavaScript."""
    if isinstance(category, str):
        return json_string(category)
    if isinstance(category, bool):
        return str(category).lower()
    if isinstance(category, int) and abs(category) >= _LARGEST_WHOLE:
        return f"{category}n"
    return number_text(category)


def _types(column: Column) -> str:
    """Return the types of a column's values in JavaScript."""
    if column.categories is None:
        return "number"
    kinds = {str: "string", bool: "boolean"}
    return "|".join(sorted({kinds.get(type(category), "number") for category in column.categories})) or "string"


def _codes(column: Column) -> str:
    """Return the codes by kind and value: to Python, True equals 1."""
    kinds = {bool: 0, str: 2}
    return ", ".join(
        f"({kinds.get(type(value), 1)}, {value!a}): {code}" for code, value in enumerate(column.categories or ())
    )
