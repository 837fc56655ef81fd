"""Where units run: in this process, in others, or on a Ray cluster. The results are the same."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from dln._errors import MissingExtraError
from dln.tune._cluster import connect
from dln_bench._cuts import Budget
from dln_bench._results import Result, Unit

#: How often Ray runs a unit again whose worker was lost.
RETRIES: Final = 3
#: What workers elsewhere must know to find the data.
ENVIRONMENT: Final = ("DLN_DATA_HOME", "DLN_DATA_URL", "DLN_CACHE")


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial of a unit has ended: how many have, and the smallest error so far."""

    unit: Unit
    done: int
    best: float | None


@dataclass(frozen=True, slots=True)
class Done:
    """A unit has ended: with a result, or with what went wrong."""

    unit: Unit
    result: Result | None
    error: str = ""


Tell: TypeAlias = Callable[[Trial], None]


class Workers(Protocol):
    """Something that runs units."""

    n_jobs: int
    """Units that it runs side by side."""

    def start(self, unit: Unit) -> None:
        """Begin a unit; at most `n_jobs` are begun and not yet returned."""

    def finished(self) -> Done:
        """Wait for a unit to end, and return what came of it."""

    def close(self) -> None:
        """End what still runs, at once."""


def attempt(unit: Unit, studies: Path, budget: Budget, tell: Tell | None = None) -> Done:
    """Run a unit; whatever goes wrong is told in its outcome."""
    from dln_bench._unit import run_unit

    def progress(done: int, best: float | None) -> None:
        if tell is not None:
            tell(Trial(unit, done, best))

    try:
        return Done(unit, run_unit(unit, studies, budget, progress))
    except Exception as error:  # noqa: BLE001 (one unit's mistake must not end the others)
        text = " ".join(str(error).split()) or "no reason was given"
        return Done(unit, None, f"{type(error).__name__}: {text}")


class Here:
    """The process itself, one unit at a time."""

    n_jobs = 1

    def __init__(self, studies: Path, budget: Budget, tell: Tell) -> None:
        self._studies, self._budget, self._tell = studies, budget, tell
        self._units: list[Unit] = []

    def start(self, unit: Unit) -> None:
        """Begin a unit."""
        self._units.append(unit)

    def finished(self) -> Done:
        """Run the unit."""
        return attempt(self._units.pop(0), self._studies, self._budget, self._tell)

    def close(self) -> None:
        """Nothing runs unless it is asked for."""


# --- processes --------------------------------------------------------------------------------------------------------


class Processes:
    """Other processes of this machine. One that dies fails its unit, and another takes its place."""

    def __init__(self, n_jobs: int, studies: Path, budget: Budget, tell: Tell) -> None:
        self.n_jobs = n_jobs
        self._studies, self._budget, self._tell = studies, budget, tell
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, Unit] = {}

    def start(self, unit: Unit) -> None:
        """Begin a unit."""
        worker = self._idle.pop() if self._idle else _Worker(self._studies, self._budget)
        self._busy[worker] = unit
        worker.connection.send(unit)

    def finished(self) -> Done:
        """Wait for a unit to end; trials are told meanwhile."""
        while True:
            ready = wait([worker.connection for worker in self._busy])
            for worker in [worker for worker in self._busy if worker.connection in ready]:
                try:
                    message = worker.connection.recv()
                except (EOFError, OSError):
                    worker.process.join()
                    return Done(
                        self._busy.pop(worker), None, f"its process ended with {_code(worker.process.exitcode)}"
                    )
                if isinstance(message, Done):
                    del self._busy[worker]
                    self._idle.append(worker)
                    return message
                self._tell(message)

    def close(self) -> None:
        """Kill the processes: SIGTERM would wait for the end of an epoch."""
        workers = [*self._idle, *self._busy]
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join()
            worker.connection.close()


def _code(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        return f"signal {-exitcode}" + (" (is there enough memory?)" if exitcode == -9 else "")  # noqa: PLR2004
    return f"exit code {exitcode}"


class _Worker:
    def __init__(self, studies: Path, budget: Budget) -> None:
        context = multiprocessing.get_context("spawn")  # a forked process would share locks with threads it has not
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, studies, budget), daemon=True)
        self.process.start()
        theirs.close()  # so that its end is noticed


def _work(connection: Connection, studies: Path, budget: Budget) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that shows the progress
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            unit = connection.recv()
        except EOFError:
            return
        connection.send(attempt(unit, studies, budget, connection.send))


def _end_with_parent() -> None:
    """End this process when the one that started it is gone, however it went: nobody would take the result."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


# --- Ray --------------------------------------------------------------------------------------------------------------


class RayCluster:
    """The workers of a Ray cluster: a unit is a task, and is run again elsewhere if its worker is lost.

    The folder of results must be one that all workers see, if a search is to go on from what a lost worker had done.
    """

    def __init__(self, address: str, studies: Path, budget: Budget) -> None:
        try:
            import ray
        except ImportError:
            feature = "a benchmark on a cluster"
            raise MissingExtraError(feature, "ray", "ray") from None
        self._ray = ray
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            connect(ray, address)
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        self._attempt = ray.remote(attempt).options(
            num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": environment}
        )
        resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call, unused-ignore]
        self.n_jobs = max(1, int(resources.get("CPU", 1)))
        self._studies, self._budget = studies, budget
        self._units: dict[Any, Unit] = {}

    def start(self, unit: Unit) -> None:
        """Begin a unit."""
        self._units[self._attempt.remote(unit, self._studies, self._budget)] = unit

    def finished(self) -> Done:
        """Wait for a unit to end."""
        (ready, *_), _ = self._ray.wait(list(self._units), num_returns=1)
        unit = self._units.pop(ready)
        try:
            done: Done = self._ray.get(ready)
        except self._ray.exceptions.RayError as error:
            return Done(unit, None, f"its Ray worker was lost {RETRIES + 1} times: {' '.join(str(error).split())}")
        return done

    def close(self) -> None:
        """Cancel what still runs."""
        for reference in self._units:
            self._ray.cancel(reference, force=True)
        if self._connected_here:
            self._ray.shutdown()
