"""The model as one ES module without dependencies, for browsers and Node."""

from __future__ import annotations

from dln.circuit._circuit import Category, Column
from dln.circuit._words import number_text
from dln.export._form import Form, check_names
from dln.export._language import Script, Syntax, comment_text, exported_by, json_string

#: Whole numbers beyond this are BigInt in JavaScript: a number would stand for its neighbours too.
_LARGEST_WHOLE = 2**53

_SYNTAX = Syntax(
    conjunction=" && ",
    disjunction=" || ",
    comparison=(" === ", " !== "),
    true="true",
    false="false",
    above=("{}", "!({})"),
    among=("[{codes}].includes({name})", "![{codes}].includes({name})"),
    is_nan=("Number.isNaN({name})", "!Number.isNaN({name})"),
    part=("part_{number}", "!part_{number}"),
    declaration="  const {name} = {value};",
    helper="",
    string=json_string,
    comment=" // ",
)

_READERS = """
function read(row, name) {
  if (!Object.hasOwn(row, name)) {
    throw new TypeError(`the row has no column ${JSON.stringify(name)}: give null where it is missing`);
  }
  const value = row[name];
  return value === null || value === undefined || value !== value ? NaN : value;
}

function number(row, name) {
  const value = read(row, name);
  if (!["number", "bigint", "boolean"].includes(typeof value)) {
    throw new TypeError(`column ${JSON.stringify(name)} must hold a number or null, got ${JSON.stringify(value)}`);
  }
  return Number(value);
}

// The place of a category; -1 where it is missing, -2 where the model does not know it.
function code(row, name, known) {
  let value = read(row, name);
  if (value !== value) return -1;
  const isNumber = typeof value === "number" || typeof value === "bigint";
  if (isNumber && known.length === 2 && known[0] === false && known[1] === true) {
    value = value == 1 ? true : value == 0 ? false : value; // truth values that came as numbers
  }
  // "==" between a number and a BigInt compares what they are worth.
  const equals = (other) => other === value || (isNumber && /number|bigint/.test(typeof other) && other == value);
  const place = known.findIndex(equals);
  return place < 0 ? -2 : place;
}
"""

_PREDICT = """
/** The prediction for a row.
 * @param {Row} row
 * @returns {number} */
export function predict(row) {
  return fires(row).reduce((total, fired, i) => (fired ? total + STEPS[i] : total), INTERCEPT) %s SCALE;
}

/** Why: the prediction, and the rules that fire with what each adds to it.
 * @param {Row} row
 * @returns {{prediction: number, intercept: number, fired: {index: number, rule: string, weight: number}[]}} */
export function explain(row) {
  const fired = fires(row).flatMap((fire, index) => (fire ? [{ index, ...rules[index] }] : []));
  return { prediction: predict(row), intercept, fired };
}
"""


def to_javascript(form: Form) -> str:
    check_names(form, "a JavaScript module")
    script = Script(_SYNTAX, form)
    lines = [
        f"// {comment_text(form.title())}",
        f"// {exported_by('javascript')} No other code is needed.",
        "",
        "/** Values by column name; null, undefined and NaN mean missing.",
        " * @typedef {Object} Row",
        *(f" * @property {{{_type(c)}|null}} {script.names[j]} {_described(c)}" for j, c in form.columns),
        " */",
        "",
        f"export const target = {json_string(form.target)};",
        f"export const columns = [{', '.join(json_string(column.name) for _, column in form.columns)}];",
        f"export const intercept = {number_text(form.circuit.intercept)};",
        "export const rules = [",
        *(f"  {{ rule: {json_string(r.text)}, weight: {number_text(r.weight)} }}," for r in form.rules),
        "];",
        "",
        f"// Weights are summed as whole numbers of 1e{-form.decimals} and scaled once, so that the sum is exact.",
        f"const SCALE = {number_text(form.scale)};",
        f"const INTERCEPT = {form.intercept};",
        f"const STEPS = [{', '.join(str(rule.steps) for rule in form.rules)}];",
        *(
            f"const CODES_{j} = [{', '.join(map(value_text, column.categories))}];"
            for j, column in form.columns
            if column.categories is not None
        ),
        *_READERS.splitlines(),
        "",
        "/** Whether each rule fires, in the order of `rules`.",
        " * @param {Row} row",
        " * @returns {boolean[]} */",
        "export function fires(row) {",
        *script.declarations(),
        "  return [",
        *(f"    {line}" for line in script.rules()),
        "  ];",
        "}",
        *(_PREDICT % ("/" if form.decimals >= 0 else "*")).rstrip().splitlines(),
        "",
    ]
    return "\n".join(lines)


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
