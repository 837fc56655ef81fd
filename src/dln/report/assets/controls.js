// The inputs of "What if": each number has a slider, a box and a tick for missing; each category a list.

let state = typicalRow();
let waiting = false;
const showWhy = waterfall(byId("why"), "The rules that hold, and what each adds");

function show() {
  const prediction = predicted(state);
  const shown = byId("prediction");
  shown.value = points(prediction);
  shown.dataset.value = String(prediction);
  byId("interval").textContent = DATA.interval === null ? "" : `nine of ten between ${interval(prediction).map(rough).join(" and ")}`;
  showWhy(state);
  showChanges(state);
  // Charts further down may wait for the next frame: the answer is what a moved slider waits for.
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      showEffects(state);
    });
  }
}

function interval(prediction) {
  const [halfWidth, edges, factors, [lowest, highest]] = DATA.interval;
  const width = halfWidth * factors[edges.filter((edge) => edge < prediction).length];
  return [prediction - width, prediction + width].map((end) => Math.min(Math.max(end, lowest), highest));
}

function showControl(j) {
  const value = state[j];
  if (!isNumber(j)) {
    byId(`select-${j}`).value = String(value === null ? -1 : value);
    return;
  }
  const slider = byId(`range-${j}`), box = byId(`number-${j}`);
  byId(`missing-${j}`).checked = value === null;
  slider.disabled = box.disabled = value === null;
  if (value !== null) {
    slider.value = String(value);
    if (Number(box.value) !== value || box.value === "") box.value = String(value);
  }
  const { learned } = COLUMNS[j];
  const outside = learned !== null && value !== null && (value < learned[0] || value > learned[1]);
  const note = byId(`outside-${j}`);
  note.hidden = !outside;
  note.textContent = outside ? `Outside of what the model learned from (${plain(learned[0])} to ${plain(learned[1])}).` : "";
}

function set(j, value) {
  state[j] = value;
  showControl(j);
  show();
}

function setAll(values) {
  state = [...values];
  columns.forEach((_, j) => showControl(j));
  show();
}

columns.forEach((_, j) => {
  if (!isNumber(j)) {
    byId(`select-${j}`).addEventListener("change", ({ target }) => set(j, target.value === "-1" ? null : Number(target.value)));
    return;
  }
  const slider = byId(`range-${j}`), box = byId(`number-${j}`);
  slider.addEventListener("input", () => set(j, Number(slider.value)));
  box.addEventListener("input", () => {
    if (box.value !== "" && Number.isFinite(box.valueAsNumber)) set(j, box.valueAsNumber);
  });
  box.addEventListener("blur", () => showControl(j));
  byId(`missing-${j}`).addEventListener("change", ({ target }) => set(j, target.checked ? null : COLUMNS[j].typical));
});
byId("reset").addEventListener("click", () => setAll(typicalRow()));
byId("controls").addEventListener("submit", (event) => event.preventDefault());
