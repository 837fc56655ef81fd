"""One pool of workers for searches and evaluations, on joblib: processes of this machine, or a Ray cluster.

A task whose worker is lost is run again. What a task comes to must not depend on where it runs.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import signal
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from numbers import Integral
from typing import Any, Final, Generic, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import BrokenProcessPool

from dln._errors import import_extra
from dln._regressor import n_threads
from dln.tune import _ray

T = TypeVar("T")
R = TypeVar("R")

#: How often a task is run again when its process has died: once may be bad luck, three times is the task.
RETRIES: Final = 2
#: Seconds between a worker's looks at whether the process that started it is still there.
LOOK: Final = 0.2


@dataclass(frozen=True, slots=True)
class Lost:
    """In place of a result: the task was given up, because its worker was lost every time."""

    reason: str


def check_pool(n_jobs: object, ray: object) -> None:
    """Refuse what is no number of workers and no address."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        message = f"n_jobs must be a whole number above 0, -1 for one per core, or None, got {n_jobs!r}"
        raise ValueError(message)
    if ray is not None and not (isinstance(ray, str) and ray):
        message = f"ray must be 'auto', the address of a cluster, or None, got {ray!r}"
        raise ValueError(message)


def jobs_here(n_jobs: int | None) -> int:
    """Return how many workers of this machine are meant.

    >>> jobs_here(None), jobs_here(3)
    (1, 3)
    """
    return 1 if n_jobs is None else n_threads(n_jobs)


class Pool(Generic[T, R]):
    """Runs ``work(task)`` for many tasks, `n_jobs` side by side; with one job and no cluster, in this process."""

    def __init__(self, work: Callable[[T], R], n_jobs: int | None = None, ray: str | None = None) -> None:
        self._work, self._ray = work, ray
        self._connected_here = False
        if ray is not None:
            self._connected_here = not _ray.ray_package().is_initialized()
            there = _ray.connect(ray) if self._connected_here else _ray.processors()
            self.n_jobs = n_jobs if n_jobs is not None and n_jobs > 0 else there
        else:
            self.n_jobs = jobs_here(n_jobs)
        self.is_here = ray is None and self.n_jobs == 1
        # By our own hand, so that what a caller registered with cloudpickle counts; once, however many the tasks.
        self._blob = b"" if self.is_here else _cloudpickle().dumps(work)

    def run(
        self, tasks: Iterable[T], seconds: Callable[[], float] = lambda: math.inf
    ) -> Generator[tuple[T, R | Lost], None, None]:
        """Give each task with what it came to, in the order in which they end.

        Tasks are drawn as workers become free. Where no task ends within the seconds that are left, all are given up.
        """
        if self.is_here:
            for task in tasks:
                yield task, self._work(task)
            return
        source = enumerate(tasks)
        lost: dict[int, T] = {}
        losses: Counter[int] = Counter()
        is_over = False
        while not is_over:
            # After a loss nobody knows whose fault it was: those that were under way are run again one by one.
            alone = dict(list(lost.items())[:1])
            drawn: dict[int, T] = {}
            try:
                for number, result in self._parallel(iter(alone.items()) if alone else source, drawn, seconds):
                    lost.pop(number, None)
                    yield drawn.pop(number), result
                is_over = not alone
            except multiprocessing.TimeoutError:
                return
            except (BrokenProcessPool, self._ray_error()) as error:
                lost |= drawn
                losses.update(list(alone))
                for number in [number for number in alone if losses[number] == RETRIES]:
                    yield lost.pop(number), Lost(_reason(error))

    def _parallel(
        self, given: Iterator[tuple[int, T]], drawn: dict[int, T], seconds: Callable[[], float]
    ) -> Iterator[tuple[int, R]]:
        def calls() -> Iterator[Any]:
            for number, task in given:
                drawn[number] = task
                yield delayed(_call)(self._blob, _cloudpickle().dumps(task), number, os.getpid())

        parallel = Parallel(
            n_jobs=max(2, self.n_jobs),  # with one, joblib would run it in this process
            backend=_ray.BACKEND if self._ray else "loky",
            return_as="generator_unordered",
            batch_size=1,
            pre_dispatch=self.n_jobs,
            max_nbytes=None,
            timeout=_or_none(seconds()),
        )
        results = parallel(calls())
        try:
            while (result := next(results, None)) is not None:
                number, blob = result
                yield number, _cloudpickle().loads(blob)
                parallel.timeout = _or_none(seconds())
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that tasks are given up, which is meant
                results.close()

    def _ray_error(self) -> type[Exception]:
        error: type[Exception] = _ray.ray_package().exceptions.RayError if self._ray else BrokenProcessPool
        return error

    def close(self) -> None:
        """End the workers, whatever they are at, and disconnect if this pool had connected."""
        if self.is_here:
            return
        if self._ray is None:
            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)
        elif self._connected_here:
            _ray.ray_package().shutdown()


def _cloudpickle() -> Any:
    return import_extra("cloudpickle", "work in other processes", "tune")


def _or_none(seconds: float) -> float | None:
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _reason(error: Exception) -> str:
    match = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
    last = match[1] if match else " ".join(str(error).split()) or type(error).__name__
    return f"the process that ran it died {RETRIES + 1} times, the last time with {last}"


# --- in a worker ------------------------------------------------------------------------------------------------------


def _call(work: bytes, task: bytes, number: int, parent: int) -> tuple[int, bytes]:
    _prepare_worker(parent)
    try:
        function, argument = _loaded(work), _cloudpickle().loads(task)
    except Exception as error:  # noqa: BLE001 (whatever it is, the task cannot be run here)
        reason = f"another process cannot read what it is to do: {type(error).__name__}: {error}"
        return number, _cloudpickle().dumps(Lost(reason))
    return number, _cloudpickle().dumps(function(argument))


@lru_cache(maxsize=1)
def _loaded(work: bytes) -> Callable[[Any], Any]:
    """Return the work of a pool, read once: what it remembers between tasks, it remembers here."""
    loaded: Callable[[Any], Any] = _cloudpickle().loads(work)
    return loaded


@lru_cache(maxsize=1)
def _prepare_worker(parent: int) -> None:
    """Leave Ctrl-C to the process that shows the progress, and end with it, however it ends."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getppid() == parent:  # a process of joblib; those of Ray are Ray's to end
        threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK)
    os._exit(1)
