"""Which modules a fuzzer may look into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import atheris

import dln
from dln._compile import kernel_files


def instrumented() -> Any:
    """Return a context in which dln is imported with its branches counted, except where Numba compiles them."""
    folder = Path(dln.__file__).parent
    compiled = [".".join(("dln", *path.relative_to(folder).with_suffix("").parts)) for path in kernel_files()]
    return atheris.instrument_imports(include=["dln"], exclude=compiled)
