// The smallest change of one input, each way, that moves the prediction.

function numberChanges(values, j, now) {
  const { cutoffs } = COLUMNS[j];
  const value = values[j];
  const found = [];
  if (value === null) return found;
  const inside = blockValues(j);
  for (let i = cutoffs.findIndex((cutoff) => !(value > cutoff)); i >= 0 && i < cutoffs.length; i++) {
    const prediction = predicted(withValue(values, j, inside[i + 1]));
    if (prediction !== now) {
      found.push({ j, text: `above ${cutoffs[i]}`, prediction });
      break;
    }
  }
  for (let i = cutoffs.findLastIndex((cutoff) => value > cutoff); i >= 0; i--) {
    const prediction = predicted(withValue(values, j, cutoffs[i]));
    if (prediction !== now) {
      found.push({ j, text: `at most ${cutoffs[i]}`, prediction });
      break;
    }
  }
  return found;
}

// Of categories none is nearer than another: those that move it most, up and down.
function categoryChanges(values, j, now) {
  const { codes } = COLUMNS[j];
  const others = codes
    .filter((code) => code >= 0 && code !== values[j])
    .map((code) => ({ j, text: valueText(j, code), prediction: predicted(withValue(values, j, code)) }))
    .sort((a, b) => a.prediction - b.prediction);
  const lowest = others[0], highest = others[others.length - 1];
  return [lowest, highest].filter((one, k, both) => one && one.prediction !== now && (k === 0 || one !== both[0]));
}

function showChanges(values) {
  const now = predicted(values);
  const found = columns.flatMap((_, j) => (isNumber(j) ? numberChanges : categoryChanges)(values, j, now));
  found.sort((a, b) => Math.abs(b.prediction - now) - Math.abs(a.prediction - now));
  byId("changes").replaceChildren(
    ...found.map(({ j, text, prediction }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, nameElement(j)),
        element("td", {}, bdi(text)),
        element("td", { class: "right" }, points(prediction)),
        element("td", { class: `right ${prediction < now ? "less" : "more"}` }, signed(difference(prediction, now))),
      ),
    ),
  );
  byId("no-changes").hidden = found.length > 0;
}

// Both lie on the model's grid, so their difference does: rounded to it, no dust of binary fractions is left.
const difference = (a, b) => (DECIMALS > 15 ? a - b : Number((a - b).toFixed(DECIMALS)));
