"""Compiled functions, and where their machine code is kept: every kernel of dln is made by `compiled`.

Numba's own cache has no place on a machine where nothing can be written, keeps what one file inlined of another when
the other changes, and gives two processes that compile at once the same file for different code. Here

- the folder is named by the content of all kernel files and the versions that compile them, and old ones are dropped;
- it lies where ``NUMBA_CACHE_DIR`` says, else in the package, else in the user's cache, else in a private temporary
  folder; where none can be written to, functions are compiled without being kept;
- one file holds one function for one signature, written whole, with a checksum: what is damaged is compiled again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
import re
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from numba.core import compiler, serialize

from dln._atomic import write_atomically
from dln._errors import CompileCacheWarning

#: What the names of our folders begin with.
FOLDER: Final = "dln-kernels-"

#: Folders that are kept: of this version, and of others that may be in use beside it.
KEPT: Final = 4

#: Bytes of the checksum that a file begins with.
SEAL: Final = 32

# Numba's own types are partial.
_compiler: Any = compiler
_serialize: Any = serialize

_PACKAGE: Final = Path(__file__).parent
_MAKES_KERNELS: Final = re.compile(rb"^from (?:numba|llvmlite|dln\._compile)\b", re.MULTILINE)
_IMPORTED: Final = re.compile(rb"^from dln\.([\w.]+) import", re.MULTILINE)
_SETTING: Final = "set NUMBA_CACHE_DIR to a folder that can be written to"


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function when it is first called, and keeps the machine code on disk.

    >>> @compiled(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(3)
    6
    """

    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = numba.njit(**options)(function)
        if hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
            made._cache = _Kept(function)  # noqa: SLF001 (numba lets nobody choose the cache otherwise)
        return made

    return decorate


def inlined(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for what only kernels call: it is compiled into them, and not kept on its own."""
    return inner(forceinline=True, **options)


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for what only kernels call, from several places: it is compiled by itself, and then again."""
    uncalled: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # by Python
    decorate: Callable[[Callable[..., Any]], Any] = numba.njit(**uncalled, **options)
    return decorate


def spliced(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a part of one kernel, which becomes its text before anything is compiled."""
    decorate: Callable[[Callable[..., Any]], Any] = numba.njit(inline="always", **options)
    return decorate


def is_compiled(function: Any) -> bool:
    """Whether this process or an earlier one has compiled a function, for whatever types."""
    if not hasattr(function, "_cache") or function.signatures:
        return True
    folder = kernel_folder()
    return folder is not None and any(folder.glob(f"{_stem(function.py_func)}-*"))


class _Kept:
    """The machine code of one function on disk, in the form that numba asks its caches for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str | None:
        folder = kernel_folder()
        return None if folder is None else str(folder)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Forget nothing: the folder's name says what it is good for."""

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return what was compiled before, or None."""
        context.refresh()
        path = self._path(signature, context.codegen())
        if path is None:
            return None
        try:
            data = path.read_bytes()
            if hashlib.sha256(data[SEAL:]).digest() != data[:SEAL]:
                return None
            return _compiler.CompileResult._rebuild(context, *pickle.loads(data[SEAL:]))  # noqa: S301, SLF001 (we wrote it)
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, if it can be kept: a full disk costs time in the next process, and no more."""
        path, warning = self._path(signature, result.codegen), _home()[1]
        if warning is not None:
            _warn(warning)
        if path is None or result.lifted or result.library.has_dynamic_globals:
            return
        data = _serialize.dumps(result._reduce())  # noqa: SLF001 (as numba's cache does)
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, hashlib.sha256(data).digest() + data, durable=False)
        except OSError as error:
            reason = str(error.strerror).partition(";")[0]
            _warn(f"compiled code could not be kept in {str(path.parent)!r} ({reason})")

    def _path(self, signature: Any, codegen: Any) -> Path | None:
        folder = kernel_folder() if self._enabled else None
        if folder is None:
            return None
        key = repr((str(signature), codegen.magic_tuple(), self._function.__code__.co_firstlineno))
        return folder / f"{_stem(self._function)}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"


def _stem(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__qualname__}".replace("<locals>", "in")


# --- where ------------------------------------------------------------------------------------------------------------


def kernel_folder() -> Path | None:
    """Return the folder that machine code is kept in, or None where there is none."""
    return _home()[0]


@cache
def _home() -> tuple[Path | None, str | None]:
    """Return the folder for machine code, and what is to be said about it when something has to be compiled."""
    name = FOLDER + kernel_hash()
    for parent in _cache_folders():
        try:
            parent.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=parent).close()
        except OSError:
            continue
        _drop_old(parent, parent / name)
        return parent / name, None
    private = _private_folder()
    if private is None:
        return None, "no folder can be written to, so that code is compiled anew in every process"
    reason = f"compiled code is kept in {str(private)!r}, for the folders of dln and of the user cannot be written to"
    return private / name, reason


def kernel_files() -> list[Path]:
    """Return the files of the package that hold kernels."""
    return [path for path in sorted(_PACKAGE.rglob("*.py")) if _MAKES_KERNELS.search(path.read_bytes())]


@cache
def kernel_hash() -> str:
    """Return a hash of all files that hold kernels, of those they import from, and of what compiles them."""
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    texts = {path: path.read_bytes() for path in kernel_files()}
    # A kernel's constants may come from a file that holds none.
    named = {module.decode() for text in texts.values() for module in _IMPORTED.findall(text)}
    imported = {_PACKAGE.joinpath(*module.split(".")).with_suffix(".py") for module in named}
    texts |= {path: path.read_bytes() for path in imported if path.is_file()}
    digest = hashlib.sha256(repr(versions).encode())
    for path, text in sorted(texts.items()):
        digest.update(repr((path.relative_to(_PACKAGE).as_posix(), len(text))).encode() + text)
    return digest.hexdigest()[:16]


def _cache_folders() -> Iterator[Path]:
    """Yield the folders that machine code may be kept in, the best first."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen)
        return
    yield _PACKAGE / "__pycache__"
    with contextlib.suppress(RuntimeError):  # a user without a home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dln"


def _private_folder() -> Path | None:
    """Return a folder among the temporary files that is this user's and nobody else's, or None.

    Its name can be foreseen, so that the next process finds it, and code is run that was put there: one that others
    made or may write to is not taken.
    """
    try:
        user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""
        folder = Path(tempfile.gettempdir()) / f"dln{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
        others = stat.S_IMODE(facts.st_mode) & 0o077 or facts.st_uid != os.getuid() if user else 0
        if others or not stat.S_ISDIR(facts.st_mode):
            return None
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:  # also where there is no temporary folder at all
        return None
    return folder


def _drop_old(parent: Path, used: Path) -> None:
    """Remember that a folder is used, and remove those that were not for the longest time."""
    with contextlib.suppress(OSError):
        used.mkdir(exist_ok=True)
        os.utime(used)
        folders = sorted(parent.glob(f"{FOLDER}*"), key=lambda folder: folder.stat().st_mtime, reverse=True)
        for old in folders[KEPT:]:
            shutil.rmtree(old, ignore_errors=True)


@cache
def _warn(what: str) -> None:
    """Say once what is wrong and what helps."""
    warnings.warn(f"{what}: {_SETTING}", CompileCacheWarning, stacklevel=2)
