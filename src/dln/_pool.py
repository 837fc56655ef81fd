"""A pool of workers for searches and evaluations: processes of this machine, or a Ray cluster, through one interface.

A task whose worker died is run again. The result of a task must not depend on where it runs.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from joblib import effective_n_jobs
from joblib.externals.loky import BrokenProcessPool, ProcessPoolExecutor

from dln._errors import import_extra

T = TypeVar("T")
R = TypeVar("R")
#: Times that a task is begun before it is given up because its worker died.
ATTEMPTS: Final = 3
#: Seconds between a worker's checks that the process that started it is alive.
PARENT_CHECK: Final = 0.2
#: Seconds to wait for an answer from a cluster's address; Ray itself waits for minutes.
CONNECT_SECONDS: Final = 5.0
#: Each worker process has one thread.
ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Lost:
    """In place of a result: every worker that ran the task died."""

    reason: str


class Pool(Generic[T, R]):
    """Runs ``work(task)`` for many tasks, `n_jobs` side by side; with one job and no cluster, in this process.

    `n_jobs` is as in joblib; on a cluster, None or a negative number means all of its processors.
    """

    def __init__(self, work: Callable[[T], R], n_jobs: int | None = None, ray: str | None = None) -> None:
        if n_jobs == 0:
            raise ValueError("n_jobs must be a number above 0, -1 for one per core, or None, got 0")
        self._work = work
        self._connection: Any = None
        self._died: type[Exception] = BrokenProcessPool
        self._workers: list[_ProcessWorker | _RayWorker] = []
        self.n_jobs = effective_n_jobs(n_jobs)
        if ray is not None:
            library = import_extra("ray", "work on a cluster", "ray")
            self._died = library.exceptions.RayError
            if not library.is_initialized():
                _connect(library, ray)
                self._connection = library
            processors = max(1, int(library.cluster_resources().get("CPU", 1)))
            self.n_jobs = n_jobs if n_jobs is not None and n_jobs > 0 else processors
            shared = library.put(work)
            self._workers = [_RayWorker(library, shared) for _ in range(self.n_jobs)]
        elif self.n_jobs > 1:
            self._workers = [_ProcessWorker(work) for _ in range(self.n_jobs)]

    def run(self, tasks: Iterable[T]) -> Generator[tuple[T, R | Lost], None, None]:
        """Yield each task with its result as they end; a task is drawn when a worker is free for it."""
        if not self._workers:
            for task in tasks:
                yield task, self._work(task)
            return
        source, idle = iter(tasks), list(self._workers)
        running: dict[Future[R], tuple[_ProcessWorker | _RayWorker, T, int]] = {}
        try:
            while True:
                for worker, task in zip(tuple(idle), source, strict=False):
                    idle.remove(worker)
                    running[worker.submit(task)] = (worker, task, 1)
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    worker, task, attempt = running.pop(future)
                    try:
                        result: R | Lost = future.result()
                    except self._died as error:
                        worker.reset()
                        if attempt < ATTEMPTS:
                            running[worker.submit(task)] = (worker, task, attempt + 1)
                            continue
                        result = Lost(_reason(error))
                    idle.append(worker)
                    yield task, result
        finally:  # also when the caller draws no more results
            for worker, _, _ in running.values():
                worker.reset()

    def close(self) -> None:
        """End the workers, whatever they run, and disconnect from a cluster that this pool connected to."""
        for worker in self._workers:
            worker.reset()
        if self._connection is not None:
            self._connection.shutdown()


def _reason(error: Exception) -> str:
    match = re.search(r"exit codes of the workers are \{(.*?)\}", str(error))
    last = match[1] if match else " ".join(str(error).split()) or type(error).__name__
    return f"the process that ran it died {ATTEMPTS} times, the last time with {last}"


class _ProcessWorker:
    """One process, in an executor of its own: when it dies, no other worker's task is lost."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work
        self._executor: Any = None

    def submit(self, task: Any) -> Future[Any]:
        if self._executor is None:
            arguments = (self._work, os.getpid())
            self._executor = ProcessPoolExecutor(1, env=ONE_THREAD, initializer=_start_worker, initargs=arguments)
        future: Future[Any] = self._executor.submit(_call_own_work, task)
        return future

    def reset(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, kill_workers=True)
        self._executor = None


#: The work of a worker process.
_own_work: list[Callable[[Any], Any]] = []


def _call_own_work(task: Any) -> Any:
    return _own_work[0](task)


def _start_worker(work: Callable[[Any], Any], parent: int) -> None:
    """Keep the work, leave Ctrl-C to the parent, and end when the parent has ended, however it did."""

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_CHECK)
        os._exit(1)

    _own_work[:] = [work]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=end_with_parent, daemon=True).start()


class _RayWorker:
    """One processor's worth of a Ray cluster."""

    def __init__(self, ray: Any, work: Any) -> None:
        self._ray, self._work = ray, work
        self._call = ray.remote(num_cpus=1, max_retries=0)(lambda work, task: work(task))
        self._task: Any = None

    def submit(self, task: Any) -> Future[Any]:
        self._task = self._call.remote(self._work, task)
        future: Future[Any] = self._task.future()
        return future

    def reset(self) -> None:
        if self._task is not None:
            self._ray.cancel(self._task, force=True)
        self._task = None


def _connect(ray: Any, address: str) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdigit():
            socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
        ray.init(address=address, log_to_driver=False)
    except (OSError, ValueError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConnectionError(
            f"there is no Ray cluster at {address!r} ({reason}): start one with `ray start --head`"
        ) from error
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)  # Ray sets its own
