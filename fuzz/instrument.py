"""Which modules a fuzzer may look into."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import atheris


def instrumented() -> Any:
    """Return a context in which dln is imported with its branches counted, except where Numba compiles them."""
    spec = importlib.util.find_spec("dln")
    folder = Path(spec.origin).parent  # type: ignore[union-attr, arg-type]
    compiled = [
        ".".join(("dln", *path.relative_to(folder).with_suffix("").parts))
        for path in folder.rglob("*.py")
        if "numba" in path.read_text(encoding="utf-8")
    ]
    return atheris.instrument_imports(include=["dln"], exclude=compiled)
