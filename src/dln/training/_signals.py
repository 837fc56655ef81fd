"""Ctrl-C and SIGTERM, taken as the wish to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

_NUMBERS: Final = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_call(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C or SIGTERM call `stop` instead of ending the process; a second one is as ever.

    A signal that is ignored stays ignored, and a handler that the program has set is called as well. Python lets only
    the main thread have a say in signals: elsewhere nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _NUMBERS}

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(number, before[number])
        stop()
        if callable(before[number]) and before[number] is not signal.default_int_handler:
            before[number](number, frame)

    # None is a handler that was not set by Python: it could not be put back.
    taken = [number for number in _NUMBERS if before[number] not in (signal.SIG_IGN, None)]
    for number in taken:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


@contextmanager
def sigterm_as_ctrl_c() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt, as Ctrl-C does, unless the program has a mind of its own about it."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
