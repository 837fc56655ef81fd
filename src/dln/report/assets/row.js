// Rows as the page holds them, one value per column that rules read: a number or a category's code; null is missing.

const UNKNOWN = -2; // a category that no rule names
const OTHER = {}; // what stands for it in a row: equal to no category
const COLUMNS = DATA.columns;
const isNumber = (j) => CATEGORIES[j] === undefined;
const typicalRow = () => COLUMNS.map((column) => (column.typical === -1 && column.codes ? null : column.typical));

// The row that the exported model takes: an object by column name.
function namedRow(values) {
  const valueOf = (j) => {
    if (isNumber(j) || values[j] === null) return values[j];
    return values[j] === UNKNOWN ? OTHER : CATEGORIES[j][values[j]];
  };
  return Object.fromEntries(columns.map((name, j) => [name, valueOf(j)]));
}

const predicted = (values) => predict(namedRow(values));
const withValue = (values, j, value) => values.map((old, k) => (k === j ? value : old));

function valueText(j, value) {
  if (value === null) return "missing";
  return isNumber(j) ? String(value) : COLUMNS[j].labels[COLUMNS[j].codes.indexOf(value)];
}

// A value in each block between cut-offs: the upper cut-off itself, for "x > c" is strict.
function blockValues(j) {
  const cutoffs = COLUMNS[j].cutoffs;
  if (!cutoffs.length) return [COLUMNS[j].typical];
  const last = cutoffs[cutoffs.length - 1];
  return [...cutoffs, last + Math.max(1, Math.abs(last))];
}

// The words of a rule, with its names set apart, as the scorecard has them.
const WORDS = new Map();
for (const row of document.querySelectorAll("#scorecard [data-rule]")) {
  WORDS.set(Number(row.dataset.rule), row.querySelector(".words"));
}
const ruleWords = (index) => [...WORDS.get(index).cloneNode(true).childNodes];

const columnName = (j) => document.getElementById(`column-${j}`).firstElementChild.textContent;

// A name or value; only a word too long for any cell may be broken.
const bdi = (text) => element("bdi", { class: text.split(/\s/).some((word) => word.length > 24) ? "label long" : "label" }, text);
const nameElement = (j) => bdi(columnName(j));
