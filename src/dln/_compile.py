"""Compiled functions: every kernel of dln is made here, and its machine code kept by Numba's own cache.

Two things differ from ``cache=True``. Code is stale when any file of the kernel's folder has changed, since a kernel
contains what it inlines of other files, and their constants; kernels import such things from their own folder only. And
each signature has a file named by it, instead of a number in an index, so that processes that compile at the same time
cannot mix up their code.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import pickle
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from dln._errors import CompileCacheWarning

_caching: Any = caching  # Numba's own types are partial


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles a function when it is first called, and keeps the machine code on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = numba.njit(**options)(function)
        if hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
            made._cache = _cache_of(function)  # noqa: SLF001 (Numba has no public way to choose the cache)
        return made

    return decorate


def inner(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for functions that only kernels call: they have no entry from Python and no file."""
    uncalled: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    decorate: Callable[[Callable[..., Any]], Any] = numba.njit(**uncalled, **options)
    return decorate


def spliced(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator for a part of one kernel, inlined before types are inferred."""
    decorate: Callable[[Callable[..., Any]], Any] = numba.njit(inline="always", **options)
    return decorate


def is_compiled(function: Any) -> bool:
    """Return whether this process or an earlier one has compiled a function, for any types."""
    return not hasattr(function, "_cache") or bool(function.signatures) or function._cache.has_code()  # noqa: SLF001


class _Cache(_caching.FunctionCache):
    """Numba's cache of one function, with one file for each signature and processor."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _Files(self.cache_path, self._impl.filename_base, _folder_hash(_folder_of(function)))

    def has_code(self) -> bool:
        return bool(self._cache_file.current())

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:  # as on a full disk
            _warn(f"compiled code could not be kept in {self.cache_path!r} ({error.strerror})")


class _Files(_caching.IndexDataCacheFile):
    """The files of one function: their names contain the hash of the sources and that of the signature."""

    def __init__(self, folder: str, base: str, stamp: str) -> None:
        super().__init__(folder, base, stamp)
        self._folder, self._base, self._current = Path(folder), base, f"{base}.{stamp}"

    def current(self) -> list[Path]:
        return list(self._folder.glob(f"{self._current}.*.nbc"))

    def load(self, key: Any) -> Any:
        try:
            return self._load_data(self._name(key))
        except (OSError, EOFError, pickle.UnpicklingError):  # none, or what a crash left of one
            return None

    def save(self, key: Any, data: Any) -> None:
        self._save_data(self._name(key), data)
        for stale in set(self._folder.glob(f"{self._base}.*.nb?")) - set(self.current()):
            with contextlib.suppress(OSError):
                stale.unlink()

    def _name(self, key: Any) -> str:
        text = repr((numba.__version__, *key)).encode()
        return f"{self._current}.{hashlib.sha256(text).hexdigest()[:16]}.nbc"


class _NoCache(_caching.NullCache):
    """The cache of a function on a machine where no folder can be written to."""

    def has_code(self) -> bool:
        return False

    def save_overload(self, sig: Any, data: Any) -> None:
        del sig, data
        _warn("no folder can be written to, so that code is compiled anew in every process")


def _cache_of(function: Callable[..., Any]) -> _Cache | _NoCache:
    try:
        return _Cache(function)
    except RuntimeError:
        return _NoCache()


def _folder_of(function: Callable[..., Any]) -> Path:
    return Path(inspect.getfile(function)).parent


@cache
def _folder_hash(folder: Path) -> str:
    """Return a hash of the Python files of a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


@cache
def _warn(what: str) -> None:
    """Warn once, with the remedy."""
    text = f"{what}: set NUMBA_CACHE_DIR to a folder that can be written to"
    warnings.warn(text, CompileCacheWarning, stacklevel=2)
