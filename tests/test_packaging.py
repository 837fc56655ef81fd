"""Promises of pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_dependency_has_its_oldest_version():
    """Every dependency, of extras too, names its oldest tested version."""
    extras = PROJECT["optional-dependencies"]
    needed = [
        *PROJECT["dependencies"],
        *(name for extra in ("plot", "symbolic", "tune", "ray") for name in extras[extra]),
    ]
    assert [name for name in needed if not re.search(r">=\d|==\d|^dln\[", name)] == []
