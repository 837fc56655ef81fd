"""Size of a page, its time to load, and its time to answer a moved slider, in the machine's own Chromium.

python benchmarks/report_page.py    # needs chromium; `pip install 'dln[report]' playwright`
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from pages import FLAGS, draw, large_circuit, model_of, named_frame

#: Rules of the two models: about 100 and 400 conditions.
RULES = (62, 245)
ROWS = 1000
#: Moves of a slider that are timed.
MOVES = 40
#: Moves the first slider, waits for the answer to be laid out, and returns the milliseconds.
MOVE = """(share) => {
  const slider = document.querySelector("input[type=range]");
  const before = performance.now();
  slider.value = String(Number(slider.min) + share * (slider.max - slider.min));
  slider.dispatchEvent(new Event("input"));
  document.body.getBoundingClientRect();
  return performance.now() - before;
}"""
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    """Make, open and move."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engines:
        browser = engines.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        for n_rules in RULES:
            measure(browser, Path(folder) / "page.html", n_rules)
        browser.close()


def measure(browser: Browser, path: Path, n_rules: int) -> None:
    """Print the figures of one model."""
    circuit = large_circuit(n_rules)
    values = draw(circuit, ROWS)
    model = model_of(circuit, values)
    noise = np.random.default_rng(0).normal(size=ROWS)
    start = time.perf_counter()
    model.report(path, named_frame(circuit, values), circuit.evaluate(values) + noise, include_rows=ROWS)
    took = time.perf_counter() - start
    opened, moves = [], []
    for _ in range(3):
        page = browser.new_page()
        page.goto(path.as_uri())
        opened.append(page.evaluate(OPENED))
        moves += [page.evaluate(MOVE, k / MOVES) for k in range(MOVES)]
        page.close()
    print(
        f"{model.rules_.n_conditions} conditions, {ROWS} rows: {path.stat().st_size / 1000:.0f} KB in {took:.1f} s, "
        f"open after {statistics.median(opened):.0f} ms, a slider answers in {statistics.median(moves):.1f} ms "
        f"(at most {max(moves):.1f})"
    )


if __name__ == "__main__":
    main()
