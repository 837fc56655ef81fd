// The data's rows, where the page has them: pick one, compare two.

const ROWS = DATA.rows;
const rowValues = (i) => ROWS.columns.map((column) => column[i]);

function startRows() {
  const first = byId("row-a"), second = byId("row-b");
  const showRowWhy = waterfall(byId("row-why"), "The rules that hold for the row");
  const made = ROWS.numbers.map((_, i) => predicted(rowValues(i)));
  const error = (i) => difference(made[i], ROWS.true[i]);
  const label = (i) => `${ROWS.numbers[i]}: ${points(made[i])}${ROWS.true ? ` (true ${rough(ROWS.true[i])})` : ""}`;
  ROWS.numbers.forEach((_, i) => {
    for (const list of [first, second]) list.append(element("option", { value: i }, label(i)));
  });

  function summary(i) {
    const parts = [`Row ${ROWS.numbers[i]}: predicted ${points(made[i])}`];
    if (ROWS.true) parts.push(`true ${rough(ROWS.true[i])}`, `off by ${error(i) < 0 ? "−" : "+"}${rough(Math.abs(error(i)))}`);
    return parts.join(", ");
  }

  function showValues(picked) {
    byId("values-head").replaceChildren(
      element("th", { scope: "col" }, "Column"),
      ...picked.map((i) => element("th", { scope: "col", class: "right" }, `Row ${ROWS.numbers[i]}`)),
    );
    byId("values").replaceChildren(
      ...columns.map((_, j) => {
        const cells = picked.map((i) => valueText(j, ROWS.columns[j][i]));
        const differs = cells.length > 1 && cells[0] !== cells[1];
        return element(
          "tr",
          differs ? { class: "differs" } : {},
          element("th", { scope: "row" }, nameElement(j), ...(differs ? [element("span", { class: "unseen" }, " differs")] : [])),
          ...cells.map((cell) => element("td", { class: "right" }, bdi(cell))),
        );
      }),
    );
  }

  function showVersus(a, b) {
    const [firesA, firesB] = [a, b].map((i) => fires(namedRow(rowValues(i))));
    byId("versus-a").textContent = `Row ${ROWS.numbers[a]}`;
    byId("versus-b").textContent = `Row ${ROWS.numbers[b]}`;
    const differing = BY_WEIGHT.filter((index) => firesA[index] !== firesB[index]);
    const cell = (fired, index) => element("td", { class: "right points" }, fired[index] ? signed(rules[index].weight) : "");
    byId("versus-rules").replaceChildren(
      ...differing.map((index) => element("tr", {}, element("td", { class: "words" }, ...ruleWords(index)), cell(firesA, index), cell(firesB, index))),
      element(
        "tr",
        { class: "own" },
        element("td", {}, "prediction"),
        element("td", { class: "right points" }, points(made[a])),
        element("td", { class: "right points" }, points(made[b])),
      ),
    );
  }

  function showPicked() {
    const a = Number(first.value);
    const b = second.value === "" ? null : Number(second.value);
    const picked = b === null ? [a] : [a, b];
    byId("row-sum").textContent = picked.map(summary).join("; ") + ".";
    showValues(picked);
    byId("row-why").hidden = b !== null;
    byId("versus").hidden = b === null;
    if (b === null) showRowWhy(rowValues(a));
    else showVersus(a, b);
  }

  const step = (by) => {
    const n = ROWS.numbers.length;
    first.value = String((Number(first.value) + by + n) % n);
    showPicked();
  };
  first.addEventListener("change", showPicked);
  second.addEventListener("change", showPicked);
  byId("row-back").addEventListener("click", () => step(-1));
  byId("row-on").addEventListener("click", () => step(1));
  byId("row-try").addEventListener("click", () => {
    setAll(rowValues(Number(first.value)));
    byId("what-if").scrollIntoView();
    byId("what-if-title").focus({ preventScroll: true });
  });
  if (ROWS.true) {
    const worst = ROWS.numbers.map((_, i) => i).sort((a, b) => Math.abs(error(b)) - Math.abs(error(a))).slice(0, 5);
    for (const i of worst) {
      const button = element("button", { type: "button" }, `row ${ROWS.numbers[i]}: ${error(i) < 0 ? "−" : "+"}${rough(Math.abs(error(i)))}`);
      button.addEventListener("click", () => {
        first.value = String(i);
        showPicked();
      });
      byId("worst").append(" ", button);
    }
  }
  showPicked();
}
