"""Make the reports of insurance, concrete and bike, and take their pictures into docs/pictures.

python docs/shoot_reports.py    # DLN_DATA_HOME names the folder of the datasets; needs chromium and playwright
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, sync_playwright
from sklearn.model_selection import train_test_split

from dln import RuleRegressor

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from datasets import load

PICTURES = Path(__file__).parent / "pictures"
DESKTOP, PHONE = (1280, 960), (390, 800)
#: A picture has so many colours: flat surfaces need no more, and files stay small.
COLOURS = 256


def main() -> None:
    """Fit the models as anybody would, write their pages, and look at them."""
    with tempfile.TemporaryDirectory() as folder:
        pages = {name: make(name, Path(folder)) for name in ("insurance", "concrete", "bike")}
        shoot(pages)


def make(name: str, folder: Path) -> Path:
    """Return the page of a default model, measured on rows that it has not seen."""
    X_train, X_test, y_train, y_test = train_test_split(*load(name), test_size=0.25, random_state=0)
    model = RuleRegressor(random_state=0).fit(X_train, y_train)
    return model.report(folder / f"{name}.html", X_test, y_test, include_rows=True)


def shoot(pages: dict[str, Path]) -> None:
    """Take the pictures of pages: on a desktop one each, on a phone three beside each other."""
    with sync_playwright() as engines:
        browser = engines.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        save(picture(browser, pages["concrete"], DESKTOP, "light", "#quality"), "report-concrete")
        save(picture(browser, pages["insurance"], DESKTOP, "light", "#what-if"), "report-insurance")
        save(picture(browser, pages["bike"], DESKTOP, "dark", "#columns"), "report-bike")
        phones = [
            picture(browser, pages["insurance"], PHONE, "light", "#scorecard"),
            picture(browser, pages["concrete"], PHONE, "dark", "#what-if"),
            picture(browser, pages["bike"], PHONE, "light", "#rows"),
        ]
        beside = Image.new("RGB", (3 * PHONE[0] + 2 * 24, PHONE[1]), "#808080")
        for k, phone in enumerate(phones):
            beside.paste(phone, (k * (PHONE[0] + 24), 0))
        save(beside, "report-phones")
        browser.close()


def picture(browser: Browser, page: Path, size: tuple[int, int], scheme: str, section: str) -> Image.Image:
    """Return what a window shows of a page, from a section on; the first one is the top of the page."""
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)  # type: ignore[arg-type]
    opened = context.new_page()
    opened.goto(page.as_uri())
    if section == "#what-if":
        opened.locator("#controls input[type=range]").first.press("PageUp")  # as somebody who tries it
        opened.evaluate("document.activeElement.blur()")
    if section != "#quality":
        opened.evaluate(
            "(id) => scrollTo({ top: document.querySelector(id).getBoundingClientRect().top + scrollY - 48, "
            "behavior: 'instant' })",
            section,
        )
    else:
        opened.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    opened.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    shot = Image.open(io.BytesIO(opened.screenshot())).convert("RGB")
    context.close()
    return shot


def save(image: Image.Image, name: str) -> None:
    """Write a picture as a small PNG."""
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
