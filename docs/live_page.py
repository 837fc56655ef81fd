"""Make the live example when the documentation is built: the report of a model of `examples/houses.csv`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from dln.cli import app

EXAMPLES = Path(__file__).parents[1] / "examples"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page, as `dln report` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "house.html"
        call = ["report", str(EXAMPLES / "house.dln"), "--data", str(EXAMPLES / "houses.csv")]
        app([*call, "--include-rows", "100", "-o", str(page), "--quiet"], standalone_mode=False)
        files.append(File.generated(config, "live/house.html", content=page.read_text(encoding="utf-8")))
    return files
