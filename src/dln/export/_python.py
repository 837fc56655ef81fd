"""The model as one Python file: standard library only, for Python 3.8 and later and for MicroPython."""

from __future__ import annotations

from dln.circuit._circuit import Column
from dln.export._form import Form, check_names
from dln.export._language import Script, Syntax, comment_text, exported_by, from_template

_SYNTAX = Syntax(
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
    script = Script(_SYNTAX, form)
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
