// Why: from where the sum starts, rule by rule, to the prediction.

const BY_WEIGHT = rules.map((_, index) => index).sort((a, b) => Math.abs(rules[b].weight) - Math.abs(rules[a].weight));
const FIRST = 12; // rules that are shown before the button for all

function stepBar() {
  const bar = shape("rect", { y: 1, height: 8 });
  return [bar, shape("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" }, bar)];
}

function waterfallRow(words) {
  const [bar, svg] = stepBar();
  const weight = element("td", { class: "points" });
  const row = element("tr", {}, weight, element("td", { class: "barcell" }, svg), element("td", { class: "words" }, ...words));
  return { row, weight, bar };
}

// Fills a place with a waterfall and returns the function that shows another row in it.
function waterfall(place, caption) {
  const start = waterfallRow(["intercept"]);
  start.weight.textContent = points(intercept);
  const steps = new Map(); // made when first needed: a large model has many
  const rest = waterfallRow([""]);
  const end = waterfallRow([element("strong", {}, "prediction")]);
  const body = element("tbody");
  const title = element("caption", { class: "unseen" }, caption);
  const head = element("tr", {}, element("th", { scope: "col", class: "right" }, "Points"), element("td", { class: "barcell" }), element("th", { scope: "col" }, "Because"));
  const all = element("button", { type: "button", "aria-pressed": "false" }, "Show all rules that hold");
  place.append(element("table", { class: "card" }, title, element("thead", {}, head), body), all);
  let shown = null;

  function stepOf(index) {
    if (!steps.has(index)) {
      const step = waterfallRow(ruleWords(index));
      step.weight.textContent = signed(rules[index].weight);
      steps.set(index, step);
    }
    return steps.get(index);
  }

  function show(values) {
    shown = values;
    const fired = fires(namedRow(values));
    const holding = BY_WEIGHT.filter((index) => fired[index]);
    const whole = all.getAttribute("aria-pressed") === "true" || holding.length <= FIRST + 1;
    const listed = whole ? holding : holding.slice(0, FIRST);
    const others = holding.slice(listed.length);
    const sum = others.reduce((total, index) => total + rules[index].weight, 0);
    const prediction = predicted(values);
    const weights = [...listed.map((index) => rules[index].weight), ...(others.length ? [sum] : [])];
    const levels = [intercept];
    for (const weight of weights) levels.push(levels[levels.length - 1] + weight);
    const low = Math.min(0, ...levels), span = Math.max(0, ...levels) - low || 1;
    const at = (level) => (100 * (level - low)) / span;
    const draw = (step, from, to, kind) => {
      step.bar.setAttribute("x", Math.min(at(from), at(to)));
      step.bar.setAttribute("width", Math.max(Math.abs(at(to) - at(from)), 0.5));
      step.bar.setAttribute("class", kind);
    };
    draw(start, 0, intercept, "whole");
    draw(end, 0, prediction, "whole");
    end.weight.textContent = points(prediction);
    const rows = listed.map((index, k) => {
      const step = stepOf(index);
      draw(step, levels[k], levels[k + 1], weights[k] < 0 ? "minus" : "plus");
      return step.row;
    });
    if (others.length) {
      rest.weight.textContent = signed(Number(sum.toFixed(Math.min(DECIMALS, 15))));
      rest.row.lastElementChild.textContent = `${others.length} more rules`;
      draw(rest, levels[levels.length - 2], levels[levels.length - 1], sum < 0 ? "minus" : "plus");
      rows.push(rest.row);
    }
    body.replaceChildren(start.row, ...rows, end.row);
    all.hidden = holding.length <= FIRST + 1;
  }

  all.addEventListener("click", () => {
    const pressed = all.getAttribute("aria-pressed") !== "true";
    all.setAttribute("aria-pressed", String(pressed));
    all.textContent = pressed ? "Show fewer rules" : "Show all rules that hold";
    show(shown);
  });
  return show;
}
