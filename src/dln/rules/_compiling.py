"""A first fit compiles its kernels while it does what needs none of them.

The networks' are compiled by another process, from the first teacher on; then the search's here, which what follows the
teachers needs; both take the same time. Where there is no other process, a thread of this one compiles them while the
fit chooses what to learn, which needs only the search's.

No thread compiles beside the teachers, though they need no kernels: numba and scikit-learn both put warnings aside for
a while, which Python keeps apart for no two threads before 3.14. What is restored in the wrong order swallows all later
warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

import numpy as np
from threadpoolctl import threadpool_limits

from dln._compile_process import CompileProcess
from dln.network import _kernels as kernels
from dln.network import _precompile
from dln.network._precompile import compile_kernels as compile_networks
from dln.rules import _changes
from dln.rules._changes import Effort, longer
from dln.rules._expression import Test
from dln.rules._inputs import bin_inputs
from dln.rules._rule_set import RuleSet
from dln.rules._task import Task
from dln.solve._select import Budget

#: Rows of the table that kernels are called with: they are compiled by calling them as a fit does.
_N_ROWS: Final = 40


def compile_search() -> None:
    """Compile what the search for rules calls."""
    numbers = np.linspace(0.0, 1.0, _N_ROWS, dtype=np.float32)[:, np.newaxis]
    inputs = bin_inputs(numbers, np.zeros((_N_ROWS, 0), np.float32), [0])
    rules = RuleSet(Task(inputs, numbers[:, 0].astype(np.float64), np.ones(_N_ROWS)), [Test(0, 0, negated=False)])
    rules.task.scanner.alone(np.ones(_N_ROWS, np.bool_), rules.residual(), 1)  # within `longer`, and by itself
    longer(rules, Budget(2, 2, 1), Effort(1, 1))


def are_compiled(*, networks: bool) -> bool:
    """Whether this process or an earlier one has compiled what a fit needs."""
    return _changes.are_compiled() and (kernels.are_compiled() or not networks)


class Compiling:
    """Compiles what is not compiled yet while it is entered, in a thread of its own; shows a bar meanwhile.

    Another process begins at once with the networks' kernels, if the fit may use more cores than one. The thread begins
    when something is first waited for, with the search's kernels. What needs kernels waits for them here, and not for
    numba's lock: whoever waits there for what is long done gets it only when the thread is through with the rest.
    """

    def __init__(self, stage: Callable[[str, int], Callable[[], None]], *, networks: bool, n_threads: int) -> None:
        self._jobs: dict[str, Callable[[], None]] = {}
        if not _changes.are_compiled():
            self._jobs["search"] = compile_search
        if networks and not kernels.are_compiled():
            self._jobs["networks"] = self._networks
        self._stage, self._n_threads = stage, n_threads
        self._after_each: Callable[[], None] | None = None
        self._process: CompileProcess | None = None
        self._running: dict[str, Future[None]] = {}

    def __enter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1, initializer=threadpool_limits, initargs=(1,))
        if "networks" in self._jobs and self._n_threads > 1:
            self._process = CompileProcess.start(_precompile.__name__)
            if self._process is not None:
                self._after_each = self._stage("compiling", len(self._jobs))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.stop()
        self._thread.shutdown(cancel_futures=True)  # and wait for what has begun: no thread outlives the fit

    def wait(self, name: str) -> None:
        """Return when the search's kernels are compiled, or the networks', or raise why they are not."""
        if self._jobs and not self._running:
            after_each = self._after_each or self._stage("compiling", len(self._jobs))
            self._running = {one: self._thread.submit(_run, job, after_each) for one, job in self._jobs.items()}
        if name in self._running:
            self._running[name].result()

    def _networks(self) -> None:
        """Load what the other process has compiled, and compile what it has not."""
        if self._process is not None and not self._process.wait():
            raise CancelledError
        compile_networks()


def _run(job: Callable[[], None], after: Callable[[], None]) -> None:
    job()
    after()
