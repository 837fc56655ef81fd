"""Ctrl-C, taken as the wish to keep what there is, and SIGTERM, which ends the process once that is safe on disk."""

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
    """Let the first Ctrl-C or SIGTERM call `stop`, which asks the work inside to come to an end soon.

    After Ctrl-C the program goes on with what there is. After SIGTERM the process ends when the work has: whoever sent
    it wants that, so write checkpoints inside. A second signal is as ever.

    A signal that is ignored stays ignored, and a handler that the program has set is called as well, and decides.
    Python lets only the main thread have a say in signals: elsewhere nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _NUMBERS}
    fatal: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        signal.signal(number, before[number])
        stop()
        if before[number] is signal.SIG_DFL:
            fatal.append(number)
        elif before[number] is not signal.default_int_handler:
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
        for deadly in fatal:
            signal.raise_signal(deadly)  # now it is the system's, and ends the process


@contextmanager
def sigterm_after_cleanup() -> Iterator[None]:
    """Let SIGTERM raise KeyboardInterrupt inside, so that what is open is closed, and then end the process.

    Only where the program has no mind of its own about SIGTERM, and in the main thread.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return
    came: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if came:
            signal.raise_signal(signal.SIGTERM)
