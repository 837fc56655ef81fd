"""Several networks, trained side by side in threads: the same result whatever their number."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from dln._interrupt import ctrl_c_calls
from dln.network import _kernels as kernels
from dln.network import _layout as layout
from dln.network._checkpoint import Checkpoint
from dln.network._loop import Callback, Epoch, Plan, Trained, TrainingState, split_off, train
from dln.network._network import Float32, Network, build_network, tree_cutoffs

#: Initial thresholds are found on at most so many rows, the first in canonical order, so a sample by content. They are
#: trained on all; the trees' time grows faster than the rows, and would be longer than training.
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
    initial_sum_logit: float


@dataclass(frozen=True, slots=True)
class NetworkTask:
    """What to train: data, shape, plan, one seed per network, and where validation rows come from."""

    data: layout.Data
    validation: layout.Data | None
    """Given by the user, the same for every network; or None."""
    n_validation: int
    """Rows that each network sets aside for itself where no validation data was given."""
    architecture: Architecture
    plan: Plan
    seeds: tuple[int, ...]
    same_rows_aside: bool = False
    """Whether all networks set the same rows aside, those of the first."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trained networks, and whether the fit was interrupted."""

    networks: tuple[Trained, ...]
    interrupted: bool


def initial_cutoffs(data: layout.Data, n_thresholds: int) -> list[Float32]:
    """Return the initial thresholds of every scaled column: the splits of a one-feature decision tree."""
    numbers = data.numbers[:MAX_CUTOFF_ROWS]
    target, weight = (part[:MAX_CUTOFF_ROWS].astype(np.float64) for part in (data.target, data.weight))
    return [tree_cutoffs(numbers[:, k], target, weight, n_thresholds) for k in range(numbers.shape[1])]


def train_networks(
    task: NetworkTask,
    *,
    n_threads: int,
    callbacks: Sequence[Callback],
    progress: TrainingProgress,
    store: Checkpoint | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Train one network per seed, and return them in the order of the seeds.

    Ctrl-C, a callback that returns True, or `stop` ends all of them after their current epoch; each that has begun is
    returned at its best. SIGTERM ends the process. With a checkpoint, training goes on from where it was, after either.
    """
    cutoffs = initial_cutoffs(task.data, task.architecture.n_thresholds)
    if not task.data.bits.shape[1] and not any(len(c) for c in cutoffs):
        # Nothing to decide by: the columns or the target are constant.
        return Outcome((), interrupted=False)
    if task.seeds and not kernels.are_compiled():
        progress.say_compiling()
    progress.networks(len(task.seeds), task.plan.max_epochs)
    watch = _Watch(callbacks, progress, store, stop)
    with (
        ctrl_c_calls(watch.interrupt),
        ThreadPoolExecutor(max_workers=max(1, min(n_threads, len(task.seeds)))) as pool,
    ):
        futures = [pool.submit(_train_one, task, cutoffs, i, watch) for i in range(len(task.seeds))]
        try:
            _join(futures, watch)
        finally:
            watch.stop = True  # whatever ended the wait, the workers are to end too
            wait(futures)
            if store is not None:
                store.write()
    trained = [_result(i, future) for i, future in enumerate(futures)]
    return Outcome(tuple(network for network in trained if network is not None), watch.interrupted)


def _join(futures: Sequence[Future[Trained | None]], watch: _Watch) -> None:
    """Wait for all networks; the first that fails stops the others."""
    pending: set[Future[Trained | None]] = set(futures)
    while pending:
        try:
            # A nap at a time: on some systems a wait without end cannot be interrupted.
            done, pending = wait(pending, timeout=0.1)
            if any(future.exception() for future in done):
                watch.stop = True
            if watch.store is not None:
                watch.store.write_if_due()
        except KeyboardInterrupt:  # from a handler of the user's own
            watch.interrupt()


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
        initial_sum_logit=shape.initial_sum_logit,
        rng=np.random.default_rng(seed),
    )


def validation_rows(n: int, n_validation: int, seed: int) -> npt.NDArray[np.intp]:
    """Return the rows that a network sets aside: of rows in canonical order, so chosen by content and seed alone."""
    return np.sort(np.random.default_rng([seed, n]).permutation(n)[:n_validation])


def _train_one(task: NetworkTask, cutoffs: list[Float32], index: int, watch: _Watch) -> Trained | None:
    """Train a network, or go on training it; None if all are to stop before it has begun."""
    state = None if watch.store is None else watch.store.state(index)
    if watch.stop and state is None and index > 0:
        return None
    seed = task.seeds[index]
    data, rows, validation = task.data, None, task.validation
    if task.n_validation:
        drawn_by = task.seeds[0] if task.same_rows_aside else seed
        split = split_off(data, validation_rows(len(data.target), task.n_validation, drawn_by))
        data, rows, validation = split.data, split.rows, split.validation
    return train(
        network_for(task, cutoffs, seed),
        data,
        validation,
        task.plan,
        seed=seed,
        rows=rows,
        index=index,
        state=state,
        after_epoch=watch.after_epoch,
    )


class _Watch:
    """What all networks share while they train: callbacks, progress, the checkpoint and the wish to stop."""

    def __init__(
        self,
        callbacks: Sequence[Callback],
        progress: TrainingProgress,
        store: Checkpoint | None = None,
        asked_to_stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self.callbacks, self.progress, self.store = callbacks, progress, store
        self._asked_to_stop = asked_to_stop
        # Plain values and no lock: they are set by a signal's handler, which may interrupt any line of the main thread.
        self.stop = False
        self.interrupted = False
        self._one_at_a_time = threading.Lock()

    def interrupt(self) -> None:
        """Remember Ctrl-C and stop all networks."""
        self.interrupted = True
        self.stop = True

    def after_epoch(self, state: TrainingState) -> bool:
        """Tell callbacks and progress; return whether to stop."""
        epoch: Epoch = state.epochs[-1]
        if self.store is not None:
            self.store.keep(epoch.network, state)
        with self._one_at_a_time:
            try:
                self.progress.update(epoch)
                if any([callback(epoch) is True for callback in self.callbacks]):  # noqa: C419 (all are called)
                    self.stop = True
            except KeyboardInterrupt:
                self.interrupt()
        return self.stop or self._asked_to_stop()
