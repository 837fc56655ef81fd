"""Make the live example when the documentation is built: the report of a model of `examples/houses.csv`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from dln.cli import app

HOUSES = str(Path(__file__).parents[1] / "examples" / "houses.csv")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page, as `dln report` writes it."""
    with tempfile.TemporaryDirectory() as folder:
        model, page = str(Path(folder) / "house.dln"), Path(folder) / "house.html"
        for call in (
            ["fit", HOUSES, "--target", "price", "-o", model],
            ["report", model, "--data", HOUSES, "--include-rows", "100", "-o", str(page)],
        ):
            app([*call, "--quiet"], standalone_mode=False)
        files.append(File.generated(config, "live/house.html", content=page.read_text(encoding="utf-8")))
    return files
