"""`RuleRegressor`: a model that fits on one page. Parameters, checks and the pipeline from table to circuit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numba
import numpy as np
import sklearn
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from dln._atomic import AnyPath
from dln._dln import DLNRegressor
from dln._interrupt import Deadline, ctrl_c_calls
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
from dln._saving import from_saved, without_unused_categories
from dln._version import __version__
from dln.circuit._conditions import count_conditions, readable
from dln.network._checkpoint import Checkpoint, array_digest, remove_checkpoint
from dln.network._loop import Callback
from dln.network._networks import NetworkTask, Outcome, train_networks
from dln.readers._frontier import Frontier, Point
from dln.readers._intervals import Residuals
from dln.readers._rules import rule_support
from dln.readers.model_file import MAX_BYTES, SavedModel, read_model
from dln.rules._assemble import Training, assemble
from dln.rules._compiling import are_compiled
from dln.rules._goal import Sample
from dln.rules._inputs import bin_inputs
from dln.rules._learn import Fit, Learned, Setting
from dln.rules._student import Recipe
from dln.rules._task import MEMBER
from dln.solve._losses import Loss
from dln.solve._products import Floats
from dln.solve._select import Budget

#: Numbers that are encoded at the most, rows times inputs: a wide table gets fewer rows.
MAX_CELLS = 100_000_000
#: Conditions of a model that nobody asked to be short: four models of 800.
UNLIMITED = 4 * MEMBER


class RuleRegressor(CircuitRegressor):
    """Regression by a weighted sum of short logic rules: a model that fits on one page.

    Differentiable logic networks are trained by gradient descent, their neurons compete with rules grown greedily, and
    the best set within a budget of conditions is frozen into a Boolean circuit: ``circuit_``. Teachers, strong models
    that nobody could read, steady the target where that proves to help. `DLNRegressor` is the paper's network.

    Parameters
    ----------
    max_conditions : int or None, default=100
        Conditions of the model at the most: printed comparisons, the measure of what a person reads. Fewer are taken
        where they are worth as much. None: as many as help, up to 3200.
    max_rule_length : int, default=6
        Conditions of one rule at the most.
    max_rules : int or None, default=None
        Rules at the most; None: as many as the conditions allow.
    loss : {"squared_error", "huber", "absolute_error", "quantile"}, default="squared_error"
        What the weights minimise. Rules are always found by squared error.
    quantile : float, default=0.5
        The quantile to predict where ``loss="quantile"``.
    n_networks : int, default=2
        Networks that are trained; the short neurons of all their layers are candidate rules.
    hidden_layer_sizes : tuple of int, default=(300, 300, 300)
        Neurons in each layer of a network. One of layer k has at most 2^k conditions.
    max_epochs : int, default=60
        Passes of a network over the rows, at the most; large tables get fewer.
    n_grown_rules : int, default=600
        Candidate rules that are grown greedily.
    n_teachers : int, default=4
        Kinds of teachers, in this order: extra trees, boosted trees, and for up to 6000 rows two support vector
        machines. 0: rules learn y alone.
    n_synthetic_rows : int, default=3000
        Rows put together from those of the table, for teachers to label.
    n_generations : int, default=16
        Children that are made of the sets of rules found so far: a quarter of them selected anew from two sets, the
        others from the best one, which is given more conditions for a while.
    categorical_features : "from_dtype", list of names, indices or bools, or None, default="from_dtype"
        Which columns hold categories. "from_dtype": text, categorical and Boolean columns.
    max_categories : int or None, default=32
        Categories of a column that rules may name, the most frequent.
    min_frequency : int, default=1
        Rows that a category must have for rules to name it.
    max_seconds : float or None, default=None
        Seconds that `fit` may take, all stages together; the best model found so far is kept.
    random_state : int, RandomState or None, default=None
        Seed of all that is random.
    n_jobs : int or None, default=None
        Threads of a fit; None or -1 means one per core. The result does not depend on it.
    verbose : int, default=0
        1 shows progress bars, 2 also tells each better epoch.
    callbacks : list of callables or None, default=None
        Called after every epoch of a network with its record (see ``history_``); one that returns True ends the
        training of networks.
    checkpoint : path or None, default=None
        A file in which the fit is kept, stage by stage and every few seconds. The same fit, started again, goes on from
        there and ends in the same model; then the file is removed. A checkpoint of other data or parameters is refused.

    Attributes
    ----------
    circuit_ : Circuit
        The model: rules in the user's names and units.
    frontier_ : Frontier
        Conditions against validated R², and the best models found for fewer conditions.
    intervals_ : Intervals
        How far predictions may be off, from the rows that were validated on.
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
    >>> model = RuleRegressor(max_conditions=30, n_teachers=0, n_networks=0, random_state=0).fit(X, y)
    >>> model.rules_.n_conditions <= 30
    True
    >>> small = model.prune(max_conditions=10)
    >>> explanation = small.explain(X.iloc[:1])[0]
    >>> bool(explanation.prediction == small.predict(X.iloc[:1])[0])
    True

    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SHARED_CONSTRAINTS,
        "max_conditions": [Interval(Integral, 1, None, closed="left"), None],
        "max_rule_length": [Interval(Integral, 1, None, closed="left")],
        "n_networks": [Interval(Integral, 0, None, closed="left")],
        "n_grown_rules": [Interval(Integral, 0, None, closed="left")],
        "n_teachers": [Interval(Integral, 0, None, closed="left")],
        "n_synthetic_rows": [Interval(Integral, 0, None, closed="left")],
        "n_generations": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        max_conditions: int | None = 100,
        max_rule_length: int = 6,
        max_rules: int | None = None,
        loss: Literal["squared_error", "huber", "absolute_error", "quantile"] = "squared_error",
        quantile: float = 0.5,
        n_networks: int = 2,
        hidden_layer_sizes: Sequence[int] = (300, 300, 300),
        max_epochs: int = 60,
        n_grown_rules: int = 600,
        n_teachers: int = 4,
        n_synthetic_rows: int = 3000,
        n_generations: int = 16,
        categorical_features: Any = "from_dtype",
        max_categories: int | None = 32,
        min_frequency: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        callbacks: Sequence[Callback] | None = None,
        checkpoint: AnyPath | None = None,
    ) -> None:
        self.max_conditions = max_conditions
        self.max_rule_length = max_rule_length
        self.max_rules = max_rules
        self.loss = loss
        self.quantile = quantile
        self.n_networks = n_networks
        self.hidden_layer_sizes = hidden_layer_sizes
        self.max_epochs = max_epochs
        self.n_grown_rules = n_grown_rules
        self.n_teachers = n_teachers
        self.n_synthetic_rows = n_synthetic_rows
        self.n_generations = n_generations
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
            Rows to validate on, instead of folds of those learned from.

        Returns
        -------
        self

        """
        deadline = Deadline(self.max_seconds)
        recipe = self._recipe()
        # A test on a bit that categories share would read as long as they are many.
        rows = Rows(self, X, y, sample_weight, shared_bits=False)
        unseen = rows.unseen(X_val, y_val)
        seed = draw_seed(self.random_state)
        sample, store = self._sample(rows, unseen), None
        if self.checkpoint is not None:
            facts = self._facts(sample, recipe, seed)
            store = Checkpoint.open(self.checkpoint, facts, seeds_are_free=self.random_state is None)
            seed = store.facts["seeds"][0]
        setting = Setting(
            recipe,
            Loss(self.loss, self.quantile),
            self.n_teachers,
            self.n_synthetic_rows,
            seed,
            n_threads(self.n_jobs),
        )
        # All that follows is quick, but a signal now must not throw away what was learned.
        with Progress(self.verbose) as progress, ctrl_c_calls(deadline.cancel):
            if not are_compiled(networks=self.n_networks > 0):
                progress.say_compiling()
            learned = Fit(setting, deadline, self._trainer(progress, store, deadline), progress, store).learn(*sample)
            progress.end(cut_short=deadline.was_cancelled or bool(deadline.cut))
            self._set_model(X, rows, sample[0].inputs.cutoffs, learned, were_set_aside=unseen is not None)
        if deadline.was_cancelled or deadline.cut:
            cut = ", ".join(dict.fromkeys(deadline.cut)) or "nothing"
            kept = f"the model is the best found so far; cut short: {cut}"
            warn_cut_short(kept, None if deadline.was_cancelled else self.max_seconds)
        if self.checkpoint is not None and not deadline.was_cancelled:
            remove_checkpoint(self.checkpoint)
        return self

    def _recipe(self) -> Recipe:
        conditions = UNLIMITED if self.max_conditions is None else self.max_conditions
        return Recipe(
            Budget(
                int(conditions),
                int(self.max_rule_length),
                # Not the conditions: what larger sizes are worth is told too, and they have more rules.
                int(max(conditions, UNLIMITED) if self.max_rules is None else self.max_rules),
            ),
            int(self.n_networks),
            layer_sizes(self.hidden_layer_sizes),
            int(self.max_epochs),
            int(self.n_grown_rules),
            int(self.n_generations),
        )

    def _sample(self, rows: Rows, unseen: Unseen | None) -> tuple[Sample, Sample | None]:
        """Return the rows to learn from, and those of the user's to validate on, as inputs and standardised target."""
        encoder, target = rows.encoder, rows.target
        n_inputs = max(1, len(encoder.scaled) + len(encoder.bits))
        some = rows.distinct.sample(max(1, min(MAX_ROWS, MAX_CELLS // n_inputs)))
        columns = [scaled.column for scaled in encoder.scaled] + [literal.column for literal in encoder.bits]
        encoded = encoder.encode(rows.values, some.index)
        inputs = bin_inputs(encoded.numbers, encoded.bits, columns)
        sample = Sample(inputs, target.standardise(rows.y[some.index]), some.weight)
        if unseen is None:
            return sample, None
        encoded = encoder.encode(unseen.values)
        others = bin_inputs(encoded.numbers, encoded.bits, columns, inputs.cutoffs)
        return sample, Sample(others, target.standardise(unseen.y), np.ones(len(unseen.y)))

    def _facts(self, sample: tuple[Sample, Sample | None], recipe: Recipe, seed: int) -> dict[str, Any]:
        """Return all that the result depends on, in the user's words where there are any."""
        digests = [
            None
            if one is None
            else array_digest(one.inputs.numbers, one.inputs.bits, one.inputs.columns, one.y, one.weight)
            for one in sample
        ]
        return {
            "number of distinct rows": len(sample[0].y),
            "data": digests[0],
            "validation data": digests[1],
            "max_conditions": recipe.budget.conditions,
            "max_rule_length": recipe.budget.rule_length,
            "max_rules": None if self.max_rules is None else recipe.budget.rules,
            "loss": self.loss,
            "quantile": float(self.quantile),
            "n_networks": recipe.n_networks,
            "hidden_layer_sizes": list(recipe.hidden_layer_sizes),
            "max_epochs": recipe.max_epochs,
            "n_grown_rules": recipe.n_grown_rules,
            "n_teachers": int(self.n_teachers),
            "n_synthetic_rows": int(self.n_synthetic_rows),
            "n_generations": recipe.n_generations,
            "seeds": [seed],
            "version of dln": __version__,
            "version of numba": numba.__version__,
            "version of numpy": np.__version__,
            "version of scikit-learn": sklearn.__version__,
        }

    def _trainer(
        self, progress: Progress, store: Checkpoint | None, deadline: Deadline
    ) -> Callable[[NetworkTask, Callable[[], bool]], Outcome]:
        def train(task: NetworkTask, stop: Callable[[], bool]) -> Outcome:
            outcome = train_networks(
                task,
                n_threads=n_threads(self.n_jobs),
                callbacks=self.callbacks or (),
                progress=progress,
                # After a stage that was cut short they learn another target than they would: not to be gone on from.
                store=None if deadline.cut or deadline.over() else store,
                stop=stop,
            )
            if outcome.interrupted:  # by a callback, or by a handler of the user's own
                deadline.cancel()
            return outcome

        return train

    def _set_model(
        self, X: Any, rows: Rows, cutoffs: Sequence[Floats], learned: Learned, *, were_set_aside: bool
    ) -> None:
        """Become the model that was learned: rules that speak of cut-offs by their indices."""
        training = Training(rows.values, rows.distinct.index, rows.encoder, rows.target)
        models = [(point.expressions, point.intercept, point.weights) for point in learned.points]
        circuits = assemble(models, cutoffs, training)
        circuits = [readable(circuit) for circuit in circuits]
        some, values = rows.sample(MAX_ROWS)
        explained = {} if learned.validation is None else dict(learned.validation.explained)
        points = []
        for point, circuit in zip(learned.points, circuits, strict=True):
            conditions = count_conditions(circuit)
            support = rule_support(circuit.rule_values(values), some.weight)
            worth = explained.pop(point.budget, None)
            points.append(Point(point.budget, sum(conditions), len(conditions), worth, circuit, tuple(support)))
        # last: the codes of the table are those of all categories
        n_kept = learned.chosen + 1
        circuits = without_unused_categories(circuits[:n_kept])
        kept = [replace(point, circuit=own) for point, own in zip(points[:n_kept], circuits, strict=True)]
        larger = [replace(point, circuit=None, support=()) for point in points[n_kept:]]
        # Sizes for which the validation had a model and the fit has none, where `max_rules` is reached before them.
        larger += [Point(size, None, None, worth) for size, worth in explained.items()]
        self._learned(X, rows, circuits[-1], learned.networks.networks)
        self.support_ = list(kept[-1].support)
        ascending = sorted([*kept, *larger], key=lambda point: point.max_conditions)
        self._frontier = Frontier(tuple(ascending), learned.ceiling)
        validation, size = learned.validation, kept[-1].max_conditions
        if validation is not None and size in validation.predicted:
            spread, mean = rows.target.spread, rows.target.mean
            y, predicted = (mean + spread * part for part in (validation.y, validation.predicted[size]))
            of_rows = Residuals.set_aside if were_set_aside else Residuals.from_folds
            self.intervals_ = of_rows(predicted, y, validation.weight).intervals()


def load_estimator(path: AnyPath, *, max_bytes: int = MAX_BYTES) -> RuleRegressor | DLNRegressor:
    """Return the fitted model that `save` wrote, as `dln.load` does, which need not import this module."""
    saved = read_model(path, max_bytes)
    return from_saved(estimator_class(saved), saved, path)


def estimator_class(saved: SavedModel) -> type[RuleRegressor | DLNRegressor]:
    """Return the class of the estimator that a file holds."""
    return DLNRegressor if saved.kind == "network" else RuleRegressor
