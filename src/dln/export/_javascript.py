"""The model as one ES module without dependencies, for browsers and Node."""

from __future__ import annotations

from dln.circuit._circuit import Category, Column
from dln.circuit._words import number_text
from dln.export._form import Form, check_names
from dln.export._language import Script, Syntax, comment_text, exported_by, from_template, json_string

#: Whole numbers beyond this are BigInt in JavaScript: a number would stand for its neighbours too.
_LARGEST_WHOLE = 2**53

_SYNTAX = Syntax(
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
    script = Script(_SYNTAX, form)
    return from_template(
        "module.js",
        title=comment_text(form.title()),
        facts=exported_by("javascript"),
        properties=[f" * @property {{{_type(c)}|null}} {script.names[j]} {_described(c)}" for j, c in form.columns],
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


def _described(column: Column) -> str:
    return f"the column {comment_text(json_string(column.name))}"  # the variable's name may differ


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
