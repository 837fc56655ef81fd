"""Training: for each network, epochs of Adam over relaxed thresholds, gates and links, and the best epoch kept.

In an epoch, `train` anneals the temperature, passes batches of rows in random order to the kernels, which run the
paper's forward and backward pass and move the parameters, and judges the discrete network on the held-out rows.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dln._compile import is_compiled
from dln._interrupt import Deadline, worker_threads
from dln.network import _kernels as kernels
from dln.network._network import (
    Architecture,
    Data,
    Float32,
    Network,
    build_network,
    kernel_arrays,
    open_links,
    tree_cutoffs,
)

Rows = npt.NDArray[np.integer]
Schedule = Literal["constant", "cosine"]
#: Share of the learning rate at which "cosine" ends.
FINAL_SHARE: Final = 0.02
#: Residual, in standard deviations of the target, at which Huber's loss turns from square to line.
HUBER_DELTA: Final = 1.0
#: Rows on which initial thresholds are found, a sample by content: the trees' time grows faster than the rows.
MAX_CUTOFF_ROWS: Final = 200_000
#: Rows of an order that are looked up at a time.
CHUNK: Final = 65_536
_RELAXATIONS: Final = {None: kernels.SOFT, "separate": kernels.SEPARATE, "neuron": kernels.NEURON}
_LOSSES: Final = {
    "squared_error": kernels.SQUARED_ERROR,
    "huber": kernels.HUBER,
    "absolute_error": kernels.ABSOLUTE_ERROR,
    "quantile": kernels.QUANTILE,
}
#: Parameter groups that the two alternating phases train; rule weights follow in both.
_FUNCTIONS: Final = ("bias", "slope", "gate_logits", "weights")
_LINKS: Final = ("link_logits", "sum_logits", "weights")


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a training, besides the data and the network."""

    straight_through: Literal["separate", "neuron"] | None
    phases: Literal["unified", "alternating"]
    temperature: float
    temperature_decay: float
    min_temperature: float
    sum_link_threshold: float
    loss: str
    quantile: float
    learning_rate: float
    learning_rate_schedule: Schedule
    batch_size: int
    max_epochs: int
    train_sum_links: bool = True
    """False: the links of the sum stay as they start, open."""

    def temperature_at(self, epoch: int) -> float:
        """Return τ in an epoch, counted from 0: multiplied by γ after each, not below τ_min."""
        return max(self.temperature * self.temperature_decay**epoch, min(self.temperature, self.min_temperature))

    def learning_rate_at(self, epoch: int) -> float:
        if self.learning_rate_schedule == "constant":
            return self.learning_rate
        cosine = math.cos(math.pi * (epoch / self.max_epochs))
        return self.learning_rate * (FINAL_SHARE + (1 - FINAL_SHARE) * (1 + cosine) / 2)


@dataclass(frozen=True, slots=True)
class NetworkTask:
    """Data, shape and plan of a training, and one seed for each network."""

    data: Data
    """All rows, with the weights that they are trained with, of mean one over the rows to train on."""
    rows: npt.NDArray[np.integer]
    """The rows to train on, ascending."""
    validation: Data | None
    architecture: Architecture
    plan: Plan
    seeds: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Epoch:
    """Metrics of one epoch; losses are means, on the standardised target."""

    network: int
    """Counted from 0."""
    epoch: int
    """Counted from 1."""
    training_loss: float
    validation_loss: float | None
    temperature: float
    learning_rate: float
    open_rules: int
    is_best: bool


#: Called after every epoch; returning True ends the fit.
Callback = Callable[[Epoch], object]


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained network at its best epoch."""

    network: Network
    temperature: float
    best_epoch: int
    epochs: tuple[Epoch, ...]


class TrainingProgress(Protocol):
    def say_compiling(self) -> None: ...

    def networks(self, n_networks: int, n_epochs: int) -> None: ...

    def update(self, epoch: Epoch) -> None: ...


def train_networks(
    task: NetworkTask, *, n_threads: int, callbacks: Sequence[Callback], progress: TrainingProgress, deadline: Deadline
) -> list[Trained]:
    """Train one network per seed, and return them in the order of the seeds.

    A callback that returns True or the deadline ends all of them after their current epoch; each that has begun is
    returned at its best.
    """
    cutoffs = initial_cutoffs(task)
    if not task.data.bits.shape[1] and not any(len(c) for c in cutoffs):
        return []  # the columns or the target are constant: there is nothing to decide by
    if not all(map(is_compiled, (kernels.train_epoch, kernels.evaluate))):
        progress.say_compiling()
    progress.networks(len(task.seeds), task.plan.max_epochs)
    watch = _Watch(callbacks, progress, deadline)
    with worker_threads(max(1, min(n_threads, len(task.seeds)))) as pool:
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
    for i, future in enumerate(futures):
        if isinstance(error := future.exception(), MemoryError):
            raise MemoryError(
                f"network {i + 1} did not fit in memory ({error}): try fewer rows, smaller hidden_layer_sizes, "
                "a smaller batch_size or n_jobs=1"
            ) from error
    return [network for future in futures if (network := future.result()) is not None]


def _train_one(task: NetworkTask, cutoffs: list[Float32], index: int, watch: _Watch) -> Trained | None:
    """Train a network; None if all are to stop before it has begun."""
    if watch.stop and index > 0:
        return None
    seed = task.seeds[index]
    network = build_network(cutoffs, task.data.bits.shape[1], task.architecture, np.random.default_rng(seed))
    return train(
        network, task.data, task.rows, task.validation, task.plan, seed=seed, index=index, after_epoch=watch.after_epoch
    )


def train(
    network: Network,
    data: Data,
    rows: Rows,
    validation: Data | None,
    plan: Plan,
    *,
    seed: int,
    index: int = 0,
    after_epoch: Callable[[Epoch], bool] = lambda _epoch: False,
) -> Trained:
    """Train a network on the named rows of the data and return it at its best epoch.

    The best epoch is that of the lowest loss on the validation data, or the last one without any. `after_epoch` gets
    the metrics of each epoch and ends training by returning True. The order of rows depends on seed and epoch alone.
    """
    best, best_epoch, best_loss = network.parameters.flat, 1, np.inf
    network = network.with_parameters(best.copy())
    arrays = kernel_arrays(network, data.numbers.shape[1])
    groups, frozen = network.parameters.groups(), () if plan.train_sum_links else ("sum_logits",)
    epochs: list[Epoch] = []
    for epoch in range(plan.max_epochs):
        rate = plan.learning_rate_at(epoch)
        settings = kernels.Settings(
            relaxation=_RELAXATIONS[plan.straight_through],
            temperature=plan.temperature_at(epoch),
            sum_threshold=plan.sum_link_threshold,
            loss=_LOSSES[plan.loss],
            loss_parameter=plan.quantile if plan.loss == "quantile" else HUBER_DELTA,
            batch_size=plan.batch_size,
        )
        order = np.random.default_rng([seed, epoch]).permutation(len(rows))
        for start in range(0, len(order), CHUNK):  # in place: an index of millions of rows is large
            part = slice(start, start + CHUNK)
            order[part] = rows[order[part]]
        trained = groups if plan.phases == "unified" else _FUNCTIONS if epoch % 2 == 0 else _LINKS
        rates = np.array([rate if name in trained and name not in frozen else 0.0 for name in groups])
        summed = kernels.train_epoch(arrays, data, order, settings, rates, epoch * -(-len(rows) // plan.batch_size))
        validation_loss = None
        if validation is not None:  # of the network as it will be discretised
            hard, n = settings._replace(relaxation=kernels.NEURON), len(validation.target)
            loss = kernels.evaluate(arrays, validation, np.arange(n), hard, np.empty(n))
            validation_loss = loss / float(validation.weight.sum())
        is_best = validation_loss is None or validation_loss < best_loss
        is_open = open_links(network.parameters.sum_logits, settings.temperature, plan.sum_link_threshold)
        metrics = Epoch(
            network=index,
            epoch=epoch + 1,
            training_loss=summed / len(rows),
            validation_loss=validation_loss,
            temperature=settings.temperature,
            learning_rate=rate,
            open_rules=int(is_open.sum()),
            is_best=is_best,
        )
        epochs.append(metrics)
        if is_best:
            best, best_epoch = arrays.parameters.copy(), epoch + 1
            best_loss = np.inf if validation_loss is None else validation_loss
        if after_epoch(metrics):
            break
    return Trained(network.with_parameters(best), plan.temperature_at(best_epoch - 1), best_epoch, tuple(epochs))


def initial_cutoffs(task: NetworkTask) -> list[Float32]:
    """Return the initial thresholds of every scaled column: the splits of a one-feature decision tree."""
    rows = task.rows[:MAX_CUTOFF_ROWS]
    target, weight = (part[rows].astype(np.float64) for part in (task.data.target, task.data.weight))
    numbers = task.data.numbers
    return [
        tree_cutoffs(numbers[rows, k], target, weight, task.architecture.n_thresholds) for k in range(numbers.shape[1])
    ]


def take(data: Data, rows: Rows, weight: npt.NDArray[np.float64]) -> Data:
    """Return the named rows with other weights, scaled to a mean of one."""
    taken = Data(*(part[rows] for part in data))
    return taken._replace(weight=(weight / weight.mean()).astype(np.float32))


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
                for callback in self.callbacks:
                    self.stop |= callback(epoch) is True
            except KeyboardInterrupt:
                self.deadline.cancel()
        return self.stop or self._is_over()
