"""Draw the pictures of the README and of the page on reports into docs/pictures.

python docs/draw_pictures.py    # DLN_DATA_HOME names the folder of the datasets; needs Chromium and playwright
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from sklearn.model_selection import train_test_split

from dln import RuleRegressor
from dln_bench.datasets import load

PICTURES = Path(__file__).parent / "pictures"
WINDOW = (1280, 960)
#: Colours of a PNG: flat surfaces need no more, and files stay small.
COLOURS = 256
#: Conditions of the model that is drawn as a circuit: about as many as the paper's figures have.
CONDITIONS = 10
#: Dataset -> colour scheme of the window, and the section of the page at its top.
REPORTS = {"concrete": ("light", "#quality"), "insurance": ("light", "#what-if"), "bike": ("dark", "#columns")}


def main() -> None:
    """Fit the models, draw one circuit and photograph three reports."""
    X_train, _, y_train, _ = split("insurance")
    model = RuleRegressor(max_conditions=CONDITIONS, random_state=0).fit(X_train, y_train)
    model.plot().save(PICTURES / "insurance.svg")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as engines:
        browser = engines.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for name, (scheme, section) in REPORTS.items():
            X_train, X_test, y_train, y_test = split(name)
            model = RuleRegressor(random_state=0).fit(X_train, y_train)
            page = model.report(Path(folder) / f"{name}.html", X_test, y_test, include_rows=True)
            shot = photograph(browser, page, scheme, section)
            small = shot.quantize(COLOURS, dither=Image.Dither.NONE)
            small.save(PICTURES / f"report-{name}.png", optimize=True)
        browser.close()


def split(name: str) -> list:
    """Return X_train, X_test, y_train, y_test of a dataset."""
    return train_test_split(*load(name), test_size=0.25, random_state=0)


def photograph(browser: Browser, page: Path, scheme: str, section: str) -> Image.Image:
    """Return what a window shows of a page from a section on; from the first one, the top of the page."""
    context = browser.new_context(viewport={"width": WINDOW[0], "height": WINDOW[1]}, color_scheme=scheme)
    opened = context.new_page()
    opened.goto(page.as_uri())
    if section == "#what-if":
        opened.locator("#controls input[type=range]").first.press("PageUp")
        opened.evaluate("document.activeElement.blur()")
    top = "0" if section == "#quality" else f"document.querySelector('{section}').getBoundingClientRect().top - 48"
    opened.evaluate(f"scrollBy({{ top: {top}, behavior: 'instant' }})")
    opened.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shot = Image.open(io.BytesIO(opened.screenshot())).convert("RGB")
    context.close()
    return shot


if __name__ == "__main__":
    main()
