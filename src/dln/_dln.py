"""`DLNRegressor`: the paper's differentiable logic network, from a table to a circuit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Final, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from dln._edit import EditableRegressor
from dln._interrupt import Deadline, ctrl_c_calls
from dln._progress import Progress
from dln._regressor import MAX_ROWS, SHARED_CONSTRAINTS, Rows, draw_seed, end_early, n_threads
from dln._saving import recoded, without_unused_categories
from dln.circuit._circuit import Circuit, on_grid
from dln.circuit._cost import count_conditions
from dln.circuit._simplify import simplify
from dln.data._division import LabelledRows
from dln.data._encoding import Encoder, learn_encoder
from dln.data._rows import Floats
from dln.network._circuits import Reduction, discretize, mean_circuit
from dln.network._network import Architecture, Data
from dln.network._train import Callback, Epoch, NetworkTask, Plan, Schedule, Trained, take, train_networks
from dln.readers._frontier import Frontier, Point
from dln.readers._intervals import Source
from dln.readers._monitor import rule_support
from dln.solve._weights import Loss

#: Learning rate of a training of so many steps: it falls with the root of their number, and has an upper limit.
LEARNING_RATE: Final = 0.005
STEPS: Final = 5000
MAX_LEARNING_RATE: Final = 0.02
#: Without `temperature_decay`, the temperature reaches its minimum after this share of the epochs.
COOLING_SHARE: Final = 0.85
#: Fewer rows than this are all trained on: a share of them would measure nothing.
MIN_ROWS_TO_VALIDATE: Final = 20
#: Sizes, in conditions, of which the best sets of neurons are found.
SIZES: Final = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 65, 80, 100, 150, 200, 300, 400)
#: Rows on which smaller sizes of a whole network are selected when they are first needed.
MAX_FRONTIER_ROWS: Final = 25_000
#: Rows converted to float32 at once, so that their float64 form does not fill the memory.
BLOCK: Final = 65_536


@dataclass(kw_only=True, eq=False, repr=False)  # the parameters, as scikit-learn wants them
class DLNRegressor(EditableRegressor):
    """The differentiable logic network of Yue and Jha, frozen into a Boolean circuit after training.

    With its defaults it is the published method and nothing else: thresholds, layers of two-input logic gates and a
    weighted sum are trained together by gradient descent, every choice is then settled by arg max, and the circuit is
    simplified. Five parameters, each off by default, improve on it: `sum_links`, `refit`, `max_conditions`,
    `learning_rate_schedule` and `n_networks`. `RuleRegressor` learns the most accurate page of rules instead.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(300, 300, 300, 300)
        Neurons in each logic layer. Those of the last one are the rules of the sum.
    n_thresholds : int, default=10
        Thresholds per number column, at most. Each logic layer trains a copy of its own.
    n_candidate_links : int, default=8
        Inputs that each side of a neuron may choose from, drawn once at random.
    n_candidate_gates : int, default=8
        Gates that a neuron may choose from, at most 16.
    concatenate_inputs : bool, default=True
        Whether every logic layer sees the inputs besides the layer before it.
    sum_links : {"learned", "open"}, default="learned"
        Whether the links of the sum are trained, so that rules can leave it, or all stay open.
    straight_through : {"separate", "neuron"} or None, default="separate"
        What the backward pass relaxes while the forward pass is discrete: every choice by itself, or the neuron as a
        whole. None: the forward pass is soft, too.
    phases : {"unified", "alternating"}, default="unified"
        Whether gates and links are trained together, or in turns, epoch by epoch.
    temperature, min_temperature : float, default=1.0, 0.03
        The temperature τ of all choices at first, and its lower limit.
    temperature_decay : float or None, default=None
        Factor γ of the temperature after each epoch; 1 keeps it constant. None: the minimum is reached after 85 % of
        `max_epochs`.
    sum_link_threshold : float, default=0.8
        Probability θ of its link from which a rule is in the sum.
    loss : {"squared_error", "huber", "absolute_error", "quantile"}, default="squared_error"
        Loss that is minimised, on the standardised target.
    quantile : float, default=0.5
        The quantile to predict if ``loss="quantile"``.
    learning_rate : float or None, default=None
        Step of the optimiser Adam. None: 0.005 · √(5000 / steps), at most 0.02.
    learning_rate_schedule : {"constant", "cosine"}, default="constant"
        Course of the learning rate over `max_epochs`.
    batch_size : int, default=32
        Rows per step.
    max_epochs : int, default=200
        Passes over the data.
    validation_fraction : float or None, default=0.1
        Share of the rows that is held out to choose the epoch of the model, unless `fit` is given ``X_val`` and
        ``y_val``. None: all rows are trained on, and the last epoch is kept.
    cv : int, scikit-learn splitter, iterable of (train, test) row numbers or None, default=None
        Folds of the rows: the last one chooses the epoch, instead of a share of the rows, and ridge penalties (`refit`)
        are chosen on all.
    n_networks : int, default=1
        Networks to train, each from its own start. The model is their mean; with `max_conditions`, the best rules of
        all.
    refit : bool, default=False
        Whether the rules' weights are solved for after training, by ridge regression, the penalty cross-validated.
    max_conditions : int or None, default=None
        Conditions (printed comparisons) of the model at most: the best set of neurons of all layers, selected to follow
        the whole network, weights solved for. None: all rules of the network.
    categorical_features : "from_dtype", list of names, indices or bools, or None, default="from_dtype"
        Which columns hold categories. "from_dtype": text, categorical and Boolean columns.
    max_categories : int or None, default=None
        Categories of a column that get a bit of their own; the rest, the less frequent, share one.
    min_frequency : int, default=1
        Rows that a category must have for a bit of its own.
    max_seconds : float or None, default=None
        Time limit of training; the best epoch so far is kept.
    random_state : int, RandomState or None, default=None
        Seed of everything random.
    n_jobs : int or None, default=None
        Threads that train several networks and that predict; None or -1 means one per core.
    verbose : int, default=0
        1 shows a progress bar, 2 also prints each better epoch.
    callbacks : list of callables or None, default=None
        Called after every epoch with its record (see ``history_``); one that returns True ends the training.

    Attributes
    ----------
    circuit_ : Circuit
        The model: rules in the user's names and units.
    network_circuit_ : Circuit
        The whole network; with `max_conditions`, the one that the model was selected from.
    frontier_ : Frontier
        The best sets of neurons for fewer conditions, with their R² on the held-out rows; computed when first used.
    intervals_ : Intervals
        Prediction intervals, from errors on the held-out rows.
    history_ : dict of lists
        Per epoch: network, epoch, training_loss, validation_loss, temperature, learning_rate, open_rules, is_best.
    n_iter_ : int
        Epochs that were run.
    training_facts_ : dict
        Facts of the fit: rows, distinct rows, range of the target, versions of the libraries, and the network.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = DLNRegressor(max_epochs=3, max_conditions=10, random_state=0).fit(X, y)
    >>> model.rules_.n_conditions <= 10
    True

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "hidden_layer_sizes": ["array-like"],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
        "n_candidate_links": [Interval(Integral, 1, None, closed="left")],
        "n_candidate_gates": [Interval(Integral, 1, 16, closed="both")],
        "concatenate_inputs": ["boolean"],
        "sum_links": [StrOptions({"learned", "open"})],
        "straight_through": [StrOptions({"neuron", "separate"}), None],
        "phases": [StrOptions({"unified", "alternating"})],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "min_temperature": [Interval(Real, 0, None, closed="neither")],
        "temperature_decay": [Interval(Real, 0, 1, closed="right"), None],
        "sum_link_threshold": [Interval(Real, 0, 1, closed="neither")],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "learning_rate_schedule": [StrOptions({"constant", "cosine"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "n_networks": [Interval(Integral, 1, None, closed="left")],
        "refit": ["boolean"],
        "max_conditions": [Interval(Integral, 1, None, closed="left"), None],
        "callbacks": [list, tuple, None],
    }

    hidden_layer_sizes: Sequence[int] = (300, 300, 300, 300)
    n_thresholds: int = 10
    n_candidate_links: int = 8
    n_candidate_gates: int = 8
    concatenate_inputs: bool = True
    sum_links: Literal["learned", "open"] = "learned"
    straight_through: Literal["separate", "neuron"] | None = "separate"
    phases: Literal["unified", "alternating"] = "unified"
    temperature: float = 1.0
    min_temperature: float = 0.03
    temperature_decay: float | None = None
    sum_link_threshold: float = 0.8
    loss: Literal["squared_error", "huber", "absolute_error", "quantile"] = "squared_error"
    quantile: float = 0.5
    learning_rate: float | None = None
    learning_rate_schedule: Schedule = "constant"
    batch_size: int = 32
    max_epochs: int = 200
    validation_fraction: float | None = 0.1
    cv: Any = None
    n_networks: int = 1
    refit: bool = False
    max_conditions: int | None = None
    categorical_features: Any = "from_dtype"
    max_categories: int | None = None
    min_frequency: int = 1
    max_seconds: float | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0
    callbacks: Sequence[Callback] | None = None

    refit_weights = EditableRegressor._refit  # noqa: SLF001 (`RuleRegressor.refit`; here `refit` is a parameter)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None, groups: Any = None
    ) -> Self:
        """Train the network and freeze it.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of shape (n_samples, n_features)
            NaN, None and null mean missing.
        y : array-like of shape (n_samples,)
            The target.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows.
        X_val, y_val : optional
            Held-out rows that choose the epoch, instead of a share of the training rows.
        groups : array-like of shape (n_samples,), optional
            A label for every row, a patient's for example: groups are held out whole.

        Returns
        -------
        self

        """
        deadline = Deadline(self.max_seconds)
        architecture = self._architecture()
        rows = Rows(self, X, y, sample_weight, groups)
        held_out = rows.unseen(X_val, y_val)
        weight, seed = rows.distinct.weight, draw_seed(self.random_state)
        # The parts of each row's weight to validate on and to train on.
        parts = np.zeros(len(weight)), weight
        is_divided = self.validation_fraction is not None or self.cv is not None
        if is_divided and held_out is None and len(weight) >= MIN_ROWS_TO_VALIDATE:
            parts = rows.division.set_aside(weight, self.validation_fraction or 0.0, rows.counts, seed)
        encoder = learn_encoder(
            rows.table.columns,
            rows.values,
            weight,
            rows=rows.distinct.index,
            max_categories=self.max_categories,
            min_frequency=self.min_frequency,
        )
        task = self._task(rows, encoder, held_out, parts, architecture, seed)
        with Progress(self.verbose) as progress, ctrl_c_calls(deadline.cancel, progress.say_stopping):
            networks = train_networks(
                task,
                n_threads=n_threads(self.n_jobs),
                callbacks=self.callbacks or (),
                progress=progress,
                deadline=deadline,
            )
            progress.end(cut_short=deadline.was_cancelled or bool(deadline.cut))
            del task  # it holds the encoded table
            # One thread: the last bits of a matrix product depend on their number.
            with threadpool_limits(limits=1):
                self._freeze(X, rows, encoder, networks, held_out, parts)
        end_early(deadline, self.max_seconds, "the model is that of the best epoch so far")
        return self

    @property
    def frontier_(self) -> Frontier:
        """The best sets of neurons for fewer conditions, with their R² on the held-out rows."""
        self._complete()
        return super().frontier_

    def __str__(self) -> str:
        return self.summary() if hasattr(self, "circuit_") else repr(self)

    def __getstate__(self) -> dict[str, Any]:
        self._complete()  # a pickle must not hold training rows
        return super().__getstate__()

    def _complete(self) -> None:
        """Compute the smaller models of a whole network, if that has not been done."""
        pending: Reduction | None = self.__dict__.pop("_pending", None)
        if pending is None:
            return
        own = self._frontier[-1]
        with threadpool_limits(limits=1):
            points, _ = _points(pending, [size for size in SIZES if size < (own.conditions or 0)])
        columns = self.circuit_.columns
        smaller = [replace(p, circuit=recoded(p.circuit, columns)) for p in points if p.circuit is not None]
        self._frontier = Frontier((*smaller, own))

    def _task(
        self,
        rows: Rows,
        encoder: Encoder,
        held_out: LabelledRows | None,
        parts: tuple[Floats, Floats],
        architecture: Architecture,
        seed: int,
    ) -> NetworkTask:
        """Return the data, shape and plan of training, and a seed for each network."""
        held_weight, weight = parts
        encoded = encoder.encode(rows.values, rows.distinct.index)
        target = np.empty(len(weight), dtype=np.float32)
        for start in range(0, len(weight), BLOCK):
            block = slice(start, start + BLOCK)
            target[block] = rows.target.standardise(rows.y[rows.distinct.index[block]])
        data = Data(encoded.numbers, encoded.bits, target, np.ones_like(target))
        validation = None
        if held_out is not None:
            encoded = encoder.encode(held_out.values)
            target = held_out.y.astype(np.float32)
            validation = Data(encoded.numbers, encoded.bits, target, np.ones_like(target))
        elif held_weight.any():
            some = np.flatnonzero(held_weight)
            validation = take(data, some, held_weight[some])
        trained = np.flatnonzero(weight)
        training = (weight / weight[trained].mean()).astype(np.float32)
        more = np.random.default_rng(seed).integers(2**31, size=self.n_networks - 1).tolist()
        return NetworkTask(
            data._replace(weight=training),
            trained.astype(np.int32) if len(weight) <= np.iinfo(np.int32).max else trained,
            validation,
            architecture,
            self._plan(len(trained)),
            (seed, *more),
        )

    def _architecture(self) -> Architecture:
        if self.min_temperature > self.temperature:
            raise ValueError(
                "min_temperature must not be above temperature, "
                f"got min_temperature={self.min_temperature:g} and temperature={self.temperature:g}"
            )
        sizes = tuple(self.hidden_layer_sizes)
        if not sizes or not all(isinstance(size, Integral) and size > 0 for size in sizes):
            raise ValueError(
                f"hidden_layer_sizes must hold at least one positive whole number, got {self.hidden_layer_sizes!r}"
            )
        given = {name: getattr(self, name) for name in Architecture.__dataclass_fields__}
        return Architecture(**{**given, "hidden_layer_sizes": tuple(map(int, sizes))})

    def _plan(self, n_rows: int) -> Plan:
        """Return how to train on so many rows, with what follows from their number."""
        decay, rate = self.temperature_decay, self.learning_rate
        if decay is None:
            ratio = self.min_temperature / self.temperature
            decay = ratio ** (1.0 / max(1.0, COOLING_SHARE * self.max_epochs))
        if rate is None:
            n_steps = self.max_epochs * -(-n_rows // self.batch_size)
            rate = min(LEARNING_RATE * (STEPS / max(n_steps, 1)) ** 0.5, MAX_LEARNING_RATE)
        given = {name: getattr(self, name) for name in Plan.__dataclass_fields__ if hasattr(self, name)}
        return Plan(
            **{**given, "temperature_decay": decay, "learning_rate": rate}, train_sum_links=self.sum_links == "learned"
        )

    def _freeze(
        self,
        X: Any,
        rows: Rows,
        encoder: Encoder,
        networks: Sequence[Trained],
        held_out: LabelledRows | None,
        parts: tuple[Floats, Floats],
    ) -> None:
        """Become the model: discretise, solve for weights and select neurons if these options are set, simplify."""
        target = rows.target
        circuits = [
            discretize(
                trained.network,
                temperature=trained.temperature,
                sum_threshold=self.sum_link_threshold,
                encoder=encoder,
                values=rows.values,
                rows=rows.distinct.index,
                target=target,
            )
            for trained in networks
        ]
        if not networks:  # there is nothing to decide by: the mean
            mean = on_grid(target.mean, target.decimals)
            circuits = [Circuit(encoder.columns, (), (), (), mean, target.decimals)]
        given, validation = rows.sample(MAX_ROWS), held_out
        held_weight, training_weight = (part[: len(given.y)] for part in parts)
        training = given
        if held_out is None and held_weight.any():
            training, validation = given.weighted(training_weight), given.weighted(held_weight)
        loss = Loss(self.loss, self.quantile)
        reduction = Reduction(circuits, given, training, validation, loss, target)
        solves = self.refit or self.max_conditions is not None
        whole = simplify(reduction.refitted(reduction.rows) if solves else mean_circuit(circuits))
        judged_whole = reduction.refitted(reduction.training) if solves else whole
        own = _point(whole, reduction, judged_whole)  # before codes change: the rows have the codes of all categories
        points: list[Point] = []
        judged: Circuit | None = None
        if self.max_conditions is not None:
            sizes = [*(size for size in SIZES if size < self.max_conditions), self.max_conditions]
            points, judged = _points(reduction, sizes)
            whole, *smaller = without_unused_categories([whole, *(point.circuit for point in points if point.circuit)])
            points = [replace(point, circuit=circuit) for point, circuit in zip(points, smaller, strict=True)]
        else:
            # A smaller model may name categories that only neurons beside the simplified rules read.
            whole, _ = without_unused_categories([whole, reduction.nodes])
        own = replace(own, circuit=whole)
        self._learned(X, rows, points[-1].circuit or whole if points else whole)
        self.n_iter_ = max((len(network.epochs) for network in networks), default=0)
        epochs = [asdict(epoch) for network in networks for epoch in network.epochs]
        self.history_ = {each.name: [epoch[each.name] for epoch in epochs] for each in fields(Epoch)}
        self.network_circuit_ = whole
        self.support_ = list((points or [own])[-1].support)
        self.__dict__.pop("_pending", None)
        if not points:
            self._frontier, self._pending = Frontier((own,)), reduction.on_first_rows(MAX_FRONTIER_ROWS)
        elif own.max_conditions > points[-1].max_conditions:
            self._frontier = Frontier((*points, replace(own, circuit=None, support=())))
        else:
            self._frontier = Frontier(tuple(points))
        layers = list(map(int, self.hidden_layer_sizes))
        facts = {
            "layers": layers,
            "temperature": float(networks[0].temperature if networks else self.temperature),
            "open_rules": [len(circuit.rules) for circuit in circuits],
            "gates": len(networks) * sum(layers),
        }
        self.training_facts_ = {**self.training_facts_, "network": facts}
        if validation is not None:
            predicted = (judged or judged_whole).evaluate(validation.values)
            y = rows.target.mean + rows.target.spread * validation.y
            source: Source = "folds" if held_out is None else "rows set aside"
            self._set_intervals(predicted, y, validation.weight, source, None)


def _points(reduction: Reduction, sizes: Sequence[int]) -> tuple[list[Point], Circuit | None]:
    """Return the best models of some sizes, and the largest as judged: without a part of the held-out rows in it."""
    models = reduction.select(sizes, reduction.rows)
    judged = models if reduction.held_out is None else reduction.select(sizes, reduction.training)
    points = [_point(models[size], reduction, judged[size], size) for size in sizes]
    return points, judged[sizes[-1]] if sizes else None


def _point(circuit: Circuit, reduction: Reduction, judged: Circuit, size: int | None = None) -> Point:
    rows, conditions = reduction.rows, count_conditions(circuit)
    support = rule_support(circuit.rule_values(rows.values), rows.weight)
    size = sum(conditions) if size is None else size
    return Point(size, sum(conditions), len(conditions), reduction.r2(judged), circuit, tuple(support))
