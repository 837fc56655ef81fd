"""`DLNRegressor`: the scikit-learn estimator. Parameters, checks and the pipeline from table to circuit."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import (
    _get_feature_names,
    check_array,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from dln._assemble import MAX_ROWS, Growth, Recipe, Training, assemble
from dln._atomic import AnyPath
from dln._bits import PreparedCircuit, predict_array, prepare
from dln._bits import predict as predict_values
from dln._circuit import Circuit, Values
from dln._discretize import Target
from dln._encoding import learn_encoder
from dln._errors import FitInterruptedWarning
from dln._model_file import MAX_BYTES, read_model, write_model
from dln._readable import ReadableModel
from dln._rows import CanonicalRows, canonical_rows, check_weight
from dln._saving import from_saved, to_saved, training_facts
from dln._simplify import simplify
from dln._table import Table, learn_table, read_batches, read_table
from dln.training._checkpoint import remove_checkpoint
from dln.training._layout import Data
from dln.training._loop import Callback, Plan
from dln.training._networks import Architecture, Outcome, Task, train_networks
from dln.training._progress import Progress
from dln.training._schedules import Schedule
from dln.training._signals import sigterm_as_ctrl_c

T = TypeVar("T", int, float)

#: Fewer rows than this are all trained on: a validation share of them would tell nothing.
MIN_ROWS_TO_VALIDATE = 20
#: Circuits of more gates are simplified gate by gate only: minimising their tables would take longer than training.
MAX_GATES_TO_MINIMISE = 400
#: Rows that are converted at once: float64 numbers on their way to float32 are not to fill the memory.
ROWS_AT_ONCE = 65_536
#: A model of at most so many rules is made with more care for each; without a limit, growth aims at this many.
SMALL_MODEL = 40
LARGE_MODEL = 100


class DLNRegressor(ReadableModel, RegressorMixin, BaseEstimator):
    """Regression by a weighted sum of logic rules over thresholds on the inputs.

    A differentiable logic network is trained by gradient descent and frozen into a Boolean circuit: ``circuit_``. The
    defaults are the best we know; `DLNRegressor.paper` gives the model of the paper.

    Parameters
    ----------
    hidden_layer_sizes : tuple of int, default=(128, 128, 64)
        Neurons in each logic layer. Those of the last are the rules that may enter the sum.
    n_thresholds : int, default=10
        Thresholds per number column, at most; each logic layer trains its own copy of them.
    n_candidate_links : int, default=8
        Inputs that each side of a neuron may choose from, drawn once at random.
    n_candidate_gates : int, default=8
        Gates that a neuron may choose from, at most 16.
    concatenate_inputs : bool, default=True
        Whether every logic layer sees the inputs besides the layer before it.
    initial_sum_logit : float, default=2.0
        Where the links of the sum start. At 0, as in the paper, all are closed at first.
    straight_through : {"neuron", "separate"} or None, default="neuron"
        How gradients pass the discrete choices. "neuron": hard forward, backward as if the whole neuron were soft;
        "separate": links and gates relaxed one by one; None: soft forward too, the plain relaxation.
    phases : {"unified", "alternating"}, default="unified"
        Whether gates and links are trained together, or in turns, epoch by epoch.
    temperature, temperature_decay, min_temperature : float, default=1.0, 0.98, 0.1
        The temperature τ of all choices is multiplied by the decay after each epoch, down to the minimum.
    sum_link_threshold : float, default=0.8
        A rule enters the sum where its link's probability reaches this.
    gradient_factor : float, default=1.0
        Multiplies the gradient behind every threshold and logic layer.
    loss : {"squared_error", "huber", "absolute_error", "quantile"}, default="squared_error"
        What is minimised, on the standardised target.
    quantile : float, default=0.5
        The quantile to predict where ``loss="quantile"``.
    learning_rate : float, default=0.01
        Step of the optimiser Adam.
    learning_rate_schedule : {"constant", "cosine", "warmup_cosine"}, default="cosine"
        How the learning rate goes over ``max_epochs``.
    batch_size : int, default=32
        Rows per step.
    max_epochs : int, default=200
        Passes over the data, at most.
    early_stopping : bool, default=True
        Whether to stop when the validation loss has not improved for `n_iter_no_change` epochs. Without it all rows
        are trained on, for all epochs.
    validation_fraction : float, default=0.15
        Share of the rows set aside to validate, unless `fit` is given ``X_val`` and ``y_val``.
    n_iter_no_change : int, default=40
        Epochs to wait for a better validation loss.
    n_networks : int, default=1
        Networks trained from different seeds and pooled into one circuit. Where `max_rules` is more than 40 and the
        teachers' target turns out better than y, which the networks learned, their rules are left out.
    n_grown_rules : int, default=400
        Rules grown from boosted trees besides those of the networks; the best of all enter the model.
    max_leaves : int or None, default=None
        Leaves of the tree behind a grown rule. None tries 4 to 64 on rows set aside, and takes the fewest that
        do nearly as well as the best: the fewer, the easier to read.
    max_cutoffs : int or None, default=None
        Different cut-offs that grown rules may use in all; None: 3 per rule where `max_rules` is at most 40, else 4,
        but no more than 400.
    n_teachers : int, default=8
        Bagged boosted trees, blended with a kernel regression where that is better, that steady a noisy target as far
        as it proves to help on rows that they have not seen, also for rows imagined between those of the table; they
        also say where to cut.
    polish_sweeps : int or None, default=None
        How often each grown rule is grown anew against what the others leave, where teachers say what to grow for or
        it proves to help; None: 10 where `max_rules` is at most 40, else 2.
    rule_tolerance : float or None, default=None
        Share of the target's variance that may be given up for fewer rules; None: 0.005 where `max_rules` is at most
        40, else 0.0003.
    refit : {"ridge"} or None, default="ridge"
        Whether the rules' weights are solved for at the end, on all rows; None keeps those of the network.
    max_rules : int or None, default=150
        Rules to keep, at most.
    categorical_features : "from_dtype", list of names, indices or bools, or None, default="from_dtype"
        Which columns hold categories. "from_dtype": text, categorical and Boolean columns.
    max_categories : int or None, default=32
        Categories of a column that get a bit of their own; the rest, the less frequent, share one.
    min_frequency : int, default=1
        Rows that a category must have for a bit of its own.
    random_state : int, RandomState or None, default=None
        Seed of all that is random.
    n_jobs : int or None, default=None
        Threads that train networks; None or -1 means one per core. The result does not depend on it.
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
    history_ : dict of lists
        Per epoch: network, epoch, training_loss, validation_loss, temperature, learning_rate, open_rules, is_best.
    n_iter_ : int
        Epochs that were run, by the network that ran longest.
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
    >>> small = model.prune(max_rules=5)
    >>> len(small.rules_), small.cost("select").total < model.cost("select").total
    (5, True)
    >>> explanation = small.explain(X.iloc[:1])[0]
    >>> bool(explanation.prediction == small.predict(X.iloc[:1])[0])
    True

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": ["array-like"],
        "n_thresholds": [Interval(Integral, 1, None, closed="left")],
        "n_candidate_links": [Interval(Integral, 1, None, closed="left")],
        "n_candidate_gates": [Interval(Integral, 1, 16, closed="both")],
        "concatenate_inputs": ["boolean"],
        "initial_sum_logit": [Interval(Real, None, None, closed="neither")],
        "straight_through": [StrOptions({"neuron", "separate"}), None],
        "phases": [StrOptions({"unified", "alternating"})],
        "temperature": [Interval(Real, 0, None, closed="neither")],
        "temperature_decay": [Interval(Real, 0, 1, closed="right")],
        "min_temperature": [Interval(Real, 0, None, closed="neither")],
        "sum_link_threshold": [Interval(Real, 0, 1, closed="neither")],
        "gradient_factor": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"squared_error", "huber", "absolute_error", "quantile"})],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "learning_rate_schedule": [StrOptions({"constant", "cosine", "warmup_cosine"})],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "max_epochs": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "n_networks": [Interval(Integral, 0, None, closed="left")],
        "n_grown_rules": [Interval(Integral, 0, None, closed="left")],
        "max_leaves": [Interval(Integral, 2, None, closed="left"), None],
        "max_cutoffs": [Interval(Integral, 1, None, closed="left"), None],
        "n_teachers": [Interval(Integral, 0, None, closed="left")],
        "polish_sweeps": [Interval(Integral, 0, None, closed="left"), None],
        "rule_tolerance": [Interval(Real, 0, None, closed="left"), None],
        "refit": [StrOptions({"ridge"}), None],
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
        "max_categories": [Interval(Integral, 2, None, closed="left"), None],
        "min_frequency": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callbacks": [list, tuple, None],
        "checkpoint": [str, os.PathLike, None],
    }

    def __init__(
        self,
        *,
        hidden_layer_sizes: Sequence[int] = (128, 128, 64),
        n_thresholds: int = 10,
        n_candidate_links: int = 8,
        n_candidate_gates: int = 8,
        concatenate_inputs: bool = True,
        initial_sum_logit: float = 2.0,
        straight_through: Literal["neuron", "separate"] | None = "neuron",
        phases: Literal["unified", "alternating"] = "unified",
        temperature: float = 1.0,
        temperature_decay: float = 0.98,
        min_temperature: float = 0.1,
        sum_link_threshold: float = 0.8,
        gradient_factor: float = 1.0,
        loss: Literal["squared_error", "huber", "absolute_error", "quantile"] = "squared_error",
        quantile: float = 0.5,
        learning_rate: float = 0.01,
        learning_rate_schedule: Schedule = "cosine",
        batch_size: int = 32,
        max_epochs: int = 200,
        early_stopping: bool = True,
        validation_fraction: float = 0.15,
        n_iter_no_change: int = 40,
        n_networks: int = 1,
        n_grown_rules: int = 400,
        max_leaves: int | None = None,
        max_cutoffs: int | None = None,
        n_teachers: int = 8,
        polish_sweeps: int | None = None,
        rule_tolerance: float | None = None,
        refit: Literal["ridge"] | None = "ridge",
        max_rules: int | None = 150,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = 32,
        min_frequency: int = 1,
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
        self.n_grown_rules = n_grown_rules
        self.max_leaves = max_leaves
        self.max_cutoffs = max_cutoffs
        self.n_teachers = n_teachers
        self.polish_sweeps = polish_sweeps
        self.rule_tolerance = rule_tolerance
        self.refit = refit
        self.max_rules = max_rules
        self.categorical_features = categorical_features
        self.max_categories = max_categories
        self.min_frequency = min_frequency
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks
        self.checkpoint = checkpoint

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """Return the paper's model: one network, constant learning rate, its own weights.

        >>> DLNRegressor.paper(random_state=0).refit is None
        True
        """
        return cls(**{**PAPER, **changes})

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> Self:
        """Learn the rules.

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
        table = learn_table(X, self.categorical_features)
        name = getattr(y, "name", None)
        y = self._check_target(y, table.n_rows, "y")
        weight = None if sample_weight is None else check_weight(sample_weight, table.n_rows)
        rows = canonical_rows(table.values, y, weight)
        encoder = learn_encoder(
            table.columns,
            table.values,
            rows.weight,
            rows=rows.index,
            max_categories=self.max_categories,
            min_frequency=self.min_frequency,
        )
        target = Target.of(y[rows.index], rows.weight)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_networks + 1).tolist()
        validation = self._validation_rows(X_val, y_val, table)
        training = Training(table.values, y, rows, encoder, target)
        with Progress(self.verbose, self.n_networks, self.max_epochs) as progress:
            outcome = self._train(training, validation, seeds, progress)
            circuit, interrupted = self._assemble(outcome, training, progress)
        circuit = simplify(circuit, thorough=len(circuit.gates) <= MAX_GATES_TO_MINIMISE)
        validate_data(self, X, skip_check_array=True)  # only now: a fit that fails leaves the model as it was
        self.circuit_ = circuit
        self._prepared_circuit()  # now, so that predict changes nothing
        sample = rows.sample(MAX_ROWS)
        unseen = None if validation is None else (*validation, None)
        self._study([column[sample.index] for column in table.values], y[sample.index], sample.weight, unseen)
        self._remember(outcome)
        self._name_target(name)
        self.training_facts_ = training_facts(table.n_rows, len(rows.index), y[rows.index])
        if self.checkpoint is not None and not interrupted:
            remove_checkpoint(self.checkpoint)
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return predictions for a table with the columns of `fit`; named columns may stand in any order.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of shape (n_samples, n_features)
            The rows to predict; only columns that rules use are read.

        Returns
        -------
        ndarray of shape (n_samples,)

        """
        if not hasattr(self, "circuit_"):  # asked here first: one row should take microseconds
            check_is_fitted(self)
        prepared, n_threads = self._prepared_circuit(), _n_threads(self.n_jobs)
        if self._is_plain_array(X) and (fast := predict_array(prepared, X, n_threads)) is not None:
            return fast
        batches = read_batches(X, self.circuit_.columns, only=prepared.used)
        predicted = [predict_values(prepared, next(batches).values, n_threads)]
        if _get_feature_names(X) is None or not hasattr(self, "feature_names_in_"):
            validate_data(self, X, reset=False, skip_check_array=True)
        predicted += [predict_values(prepared, batch.values, n_threads) for batch in batches]
        return np.concatenate(predicted) if len(predicted) > 1 else predicted[0]

    def save(self, path: AnyPath) -> None:
        """Write the fitted model to a file that `dln.load` reads: data only, the same bytes for the same model.

        The file is whole or is not there: a crash or a full disk leaves what was there before. Parameters that say how
        to run a fit (`n_jobs`, `verbose`, `callbacks`, `checkpoint`) and a `random_state` that is not a number are left
        out.
        """
        check_is_fitted(self, "circuit_")
        write_model(path, to_saved(self))

    def _prepared_circuit(self) -> PreparedCircuit:
        """Return the circuit ready to run; it is prepared once."""
        prepared: PreparedCircuit | None = self.__dict__.get("_prepared")
        if prepared is None or prepared.circuit is not self.circuit_:
            self._prepared = prepared = prepare(self.circuit_)
        return prepared

    def _is_plain_array(self, X: Any) -> bool:
        """Whether X is what `read_table` would take as it is: an array of numbers, for a model of nameless numbers."""
        return (
            type(X) in (np.ndarray, np.memmap)
            and X.dtype in (np.float64, np.float32)
            and X.ndim == 2  # noqa: PLR2004 (rows and columns)
            and X.shape[0] > 0
            and X.shape[1] == self.n_features_in_
            and X.dtype.isnative
            and not hasattr(self, "feature_names_in_")
            and not self._prepared.reads_categories
        )

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_prepared"}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _train(
        self,
        training: Training,
        unseen: tuple[Sequence[Values], npt.NDArray[np.float64]] | None,
        seeds: list[int],
        progress: Progress,
    ) -> Outcome:
        """Train the networks on the canonical rows."""
        rows = training.rows
        validation = None
        if unseen is not None:
            seen = training.encoder.encode(unseen[0])
            all_rows = CanonicalRows(np.arange(len(unseen[1])), np.ones(len(unseen[1])))
            validation = _data(seen.numbers, seen.bits, unseen[1], all_rows, training.target)
        encoded = training.encoder.encode(training.values, rows.index)
        data = _data(encoded.numbers, encoded.bits, training.y, rows, training.target)
        n_validation = round(self.validation_fraction * len(rows.index))
        if not self.early_stopping or validation is not None or len(rows.index) < MIN_ROWS_TO_VALIDATE:
            n_validation = 0
        stops_early = self.early_stopping and (n_validation > 0 or validation is not None)
        *network_seeds, later_seed = seeds
        plan = self._plan(stops_early)
        task = Task(data, validation, n_validation, self._architecture(), plan, tuple(network_seeds), later_seed)
        outcome = train_networks(
            task,
            n_threads=_n_threads(self.n_jobs),
            callbacks=self.callbacks or (),
            progress=progress,
            checkpoint=self.checkpoint,
            seeds_are_free=self.random_state is None,
        )
        if outcome.interrupted:
            epochs = [network.best_epoch for network in outcome.networks]
            message = (
                f"the fit was interrupted; the model is that of the best epochs so far: {epochs}. Fit again, or give "
                "checkpoint= a path next time, to go on"
            )
            warnings.warn(message, FitInterruptedWarning, stacklevel=5)
        return outcome

    def _assemble(self, outcome: Outcome, training: Training, progress: Progress) -> tuple[Circuit, bool]:
        """Put the circuit together; once interrupted, from the networks alone. Return also whether it was."""
        recipe = self._recipe(outcome.later_seed)
        without_growth = replace(recipe, growth=replace(recipe.growth, n_rules=0))
        if outcome.interrupted:
            return assemble(outcome.networks, training, without_growth, progress), True
        try:
            with sigterm_as_ctrl_c():
                return assemble(outcome.networks, training, recipe, progress), False
        except KeyboardInterrupt:
            if not outcome.networks:
                raise
            message = "the fit was interrupted while rules were grown; the model is that of its networks alone"
            warnings.warn(message, FitInterruptedWarning, stacklevel=5)
            return assemble(outcome.networks, training, without_growth, progress), True

    def _recipe(self, seed: int) -> Recipe:
        """Return how to put the circuit together; what was left open depends on how small the model is to be."""
        most = self.max_rules or LARGE_MODEL
        small = most <= SMALL_MODEL
        growth = Growth(
            n_rules=self.n_grown_rules,
            max_leaves=self.max_leaves,
            max_cutoffs=_given(self.max_cutoffs, (3 if small else 4) * min(most, LARGE_MODEL)),
            n_teachers=self.n_teachers,
            sweeps=_given(self.polish_sweeps, 10 if small else 2),
            seed=seed,
            n_threads=_n_threads(self.n_jobs),
        )
        tolerance = _given(self.rule_tolerance, 0.005 if small else 0.0003)
        return Recipe(
            self.sum_link_threshold,
            self.refit,
            self.loss,
            self.quantile,
            self.max_rules,
            tolerance,
            mixes=small,  # measured: with many rules they do harm, with 20 they help
            growth=growth,
        )

    def _remember(self, outcome: Outcome) -> None:
        epochs = [asdict(epoch) for network in outcome.networks for epoch in network.epochs]
        names = ("network", "epoch", "training_loss", "validation_loss", "temperature", "learning_rate", "open_rules")
        self.history_ = {name: [epoch[name] for epoch in epochs] for name in (*names, "is_best")}
        self.n_iter_ = max((len(network.epochs) for network in outcome.networks), default=0)

    def _name_target(self, name: object) -> None:
        """Remember what the target is called, where it is a series with a name."""
        self.__dict__.pop("target_name_", None)
        if isinstance(name, str) and name:
            self.target_name_ = name

    def _validation_rows(
        self, X_val: Any, y_val: Any, table: Table
    ) -> tuple[Sequence[Values], npt.NDArray[np.float64]] | None:
        """Return the columns and the target of the validation data, or None where none was given."""
        if (X_val is None) != (y_val is None):
            given, missing = ("X_val", "y_val") if y_val is None else ("y_val", "X_val")
            message = f"{given} was given without {missing}: validation data needs both"
            raise ValueError(message)
        if X_val is None:
            return None
        validation = read_table(X_val, table.columns)
        return validation.values, self._check_target(y_val, validation.n_rows, "y_val")

    @staticmethod
    def _check_target(y: Any, n_rows: int, name: str) -> npt.NDArray[np.float64]:
        if y is None:
            message = "requires y to be passed, but the target y is None"
            raise ValueError(message)
        y = check_array(y, ensure_2d=False, dtype="numeric", input_name=name, ensure_all_finite=True)
        y = column_or_1d(y, dtype=np.float64, warn=True, input_name=name)
        if len(y) != n_rows:
            message = f"Found input variables with inconsistent numbers of samples: [{n_rows}, {len(y)}]"
            raise ValueError(message)
        return np.asarray(y + 0.0)

    def _architecture(self) -> Architecture:
        sizes = tuple(self.hidden_layer_sizes)
        if not sizes or not all(isinstance(size, Integral) and size > 0 for size in sizes):
            message = (
                f"hidden_layer_sizes must hold at least one positive whole number, got {self.hidden_layer_sizes!r}"
            )
            raise ValueError(message)
        return Architecture(
            tuple(int(size) for size in sizes),
            self.n_thresholds,
            self.n_candidate_links,
            self.n_candidate_gates,
            self.concatenate_inputs,
            self.initial_sum_logit,
        )

    def _plan(self, stops_early: bool) -> Plan:  # noqa: FBT001 (internal)
        return Plan(
            straight_through=self.straight_through,
            phases=self.phases,
            temperature=self.temperature,
            temperature_decay=self.temperature_decay,
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
        )


def load(path: AnyPath, *, max_bytes: int = MAX_BYTES) -> DLNRegressor:
    """Return the fitted model that `DLNRegressor.save` wrote: it predicts the same bits.

    A file that is damaged, hostile, of a later format or larger than `max_bytes` raises `ModelFileError`; nothing in it
    is ever run.

    >>> import tempfile
    >>> model = DLNRegressor(max_epochs=3, random_state=0).fit([[1.0], [2.0], [3.0]], [1.0, 1.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.dln")
    ...     loaded = load(f"{folder}/model.dln")
    >>> bool((loaded.predict([[1.0], [3.0]]) == model.predict([[1.0], [3.0]])).all())
    True
    """
    return from_saved(DLNRegressor, read_model(path, max_bytes), path)


#: How the paper's model differs from our defaults.
PAPER: dict[str, Any] = {
    "hidden_layer_sizes": (200, 200, 100),
    "learning_rate": 0.005,
    "learning_rate_schedule": "constant",
    "max_epochs": 1000,
    "n_iter_no_change": 200,
    "validation_fraction": 0.1,
    "min_temperature": 0.03,
    "n_grown_rules": 0,
    "refit": None,
    "max_rules": None,
    "max_categories": None,
}


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


def _given(value: T | None, otherwise: T) -> T:
    return otherwise if value is None else value


def _n_threads(n_jobs: int | None) -> int:
    cores = os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)
