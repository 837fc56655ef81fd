"""The code, commands, options and links of the README and the documentation work."""

import importlib.util
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from commands import run
from dln import DLNRegressor, RuleRegressor

ROOT = Path(__file__).parent.parent
#: Smaller defaults: the pages are run to see that they run.
SMALL = {
    RuleRegressor: {"n_grown_rules": 40, "n_teachers": 1, "n_generations": 0},
    DLNRegressor: {"hidden_layer_sizes": (40, 40), "max_epochs": 8},
}
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
#: Pages on other tools have a test of their own: `test_integration_pages.py`.
OWN = [page for page in PAGES if page.parent.name != "integration"]
NOTEBOOKS = sorted((ROOT / "docs").glob("*.ipynb"))
LINK = re.compile(r"\]\((?!https?://|#)([^)#\s\\]+)")
#: Programs that commands on pages call, which not every machine has.
PROGRAMS = {"cc", "node"}
spec = importlib.util.spec_from_file_location("refresh_outputs", ROOT / "docs" / "refresh_outputs.py")
refresh = importlib.util.module_from_spec(spec)
spec.loader.exec_module(refresh)


def page_name(page):
    """Return a page's path as a test's name."""
    return str(page.relative_to(ROOT))


@pytest.fixture(autouse=True)
def beside_the_examples(tmp_path, monkeypatch):
    """Work in an empty folder with the examples in it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def quick_fits(monkeypatch):
    """Make fits short."""
    for learner, small in SMALL.items():
        for name, value in small.items():
            monkeypatch.setitem(learner.__init__.__kwdefaults__, name, value)


@pytest.mark.usefixtures("quick_fits")
@pytest.mark.parametrize("page", [page for page in OWN if PYTHON_BLOCK.search(page.read_text())], ids=page_name)
def test_the_code_on_a_page_runs(page, capsys):
    """Every Python block of a page runs, in order, each seeing the names of those before it."""
    text = page.read_text(encoding="utf-8").replace("1_000_000", "20_000").replace("100_000", "2_000")
    namespace = {"__name__": "page"}
    for block in PYTHON_BLOCK.finditer(text):
        first_line = text.count("\n", 0, block.start(1))
        code = "\n" * first_line + block[1]  # so that a traceback names the page's own line
        exec(compile(code, str(page), "exec"), namespace)  # noqa: S102 (our own pages)
    capsys.readouterr()


@pytest.mark.usefixtures("quick_fits")
@pytest.mark.parametrize("page", NOTEBOOKS, ids=page_name)
def test_a_notebook_runs(page):
    """Every cell of a notebook runs, in order, and prints or shows what it did when the outputs were made."""
    shown = page.read_text(encoding="utf-8")
    kinds = [
        [[output["output_type"] for output in cell.get("outputs", ())] for cell in json.loads(text)["cells"]]
        for text in (shown, refresh.refreshed(shown))
    ]
    assert kinds[0] == kinds[1]


@pytest.mark.parametrize("page", refresh.pages(), ids=page_name)
def test_a_page_shows_what_is_printed(page):
    """Every output in the README and the like is what its commands and programs print, digit for digit but for seconds.

    After a change in learning: python docs/refresh_outputs.py. With other libraries or on another machine, last digits
    may differ.
    """
    text = page.read_text(encoding="utf-8")
    if (made := refresh.MADE_WITH.search(text)) and made[0] != refresh.made_with():
        pytest.skip(f"the page has {made[0]}; here it is {refresh.made_with()}")
    if missing := [name for name in PROGRAMS if f"\n{name} " in text and shutil.which(name) is None]:
        pytest.skip(f"the page calls {', '.join(missing)}")
    assert comparable(refresh.refreshed(text)) == comparable(text)


def comparable(text):
    """Return a page without seconds, a notebook without pictures, whose letters are as wide as the machine's fonts."""
    text = refresh.SECONDS.sub("", text)
    if text.startswith("{"):
        notebook = json.loads(text)
        for cell in notebook["cells"]:
            for output in cell.get("outputs", ()):
                output.get("data", {}).pop("image/svg+xml", None)
        return notebook
    return text


def test_the_readme_is_short():
    """The README is read in two screens: it has at most 900 words, with code, outputs and tables."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


@pytest.mark.usefixtures("quick_fits")
def test_the_commands_in_the_readme_run():
    """Every dln command of the README runs, in order, and prints something."""
    blocks = SHELL_BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    commands = [line for block in blocks for line in block.splitlines() if line.startswith("dln ")]
    assert len(commands) >= 3
    for command in commands:
        result = run(*shlex.split(command)[1:])
        assert result.exit_code == 0, result.stderr
        assert result.stdout


def test_commands_on_the_pages_have_options_that_exist():
    """Every option that the README and the documentation give to a dln command is one that it has."""
    for page in PAGES:
        for block in SHELL_BLOCK.findall(page.read_text(encoding="utf-8")):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words[:1] == ["dln"]:
                    shown = run(words[1], "--help").stdout
                    for word in words:
                        assert not word.startswith("-") or word in shown, f"{page.name}: {line}"


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=page_name)
def test_links_lead_somewhere(page):
    """Every relative link of a page names a file that is there."""
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
