// Scenarios of "What if", kept side by side: what differs, what is predicted, and what that is against the first.

const MOST_SCENARIOS = 8;
const kept = [];
let letters = 0;

function scenarioRow(heading, cells, settings = {}) {
  return element("tr", settings, element("th", { scope: "row" }, heading), ...cells.map((cell) => element("td", { class: "right" }, cell)));
}

function showScenarios() {
  byId("scenarios").hidden = kept.length === 0;
  byId("keep").disabled = kept.length === MOST_SCENARIOS;
  const button = (text, label, act) => {
    const made = element("button", { type: "button", "aria-label": label }, text);
    made.addEventListener("click", act);
    return made;
  };
  byId("scenario-names").replaceChildren(
    element("th", { scope: "col" }, "Column"),
    ...kept.map(({ name, values }, i) =>
      element(
        "th",
        { scope: "col", class: "right" },
        `${name} `,
        button("open", `Open scenario ${name}`, () => setAll(values)),
        button("×", `Remove scenario ${name}`, () => {
          kept.splice(i, 1);
          showScenarios();
          byId("keep").focus();
        }),
      ),
    ),
  );
  const predictions = kept.map(({ values }) => predicted(values));
  const differing = columns.map((_, j) => j).filter((j) => new Set(kept.map(({ values }) => values[j])).size > 1);
  byId("scenario-values").replaceChildren(
    scenarioRow("Prediction", predictions.map(points), { class: "own" }),
    scenarioRow("Against the first", predictions.map((value, i) => (i ? signed(difference(value, predictions[0])) : ""))),
    ...differing.map((j) => scenarioRow(nameElement(j), kept.map(({ values }) => bdi(valueText(j, values[j]))))),
  );
}

byId("keep").addEventListener("click", () => {
  kept.push({ name: String.fromCharCode(65 + (letters++ % 26)), values: [...state] });
  showScenarios();
});
