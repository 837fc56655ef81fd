"""Training of one network: epochs, validation, the best epoch kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from dln.network import _kernels as kernels
from dln.network import _layout as layout
from dln.network._network import Network, open_links
from dln.network._schedules import Schedule, learning_rate_at, temperature_at

Float32 = npt.NDArray[np.float32]
Rows = npt.NDArray[np.integer]

RELAXATIONS: Final = {None: kernels.SOFT, "separate": kernels.SEPARATE, "neuron": kernels.NEURON}
LOSSES: Final = {
    "squared_error": kernels.SQUARED_ERROR,
    "huber": kernels.HUBER,
    "absolute_error": kernels.ABSOLUTE_ERROR,
    "quantile": kernels.QUANTILE,
}
#: Huber's loss turns from square to line at one standard deviation of the target.
HUBER_DELTA: Final = 1.0

#: Which parameter groups the two phases train; rule weights follow in both.
_FUNCTIONS: Final = ("bias", "slope", "gate_logits", "weights")
_LINKS: Final = ("link_a_logits", "link_b_logits", "sum_logits", "weights")

#: Rows of an order that are looked up at a time.
CHUNK: Final = 65_536


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
            relaxation=RELAXATIONS[self.straight_through],
            temperature=self.temperature_in(epoch),
            sum_threshold=self.sum_link_threshold,
            loss=LOSSES[self.loss],
            loss_parameter=self.quantile if self.loss == "quantile" else HUBER_DELTA,
            batch_size=self.batch_size,
        )

    def temperature_in(self, epoch: int) -> float:
        """Return τ in an epoch, counted from 0."""
        return temperature_at(epoch, self.temperature, self.temperature_decay, self.min_temperature)


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
        rate = learning_rate_at(epoch, plan.max_epochs, plan.learning_rate, plan.learning_rate_schedule)
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
