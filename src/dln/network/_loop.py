"""The training loop: epochs, validation, early stopping, the best epoch kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from dln.network import _kernels as kernels
from dln.network import _layout as layout
from dln.network._network import Network
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

#: Rows that inference handles at a time.
INFERENCE_BATCH: Final = 256
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
    gradient_factor: float
    loss: str
    quantile: float
    learning_rate: float
    learning_rate_schedule: Schedule
    batch_size: int
    max_epochs: int
    patience: int | None
    """Epochs without a better validation loss before training ends, or None to train to the end."""
    sum_link_rate: float = 1.0
    """What the learning rate is multiplied by for the links of the sum."""

    def settings(self) -> kernels.Settings:
        """Return what the kernels need to know."""
        return kernels.Settings(
            relaxation=RELAXATIONS[self.straight_through],
            loss=LOSSES[self.loss],
            loss_parameter=self.quantile if self.loss == "quantile" else HUBER_DELTA,
            gradient_factor=self.gradient_factor,
            sum_threshold=self.sum_link_threshold,
        )

    def temperature_in(self, epoch: int) -> float:
        """Return τ in an epoch, counted from 0."""
        return temperature_at(epoch, self.temperature, self.temperature_decay, self.min_temperature)


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch came to; losses are means, on the standardised target."""

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


@dataclass(slots=True)
class TrainingState:
    """All that changes while a network is trained: enough to go on after an interruption."""

    flat: Float32
    """Parameters."""
    first_moment: Float32
    second_moment: Float32
    best: Float32
    best_epoch: int = 0
    best_loss: float = np.inf
    epochs: list[Epoch] = field(default_factory=list)

    @classmethod
    def start(cls, network: Network) -> TrainingState:
        """Return the state before the first epoch."""
        flat = network.parameters.flat
        return cls(flat.copy(), np.zeros_like(flat), np.zeros_like(flat), flat.copy())


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
    validation: layout.Data | None,
    plan: Plan,
    *,
    seed: int,
    rows: Rows | None = None,
    index: int = 0,
    state: TrainingState | None = None,
    after_epoch: Callable[[TrainingState], bool] = lambda _state: False,
) -> Trained:
    """Train a network on all rows of the data, or on those named, and return it at its best epoch.

    The best epoch is that of the lowest validation loss, or training loss where there is no validation data.
    `after_epoch` sees the state after each epoch and ends training by returning True. The order of rows in an epoch
    depends on the seed and the epoch alone, so that training can go on from a state as if never interrupted.
    """
    state = state or TrainingState.start(network)
    trainer = _Trainer(network.with_parameters(state.flat), data, rows, validation, plan, state, seed, index)
    while not trainer.is_done():
        trainer.run_epoch()
        if after_epoch(state):
            break
    best = max(state.best_epoch, 1) - 1
    return Trained(
        network.with_parameters(state.best), plan.temperature_in(best), state.best_epoch, tuple(state.epochs)
    )


class _Trainer:
    """The arrays that an epoch works on."""

    def __init__(
        self,
        network: Network,
        data: layout.Data,
        rows: Rows | None,
        validation: layout.Data | None,
        plan: Plan,
        state: TrainingState,
        seed: int,
        index: int,
    ) -> None:
        self.network, self.data, self.rows, self.validation = network, data, rows, validation
        self.plan, self.state, self.seed, self.index = plan, state, seed, index
        self.settings = plan.settings()
        self.wires = layout.wires(network)
        self.groups = layout.groups(network.parameters)
        gradients = network.with_parameters(np.zeros_like(state.flat))
        self.gradients = layout.groups(gradients.parameters)
        self.flat = (state.flat, gradients.parameters.flat, state.first_moment, state.second_moment)
        sizes = [group.size for group in network.parameters.groups().values()]
        self.sections = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.work = layout.workspace(network, data.numbers.shape[1], plan.batch_size)
        self.inference_work = layout.workspace(network, data.numbers.shape[1], INFERENCE_BATCH)

    def is_done(self) -> bool:
        """Whether the last epoch is reached, or no better one was seen for too long."""
        epoch, plan = len(self.state.epochs), self.plan
        waited = epoch - self.state.best_epoch
        return epoch >= plan.max_epochs or (plan.patience is not None and waited >= plan.patience)

    def run_epoch(self) -> None:
        """Train on all rows once, validate, remember the best."""
        state, plan = self.state, self.plan
        epoch = len(state.epochs)
        temperature = plan.temperature_in(epoch)
        rate = learning_rate_at(epoch, plan.max_epochs, plan.learning_rate, plan.learning_rate_schedule)
        n = len(self.data.target) if self.rows is None else len(self.rows)
        total = kernels.train_epoch(
            self.wires,
            self.groups,
            self.gradients,
            self.flat,
            self.sections,
            self._rates(epoch, rate),
            self.data,
            self._order(epoch, n),
            plan.batch_size,
            temperature,
            self.settings,
            epoch * -(-n // plan.batch_size),
            self.work,
        )
        validation_loss = self._loss(self.validation, temperature) if self.validation is not None else None
        judged = self._training_loss(temperature) if validation_loss is None else validation_loss
        is_best = judged < state.best_loss
        if is_best:
            state.best[:] = state.flat
            state.best_epoch, state.best_loss = epoch + 1, judged
        record = Epoch(
            network=self.index,
            epoch=epoch + 1,
            training_loss=total / n,
            validation_loss=validation_loss,
            temperature=temperature,
            learning_rate=rate,
            open_rules=int(self.inference_work.sum_open.sum()),
            is_best=is_best,
        )
        state.epochs.append(record)

    def _order(self, epoch: int, n: int) -> Rows:
        """Return the order of the rows in an epoch."""
        order = np.random.default_rng([self.seed, epoch]).permutation(n)
        if self.rows is not None:
            for start in range(0, n, CHUNK):  # in place: with millions of rows, an index counts
                part = slice(start, start + CHUNK)
                order[part] = self.rows[order[part]]
        return order

    def _rates(self, epoch: int, rate: float) -> npt.NDArray[np.float64]:
        """Return a learning rate for every parameter group; 0 for those that a phase leaves alone."""
        names = list(self.network.parameters.groups())
        trained = names if self.plan.phases == "unified" else _FUNCTIONS if epoch % 2 == 0 else _LINKS
        shares = {"sum_logits": self.plan.sum_link_rate}
        return np.array([rate * shares.get(name, 1.0) if name in trained else 0.0 for name in names])

    def _training_loss(self, temperature: float) -> float:
        return self._loss(self.data if self.rows is None else take(self.data, self.rows), temperature)

    def _loss(self, data: layout.Data, temperature: float) -> float:
        """Return the mean loss of the hard forward pass."""
        output, _ = outputs(
            self.network, data, temperature, self.plan.sum_link_threshold, work=self.inference_work, with_rules=False
        )
        total: float = kernels.weighted_loss(output, data.target, data.weight, self.settings)
        return total / float(data.weight.sum())


def outputs(
    network: Network,
    data: layout.Data,
    temperature: float,
    sum_link_threshold: float,
    *,
    work: layout.Workspace | None = None,
    with_rules: bool = True,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the hard forward pass: outputs ``(n,)``, standardised, and the rules' values ``(n_rules, n)``."""
    n = len(data.target)
    work = work or layout.workspace(network, data.numbers.shape[1], INFERENCE_BATCH)
    out = np.empty(n)
    rules = np.empty((len(network.wiring.rule_rows) if with_rules else 0, n), dtype=np.bool_)
    settings = kernels.Settings(kernels.NEURON, 0, 0.0, 1.0, sum_link_threshold)
    kernels.hard_outputs(
        layout.wires(network), layout.groups(network.parameters), data, temperature, settings, work, out, rules
    )
    return out, rules


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train on, and rows to validate on."""

    data: layout.Data
    """All rows: those that are set aside are left where they are. Weights of those to train on have mean one."""
    rows: Rows
    """Those to train on, ascending, ``(n_training,) int32``, or int64 where that is too small."""
    validation: layout.Data


def split_off(data: layout.Data, validation_rows: npt.NDArray[np.intp]) -> Split:
    """Set the named rows aside; weights of each part have mean one. Only the rows set aside are copied."""
    keep = np.ones(len(data.target), dtype=np.bool_)
    keep[validation_rows] = False
    mean = data.weight[keep].mean(dtype=np.float64)
    weight = data.weight if mean == 1.0 else (data.weight / mean).astype(np.float32)
    validation = take(data, validation_rows)
    kind = np.int32 if len(keep) <= np.iinfo(np.int32).max else np.int64
    return Split(data._replace(weight=weight), np.flatnonzero(keep).astype(kind), validation)


def take(data: layout.Data, rows: Rows) -> layout.Data:
    """Return the named rows, with weights of mean one."""
    taken = layout.Data(*(part[rows] for part in data))
    return taken._replace(weight=(taken.weight / taken.weight.mean(dtype=np.float64)).astype(np.float32))
