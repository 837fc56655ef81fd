"""Training of several networks side by side in threads: the same result for any number of threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from dln._interrupt import Deadline
from dln.network import _kernels as kernels
from dln.network import _layout as layout
from dln.network._loop import Callback, Epoch, Plan, Trained, train
from dln.network._network import Float32, Network, build_network, tree_cutoffs

#: Rows on which initial thresholds are found, a sample by content: the trees' time grows faster than the rows.
MAX_CUTOFF_ROWS: Final = 200_000


class TrainingProgress(Protocol):
    """Where the progress of training is shown."""

    def say_compiling(self) -> None:
        """Announce that kernels are compiled."""

    def networks(self, n_networks: int, n_epochs: int) -> None:
        """Announce networks that are about to be trained for at most so many epochs."""

    def update(self, epoch: Epoch) -> None:
        """Show an epoch."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a network."""

    hidden_layer_sizes: tuple[int, ...]
    n_thresholds: int
    n_candidate_links: int
    n_candidate_gates: int
    concatenate_inputs: bool


@dataclass(frozen=True, slots=True)
class NetworkTask:
    """Data, shape and plan of a training, and one seed for each network."""

    data: layout.Data
    """All rows, with the weights that they are trained with, of mean one over the rows to train on."""
    rows: npt.NDArray[np.integer]
    """The rows to train on, ascending."""
    validation: layout.Data | None
    architecture: Architecture
    plan: Plan
    seeds: tuple[int, ...]


def initial_cutoffs(task: NetworkTask) -> list[Float32]:
    """Return the initial thresholds of every scaled column: the splits of a one-feature decision tree."""
    rows = task.rows[:MAX_CUTOFF_ROWS]
    target, weight = (part[rows].astype(np.float64) for part in (task.data.target, task.data.weight))
    numbers = task.data.numbers
    return [
        tree_cutoffs(numbers[rows, k], target, weight, task.architecture.n_thresholds) for k in range(numbers.shape[1])
    ]


def train_networks(
    task: NetworkTask,
    *,
    n_threads: int,
    callbacks: Sequence[Callback],
    progress: TrainingProgress,
    deadline: Deadline,
) -> list[Trained]:
    """Train one network per seed, and return them in the order of the seeds.

    A callback that returns True or the deadline ends all of them after their current epoch; each that has begun is
    returned at its best.
    """
    cutoffs = initial_cutoffs(task)
    if not task.data.bits.shape[1] and not any(len(c) for c in cutoffs):
        return []  # the columns or the target are constant: there is nothing to decide by
    if not kernels.are_compiled():
        progress.say_compiling()
    progress.networks(len(task.seeds), task.plan.max_epochs)
    watch = _Watch(callbacks, progress, deadline)
    with ThreadPoolExecutor(max_workers=max(1, min(n_threads, len(task.seeds)))) as pool:
        futures = [pool.submit(_train_one, task, cutoffs, i, watch) for i in range(len(task.seeds))]
        try:
            pending: set[Future[Trained | None]] = set(futures)
            while pending:
                # With a timeout: on some systems an unlimited wait cannot be interrupted.
                done, pending = wait(pending, timeout=0.1)
                if any(future.exception() for future in done):
                    watch.stop = True
        finally:
            watch.stop = True  # whatever ended the wait, the workers are to end too
            wait(futures)
    trained = [_result(i, future) for i, future in enumerate(futures)]
    return [network for network in trained if network is not None]


def _result(index: int, future: Future[Trained | None]) -> Trained | None:
    error = future.exception()
    if isinstance(error, MemoryError):
        message = (
            f"network {index + 1} did not fit in memory ({error}): try fewer rows, smaller hidden_layer_sizes, "
            "a smaller batch_size or n_jobs=1"
        )
        raise MemoryError(message) from error
    return future.result()


def network_for(task: NetworkTask, cutoffs: list[Float32], seed: int) -> Network:
    """Return the untrained network of a seed."""
    shape = task.architecture
    return build_network(
        cutoffs,
        task.data.bits.shape[1],
        layer_sizes=shape.hidden_layer_sizes,
        n_candidate_links=shape.n_candidate_links,
        n_candidate_gates=shape.n_candidate_gates,
        concatenate_inputs=shape.concatenate_inputs,
        rng=np.random.default_rng(seed),
    )


def _train_one(task: NetworkTask, cutoffs: list[Float32], index: int, watch: _Watch) -> Trained | None:
    """Train a network; None if all are to stop before it has begun."""
    if watch.stop and index > 0:
        return None
    seed = task.seeds[index]
    network = network_for(task, cutoffs, seed)
    return train(
        network,
        task.data,
        task.rows,
        task.validation,
        task.plan,
        seed=seed,
        index=index,
        after_epoch=watch.after_epoch,
    )


class _Watch:
    """Callbacks, progress and the stop flag that all networks share while they train."""

    def __init__(self, callbacks: Sequence[Callback], progress: TrainingProgress, deadline: Deadline) -> None:
        self.callbacks, self.progress, self.deadline = callbacks, progress, deadline
        self.stop = False
        self._is_over = deadline.stage("training")
        self._one_at_a_time = threading.Lock()

    def after_epoch(self, epoch: Epoch) -> bool:
        """Pass the metrics of an epoch on; return whether to stop."""
        with self._one_at_a_time:
            try:
                self.progress.update(epoch)
                if any([callback(epoch) is True for callback in self.callbacks]):  # noqa: C419 (all are called)
                    self.stop = True
            except KeyboardInterrupt:
                self.deadline.cancel()
        return self.stop or self._is_over()
