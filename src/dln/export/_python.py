"""The model as one Python file: standard library only, for Python 3.8 and later and for MicroPython."""

from __future__ import annotations

from dln.circuit._circuit import Column
from dln.export._form import Form, check_names
from dln.export._language import Script, Syntax, comment_text, exported_by

_SYNTAX = Syntax(
    conjunction=" and ",
    disjunction=" or ",
    comparison=(" == ", " != "),
    true="True",
    false="False",
    above=("{}", "not {}"),
    among=("{name} in ({codes})", "{name} not in ({codes})"),
    is_nan=("{name} != {name}", "{name} == {name}"),
    part=("part_{number}", "not part_{number}"),
    declaration="    {name} = {value}",
    helper="_",
    string=ascii,
    comment="  # ",
)

_READERS = '''

def _number(row, name):
    """Return a number of the row; a missing one is NaN, which is above nothing."""
    value = row[name]
    if value is None:
        return _NAN
    if isinstance(value, (str, bytes)):
        raise TypeError("column %r must hold a number or None, got %r" % (name, value))
    return float(value)


def _code(row, name, codes):
    """Return the place of a category: -1 where it is missing, -2 where the model does not know it."""
    value = row[name]
    if value is None or value != value:
        return -1
    if isinstance(value, bool):
        kind = 0
    elif isinstance(value, str):
        kind = 2
    else:
        kind = 1
        if value in (0, 1) and len(codes) == 2 and (0, True) in codes and (0, False) in codes:
            kind, value = 0, value == 1  # truth values that came as numbers
    return codes.get((kind, value), -2)
'''

_PREDICT = '''

def predict(row):
    """Return the prediction for a row: a dict of values by column name; None and NaN mean missing."""
    total = INTERCEPT
    for fired, rule in zip(fires(row), RULES):
        if fired:
            total += rule[1]
    return {scaled}


def predict_rows(rows):
    """Return the predictions for rows."""
    return [predict(row) for row in rows]


def explain(row):
    """Return the rules that fire for a row: their words, and what each adds to the prediction."""
    return [(rule[0], {contribution}) for fired, rule in zip(fires(row), RULES) if fired]
'''


def to_python(form: Form) -> str:
    check_names(form, "a Python module")
    title = comment_text(form.title()).replace('"', "'")
    script = Script(_SYNTAX, form)
    lines = [
        f'"""{title}',
        "",
        f"{exported_by('python')} No other package is needed.",
        '"""',
        "",
        '_NAN = float("nan")',
        "",
        f"TARGET = {form.target!a}",
        f"COLUMNS = ({''.join(f'{column.name!a}, ' for _, column in form.columns).rstrip()})",
        f"INTERCEPT = {form.intercept}  # all weights are whole numbers of 1e{-form.decimals}",
        "RULES = (  # text and weight of each",
        *(f"    ({rule.text!a}, {rule.steps})," for rule in form.rules),
        ")",
        *(f"_CODES_{j} = {_codes(column)}" for j, column in form.columns if column.categories is not None),
        *_READERS.rstrip().splitlines(),
        "",
        "",
        "def fires(row):",
        '    """Return for each rule whether it fires."""',
        *script.declarations(),
        "    return (",
        *(f"        {line}" for line in script.rules()),
        "    )",
        *_PREDICT.format(scaled=_scaled(form, "total"), contribution=_scaled(form, "rule[1]")).rstrip().splitlines(),
        "",
    ]
    return "\n".join(lines)


def _codes(column: Column) -> str:
    """Return the codes by kind and value: to Python, True equals 1."""
    kinds = {bool: 0, str: 2}
    entries = (
        f"({kinds.get(type(value), 1)}, {value!a}): {code}" for code, value in enumerate(column.categories or ())
    )
    return f"{{{', '.join(entries)}}}"


def _scaled(form: Form, steps: str) -> str:
    return f"{steps} {'/' if form.decimals >= 0 else '*'} {form.scale!r}"
