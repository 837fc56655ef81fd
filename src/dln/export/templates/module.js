// «form.title() | comment»
// «facts» No other code is needed.

/** Values by column name; null, undefined and NaN mean missing.
 * @typedef {Object} Row
«% for j, column in form.columns %»
 * @property {«types(column)»|null} «names[j]» the column «column.name | json | comment»
«% endfor %»
 */

export const target = «form.target | json»;
export const columns = [«columns»];
export const intercept = «form.circuit.intercept | number»;
export const rules = [
«% for rule in form.rules %»
  { rule: «rule.text | json», weight: «rule.weight | number» },
«% endfor %»
];

// Weights are summed as whole numbers of 1e« -form.decimals» and scaled once, so that the sum is exact.
const SCALE = «form.scale | number»;
const INTERCEPT = «form.intercept»;
const STEPS = [«form.rules | map(attribute="steps") | join(", ")»];
«% for j, column in form.columns if column.categories is not none %»
const CODES_«j» = [«codes(column)»];
«% endfor %»

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

/** Whether each rule fires, in the order of `rules`.
 * @param {Row} row
 * @returns {boolean[]} */
export function fires(row) {
«% for j, column in form.columns %»
«% if column.categories is none %»
  const «names[j]» = number(row, «column.name | json»);
«% else %»
  const «names[j]» = code(row, «column.name | json», CODES_«j»);
«% endif %»
«% endfor %»
«% for part in form.parts %»
  const part_«loop.index0» = «text(part)»;
«% endfor %»
  return [
«% for rule in form.rules %»
    «text(rule.expression)», // «rule.text | comment»
«% endfor %»
  ];
}

/** The prediction for a row.
 * @param {Row} row
 * @returns {number} */
export function predict(row) {
  return fires(row).reduce((total, fired, i) => (fired ? total + STEPS[i] : total), INTERCEPT) «"/" if form.decimals >= 0 else "*"» SCALE;
}

/** Why: the prediction, and the rules that fire with what each adds to it.
 * @param {Row} row
 * @returns {{prediction: number, intercept: number, fired: {index: number, rule: string, weight: number}[]}} */
export function explain(row) {
  const fired = fires(row).flatMap((fire, index) => (fire ? [{ index, ...rules[index] }] : []));
  return { prediction: predict(row), intercept, fired };
}
