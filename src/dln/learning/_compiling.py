"""A first fit compiles the kernels of networks while it chooses what to learn, which needs only those of the search.

Not beside the teachers, though they need none: numba and scikit-learn both put warnings aside for a while, which Python
keeps apart for no two threads before 3.14. What is restored in the wrong order swallows all later warnings.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Final, Self

import numpy as np
from threadpoolctl import threadpool_limits

from dln.learning import _changes
from dln.learning._changes import Effort, best_change
from dln.learning._expression import Test
from dln.learning._inputs import bin_inputs
from dln.learning._rule_set import RuleSet
from dln.learning._student import Recipe, network_data
from dln.learning._task import Budget, Task
from dln.network import _kernels as kernels
from dln.network._networks import Task as NetworkTask
from dln.network._networks import train_quietly

#: Rows of the table that kernels are called with: they are compiled by calling them as a fit does.
_N_ROWS: Final = 40
_RECIPE: Final = Recipe(Budget(1, 1, 1), 1, (4,), 1, 0, 0)


def _task() -> Task:
    numbers = np.linspace(0.0, 1.0, _N_ROWS, dtype=np.float32)[:, np.newaxis]
    inputs = bin_inputs(numbers, np.zeros((_N_ROWS, 0), np.float32), [0])
    return Task(inputs, numbers[:, 0].astype(np.float64), np.ones(_N_ROWS))


def compile_search() -> None:
    """Compile what the search for rules calls."""
    rules = RuleSet(_task(), [Test(0, 0.5, negated=False)])
    rest = rules.without(0)
    everywhere = np.ones(_N_ROWS, np.bool_)
    rules.task.scanner(~everywhere, everywhere, rest.residual, 1)
    best_change(rules, 0, rest, Effort(1, 1), longest=1)


def compile_networks() -> None:
    """Compile what the training of networks calls."""
    data, plan = network_data(_task()), _RECIPE.training_plan(_N_ROWS)
    train_quietly(NetworkTask(data, None, 0, _RECIPE.architecture, plan, (0,)), stop=lambda: False)


def are_compiled(*, networks: bool) -> bool:
    """Whether this process or an earlier one has compiled what a fit needs."""
    return _changes.are_compiled() and (kernels.are_compiled() or not networks)


class Compiling:
    """Compiles what is not compiled yet, in a thread of its own, while it is entered; shows a bar meanwhile.

    The search's kernels come first. What needs kernels waits for them here, and not for numba's lock: whoever waits
    there for what is long done gets it only when the thread is through with the rest.
    """

    def __init__(self, stage: Callable[[str, int], Callable[[], None]], *, networks: bool) -> None:
        jobs: dict[str, Callable[[], None]] = {}
        if not _changes.are_compiled():
            jobs["search"] = compile_search
        if networks and not kernels.are_compiled():
            jobs["networks"] = compile_networks
        self._jobs, self._after_each = jobs, stage("compiling", len(jobs))
        self._running: dict[str, Future[None]] = {}

    def __enter__(self) -> Self:
        self._thread = ThreadPoolExecutor(1, initializer=threadpool_limits, initargs=(1,))
        self._running = {name: self._thread.submit(self._run, job) for name, job in self._jobs.items()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.shutdown(cancel_futures=True)  # and wait for what has begun: no thread outlives the fit

    def _run(self, job: Callable[[], None]) -> None:
        job()
        self._after_each()

    def wait(self, name: str) -> None:
        """Return when the search's kernels are compiled, or the networks', or raise why they are not."""
        if name in self._running:
            self._running[name].result()
