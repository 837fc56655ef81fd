"""Several networks, trained side by side in threads: the same result whatever their number."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dln._network import Float32, Network, build_network, tree_cutoffs
from dln.training import _kernels as kernels
from dln.training._loop import Callback, Epoch, Plan, Trained, TrainingState, split_off, train
from dln.training._progress import Progress


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
class Task:
    """What to train: data, shape, plan, one seed per network, and where validation rows come from."""

    data: kernels.Data
    validation: kernels.Data | None
    """Given by the user, the same for every network; or None."""
    n_validation: int
    """Rows that each network sets aside for itself where no validation data was given."""
    architecture: Architecture
    plan: Plan
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trained networks, and whether the fit was interrupted."""

    networks: tuple[Trained, ...]
    interrupted: bool


def initial_cutoffs(data: kernels.Data, n_thresholds: int) -> list[Float32]:
    """Return the initial thresholds of every scaled column: the splits of a one-feature decision tree."""
    target, weight = data.target.astype(np.float64), data.weight.astype(np.float64)
    return [tree_cutoffs(data.numbers[:, k], target, weight, n_thresholds) for k in range(data.numbers.shape[1])]


def train_networks(task: Task, *, n_threads: int, callbacks: Sequence[Callback], progress: Progress) -> Outcome:
    """Train one network per seed, and return them in the order of the seeds.

    Ctrl-C, or a callback that returns True, ends all of them after their current epoch; each is returned at its best.
    """
    cutoffs = initial_cutoffs(task.data, task.architecture.n_thresholds)
    if not task.data.bits.shape[1] and not any(len(c) for c in cutoffs):
        return Outcome((), interrupted=False)  # nothing to decide by: the columns or the target are constant
    watch = _Watch(callbacks, progress)
    with ThreadPoolExecutor(max_workers=max(1, min(n_threads, len(task.seeds)))) as pool:
        futures = [pool.submit(_train_one, task, cutoffs, i, watch) for i in range(len(task.seeds))]
        # A nap at a time: on some systems a wait without end cannot be interrupted.
        while wait(futures, timeout=0.1, return_when="FIRST_EXCEPTION").not_done:
            try:
                if any(f.done() and f.exception() for f in futures):
                    watch.stop.set()
            except KeyboardInterrupt:
                watch.interrupt()
        return Outcome(tuple(future.result() for future in futures), watch.interrupted)


def network_for(task: Task, cutoffs: list[Float32], seed: int) -> Network:
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


def _train_one(task: Task, cutoffs: list[Float32], index: int, watch: _Watch) -> Trained:
    seed = task.seeds[index]
    data, validation = task.data, task.validation
    if task.n_validation:
        data, validation = split_off(data, validation_rows(len(data.target), task.n_validation, seed))
    return train(
        network_for(task, cutoffs, seed),
        data,
        validation,
        task.plan,
        seed=seed,
        index=index,
        after_epoch=watch.after_epoch,
    )


class _Watch:
    """What all networks share while they train: callbacks, progress and the wish to stop."""

    def __init__(self, callbacks: Sequence[Callback], progress: Progress) -> None:
        self.callbacks, self.progress = callbacks, progress
        self.stop = threading.Event()
        self.interrupted = False
        self._one_at_a_time = threading.Lock()

    def interrupt(self) -> None:
        """Remember Ctrl-C and stop all networks."""
        self.interrupted = True
        self.stop.set()

    def after_epoch(self, state: TrainingState) -> bool:
        """Tell callbacks and progress; return whether to stop."""
        epoch: Epoch = state.epochs[-1]
        with self._one_at_a_time:
            try:
                self.progress.update(epoch)
                if any([callback(epoch) is True for callback in self.callbacks]):  # noqa: C419 (all are called)
                    self.stop.set()
            except KeyboardInterrupt:
                self.interrupt()
        return self.stop.is_set()
