// Elements, and numbers as the page writes them. Text is only ever set as text: no name can become markup.

const DATA = JSON.parse(document.getElementById("page-data").textContent);
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const DECIMALS = Math.max(DATA.decimals, 0);
const EXACT = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: Math.min(DECIMALS, 15),
  maximumFractionDigits: Math.min(DECIMALS, 15),
});
const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const FEW = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });

// A weight or a prediction, with all the digits of its grid.
function points(value) {
  const text = DECIMALS > 15 || Math.abs(value) >= 1e15 ? String(value) : EXACT.format(value);
  return text.replace("-", "−");
}

const signed = (value) => (value < 0 ? points(value) : `+${points(value)}`);

// Any other number, with no more digits than mean something.
const rough = (value) => (Math.abs(value) >= 1000 ? WHOLE : FEW).format(value).replace("-", "−");

// A value of a column: without thousands set apart, for it may be a year.
const plain = (value) => rough(value).replaceAll(",", "");
