"""The model as one Python file: standard library only, for Python 3.8 and later and for MicroPython."""

from __future__ import annotations

from dln.circuit._circuit import Above, Category, Column, IsIn
from dln.circuit._words import number_text
from dln.export._form import Check, Form
from dln.export._names import identifiers
from dln.export._scripts import Script
from dln.export._text import Language, check_names, comment_text
from dln.export._titles import exported_by

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
    """Return the model as the text of a Python module with ``predict(row)`` and ``predict_rows(rows)``."""
    check_names(form, "a Python module")
    names = dict(zip(form.used, identifiers([column.name for _, column in form.columns]), strict=True))
    lines = [
        f'"""{_doc(form.title())}',
        "",
        f"{exported_by('python')} No other package is needed.",
        '"""',
        "",
        '_NAN = float("nan")',
        "",
        f"TARGET = {form.target!a}",
        f"COLUMNS = ({''.join(f'{column.name!a}, ' for _, column in form.columns).rstrip()})",
        f"INTERCEPT = {form.intercept}  # all weights are whole numbers of 1e{-form.decimals}",
        "RULES = (  # what each says, and its weight",
        *(f"    ({rule.text!a}, {rule.steps})," for rule in form.rules),
        ")",
        *(f"_CODES_{j} = {_codes(column)}" for j, column in form.columns if column.categories is not None),
        *_READERS.rstrip().splitlines(),
        "",
        "",
        *_fires(form, names),
        *_PREDICT.format(scaled=_scaled(form, "total"), contribution=_scaled(form, "rule[1]")).rstrip().splitlines(),
        "",
    ]
    return "\n".join(lines)


def _fires(form: Form, names: dict[int, str]) -> list[str]:
    language = Language(
        check=lambda check: _check(check, names[check.literal.column], form),
        part=lambda part: f"not part_{part.number}" if part.negated else f"part_{part.number}",
        conjunction=" and ",
        disjunction=" or ",
        unequal=" != ",
        equal=" == ",
        true="True",
        false="False",
    )
    python = Script(language, declaration="    {name} = {value}", helper="_{name}", string=ascii, comment="  # ")
    return [
        "def fires(row):",
        '    """Return for each rule whether it fires."""',
        *python.declarations(form, names),
        "    return (",
        *(f"        {line}" for line in python.rules(form)),
        "    )",
    ]


def _check(check: Check, name: str, form: Form) -> str:
    match check.literal:
        case Above(cutoff=cutoff):
            text = f"{name} > {number_text(cutoff)}"
        case IsIn(codes=codes):
            negated = "not " if check.negated else ""
            if len(codes) > 1:
                return f"{name} {negated}in {codes}"
            return f"{name} {'!=' if check.negated else '=='} {codes[0]}"
        case _ if form.circuit.columns[check.literal.column].categories is None:
            return f"{name} {'==' if check.negated else '!='} {name}"
        case _:
            return f"{name} {'!=' if check.negated else '=='} -1"
    return f"not {text}" if check.negated else text  # not "≤": a missing number is not above


def _codes(column: Column) -> str:
    entries = (f"{_key(category)}: {code}" for code, category in enumerate(column.categories or ()))
    return f"{{{', '.join(entries)}}}"


def _key(category: Category) -> str:
    """Return the kind and the value: to Python, True equals 1."""
    if isinstance(category, str):
        return f"(2, {category!a})"
    return f"({0 if isinstance(category, bool) else 1}, {category!r})"


def _scaled(form: Form, steps: str) -> str:
    return f"{steps} {'/' if form.decimals >= 0 else '*'} {form.scale!r}"


def _doc(text: str) -> str:
    return comment_text(text).replace('"', "'")
