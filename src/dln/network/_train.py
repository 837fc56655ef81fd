"""Training: for each network, epochs of Adam over relaxed thresholds, gates and links, and the best epoch kept.

In an epoch, `_train_one` anneals the temperature, passes batches of rows in random order to the kernels, which run the
paper's forward and backward pass and move the parameters, and judges the discrete network on the held-out rows.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from dln._interrupt import Deadline
from dln.network import _kernels as kernels
from dln.network import _layout as layout
from dln.network._network import Float32, Network, build_network, open_links, tree_cutoffs

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
_LINKS: Final = ("link_a_logits", "link_b_logits", "sum_logits", "weights")


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a network."""

    hidden_layer_sizes: tuple[int, ...]
    n_thresholds: int
    n_candidate_links: int
    n_candidate_gates: int
    concatenate_inputs: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """How to train: everything but the data and the network."""

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
    """Whether the links of the sum are trained; otherwise all stay as they start, open."""

    def settings(self, epoch: int) -> kernels.Settings:
        """Return the kernels' settings in an epoch, counted from 0."""
        return kernels.Settings(
            relaxation=_RELAXATIONS[self.straight_through],
            temperature=self.temperature_in(epoch),
            sum_threshold=self.sum_link_threshold,
            loss=_LOSSES[self.loss],
            loss_parameter=self.quantile if self.loss == "quantile" else HUBER_DELTA,
            batch_size=self.batch_size,
        )

    def temperature_in(self, epoch: int) -> float:
        """Return τ in an epoch, counted from 0."""
        return temperature_at(epoch, self.temperature, self.temperature_decay, self.min_temperature)

    def learning_rate_in(self, epoch: int) -> float:
        """Return the learning rate in an epoch, counted from 0."""
        return learning_rate_at(epoch, self.max_epochs, self.learning_rate, self.learning_rate_schedule)


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


@dataclass(frozen=True, slots=True)
class Epoch:
    """Metrics of one epoch; losses are means, on the standardised target."""

    network: int
    """Which of the networks, counted from 0."""
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
    """Where the progress of training is shown."""

    def say_compiling(self) -> None:
        """Announce that kernels are compiled."""

    def networks(self, n_networks: int, n_epochs: int) -> None:
        """Announce networks that are about to be trained for at most so many epochs."""

    def update(self, epoch: Epoch) -> None:
        """Show an epoch."""


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


def train(
    network: Network,
    data: layout.Data,
    rows: Rows,
    validation: layout.Data | None,
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
    trainer = _Trainer(network, data, rows, validation, plan, seed, index)
    best, best_epoch = network.parameters.flat, 1
    epochs: list[Epoch] = []
    for epoch in range(plan.max_epochs):
        metrics = trainer.run_epoch(epoch)
        epochs.append(metrics)
        if metrics.is_best:
            best, best_epoch = trainer.parameters(), metrics.epoch
        if after_epoch(metrics):
            break
    temperature = plan.temperature_in(best_epoch - 1)
    return Trained(network.with_parameters(best), temperature, best_epoch, tuple(epochs))


class _Trainer:
    """Parameters, optimiser state and workspaces of a training."""

    def __init__(
        self,
        network: Network,
        data: layout.Data,
        rows: Rows,
        validation: layout.Data | None,
        plan: Plan,
        seed: int,
        index: int,
    ) -> None:
        self.network = network.with_parameters(network.parameters.flat.copy())
        self.data, self.rows, self.validation = data, rows, validation
        self.plan, self.seed, self.index = plan, seed, index
        self.arrays = layout.arrays(self.network, data.numbers.shape[1])
        self.best_loss = np.inf

    def parameters(self) -> Float32:
        """Return a copy of the parameters."""
        return self.arrays.parameters.copy()

    def run_epoch(self, epoch: int) -> Epoch:
        """Train on all rows once, validate, and return the metrics."""
        plan, n = self.plan, len(self.rows)
        settings = plan.settings(epoch)
        rate = plan.learning_rate_in(epoch)
        n_steps = epoch * -(-n // plan.batch_size)
        total = kernels.train_epoch(
            self.arrays, self.data, self._order(epoch), settings, self._rates(epoch, rate), n_steps
        )
        validation_loss = None if self.validation is None else self._loss(self.validation, settings)
        is_best = validation_loss is None or validation_loss < self.best_loss
        if validation_loss is not None:
            self.best_loss = min(self.best_loss, validation_loss)
        is_open = open_links(self.network.parameters.sum_logits, settings.temperature, plan.sum_link_threshold)
        return Epoch(
            network=self.index,
            epoch=epoch + 1,
            training_loss=total / n,
            validation_loss=validation_loss,
            temperature=settings.temperature,
            learning_rate=rate,
            open_rules=int(is_open.sum()),
            is_best=is_best,
        )

    def _order(self, epoch: int) -> Rows:
        """Return the order of the rows in an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(len(self.rows))
        for start in range(0, len(order), CHUNK):  # in place: an index of millions of rows is large
            part = slice(start, start + CHUNK)
            order[part] = self.rows[order[part]]
        return order

    def _rates(self, epoch: int, rate: float) -> npt.NDArray[np.float64]:
        """Return a learning rate for every parameter group; 0 for those that are not trained in this epoch."""
        names = list(self.network.parameters.groups())
        trained = set(names if self.plan.phases == "unified" else _FUNCTIONS if epoch % 2 == 0 else _LINKS)
        if not self.plan.train_sum_links:
            trained.discard("sum_logits")
        return np.array([rate if name in trained else 0.0 for name in names])

    def _loss(self, data: layout.Data, settings: kernels.Settings) -> float:
        """Return the mean loss of the hard forward pass."""
        rows, hard = np.arange(len(data.target)), settings._replace(relaxation=kernels.NEURON)
        no_rules = np.empty((0, 0), dtype=np.bool_)
        total: float = kernels.evaluate(self.arrays, data, rows, hard, np.empty(len(rows)), no_rules)
        return total / float(data.weight.sum())


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


def initial_cutoffs(task: NetworkTask) -> list[Float32]:
    """Return the initial thresholds of every scaled column: the splits of a one-feature decision tree."""
    rows = task.rows[:MAX_CUTOFF_ROWS]
    target, weight = (part[rows].astype(np.float64) for part in (task.data.target, task.data.weight))
    numbers = task.data.numbers
    return [
        tree_cutoffs(numbers[rows, k], target, weight, task.architecture.n_thresholds) for k in range(numbers.shape[1])
    ]


def temperature_at(epoch: int, start: float, decay: float, minimum: float) -> float:
    """Return τ in an epoch (counted from 0): multiplied by γ after each, not below τ_min.

    >>> temperature_at(0, 1.0, 0.5, 0.2), temperature_at(1, 1.0, 0.5, 0.2), temperature_at(9, 1.0, 0.5, 0.2)
    (1.0, 0.5, 0.2)
    """
    return max(start * decay**epoch, min(start, minimum))


def learning_rate_at(epoch: int, max_epochs: int, base: float, schedule: Schedule) -> float:
    """Return the learning rate in an epoch (counted from 0).

    >>> [round(learning_rate_at(e, 5, 1.0, "cosine"), 2) for e in range(5)]
    [1.0, 0.91, 0.66, 0.36, 0.11]
    """
    if schedule == "constant":
        return base
    progress = epoch / max_epochs
    return base * (FINAL_SHARE + (1 - FINAL_SHARE) * (1 + math.cos(math.pi * progress)) / 2)


def outputs(
    network: Network, data: layout.Data, temperature: float, sum_link_threshold: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the hard forward pass: outputs ``(n,)``, standardised, and the rules' values ``(n_rules, n)``."""
    n = len(data.target)
    out, rules = np.empty(n), np.empty((len(network.wiring.rule_rows), n), dtype=np.bool_)
    settings = kernels.Settings(kernels.NEURON, temperature, sum_link_threshold, kernels.SQUARED_ERROR, 0.0, n)
    kernels.evaluate(layout.arrays(network, data.numbers.shape[1]), data, np.arange(n), settings, out, rules)
    return out, rules


def take(data: layout.Data, rows: Rows, weight: npt.NDArray[np.float64]) -> layout.Data:
    """Return the named rows with other weights, scaled to a mean of one."""
    taken = layout.Data(*(part[rows] for part in data))
    return taken._replace(weight=(weight / weight.mean()).astype(np.float32))


def _result(index: int, future: Future[Trained | None]) -> Trained | None:
    error = future.exception()
    if isinstance(error, MemoryError):
        message = (
            f"network {index + 1} did not fit in memory ({error}): try fewer rows, smaller hidden_layer_sizes, "
            "a smaller batch_size or n_jobs=1"
        )
        raise MemoryError(message) from error
    return future.result()


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
