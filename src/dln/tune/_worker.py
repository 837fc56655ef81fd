"""``python -m dln.tune._worker``: a process that reads a job and then trials, and writes what they came to."""

from __future__ import annotations

import os
import signal
import sys
import threading
from queue import SimpleQueue
from typing import BinaryIO, Final

import cloudpickle

from dln.tune._trial import Outcome, evaluate

#: Bytes that tell how long a message is.
_LENGTH: Final = 8


def read_frame(stream: BinaryIO) -> bytes | None:
    """Return the next message, or None where the stream ends."""
    head = stream.read(_LENGTH)
    if len(head) < _LENGTH:
        return None
    length = int.from_bytes(head, "big")
    message = stream.read(length)
    return message if len(message) == length else None


def write_frame(stream: BinaryIO, message: bytes) -> None:
    """Write a message."""
    stream.write(len(message).to_bytes(_LENGTH, "big"))
    stream.write(message)
    stream.flush()


def main() -> None:
    """Run trials until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the search, which ends this process
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a fit prints must not come between the answers
    messages: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(messages,), daemon=True).start()
    job, trouble = None, ""
    try:
        job = cloudpickle.loads(messages.get())
    except Exception as error:  # noqa: BLE001 (any failure is told as that of the trials)
        trouble = f"another process cannot read the estimator or the data: {type(error).__name__}: {error}"
    while True:
        task = cloudpickle.loads(messages.get())
        outcome = Outcome("failed", error=trouble) if job is None else evaluate(job, task)
        write_frame(answers, cloudpickle.dumps(outcome))


def _listen(messages: SimpleQueue[bytes]) -> None:
    """Pass messages on; end the process, whatever it is at, when the search is no more."""
    while (message := read_frame(sys.stdin.buffer)) is not None:
        messages.put(message)
    os._exit(0)


if __name__ == "__main__":
    main()
