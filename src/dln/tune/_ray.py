"""A Ray cluster as a backend of joblib: a task is a task of Ray, which runs those of a lost machine again on another.

Ray brings a backend of its own. It hands tasks to its workers in turn, busy or not, gives no result before the last,
and the loss of one worker ends all of it.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from joblib.parallel import ParallelBackendBase, register_parallel_backend

from dln._errors import import_extra
from dln.tune._storage import StudyError

#: How often Ray runs a task again whose process or machine was lost.
RETRIES: Final = 5
#: Ray itself tries an address for minutes before it gives up; a machine that is there answers at once.
PATIENCE: Final = 5.0
#: The name by which joblib knows the backend.
BACKEND: Final = "dln-ray"


class RayTasks(ParallelBackendBase):
    """The tasks of one `joblib.Parallel` on the cluster that this process is connected to."""

    supports_retrieve_callback = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._open: set[Any] = set()

    def effective_n_jobs(self, n_jobs: int) -> int:
        """Return how many tasks run side by side."""
        return n_jobs

    def configure(self, n_jobs: int = 1, parallel: Any = None, **_: Any) -> int:
        """Begin."""
        self.parallel = parallel
        self._run = ray_package().remote(num_cpus=1, max_retries=RETRIES)(_call)
        return n_jobs

    def submit(self, func: Callable[[], Any], callback: Callable[[Any], None] | None = None) -> Any:
        """Hand a task to the cluster."""
        reference = self._run.remote(func)
        self._open.add(reference)
        future = reference.future()
        future.add_done_callback(lambda _: self._open.discard(reference))
        if callback is not None:
            future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """Return what a task came to."""
        return out.result()

    def abort_everything(self, ensure_ready: bool = True) -> None:  # noqa: FBT001, FBT002 (the parent's signature)
        """End the tasks that still run."""
        del ensure_ready
        for reference in list(self._open):
            ray_package().cancel(reference, force=True)
        self._open.clear()


def _call(func: Callable[[], Any]) -> Any:
    return func()


register_parallel_backend(BACKEND, RayTasks)


def ray_package() -> Any:
    """Return the package."""
    return import_extra("ray", "work on a cluster", "ray")


def connect(address: str) -> int:
    """Connect to a cluster and return its processors; what this process does with signals stays its own."""
    ray = ray_package()
    before = signal.getsignal(signal.SIGTERM)
    try:
        _check_reachable(address)
        ray.init(address=address, log_to_driver=False)
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)  # Ray has set its own
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
    return processors()


def processors() -> int:
    """Return the processors of the cluster."""
    return max(1, int(ray_package().cluster_resources().get("CPU", 1)))


def _check_reachable(address: str) -> None:
    """Raise an error if nobody answers at an address like ``10.0.0.1:6379``."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), PATIENCE).close()
