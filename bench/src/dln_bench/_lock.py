"""Locks between processes that end with the process that holds them, however it ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path


class Lock:
    """A file that one process at a time can hold; the system frees it when the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def acquire(self, *, wait: bool) -> bool:
        """Take the lock; where another holds it, wait for it or return False."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            taken = _take(descriptor, wait=wait)
        except BaseException:
            os.close(descriptor)
            raise
        if not taken:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def release(self) -> None:
        """Give the lock back; the file stays, since removing it would let two processes hold one name."""
        if self._descriptor is not None:
            os.close(self._descriptor)  # which frees it
            self._descriptor = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock for a while."""
        self.acquire(wait=True)
        try:
            yield
        finally:
            self.release()


if sys.platform == "win32":

    def _take(descriptor: int, *, wait: bool) -> bool:
        import msvcrt
        import time

        while True:
            try:
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            except OSError:
                if not wait:
                    return False
                time.sleep(0.05)
            else:
                return True

else:

    def _take(descriptor: int, *, wait: bool) -> bool:
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True
