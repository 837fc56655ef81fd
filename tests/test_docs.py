"""The pages of the documentation: the names on them, and how examples are shown."""

from __future__ import annotations

import importlib.util
import re
from ast import literal_eval
from pathlib import Path

import pytest

import dln
from dln.data import _text_values

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def test_every_public_name_has_its_place():
    """Each public name stands once on the reference page, grouped by purpose; errors and warnings come last."""
    page = (DOCS / "api.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: dln\.(\w+)$", page, re.MULTILINE)
    assert sorted(named) == sorted(set(dln.__all__) - {"__version__"})
    assert named[:2] == ["DLNRegressor", "RuleRegressor"]
    assert [name.endswith(("Error", "Warning")) for name in named] == sorted(
        name.endswith(("Error", "Warning")) for name in named
    )


@pytest.mark.parametrize(
    ("docstring", "shown"),
    [
        ("Add.\n\n>>> 1 + 1\n2\n\nMore.", "Add.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nMore."),
        ("Examples\n--------\n>>> a = (\n...     1\n... )\n>>> a\n1", None),
        ("Add.\n\n    >>> 1\n    1\n", "Add.\n\n    ```pycon\n    >>> 1\n    1\n    ```\n"),
    ],
)
def test_examples_are_code(docstring: str, shown: str | None):
    """An example in a docstring becomes one block of code, and nothing around it changes."""
    spec = importlib.util.spec_from_file_location("doctest_blocks", DOCS / "doctest_blocks.py")
    assert spec is not None
    assert spec.loader is not None
    blocks = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(blocks)
    made = blocks.EXAMPLE.sub(blocks._fenced, docstring)
    assert made == shown if shown is not None else made.count("```") == 2
    assert re.sub(r"^ *```(pycon)?\n?", "", made, flags=re.MULTILINE).strip() == docstring.strip()


def test_words_read_as_missing_are_listed():
    """Every word that is read as missing is on the page about the command line."""
    text = (DOCS / "command-line.md").read_text(encoding="utf-8").lower()
    assert [word for word in _text_values.NO_NUMBER if word and f"`{word}`" not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_named_on_the_pages_exist(page: Path):
    """Every file and folder of the repository that a page names exists, those of src/dln also without this prefix."""
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`([\w./]*(?:\w/|\w\.py))`|\b((?:bench|benchmarks|docs|examples|tests)/[\w./]*\w\.\w+)", text)
    names = ["".join(pair) for pair in named]
    assert [name for name in names if not any((folder / name).exists() for folder in (ROOT, ROOT / "src/dln"))] == []


def test_ablations_are_parameters():
    """Every line to paste for an ablation of the paper names parameters that `DLNRegressor` has."""
    lines = re.findall(r"`(DLNRegressor\(\w.*?\))`", (DOCS / "the-paper.md").read_text(encoding="utf-8"))
    assert len(lines) > 5
    for line in lines:
        eval(line, {"DLNRegressor": dln.DLNRegressor})._validate_params()  # noqa: S307 (our own page)


def test_defaults_on_the_page_about_the_paper():
    """Every `parameter=value` before the ablations on the page about the paper is a default of `DLNRegressor`."""
    text = (DOCS / "the-paper.md").read_text(encoding="utf-8").partition("## Ablations")[0]
    named = re.findall(r"`(\w+)=([^`]+)`", text)
    assert len(named) > 10
    defaults = dln.DLNRegressor().get_params()
    assert {name: literal_eval(value) for name, value in named} == {name: defaults[name] for name, _ in named}


def test_dark_mode():
    """The pages follow the reader's system, light or dark."""
    settings = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in settings
    assert "scheme: slate" in settings


def test_every_error_and_warning_is_explained():
    """Each public error and warning has a section on the page of common errors, with a text, cause and remedy."""
    page = (DOCS / "common-errors.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", page, re.MULTILINE | re.DOTALL))
    assert sorted(sections) == sorted(name for name in dln.__all__ if name.endswith(("Error", "Warning")))
    for text in sections.values():
        assert text.startswith("\n> ")
        assert "**Cause.**" in text
        assert "**Remedy.**" in text
