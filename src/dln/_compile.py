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
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import numba
from numba.core import caching

from dln._errors import CompileCacheWarning

_Decorator: TypeAlias = Callable[[Callable[..., Any]], Any]
_IndexDataCacheFile: Any = caching.IndexDataCacheFile  # Numba's own types are partial
#: Decorator for functions that only kernels call: they have no entry from Python and no file.
inner: Callable[..., _Decorator] = partial(numba.njit, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def compiled(**options: Any) -> _Decorator:
    """Return a decorator that compiles a function when it is first called, and keeps the machine code on disk."""

    def decorate(function: Callable[..., Any]) -> Any:
        made: Any = numba.njit(**options)(function)
        if hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
            try:
                made.enable_caching()
                made._cache._cache_file = _Files(made._cache, function)  # noqa: SLF001 (no public way)
            except RuntimeError:  # of Numba: no folder can be written to
                _warn("no folder can be written to, so that code is compiled anew in every process")
        return made

    return decorate


def is_compiled(function: Any) -> bool:
    """Return whether this process or an earlier one has compiled a function, for any types."""
    files = getattr(getattr(function, "_cache", None), "_cache_file", None)
    return not hasattr(function, "_cache") or bool(function.signatures) or (files is not None and bool(files.current()))


class _Files(_IndexDataCacheFile):
    """The files of one function: their names contain the hash of the sources and that of the signature."""

    def __init__(self, kept: Any, function: Callable[..., Any]) -> None:
        base, stamp = kept._impl.filename_base, _folder_hash(Path(inspect.getfile(function)).parent)  # noqa: SLF001
        super().__init__(kept.cache_path, base, stamp)
        self._folder, self._base, self._current = Path(kept.cache_path), base, f"{base}.{stamp}"

    def current(self) -> set[Path]:
        return set(self._folder.glob(f"{self._current}.*.nbc"))

    def load(self, key: Any) -> Any:
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError):  # none, or what a crash left of one
            return self._load_data(self._name(key))

    def save(self, key: Any, data: Any) -> None:
        try:
            self._save_data(self._name(key), data)
        except OSError as error:  # as on a full disk
            _warn(f"compiled code could not be kept in {str(self._folder)!r} ({error.strerror})")
        for stale in set(self._folder.glob(f"{self._base}.*.nb?")) - self.current():
            with contextlib.suppress(OSError):
                stale.unlink()

    def _name(self, key: Any) -> str:
        text = repr((numba.__version__, *key)).encode()
        return f"{self._current}.{hashlib.sha256(text).hexdigest()[:16]}.nbc"


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
