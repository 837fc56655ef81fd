"""Where trials run: here, or in other processes, or on a Ray cluster. All places give the same outcomes."""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import replace
from numbers import Integral
from typing import Protocol

from sklearn.base import clone

from dln.tune._trial import Job, Outcome, OutOfTimeError, Task, dln_parts, evaluate


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


def check_place(n_jobs: object, ray: object) -> None:
    """Refuse what is no number of trials and no address."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        message = f"n_jobs must be a whole number above 0, -1 for one per core, or None, got {n_jobs!r}"
        raise ValueError(message)
    if ray is not None and not (isinstance(ray, str) and ray):
        message = f"ray must be 'auto', the address of a cluster, or None, got {ray!r}"
        raise ValueError(message)


def open_place(job: Job, n_jobs: int | None, ray: str | None) -> Place:
    """Return where to run the trials."""
    if ray is not None:
        from dln.tune._cluster import Cluster

        return Cluster(_single_threaded(job), n_jobs if n_jobs is None or n_jobs > 0 else None, ray)
    n_jobs = 1 if n_jobs is None else n_jobs
    if n_jobs < 0:
        n_jobs = max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    if n_jobs == 1:
        return Here(job)
    from dln.tune._processes import Processes

    return Processes(_single_threaded(job), n_jobs)


def _single_threaded(job: Job) -> Job:
    """Return the job with one thread per DLN, which comes to the same, where trials run side by side."""
    estimator = clone(job.estimator)
    for part in dln_parts(estimator):
        if part.n_jobs is None:
            part.set_params(n_jobs=1)
    return replace(job, estimator=estimator)
