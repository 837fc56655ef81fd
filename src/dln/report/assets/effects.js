// What the prediction does along a column for the row at hand, over what it does on average.

const [LEFT, RIGHT, TOP, BOTTOM] = DATA.line;
const CHARTS = new Map([...document.querySelectorAll("[data-effect]")].map((chart) => [Number(chart.dataset.effect), chart]));

function staircase(j, levels, up) {
  const { cutoffs, ends } = COLUMNS[j];
  const across = (value) => LEFT + ((RIGHT - LEFT) * (Math.min(Math.max(value, ends[0]), ends[1]) - ends[0])) / (ends[1] - ends[0]);
  const places = [...cutoffs.map(across), RIGHT];
  return levels.reduce((path, level, k) => `${path}V${up(level).toFixed(1)}H${places[k].toFixed(1)}`, `M${LEFT},${up(levels[0]).toFixed(1)}`);
}

function showEffect(j, chart, values) {
  const mine = blockValues(j).map((value) => predicted(withValue(values, j, value)));
  const { averages, ends } = COLUMNS[j];
  const low = Math.min(...mine, ...averages), high = Math.max(...mine, ...averages);
  const margin = (high - low) * 0.06 || Math.abs(low) * 0.1 || 1;
  const up = (level) => BOTTOM - ((BOTTOM - TOP) * (level - low + margin)) / (high - low + 2 * margin);
  chart.querySelector(".average").setAttribute("d", staircase(j, averages, up));
  chart.querySelector(".this").setAttribute("d", staircase(j, mine, up));
  const here = chart.querySelector(".here");
  const value = values[j];
  here.setAttribute("r", value === null ? 0 : 4);
  if (value !== null) {
    const share = (Math.min(Math.max(value, ends[0]), ends[1]) - ends[0]) / (ends[1] - ends[0]);
    here.setAttribute("cx", (LEFT + (RIGHT - LEFT) * share).toFixed(1));
    here.setAttribute("cy", up(predicted(values)).toFixed(1));
  }
  const levels = low === high ? [low] : [low, high];
  chart.querySelector(".levels").replaceChildren(...levels.map((level, k) => shape("text", { x: LEFT, y: (up(level) + (k < levels.length - 1 ? 12 : -4)).toFixed(1) }, rough(level))));
  chart.querySelector(".grid").replaceChildren(
    ...levels.map((level) => shape("line", { x1: LEFT, x2: RIGHT, y1: up(level).toFixed(1), y2: up(level).toFixed(1) })),
  );
}

function showEffects(values) {
  for (const [j, chart] of CHARTS) showEffect(j, chart, values);
  for (const cell of document.querySelectorAll("[data-option]")) {
    const j = Number(cell.dataset.option), code = Number(cell.dataset.code);
    cell.textContent = rough(predicted(withValue(values, j, code === -1 ? null : code)));
    cell.parentElement.classList.toggle("here", values[j] === (code === -1 ? null : code));
  }
}
