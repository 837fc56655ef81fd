"""`PaperDLNRegressor`: the paper's network, with all its knobs."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numba
import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from dln._atomic import AnyPath
from dln._errors import FitInterruptedWarning, TimeLimitWarning
from dln._regressor import MAX_GATES_TO_MINIMISE, CircuitRegressor, Rows, layer_sizes
from dln._saving import without_unused_categories
from dln._version import __version__
from dln.circuit._circuit import Circuit, Rule, Values, on_grid
from dln.circuit._conditions import count_conditions
from dln.circuit.simplify import simplify
from dln.data._rows import CanonicalRows
from dln.learning._imitate import Imitation
from dln.learning._subsets import best_subsets
from dln.learning._task import PENALTY, Clock
from dln.learning._weights import cross_validated_penalty, solve_weights
from dln.network._checkpoint import Checkpoint, array_digest, remove_checkpoint
from dln.network._discretize import Target, discretize
from dln.network._layout import Data
from dln.network._loop import Callback, Plan
from dln.network._networks import Architecture, Task, train_networks, validation_rows
from dln.network._progress import Progress
from dln.network._schedules import Schedule
from dln.readers._frontier import Frontier, Point
from dln.readers._rules import rule_support

#: Without `temperature_decay`, the temperature reaches its minimum after this share of the epochs; in the rest, what
#: was chosen settles.
COOLING_SHARE = 0.85
#: Fewer rows than this are all trained on: a validation share of them would tell nothing.
MIN_ROWS_TO_VALIDATE = 20
#: Rows that are converted at once: float64 numbers on their way to float32 are not to fill the memory.
ROWS_AT_ONCE = 65_536
#: Rows on which weights are solved for and rules are compared, a sample by content.
MAX_ROWS = 200_000
#: Numbers of rules of which the best subsets are kept.
SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50, 75, 100, 150)
#: Numbers of rules that are tried for `rule_tolerance`: on few rows one or two may look good by luck.
TRIED_SIZES = (3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100, 150)


class PaperDLNRegressor(CircuitRegressor):
    """The paper's differentiable logic network for regression, frozen into a Boolean circuit after training.

    *Learning Interpretable Differentiable Logic Networks for Tabular Regression*. One network, whose rules are as long
    as its depth makes them: for a model that people read, see `DLNRegressor`.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(300, 300, 300, 300)
        Neurons in each logic layer. Those of the last are the rules that may enter the sum: many of them train better
        than few, and `max_rules` of them are kept in the end. More layers make longer rules.
    n_thresholds : int, default=10
        Thresholds per number column, at most; each logic layer trains its own copy of them.
    n_candidate_links : int, default=8
        Inputs that each side of a neuron may choose from, drawn once at random.
    n_candidate_gates : int, default=8
        Gates that a neuron may choose from, at most 16.
    concatenate_inputs : bool, default=True
        Whether every logic layer sees the inputs besides the layer before it.
    initial_sum_logit : float, default=2.0
        Where the links of the sum start. At 2 all are open at first; at 0 all are closed.
    sum_link_rate : float, default=0.0
        What the learning rate is multiplied by for the links of the sum. At 0 all rules stay in the sum while the
        network is trained. At 1, as in the paper, links learn as everything does, and many close for good.
    straight_through : {"separate", "neuron"} or None, default="separate"
        How gradients pass the discrete choices. "separate": hard forward, backward with links and gates relaxed one by
        one; "neuron": backward as if the whole neuron were soft; None: soft forward too, the plain relaxation.
    phases : {"unified", "alternating"}, default="unified"
        Whether gates and links are trained together, or in turns, epoch by epoch.
    temperature, min_temperature : float, default=1.0, 0.03
        The temperature τ of all choices, at first and in the end.
    temperature_decay : float or None, default=None
        What τ is multiplied by after each epoch, until it is `min_temperature`; 1 keeps it as it is. None: such that
        the minimum is reached after 85 % of `max_epochs`.
    sum_link_threshold : float, default=0.8
        A rule enters the sum where its link's probability reaches this.
    gradient_factor : float, default=1.0
        Multiplies the gradient behind every threshold and logic layer.
    loss : {"squared_error", "huber", "absolute_error", "quantile"}, default="squared_error"
        What is minimised, on the standardised target.
    quantile : float, default=0.5
        The quantile to predict where ``loss="quantile"``.
    learning_rate : float, default=0.005
        Step of the optimiser Adam.
    learning_rate_schedule : {"constant", "cosine"}, default="cosine"
        How the learning rate goes over ``max_epochs``.
    batch_size : int, default=32
        Rows per step.
    max_epochs : int, default=200
        Passes over the data, at most. Temperature and learning rate fall over them.
    early_stopping : bool, default=True
        Whether to stop when the validation loss has not improved for `n_iter_no_change` epochs. Without it all rows
        are trained on, for all epochs.
    validation_fraction : float, default=0.1
        Share of the rows set aside to validate, unless `fit` is given ``X_val`` and ``y_val``.
    n_iter_no_change : int, default=200
        Epochs to wait for a better validation loss.
    refit : {"ridge"} or None, default="ridge"
        Whether the rules' weights are solved for at the end, on all rows, with a penalty chosen on folds; None keeps
        those of the network, and all its rules, as in the paper.
    max_rules : int or None, default=60
        With ``refit="ridge"``, rules at the most: those are kept whose sum comes nearest to the predictions of all
        rules. None for no such limit.
    rule_tolerance : float, default=0.05
        With ``refit="ridge"`` and the squared error, as few rules are kept as raise the error on the rows set aside to
        validate by no more than this share: 0.1 gives smaller models, 0 keeps `max_rules`. Where no rows are set aside
        it has no effect.
    categorical_features : "from_dtype", list of names, indices or bools, or None, default="from_dtype"
        Which columns hold categories. "from_dtype": text, categorical and Boolean columns.
    max_categories : int or None, default=None
        Categories of a column that get a bit of their own; the rest, the less frequent, share one.
    min_frequency : int, default=1
        Rows that a category must have for a bit of its own.
    max_seconds : float or None, default=None
        Seconds that training may take; the best epoch so far is kept.
    random_state : int, RandomState or None, default=None
        Seed of all that is random.
    n_jobs : int or None, default=None
        Threads that predict; None or -1 means one per core.
    verbose : int, default=0
        1 shows a progress bar, 2 also tells each better epoch.
    callbacks : list of callables or None, default=None
        Called after every epoch with its record (see ``history_``); one that returns True ends the fit.
    checkpoint : path or None, default=None
        A file in which training is kept every few seconds and when it is interrupted. The same fit, started again, goes
        on from there and ends in the same model; then the file is removed. A checkpoint of other data or parameters is
        refused.

    Attributes
    ----------
    circuit_ : Circuit
        The model: rules in the user's names and units.
    frontier_ : Frontier
        The best subsets of the rules that were found.
    history_ : dict of lists
        Per epoch: network, epoch, training_loss, validation_loss, temperature, learning_rate, open_rules, is_best.
    n_iter_ : int
        Epochs that were run.
    training_facts_ : dict
        Rows, distinct rows and range of the target that were learned from, and versions of the libraries.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = PaperDLNRegressor(max_epochs=3, random_state=0).fit(X, y)
    >>> model.predict(X.iloc[:2]).shape
    (2,)

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like"],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
        "n_candidate_links": [Interval(Integral, 1, None, closed="left")],
        "n_candidate_gates": [Interval(Integral, 1, 16, closed="both")],
        "concatenate_inputs": ["boolean"],
        "initial_sum_logit": [Interval(Real, None, None, closed="neither")],
        "sum_link_rate": [Interval(Real, 0, None, closed="left")],
        "straight_through": [StrOptions({"neuron", "separate"}), None],
        "phases": [StrOptions({"unified", "alternating"})],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "temperature_decay": [Interval(Real, 0, 1, closed="right"), None],
        "min_temperature": [Interval(Real, 0, None, closed="neither")],
        "sum_link_threshold": [Interval(Real, 0, 1, closed="neither")],
        "gradient_factor": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_error", "huber", "absolute_error", "quantile"})],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "learning_rate_schedule": [StrOptions({"constant", "cosine"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "refit": [StrOptions({"ridge"}), None],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "rule_tolerance": [Interval(Real, 0, None, closed="left")],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "max_categories": [Interval(Integral, 2, None, closed="left"), None],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "max_seconds": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callbacks": [list, tuple, None],
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int] = (300, 300, 300, 300),
        n_thresholds: int = 10,
        n_candidate_links: int = 8,
        n_candidate_gates: int = 8,
        concatenate_inputs: bool = True,
        initial_sum_logit: float = 2.0,
        sum_link_rate: float = 0.0,
        straight_through: Literal["separate", "neuron"] | None = "separate",
        phases: Literal["unified", "alternating"] = "unified",
        temperature: float = 1.0,
        temperature_decay: float | None = None,
        min_temperature: float = 0.03,
        sum_link_threshold: float = 0.8,
        gradient_factor: float = 1.0,
        loss: Literal["squared_error", "huber", "absolute_error", "quantile"] = "squared_error",
        quantile: float = 0.5,
        learning_rate: float = 0.005,
        learning_rate_schedule: Schedule = "cosine",
        batch_size: int = 32,
        max_epochs: int = 200,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 200,
        refit: Literal["ridge"] | None = "ridge",
        max_rules: int | None = 60,
        rule_tolerance: float = 0.05,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = None,
        min_frequency: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: AnyPath | None = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.n_thresholds = n_thresholds
        self.n_candidate_links = n_candidate_links
        self.n_candidate_gates = n_candidate_gates
        self.concatenate_inputs = concatenate_inputs
        self.initial_sum_logit = initial_sum_logit
        self.sum_link_rate = sum_link_rate
        self.straight_through = straight_through
        self.phases = phases
        self.temperature = temperature
        self.temperature_decay = temperature_decay
        self.min_temperature = min_temperature
        self.sum_link_threshold = sum_link_threshold
        self.gradient_factor = gradient_factor
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.learning_rate_schedule = learning_rate_schedule
        self.batch_size = batch_size
        self.max_epochs = max_epochs
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.refit = refit
        self.max_rules = max_rules
        self.rule_tolerance = rule_tolerance
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
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
            Validation data for early stopping, instead of a share of the rows.

        Returns
        -------
        self

        """
        clock = Clock(self.max_seconds)
        architecture = self._architecture()
        rows = Rows(self, X, y, sample_weight)
        unseen = rows.unseen(X_val, y_val)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        task, store = self._task(rows, unseen, architecture, seed), None
        if self.checkpoint is not None:
            store = Checkpoint.open(self.checkpoint, _facts(task), seeds_are_free=self.random_state is None)
            task = self._task(rows, unseen, architecture, store.facts["seeds"][0])
        with Progress(self.verbose) as progress:
            stop = clock.stage("training")
            outcome = train_networks(
                task, n_threads=1, callbacks=self.callbacks or (), progress=progress, store=store, stop=stop
            )
            progress.end(cut_short=outcome.interrupted or bool(clock.cut))
        if outcome.interrupted:
            message = (
                "the fit was interrupted; the model is that of the best epoch so far: "
                f"{outcome.networks[0].best_epoch}. Fit again, or give checkpoint= a path next time, to go on"
            )
            warnings.warn(message, FitInterruptedWarning, stacklevel=3)
        elif clock.cut:
            message = f"max_seconds={self.max_seconds:g} is over: the model is that of the best epoch so far"
            warnings.warn(message, TimeLimitWarning, stacklevel=3)
        circuit = Circuit(
            rows.encoder.columns, (), (), (), on_grid(rows.target.mean, rows.target.decimals), rows.target.decimals
        )
        if outcome.networks:
            trained = outcome.networks[0]
            circuit = discretize(
                trained.network,
                temperature=trained.temperature,
                sum_threshold=self.sum_link_threshold,
                encoder=rows.encoder,
                values=rows.values,
                rows=rows.distinct.index,
                target=rows.target,
            )
        some = rows.distinct.sample(MAX_ROWS)
        values = [column[some.index] for column in rows.values]
        if self.refit is not None:
            seen = _Fires.of(circuit, values, rows.target.standardise(rows.y[some.index]), some.weight)
            judged = None
            if unseen is not None:
                judged = _Fires.of(circuit, unseen[0], rows.target.standardise(unseen[1]), np.ones(len(unseen[1])))
            elif task.n_validation and len(some.index) == len(rows.distinct.index):
                judged = seen.at(validation_rows(len(some.index), task.n_validation, task.seeds[0]))
            circuit = self._refitted(circuit, seen, judged, rows.target)
        circuit = simplify(circuit, thorough=len(circuit.gates) <= MAX_GATES_TO_MINIMISE)
        points = _points(circuit, values, rows.y[some.index], some.weight)
        circuits = without_unused_categories([point.circuit for point in points if point.circuit is not None])
        points = [
            Point(p.max_conditions, p.conditions, p.rules, p.r2, own, p.support)
            for p, own in zip(points, circuits, strict=True)
        ]
        self._learned(X, rows, circuits[-1], outcome.networks)
        self.support_ = list(points[-1].support)
        self._frontier = Frontier(tuple(points))
        if self.checkpoint is not None and not outcome.interrupted:
            remove_checkpoint(self.checkpoint)
        return self

    def _task(
        self,
        rows: Rows,
        unseen: tuple[Sequence[Values], npt.NDArray[np.float64]] | None,
        architecture: Architecture,
        seed: int,
    ) -> Task:
        validation = None
        if unseen is not None:
            seen = rows.encoder.encode(unseen[0])
            everyone = CanonicalRows(np.arange(len(unseen[1])), np.ones(len(unseen[1])))
            validation = _data(seen.numbers, seen.bits, unseen[1], everyone, rows.target)
        encoded = rows.encoder.encode(rows.values, rows.distinct.index)
        n = len(rows.distinct.index)
        data = _data(encoded.numbers, encoded.bits, rows.y, rows.distinct, rows.target)
        n_validation = round(self.validation_fraction * n)
        if not self.early_stopping or validation is not None or n < MIN_ROWS_TO_VALIDATE:
            n_validation = 0
        stops_early = self.early_stopping and (n_validation > 0 or validation is not None)
        return Task(data, validation, n_validation, architecture, self._plan(stops_early=stops_early), (seed,))

    def _refitted(self, circuit: Circuit, seen: _Fires, judged: _Fires | None, target: Target) -> Circuit:
        """Return the circuit with weights solved for on all rows, and no more rules than are wanted.

        Rules are chosen to imitate the predictions of all of them, and their weights too, where these are means; for
        medians and quantiles, which have no least squares, weights are solved for by the target.
        """
        intercept, weights = self._solved(seen)
        kept = list(range(len(seen.fires)))
        most = len(kept) if self.max_rules is None else self.max_rules
        finds_fewer = self.rule_tolerance > 0 and judged is not None and self.loss == "squared_error"
        if kept and (finds_fewer or most < len(kept)):
            predictions = intercept + weights @ seen.fires
            imitation = Imitation(seen.fires, predictions, seen.weight)
            if finds_fewer and judged is not None:
                most = self._fewest(imitation, seen.without(judged), judged, most)
            kept = imitation.rules(most)
            goal = predictions if self.loss == "squared_error" else seen.goal
            intercept, weights = self._solved(replace(seen, fires=seen.fires[kept], goal=goal))
        return _reweighted(
            circuit,
            kept,
            target.mean + target.spread * intercept,
            [target.spread * one for one in weights.tolist()],
        )

    def _fewest(self, imitation: Imitation, seen: _Fires, judged: _Fires, most: int) -> int:
        """Return how few rules do, judged on rows that neither they nor their weights were learned from."""
        intercept, weights = self._solved(seen)
        predictions = intercept + weights @ seen.fires
        bearable = (1.0 + self.rule_tolerance) * judged.error(intercept, weights)
        for size in (size for size in TRIED_SIZES if size < min(most, len(seen.fires))):
            kept = imitation.rules(size)
            intercept, weights = self._solved(replace(seen, fires=seen.fires[kept], goal=predictions))
            if replace(judged, fires=judged.fires[kept]).error(intercept, weights) <= bearable:
                return size
        return most

    def _solved(self, rows: _Fires) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the intercept and the rules' weights, with a penalty chosen on folds."""
        penalty = cross_validated_penalty(rows.fires, rows.goal, rows.weight)
        return solve_weights(rows.fires, rows.goal, rows.weight, penalty, loss=self.loss, quantile=self.quantile)

    def _architecture(self) -> Architecture:
        return Architecture(
            layer_sizes(self.hidden_layer_sizes),
            self.n_thresholds,
            self.n_candidate_links,
            self.n_candidate_gates,
            self.concatenate_inputs,
            self.initial_sum_logit,
        )

    def _plan(self, *, stops_early: bool) -> Plan:
        decay = self.temperature_decay
        if decay is None:
            ratio = min(1.0, self.min_temperature / self.temperature)
            decay = ratio ** (1.0 / max(1.0, COOLING_SHARE * self.max_epochs))
        return Plan(
            straight_through=self.straight_through,
            phases=self.phases,
            temperature=self.temperature,
            temperature_decay=decay,
            min_temperature=self.min_temperature,
            sum_link_threshold=self.sum_link_threshold,
            gradient_factor=self.gradient_factor,
            loss=self.loss,
            quantile=self.quantile,
            learning_rate=self.learning_rate,
            learning_rate_schedule=self.learning_rate_schedule,
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            patience=self.n_iter_no_change if stops_early else None,
            sum_link_rate=self.sum_link_rate,
        )


@dataclass(frozen=True, slots=True)
class _Fires:
    """On which rows rules fire, ``(n_rules, n)``, what is to be predicted there, standardised, and rows' weights."""

    fires: npt.NDArray[np.bool_]
    goal: npt.NDArray[np.float64]
    weight: npt.NDArray[np.float64]
    places: npt.NDArray[np.intp] | None = None
    """Which of the training rows these are, if they are some of them."""

    @classmethod
    def of(
        cls,
        circuit: Circuit,
        values: Sequence[Values],
        goal: npt.NDArray[np.float64],
        weight: npt.NDArray[np.float64],
    ) -> _Fires:
        fires = np.array(circuit.rule_values(values), dtype=np.bool_).reshape(len(circuit.rules), len(goal))
        return cls(fires, goal, weight)

    def at(self, places: npt.NDArray[np.intp]) -> _Fires:
        """Return some of the rows."""
        return _Fires(self.fires[:, places], self.goal[places], self.weight[places], places)

    def without(self, others: _Fires) -> _Fires:
        """Return the rows that are not among the others."""
        if others.places is None:
            return self
        return self.at(np.setdiff1d(np.arange(len(self.goal)), others.places))

    def error(self, intercept: float, weights: npt.NDArray[np.float64]) -> float:
        """Return the mean squared error of a sum of the rules."""
        return float(np.average((self.goal - intercept - weights @ self.fires) ** 2, weights=self.weight))


def _facts(task: Task) -> dict[str, Any]:
    """Return all that the result of training depends on, in the user's words where there are any."""
    plan = asdict(task.plan)
    plan["n_iter_no_change"] = plan.pop("patience")
    return {
        "number of distinct rows": len(task.data.target),
        "data": array_digest(*task.data),
        "validation data": None if task.validation is None else array_digest(*task.validation),
        "number of rows set aside": task.n_validation,
        **asdict(task.architecture),
        **plan,
        "seeds": list(task.seeds),
        "version of dln": __version__,
        "version of numpy": np.__version__,
        "version of numba": numba.__version__,
    }


def _points(
    circuit: Circuit, values: Sequence[Values], y: npt.NDArray[np.float64], weight: npt.NDArray[np.float64]
) -> list[Point]:
    """Return the best subsets of the rules, and last the circuit itself."""
    fires = np.array(circuit.rule_values(values), dtype=np.bool_).reshape(len(circuit.rules), len(y))
    conditions, support = count_conditions(circuit), rule_support(list(fires), weight)
    points = []
    if len(y):
        for kept in reversed(best_subsets(fires, y, weight, SIZES).values()):
            intercept, weights = solve_weights(fires[kept], y, weight, PENALTY)
            smaller = _reweighted(circuit, kept, intercept, weights.tolist())
            size = sum(conditions[i] for i in kept)
            points.append(Point(size, size, len(kept), None, smaller, tuple(support[i] for i in kept)))
    return [*points, Point(sum(conditions), sum(conditions), len(conditions), None, circuit, tuple(support))]


def _reweighted(circuit: Circuit, kept: Sequence[int], intercept: float, weights: Sequence[float]) -> Circuit:
    """Return the circuit with some of its rules and other weights."""
    decimals = circuit.decimals
    rules = tuple(Rule(circuit.rules[i].node, on_grid(w, decimals)) for i, w in zip(kept, weights, strict=True))
    return Circuit(circuit.columns, circuit.literals, circuit.gates, rules, on_grid(intercept, decimals), decimals)


def _data(
    numbers: npt.NDArray[np.float32],
    bits: npt.NDArray[np.float32],
    y: npt.NDArray[np.float64],
    rows: CanonicalRows,
    target: Target,
) -> Data:
    """Return what the kernels train on: the target standardised, weights of mean one."""
    standardised, weight = (np.empty(len(rows.index), dtype=np.float32) for _ in range(2))
    mean = rows.weight.mean()
    for start in range(0, len(rows.index), ROWS_AT_ONCE):
        part = slice(start, start + ROWS_AT_ONCE)
        standardised[part] = target.standardise(y[rows.index[part]])
        weight[part] = rows.weight[part] / mean
    return Data(numbers, bits, standardised, weight)
