"""The pages do what they say."""

import re
import shlex
from pathlib import Path

import pytest

from bench_command import run

ROOT = Path(__file__).parents[2]
SHELL_BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", ROOT / "bench" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_the_pages_have_options_that_exist(page):
    """Every option that a page gives to a dln-bench command is one that it has."""
    for block in SHELL_BLOCK.findall(page.read_text(encoding="utf-8")):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["dln-bench"]:
                shown = run(words[1], "--help").stdout
                for word in words:
                    assert not word.startswith("-") or word in shown, line


def test_the_reproduction_has_few_words_and_small_pictures():
    """At most 1200 words besides what is written from results, and 600 KB of pictures, each of them shown."""
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    written = re.compile(r"<!-- \S+ -->.*?<!-- end -->", re.DOTALL)
    assert len(written.sub("", page).split()) <= 1200
    pictures = list((ROOT / "docs" / "pictures").glob("reproduction-*"))
    assert all(f"pictures/{picture.name})" in page for picture in pictures)
    assert sum(picture.stat().st_size for picture in pictures) <= 600_000
