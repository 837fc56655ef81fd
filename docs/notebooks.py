"""Show the notebooks of docs/ as pages, with the outputs that they hold; `refresh_outputs.py` makes these."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook, which stays there to be downloaded."""
    for file in [file for file in files if file.src_uri.endswith(".ipynb")]:
        page = str(PurePosixPath(file.src_uri).with_suffix(".md"))
        files.append(File.generated(config, page, content=page_of(file.content_string, file.name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 (mkdocs)
    """Lead links to a notebook to its page."""
    return re.sub(r"(\]\([\w./-]+)\.ipynb\)", r"\1.md)", markdown)


def page_of(text: str, name: str) -> str:
    """Return a notebook as Markdown; the link to the notebook itself stands below the title."""
    shown = [_shown(cell) for cell in json.loads(text)["cells"]]
    link = f'<a href="../{name}.ipynb" download>Download this page as a notebook</a>'
    return "\n\n".join([shown[0], link, *shown[1:]]) + "\n"


def _shown(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_output, cell["outputs"])])


def _output(output: dict[str, Any]) -> str:
    forms = {media_type: "".join(lines) for media_type, lines in output.get("data", {}).items()}
    for media_type in ("text/html", "image/svg+xml"):
        if media_type in forms:
            drawn = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->", "", forms[media_type], flags=re.DOTALL)
            return re.sub(
                r"\s*\n\s*", " ", f'<div style="overflow-x: auto">{drawn}</div>'
            )  # a blank line would end the HTML
    text = forms.get("text/plain") or "".join(output["text"])
    return f"```text\n{text.rstrip()}\n```"
