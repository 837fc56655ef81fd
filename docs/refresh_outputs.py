"""Run pages from top to bottom and replace the outputs that they show.

python docs/refresh_outputs.py                      # the README, how-tos and the gallery, from the root
python docs/refresh_outputs.py docs/gallery/*.md    # some pages
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from llvmlite import binding

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MADE_WITH = re.compile(r"<!-- outputs made with .*? -->")
#: Commands run this tree, not an installed version.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
#: Times differ from run to run.
SECONDS = re.compile(r"in \d+\.\d s")


def main() -> None:
    """Rewrite the text blocks of the pages."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    sys.path.insert(0, str(ROOT / "src"))
    for page in named or [*pages(), *sorted((ROOT / "docs" / "gallery").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to(ROOT / "examples")
            os.chdir(folder)
            page.write_text(MADE_WITH.sub(made_with(), refreshed(text)), encoding="utf-8")
        os.chdir(ROOT)


def pages() -> list[Path]:
    """Return the pages whose outputs are tested: they state what these were made with."""
    candidates = [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
    return [page for page in candidates if MADE_WITH.search(page.read_text(encoding="utf-8"))]


def made_with() -> str:
    """Return the versions and the processor that printed figures depend on, as a comment."""
    # BLAS and Numba choose other instructions on other processors, and sums in another order round otherwise.
    processor = binding.get_host_cpu_name()
    libraries = " ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba", "lightgbm"))
    return f"<!-- outputs made with {libraries} on {platform.system()} {platform.machine()} ({processor}) -->"


def refreshed(text: str) -> str:
    """Return a page with the output of each command and program in the text block that follows it."""
    names: dict[str, object] = {"__name__": "page"}
    pieces, printed, end = [], "", 0
    for block in BLOCK.finditer(text):
        pieces.append(text[end : block.start()])
        end = block.end()
        if block[1] == "text":
            pieces.append(f"```text\n{printed}```")
            continue
        pieces.append(block[0])
        printed = _shell(block[2]) if block[1] == "sh" else _python(block[2], names)
    return "".join([*pieces, text[end:]])


def _shell(commands: str) -> str:
    printed = ""
    for command in commands.splitlines():
        if command.startswith("dln "):
            call = [sys.executable, "-m", "dln.cli", *shlex.split(command)[1:]]
            run = subprocess.run(call, capture_output=True, text=True, check=False, env=ENVIRONMENT)  # noqa: S603 (our pages)
            if run.returncode:
                sys.exit(f"{command}: {run.stderr}")
            printed += run.stdout
    return printed


def _python(code: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)  # noqa: S102 (our pages)
    return out.getvalue()


if __name__ == "__main__":
    main()
