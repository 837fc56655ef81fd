"""Which modules a fuzzer may look into."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import atheris

import dln

_MAKES_KERNELS = re.compile(rb"^from (?:numba|dln\._compile)\b", re.MULTILINE)


def instrumented() -> Any:
    """Return a context in which dln is imported with its branches counted, except where Numba compiles them."""
    folder = Path(dln.__file__).parent
    kernels = [path for path in folder.rglob("*.py") if _MAKES_KERNELS.search(path.read_bytes())]
    compiled = [".".join(("dln", *path.relative_to(folder).with_suffix("").parts)) for path in kernels]
    return atheris.instrument_imports(include=["dln"], exclude=compiled)
