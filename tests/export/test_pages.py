"""Pages on exports show what their commands print: every block is run, what stands below it compared.

``python tests/export/test_pages.py`` writes what the blocks print into the pages.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs" / "how-to"
PAGES = sorted(HOW_TO.glob("export-*.md"))

#: A block that is run, and the block of text right below it, if there is one.
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)

#: Programs that the commands on the pages call.
PROGRAMS = ("bash", "cc", "node")


def run_block(kind, code, names, folder):
    """Return what a block prints."""
    if kind == "python":
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "page", "exec"), names)  # noqa: S102 (our own pages)
        return printed.getvalue()
    script = f'set -e\ndln() {{ "{sys.executable}" -m dln.cli "$@"; }}\n{code}'
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [shutil.which("bash"), "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def printed_below(page, folder):
    """Yield each block's expected and actual output, in the order of the page, for blocks that show one."""
    names = {"__name__": "page"}
    (folder / "examples").symlink_to(ROOT / "examples")
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        found = run_block(block[1], block[2], names, folder)
        if block[3] is not None:
            yield block, _trimmed(block[3]), _trimmed(found)


def _trimmed(text):
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip().splitlines())


def test_there_is_a_page_for_each_place():
    """A database, a microcontroller, a spreadsheet, a web page and a chip have a page each."""
    assert [page.stem.removeprefix("export-to-a-") for page in PAGES] == [
        "chip", "database", "microcontroller", "spreadsheet", "web-page"
    ]  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_shows_what_its_commands_print(page, tmp_path, monkeypatch):
    """Every block of the page runs in order, and what stands below it is what it prints."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        pytest.skip(f"the page's commands were not run: they call {', '.join(missing)}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "charges", raising=False)
    compared = [(expected, found) for _, expected, found in printed_below(page, tmp_path)]
    assert compared
    for expected, found in compared:
        assert found == expected


if __name__ == "__main__":
    for page in PAGES:
        with tempfile.TemporaryDirectory() as name:
            os.chdir(name)
            sys.path.insert(0, name)
            text = page.read_text(encoding="utf-8")
            for block, _, found in printed_below(page, Path(name)):
                text = text.replace(block[0], f"```{block[1]}\n{block[2]}```\n\n```text\n{found}```\n", 1)
            page.write_text(text, encoding="utf-8")
            os.chdir(ROOT)
