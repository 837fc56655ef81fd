"""Where a result comes from: the commit of the code, and the machine."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from pathlib import Path

import dln


@cache
def commit() -> str:
    """Return the commit of the checkout that dln is run from, or the version of an installed one."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        described = subprocess.run(  # noqa: S603 (no word of it comes from outside)
            command, cwd=Path(dln.__file__).parent, capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return f"dln {dln.__version__}"
    return described.stdout.strip()


@cache
def machine() -> str:
    """Return the processor, its cores and the system, but not the machine's name."""
    name = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.is_file():
        models = [line for line in information.read_text(encoding="utf-8").splitlines() if "model name" in line]
        name = models[0].partition(":")[2].strip() if models else name
    return f"{name}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"
