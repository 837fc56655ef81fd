"""Run pages from top to bottom and replace the outputs that they show.

python docs/refresh_outputs.py                      # every page whose outputs are tested, and the gallery
python docs/refresh_outputs.py docs/gallery/*.md    # some pages

A line ``…`` in an output stands for lines left out: those between the lines above it and those below it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from llvmlite import binding

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MADE_WITH = re.compile(r"<!-- outputs made with .*? -->")
#: Commands run this tree, not an installed version.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
#: Times differ from run to run.
SECONDS = re.compile(r"in \d+\.\d s")


def main() -> None:
    """Rewrite the outputs of the pages."""
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
    """Return the pages whose outputs are tested: those that state what these were made with, and those on exports."""
    docs = ROOT / "docs"
    candidates = [ROOT / "README.md", *sorted(docs.glob("*.ipynb")), *sorted(docs.glob("*/*.md"))]
    return [
        page
        for page in candidates
        if page.stem.startswith("export-") or MADE_WITH.search(page.read_text(encoding="utf-8"))
    ]


def made_with() -> str:
    """Return the versions and the processor that printed figures depend on, as a comment."""
    # BLAS and Numba choose other instructions on other processors, and sums in another order round otherwise.
    processor = binding.get_host_cpu_name()
    libraries = " ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "scikit-learn", "numba", "lightgbm"))
    return f"<!-- outputs made with {libraries} on {platform.system()} {platform.machine()} ({processor}) -->"


def refreshed(text: str) -> str:
    """Return a page, or a notebook, with the output of each of its programs below it."""
    names: dict[str, Any] = {"__name__": "page"}
    if text.startswith("{"):
        return _refreshed_notebook(text, names)
    pieces, printed, end = [], "", 0
    for block in BLOCK.finditer(text):
        pieces.append(text[end : block.start()])
        end = block.end()
        if block[1] == "text":
            pieces.append(f"```text\n{_as_shown(printed, block[2])}```")
            continue
        pieces.append(block[0])
        printed = _shell(block[2]) if block[1] == "sh" else _python(block[2], names)
    return "".join([*pieces, text[end:]])


def _as_shown(printed: str, before: str) -> str:
    lines = [f"{line.rstrip()}\n" for line in printed.rstrip().splitlines()]
    above, left_out, below = before.partition("\n…\n")
    if not left_out:
        return "".join(lines)
    return "".join([*lines[: above.count("\n") + 1], "…\n", *lines[len(lines) - below.count("\n") :]])


def _refreshed_notebook(text: str, names: dict[str, Any]) -> str:
    notebook = json.loads(text)
    programs = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(programs, 1):
        *statements, last = ast.parse("".join(cell["source"])).body
        if not isinstance(last, ast.Expr):
            statements.append(last)
        printed = _python(ast.unparse(statements), names)
        outputs: list[dict[str, Any]] = []
        if isinstance(last, ast.Expr):
            value, more = None, io.StringIO()
            with contextlib.redirect_stdout(more):
                value = eval(ast.unparse(last), names)  # noqa: S307 (our notebook)
            printed += more.getvalue()
            if value is not None:
                outputs = [
                    {"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": _forms(value)}
                ]
        if printed:
            outputs.insert(0, {"output_type": "stream", "name": "stdout", "text": printed.splitlines(keepends=True)})
        cell |= {"execution_count": count, "outputs": outputs}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


def _forms(value: object) -> dict[str, list[str]]:
    """Return a value as a notebook keeps it: media type → lines."""
    forms = {"text/plain": repr(value)}
    for media_type, name in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
        if hasattr(value, name):
            forms[media_type] = getattr(value, name)()
    return {media_type: form.splitlines(keepends=True) for media_type, form in forms.items()}


def _shell(commands: str) -> str:
    """Run the commands in bash, where dln is this tree."""
    script = f'set -e\ndln() {{ "{sys.executable}" -m dln.cli "$@"; }}\n{commands}'
    call = ["bash", "-c", script]
    run = subprocess.run(call, capture_output=True, text=True, check=False, env=ENVIRONMENT)  # noqa: S603 (our pages)
    if run.returncode:
        message = f"{commands}\n{run.stderr}"
        raise RuntimeError(message)
    return run.stdout


def _python(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)  # noqa: S102 (our pages)
    return out.getvalue()


if __name__ == "__main__":
    main()
