"""The page, driven in a real browser: what it shows is what the model predicts, and nothing breaks it."""

from __future__ import annotations

import io
import math
import re
import struct
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dln.export._form import lower
from pages import (
    FLAGS,
    chromium,
    draw,
    firefox,
    hostile_circuit,
    large_circuit,
    mixed_model,
    model_of,
    named_frame,
    opened,
    page_rows,
)

image = pytest.importorskip("PIL.Image")
playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page was not opened: that needs Playwright (pip install playwright)"
)

WIDTHS = (320, 390, 768, 1280, 1920)
#: Numbers everything that Tab should reach, in the order of the page, and returns the numbers.
FOCUSABLE = """[...document.querySelectorAll("input, select, button, summary, a")]
    .filter((one) => one.checkVisibility() && !one.disabled)
    .map((one, place) => (one.dataset.seen = String(place)))"""


@pytest.fixture(scope="module")
def browser():
    """Return a running Chromium: for this file only, for Playwright's event loop would be in the way of others."""
    path = chromium()
    with playwright.sync_playwright() as engines:
        running = engines.chromium.launch(executable_path=path, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Return pages by name: of a fitted model with rows, of hostile names, and of 100 and 400 conditions."""
    folder = tmp_path_factory.mktemp("pages")
    model, X, y = mixed_model()
    made = {"mixed": model.report(folder / "mixed.html", X, y, include_rows=True)}
    for name, circuit in (("hostile", hostile_circuit()), ("page", large_circuit(62)), ("large", large_circuit(230))):
        values = draw(circuit, 400)
        noise = np.random.default_rng(0).normal(size=400)
        table = named_frame(circuit, values)
        made[name] = model_of(circuit, values).report(
            folder / f"{name}.html", table, circuit.evaluate(values) + noise, include_rows=50
        )
    made["bare"] = model.report(folder / "bare.html")
    return made


@pytest.fixture
def mixed(browser, pages):
    """Return the page of the fitted model, opened."""
    with opened(browser, pages["mixed"], viewport={"width": 1280, "height": 900}) as page:
        yield page
        assert page.mistakes == []
        assert page.requests == [pages["mixed"].as_uri()]  # the file itself, and nothing else


def bits(numbers):
    """Return numbers bit by bit."""
    return [struct.pack("<d", number) for number in numbers]


def in_the_page(page, circuit, values):
    """Return the page's own predictions for rows."""
    rows = page_rows(circuit, values, lower(circuit).used)
    return page.page.evaluate("rows => rows.map(row => dln.predicted(row))", rows)


def test_predictions_are_those_of_predict(mixed):
    """The page's function gives the bits of `predict` on 2000 drawn rows."""
    model, _, _ = mixed_model()
    values = draw(model.circuit_, 2000)
    found = in_the_page(mixed, model.circuit_, values)
    assert bits(found) == bits(model.circuit_.evaluate(values))
    table = pd.concat([mixed_model()[1]] * 3)
    found = in_the_page(mixed, model.circuit_, model._values(table))
    assert bits(found) == bits(model.predict(table))


@pytest.mark.parametrize("name", ["hostile", "large"])
def test_predictions_of_other_models_too(browser, pages, name):
    """Whatever columns are called and however many rules there are: the same bits."""
    circuit = hostile_circuit() if name == "hostile" else large_circuit(230)
    values = draw(circuit, 500, seed=3)
    with opened(browser, pages[name]) as page:
        assert bits(in_the_page(page, circuit, values)) == bits(circuit.evaluate(values))


def controlled_row(page, model):
    """Return the row that the controls of "What if" stand at, read from the controls."""
    row = {column.name: [math.nan if column.categories is None else None] for column in model.circuit_.columns}
    for place, j in enumerate(lower(model.circuit_).used):
        column = model.circuit_.columns[j]
        if column.categories is None:
            missing = page.page.locator(f"#missing-{place}").is_checked()
            row[column.name] = [math.nan if missing else float(page.page.locator(f"#number-{place}").input_value())]
        else:
            code = int(page.page.locator(f"#select-{place}").input_value())
            row[column.name] = [column.categories[code] if code >= 0 else None if code == -1 else "another word"]
    return pd.DataFrame(row)


def test_each_control_moves_the_prediction_with_it(mixed):
    """Slider, box, list and "missing" of each column: after each move the shown prediction is that of `predict`."""
    model, _, _ = mixed_model()
    page = mixed.page
    shown = set()

    def agrees():
        expected = model.predict(controlled_row(mixed, model))[0]
        assert bits([mixed.shown]) == bits([expected])
        assert float(page.locator("#prediction").inner_text().replace(",", "").replace("−", "-")) == expected
        shown.add(expected)

    for place, j in enumerate(lower(model.circuit_).used):
        if model.circuit_.columns[j].categories is not None:
            options = page.locator(f"#select-{place} option")
            for k in range(min(options.count(), 6)):
                page.select_option(f"#select-{place}", options.nth(k).get_attribute("value"))
                agrees()
            continue
        for key in ("Home", "End", "ArrowLeft", "PageDown"):
            page.locator(f"#range-{place}").press(key)
            agrees()
        for text in ("-1e300", "33.25", "1e300", "40"):
            page.fill(f"#number-{place}", text)
            agrees()
        page.check(f"#missing-{place}")
        agrees()
        page.uncheck(f"#missing-{place}")
        agrees()
    assert len(shown) > 5
    page.click("#reset")
    agrees()


def test_the_waterfall_adds_up(mixed):
    """The intercept and the rules that "Why" lists add up to the prediction."""
    if mixed.page.locator("#why button").is_visible():
        mixed.page.click("#why button")
    texts = mixed.page.locator("#why td.points").all_inner_texts()
    numbers = [float(text.replace(",", "").replace("−", "-")) for text in texts]
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1])
    assert numbers[-1] == mixed.shown


def test_what_would_move_it_does(mixed):
    """Each change that is listed, made, gives the prediction that is listed, and less than it changes nothing."""
    model, _, _ = mixed_model()
    start = controlled_row(mixed, model)
    now = model.predict(start)[0]
    rows = mixed.page.locator("#changes tr")
    assert rows.count() > 0
    for k in range(rows.count()):
        name = rows.nth(k).locator("th").inner_text()
        text, shown = rows.nth(k).locator("td").all_inner_texts()[:2]
        column = next(
            c for c in model.circuit_.columns if c.name.split("\n")[0] in name.replace("\\n", "").replace('\\"', '"')
        )
        changed = start.copy()
        if column.categories is None:
            cutoff = float(text.split()[-1])
            beyond = math.nextafter(cutoff, math.inf) if text.startswith("above") else cutoff
            changed[column.name] = [beyond]
            short = start.copy()
            short[column.name] = [cutoff if text.startswith("above") else math.nextafter(cutoff, math.inf)]
            assert model.predict(short)[0] == now
        else:
            changed[column.name] = [
                next(c for c in column.categories if str(c).lower().strip('"') == text.strip('"').lower())
            ]
        assert model.predict(changed)[0] == float(shown.replace(",", "").replace("−", "-"))
        assert model.predict(changed)[0] != now


def test_inputs_outside_of_what_was_learned_from_are_said(mixed):
    """A number beyond the training range gets a warning beside its control, one inside gets none."""
    model, _, _ = mixed_model()
    used = lower(model.circuit_).used
    place = next(k for k, j in enumerate(used) if model.circuit_.columns[j].name == "age")
    mixed.page.fill(f"#number-{place}", "250")
    assert "Outside of what the model learned from (18 to 89)" in mixed.page.locator(f"#outside-{place}").inner_text()
    mixed.page.fill(f"#number-{place}", "50")
    assert mixed.page.locator(f"#outside-{place}").is_hidden()


def test_rows_are_picked_and_compared(mixed):
    """A picked row shows its own prediction; of two, the rules that differ add up to the difference."""
    model, X, y = mixed_model()
    predicted = model.predict(X)
    page = mixed.page
    page.select_option("#row-a", "7")
    number = f"{predicted[7]:,.{model.circuit_.decimals}f}"
    assert f"Row 8: predicted {number}, true {y[7]:.4g}" in page.locator("#row-sum").inner_text()
    page.click("#row-on")
    assert page.locator("#row-sum").inner_text().startswith("Row 9:")
    other = int(np.abs(predicted - predicted[8]).argmax())
    page.select_option("#row-b", str(other))
    cells = [row.locator("td.points").all_inner_texts() for row in page.locator("#versus-rules tr").all()]
    sums = [sum(float(row[k].replace(",", "").replace("−", "-") or 0) for row in cells[:-1]) for k in (0, 1)]
    assert sums[0] - sums[1] == pytest.approx(predicted[8] - predicted[other])
    page.click("#row-try")
    assert bits([mixed.shown]) == bits([predicted[8]])


def test_the_keyboard_reaches_every_control(mixed):
    """Tab goes through every control in order and out at the end: nothing is skipped, nothing holds it."""
    page = mixed.page
    wanted = set(page.evaluate(FOCUSABLE))
    reached = []
    for _ in range(len(wanted) + 30):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.dataset.seen ?? null"))
    assert wanted <= set(reached)
    places = [int(place) for place in reached if place is not None]
    first = places[: len(wanted)]
    assert first == sorted(first)


@pytest.mark.parametrize(
    ("name", "scheme"), [("mixed", "light"), ("mixed", "dark"), ("hostile", "light"), ("bare", "dark")]
)
def test_nobody_is_shut_out(browser, pages, name, scheme):
    """axe-core finds no violation: labels, contrast, tables, headings, in light and in dark."""
    axe = pytest.importorskip("axe_playwright_python", reason="axe-core was not run: pip install axe-playwright-python")
    code = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    with opened(browser, pages[name], color_scheme=scheme) as page:
        page.page.evaluate(code)
        found = page.page.evaluate("axe.run()")
        assert [(one["id"], one["nodes"][0]["html"]) for one in found["violations"]] == []


@pytest.mark.parametrize("name", ["mixed", "hostile", "large", "bare"])
def test_it_fits_every_screen(browser, pages, name):
    """From 320 to 1920 pixels nothing is wider than the window, and there is no error."""
    with opened(browser, pages[name]) as page:
        for width in WIDTHS:
            page.page.set_viewport_size({"width": width, "height": 800})
            assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.mistakes == []
        assert page.requests == [pages[name].as_uri()]


def test_hostile_names_are_shown_as_they_are(browser, pages):
    """Markup in names and categories is text: no element comes of it, and it can be read."""
    with opened(browser, pages["hostile"]) as page:
        assert (
            page.page.evaluate(
                "document.querySelectorAll('img, iframe, object, #scorecard b, #scorecard script').length"
            )
            == 0
        )
        assert page.page.evaluate("document.scripts.length") == 2
        text = page.page.locator("#scorecard").inner_text()
        for name in (
            "<script>alert(1)</script>",
            "</style><img src=x onerror=alert(1)>",
            "{{ 7 * 7 }}{% raw %}",
            "n" * 300,
        ):
            assert name in text
        assert '"שם העמודה > 3"' in page.page.locator("#scorecard bdi.name").all_inner_texts()
        assert page.mistakes == []


def test_it_can_be_read_without_scripts(browser, pages):
    """Without JavaScript the scorecard, the effects and the errors are there, and a sentence on what is missing."""
    with opened(browser, pages["mixed"], java_script_enabled=False) as page:
        text = page.page.locator("main").inner_text()
        assert "needs JavaScript" in text
        assert page.page.locator("#what-if").is_hidden()
        assert page.page.locator("#scorecard [data-rule]").count() == len(mixed_model()[0].rules_)
        assert page.page.locator("#columns path.average").first.get_attribute("d").startswith("M")


@pytest.mark.parametrize("scripts", [True, False])
def test_the_scorecard_prints_on_one_sheet(browser, pages, scripts):
    """A model of 100 conditions prints on one sheet of A4, with or without JavaScript."""
    pypdf = pytest.importorskip("pypdf", reason="sheets were not counted: pip install pypdf")
    assert 95 <= model_of(large_circuit(62)).rules_.n_conditions <= 110
    with opened(browser, pages["page"], java_script_enabled=scripts) as page:
        sheets = [sheet.extract_text() for sheet in pypdf.PdfReader(io.BytesIO(page.page.pdf(format="A4"))).pages]
    with_card = [k for k, text in enumerate(sheets) if "The whole model. Start at" in text]
    after = [k for k, text in enumerate(sheets) if "What the prediction does as one column" in text]
    assert len(with_card) == len(after) == 1
    assert after[0] == with_card[0] + 1


def test_it_prints_on_six_sheets(browser, pages):
    """The whole page of a model of 100 conditions prints on at most six sheets of A4."""
    pypdf = pytest.importorskip("pypdf", reason="sheets were not counted: pip install pypdf")
    with opened(browser, pages["page"]) as page:
        assert len(pypdf.PdfReader(io.BytesIO(page.page.pdf(format="A4"))).pages) <= 6


def test_every_choice_is_printed(mixed):
    """The rows of tables that the screen marks for the row of "What if" are printed, too."""
    mixed.page.emulate_media(media="print")
    options = mixed.page.locator("#columns .options tbody tr")
    assert options.count() == mixed.page.locator("#columns .options tbody tr:visible").count() > 0


def test_scenarios_stand_side_by_side(mixed):
    """Kept scenarios show their predictions and what differs; one is opened again, and one removed."""
    page = mixed.page
    first = mixed.shown
    page.click("#keep")
    slider = page.locator("#controls input[type=range]").first
    slider.press("End")
    page.click("#keep")
    assert page.locator("#scenario-names th").count() == 3
    shown = page.locator("#scenario-values tr").first.locator("td").all_inner_texts()
    numbers = [float(text.replace(",", "").replace("−", "-")) for text in shown]
    assert numbers == [first, mixed.shown]
    page.click('[aria-label="Open scenario A"]')
    assert mixed.shown == first
    page.click('[aria-label="Remove scenario B"]')
    assert page.locator("#scenario-names th").count() == 2


def test_the_search_box_finds_rules(mixed):
    """Rules with every word of the box stay, others go, and the count says how many there are."""
    page = mixed.page
    rows = page.locator("#scorecard [data-rule]")
    with_age = [text for text in rows.all_text_contents() if "age" in text]
    page.fill("#search", "age")
    assert page.locator("#found").inner_text() == f"{len(with_age)} of {rows.count()} rules"
    page.fill("#search", "no such words")
    assert page.locator("#scorecard [data-rule]:visible").count() == 0
    page.fill("#search", "")
    assert page.locator("#found").inner_text() == ""


def photographed(page: Path, folder: Path) -> np.ndarray:
    """Return the pixels of the first 3000 rows of a page in Firefox, opened as a file."""
    picture = folder / f"{page.stem}.png"
    profile = folder / f"profile-{page.stem}"
    profile.mkdir()
    command = [firefox(), "--headless", "--no-remote", "--profile", str(profile), "--window-size=1280,3000"]
    subprocess.run(
        [*command, "--screenshot", str(picture), page.as_uri()], check=True, timeout=120, capture_output=True
    )
    return np.asarray(image.open(picture).convert("L"))


def test_firefox_shows_it_and_runs_its_script(pages, tmp_path):
    """Firefox draws the page from a file, and what only the script shows is there."""
    text = pages["mixed"].read_text(encoding="utf-8")
    dead = tmp_path / "dead.html"
    dead.write_text(re.sub(r'(?s)<script type="module">.*?</script>', "", text), encoding="utf-8")
    alive, still = photographed(pages["mixed"], tmp_path), photographed(dead, tmp_path)
    for pixels in (alive, still):
        assert (pixels < 100).mean() > 0.005  # ink
    assert alive.shape == still.shape
    assert (alive != still).mean() > 0.001


def test_no_script_of_another_runs(browser, pages):
    """The page's policy refuses scripts and styles that are not its own."""
    with opened(browser, pages["mixed"]) as page:
        page.page.evaluate("""() => {
            const script = document.createElement("script");
            script.textContent = "globalThis.intruder = true";
            document.head.append(script);
            document.body.insertAdjacentHTML("beforeend", "<p id=styled style='color: red'>x</p>");
        }""")
        assert page.page.evaluate("globalThis.intruder") is None
        assert page.page.evaluate("getComputedStyle(styled).color") != "rgb(255, 0, 0)"
        assert len(page.mistakes) == 2
