"""`DLNRegressor`: the paper's network, with all its knobs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from dln._atomic import AnyPath
from dln._interrupt import Deadline
from dln._paper_rules import Labelled, RuleChoice, mean_circuit, subset_points
from dln._paper_training import facts_of, task_data, validation_data
from dln._progress import Progress
from dln._regressor import (
    MAX_ROWS,
    SHARED_CONSTRAINTS,
    CircuitRegressor,
    Rows,
    Unseen,
    draw_seed,
    layer_sizes,
    n_threads,
    warn_cut_short,
)
from dln._saving import without_unused_categories
from dln.circuit._circuit import Circuit, on_grid
from dln.circuit.simplify import simplify
from dln.network._checkpoint import Checkpoint, remove_checkpoint
from dln.network._discretize import discretize
from dln.network._loop import Callback, Plan
from dln.network._networks import Architecture, NetworkTask, Outcome, train_networks, validation_rows
from dln.network._schedules import Schedule
from dln.readers._frontier import Frontier
from dln.solve._losses import Loss

#: Without `temperature_decay`, the temperature reaches its minimum after this share of the epochs; in the rest, what
#: was chosen settles.
COOLING_SHARE = 0.85
#: Fewer rows than this are all trained on: a validation share of them would tell nothing.
MIN_ROWS_TO_VALIDATE = 20


class DLNRegressor(CircuitRegressor):
    """The paper's differentiable logic network for regression, frozen into a Boolean circuit after training.

    *Learning Interpretable Differentiable Logic Networks for Tabular Regression*. One network, whose rules are as long
    as its depth makes them: for a model that people read, see `RuleRegressor`.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(300, 300, 300, 300)
        Neurons in each logic layer. Those of the last enter the sum: many of them train better than few; with
        ``refit="ridge"`` a few neurons of any layer take their place in the end. More layers make longer rules.
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
    n_networks : int, default=1
        Networks to train, each from a start of its own; the model is their mean, and with ``refit="ridge"`` a few rules
        chosen from the neurons of all. 1 is the paper's; 3 have 0.006 more of R² at 20 rules (seven small tables).
    refit : {"ridge"} or None, default="ridge"
        Whether the rules' weights are solved for at the end, on all rows, with a penalty chosen on folds; None keeps
        those of the network, and all its rules, as in the paper.
    max_rules : int or None, default=60
        With ``refit="ridge"``, rules at the most: of the neurons of all layers those are kept whose sum comes nearest
        to the predictions of the whole network. None for no such limit.
    rule_tolerance : float, default=0.35
        With ``refit="ridge"`` and the squared error, as few rules are kept as raise the error on the rows set aside to
        validate by no more than this share of it, nor by a tenth of this share of what is explained, and whose
        predictions are near those of all, fewer than seven nearer still: 0.5 gives smaller models, 0 keeps `max_rules`.
        Where no rows are set aside it has no effect.
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
        Threads that train several networks and that predict; None or -1 means one per core.
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
    >>> model = DLNRegressor(max_epochs=3, random_state=0).fit(X, y)
    >>> model.predict(X.iloc[:2]).shape
    (2,)

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "hidden_layer_sizes": ["array-like"],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "callbacks": [list, tuple, None],
        "checkpoint": [str, os.PathLike, None],
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
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "learning_rate_schedule": [StrOptions({"constant", "cosine"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "n_networks": [Interval(Integral, 1, None, closed="left")],
        "refit": [StrOptions({"ridge"}), None],
        "rule_tolerance": [Interval(Real, 0, None, closed="left")],
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
        n_networks: int = 1,
        refit: Literal["ridge"] | None = "ridge",
        max_rules: int | None = 60,
        rule_tolerance: float = 0.35,
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
        self.n_networks = n_networks
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
        deadline = Deadline(self.max_seconds)
        architecture = self._architecture()
        rows = Rows(self, X, y, sample_weight)
        unseen = rows.unseen(X_val, y_val)
        task, store = self._task(rows, unseen, architecture), None
        if self.checkpoint is not None:
            store = Checkpoint.open(self.checkpoint, facts_of(task), seeds_are_free=self.random_state is None)
            task = replace(task, seeds=tuple(store.facts["seeds"]))
        with Progress(self.verbose) as progress:
            stop = deadline.stage("training")
            outcome = train_networks(
                task,
                n_threads=n_threads(self.n_jobs),
                callbacks=self.callbacks or (),
                progress=progress,
                store=store,
                stop=stop,
            )
            progress.end(cut_short=outcome.interrupted or bool(deadline.cut))
        kept = "the model is that of the best epoch so far"
        if outcome.interrupted:
            warn_cut_short(f"{kept}: {', '.join(str(network.best_epoch) for network in outcome.networks)}", None)
        elif deadline.cut:
            warn_cut_short(kept, self.max_seconds)
        circuits = self._discretized(outcome, rows)
        # One thread: the last bits of a matrix product hang on how many there are, and busy cores wait for each other.
        with threadpool_limits(limits=1):
            learned = mean_circuit(circuits) if self.refit is None else self._refitted(circuits, rows, unseen, task)
            circuit = simplify(learned)
            some, values = rows.sample(MAX_ROWS)
            points = subset_points(circuit, values, rows.y[some.index], some.weight)
        circuits = without_unused_categories([point.circuit for point in points if point.circuit is not None])
        points = [replace(point, circuit=own) for point, own in zip(points, circuits, strict=True)]
        self._learned(X, rows, circuits[-1], outcome.networks)
        self.support_ = list(points[-1].support)
        self._frontier = Frontier(tuple(points))
        if self.checkpoint is not None and not outcome.interrupted:
            remove_checkpoint(self.checkpoint)
        return self

    def _task(self, rows: Rows, unseen: Unseen | None, architecture: Architecture) -> NetworkTask:
        """Return what is trained: rows, architecture, plan and seeds."""
        seed = draw_seed(self.random_state)
        more = np.random.default_rng(seed).integers(2**31, size=self.n_networks - 1).tolist()
        n = len(rows.distinct.index)
        validation = None if unseen is None else validation_data(rows, unseen)
        n_validation = round(self.validation_fraction * n)
        if not self.early_stopping or validation is not None or n < MIN_ROWS_TO_VALIDATE:
            n_validation = 0
        stops_early = self.early_stopping and (n_validation > 0 or validation is not None)
        plan = self._plan(stops_early=stops_early)
        # How few rules do is judged on rows that no network has learned from.
        return NetworkTask(
            task_data(rows), validation, n_validation, architecture, plan, (seed, *more), same_rows_aside=True
        )

    def _discretized(self, outcome: Outcome, rows: Rows) -> list[Circuit]:
        """Return the trained networks as circuits; without a network, the mean of the target."""
        target = rows.target
        if not outcome.networks:
            intercept = on_grid(target.mean, target.decimals)
            return [Circuit(rows.encoder.columns, (), (), (), intercept, target.decimals)]
        return [
            discretize(
                trained.network,
                temperature=trained.temperature,
                sum_threshold=self.sum_link_threshold,
                encoder=rows.encoder,
                values=rows.values,
                rows=rows.distinct.index,
                target=target,
            )
            for trained in outcome.networks
        ]

    def _refitted(self, circuits: Sequence[Circuit], rows: Rows, unseen: Unseen | None, task: NetworkTask) -> Circuit:
        """Return the mean of the networks with fewer rules and weights solved for."""
        some, values = rows.sample(MAX_ROWS)
        training = Labelled(values, rows.target.standardise(rows.y[some.index]), some.weight)
        held_out: Labelled | npt.NDArray[np.intp] | None = None
        if unseen is not None:
            held_out = Labelled(unseen.values, rows.target.standardise(unseen.y), np.ones(len(unseen.y)))
        elif task.n_validation and len(some.index) == len(rows.distinct.index):
            held_out = validation_rows(len(some.index), task.n_validation, task.seeds[0])
        choice = RuleChoice(Loss(self.loss, self.quantile), self.max_rules, self.rule_tolerance)
        return choice.refit(circuits, training, held_out, rows.target)

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
