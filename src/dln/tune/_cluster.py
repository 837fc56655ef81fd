"""Trials as tasks on a Ray cluster; Ray runs those of a lost machine again on another."""

from __future__ import annotations

import math
import signal
import socket
import threading
from typing import Any, Final

from dln._errors import MissingExtraError
from dln.tune._storage import StudyError
from dln.tune._trial import Job, Outcome, Task, evaluate

#: How often Ray runs a trial again whose process or machine was lost.
RETRIES: Final = 5
#: Ray itself tries an address for minutes before it gives up; a machine that is there answers at once.
PATIENCE: Final = 5.0


class Cluster:
    """A Ray cluster, connected to unless it already is."""

    def __init__(self, job: Job, n_jobs: int | None, address: str) -> None:
        self._ray = ray = _ray()
        self._connected_here = not ray.is_initialized()
        if self._connected_here:
            connect(ray, address)
        self.n_jobs = n_jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._job = ray.put(job)  # once: each machine fetches it when it first needs it
        self._run = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=True)(evaluate)
        self._running: dict[Any, int] = {}

    def start(self, task: Task) -> None:
        """Hand a trial to the cluster."""
        self._running[self._run.remote(self._job, task)] = task.number

    def finished(self, seconds: float) -> tuple[int, Outcome] | None:
        """Wait for a trial to end."""
        wait = max(0.0, seconds) if math.isfinite(seconds) else None
        done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=wait)
        if not done:
            return None
        number = self._running.pop(done[0])
        try:
            return number, self._ray.get(done[0])
        except self._ray.exceptions.RayError as error:
            first_line = str(error).strip().splitlines()[0]
            return number, Outcome("failed", error=f"Ray could not run it: {type(error).__name__}: {first_line}")

    def close(self) -> None:
        """Cancel what still runs, and disconnect if the search had connected."""
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()
        del self._job
        if self._connected_here:
            self._ray.shutdown()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        feature = "a search on a cluster"
        raise MissingExtraError(feature, "ray", "ray") from error
    return ray


def connect(ray: Any, address: str) -> None:
    """Connect to a Ray cluster; what this process does with signals stays its own, although Ray would change it."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)
    except OSError as error:
        message = (
            f"there is no Ray cluster at {address!r}: start one with `ray start --head`, or give the address of one "
            "that runs"
        )
        raise StudyError(message) from error
    except (ValueError, RuntimeError) as error:  # an address that cannot be one, or another version of Ray
        reason = str(error).strip().splitlines()[0]
        message = f"the Ray cluster at {address!r} cannot be used: {reason}"
        raise StudyError(message) from error


def _knock(address: str) -> None:
    """Raise an error if nobody answers at an address like ``10.0.0.1:6379``."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), PATIENCE).close()
