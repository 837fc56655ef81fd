"""Time limits and Ctrl-C: a fit that is stopped early keeps the best model so far."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import FrameType
from typing import Any


class Deadline:
    """Time limit and cancellation flag of a fit, and the stages that they cut short."""

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds
        self.was_cancelled = False
        self.cut: list[str] = []

    def cancel(self) -> None:
        """Stop all stages. A plain flag without a lock: a signal handler may interrupt any line."""
        self.was_cancelled = True

    def over(self) -> bool:
        """Return whether to stop: the time is up, or the fit was cancelled."""
        return self.was_cancelled or (self._end is not None and time.monotonic() > self._end)

    def stage(self, name: str, share: float = 1.0) -> Callable[[], bool]:
        """Return a function that is true once a stage must stop: it has used this share of the time left now."""
        end = None if self._end is None else time.monotonic() + share * max(0.0, self._end - time.monotonic())

        def stop() -> bool:
            if not self.was_cancelled and (end is None or time.monotonic() <= end):
                return False
            if name not in self.cut:
                self.cut.append(name)
            return True

        return stop


@contextmanager
def worker_threads(n_threads: int, **options: Any) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads that is waited for at its end, except after a KeyboardInterrupt.

    So a second Ctrl-C ends a fit at once; the threads end by themselves when they next look at its deadline.
    """
    pool, waits = ThreadPoolExecutor(n_threads, **options), True
    try:
        yield pool
    except KeyboardInterrupt:
        waits = False
        raise
    finally:
        pool.shutdown(wait=waits, cancel_futures=not waits)


@contextmanager
def ctrl_c_calls(stop: Callable[[], None], announce: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Let the first Ctrl-C call `stop` and `announce` instead of raising KeyboardInterrupt; a second one raises it.

    The caller raises KeyboardInterrupt itself once its work is safe. A handler that the program has installed is
    called as well. Outside the main thread, or where SIGINT is ignored, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield
        return

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        stop()
        announce()
        if callable(before) and before is not signal.default_int_handler:
            before(number, frame)

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
