"""`RuleRegressor`: a model that fits on one page. Parameters, checks and the pipeline from table to circuit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions
from sklearn.utils.validation import check_is_fitted

from dln._compile import is_compiled
from dln._edit import EditableRegressor, FixedRules, new_rules
from dln._interrupt import Deadline, ctrl_c_calls
from dln._progress import Progress
from dln._regressor import MAX_ROWS, SHARED_CONSTRAINTS, Rows, draw_seed, end_early, n_threads
from dln._saving import without_unused_categories
from dln.circuit._build import with_rules
from dln.circuit._circuit import Circuit, Column, Rule
from dln.circuit._constraints import Constraint, check_constraints, weight_signs
from dln.circuit._cost import count_conditions
from dln.circuit._simplify import readable
from dln.data._constraint_parameters import read_constraints
from dln.data._division import LabelledRows
from dln.data._source import array_names, open_source
from dln.data._target import Target
from dln.readers._frontier import Frontier, Point
from dln.readers._intervals import Scale, Source
from dln.readers._monitor import rule_support
from dln.readers._rules import ConstraintTable, constraint_table
from dln.rules._bins import bin_rows, bin_table
from dln.rules._change_kernel import change_rules
from dln.rules._constants import MEMBER
from dln.rules._learn import FitConfig, Learned, RuleLearner, SizedRules, assemble
from dln.rules._task import Sample
from dln.solve._select import Budget
from dln.solve._weights import Loss

#: Rows times inputs: a wide table gets fewer rows.
MAX_CELLS = 100_000_000
#: Conditions where ``max_conditions=None``: those of four averaged models.
UNLIMITED = 4 * MEMBER


@dataclass(kw_only=True, eq=False, repr=False)  # the parameters, as scikit-learn wants them
class RuleRegressor(EditableRegressor):
    """Regression by a weighted sum of short logic rules: a model that fits on one page.

    Rules are grown greedily, the best set within a budget of conditions is selected, improved by local search, and
    becomes a Boolean circuit: ``circuit_``. Teachers, boosted trees among them, steady the target where
    cross-validation shows that it helps. `DLNRegressor` is the paper's network.

    Parameters
    ----------
    max_conditions : int or None, default=100
        Largest number of conditions of the model: printed comparisons, the measure of what a person reads. The
        smallest size is taken whose loss on held-out rows is within one standard error of the best size's, and whose R²
        is at most 0.002 lower. None: as many as help, up to 3200.
    max_rule_length : int, default=6
        Largest number of conditions of one rule.
    max_rules : int or None, default=None
        Largest number of rules; None: as many as the conditions allow.
    min_samples_rule : int or float, default=5
        Training rows on which each rule must fire, and on which it must not, as a number or as a share of all, up to
        0.25. Of tables with less than four times as many rows, a quarter of them.
    loss : {"squared_error", "huber", "absolute_error", "quantile"}, default="squared_error"
        What the weights minimise. Rules are always found by squared error.
    quantile : float, default=0.5
        The quantile to predict where ``loss="quantile"``.
    fixed_rules : sequence of str or None, default=None
        Rules that the model of every size has, like ``'age > 60 and smoker = "yes"'``, as they would be printed. They
        count among the conditions; the others are learned from what they leave of the target.
    n_grown_rules : int, default=600
        Candidate rules that are grown greedily.
    n_teachers : int, default=4
        Kinds of teachers, in this order: extra trees, boosted trees, and for up to 6000 rows two support vector
        machines. 0: rules learn y alone.
    n_synthetic_rows : int, default=3000
        Rows put together from those of the table, for teachers to label.
    n_generations : int, default=8
        How often, at most, the best set of rules is given more conditions for a while. The search ends earlier where
        that gains little.
    cv : int, scikit-learn splitter, iterable of (train, test) row numbers or None, default=None
        Folds for all that is chosen on held-out rows: teachers, target, size, frontier, intervals. None: by the number
        of rows; with groups, sizes are validated on all. Rows that no fold holds out have no part in the choice.
    monotonic_cst : dict of names to -1, 0 or 1, list with one of them per column, or None, default=None
        Columns of numbers as which rise the prediction may not fall (1) or may not rise (-1), missing values apart.
        That holds for every input: it is proved of the finished model, and of those that `prune` returns.
    interaction_cst : list of lists of columns, "no_interactions", "pairwise" or None, default=None
        Columns that may meet in one rule: those of a group, by names or indices. Columns not named are one further
        group. "no_interactions": one column per rule; "pairwise": two.
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
        1 shows progress bars.

    Attributes
    ----------
    circuit_ : Circuit
        The model: rules in the user's names and units.
    constraints_ : ConstraintTable
        The constraints, each with a sentence and the outcome of its proof.
    frontier_ : Frontier
        Conditions against held-out R², and the best models found for fewer conditions.
    intervals_ : Intervals
        How far predictions may be off, from the rows that were validated on.
    training_facts_ : dict
        Rows, distinct rows and range of the target that were learned from, and versions of the libraries.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> model = RuleRegressor(max_conditions=30, n_teachers=0, random_state=0).fit(X, y)
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
        "max_rules": [Interval(Integral, 1, None, closed="left"), None],
        "fixed_rules": ["array-like", None],
        "min_samples_rule": [Interval(Integral, 1, None, closed="left"), Interval(RealNotInt, 0, 0.25, closed="right")],
        "n_grown_rules": [Interval(Integral, 0, None, closed="left")],
        "n_teachers": [Interval(Integral, 0, None, closed="left")],
        "n_synthetic_rows": [Interval(Integral, 0, None, closed="left")],
        "n_generations": [Interval(Integral, 0, None, closed="left")],
        "monotonic_cst": ["array-like", dict, None],
        "interaction_cst": [list, tuple, StrOptions({"no_interactions", "pairwise"}), None],
    }

    max_conditions: int | None = 100
    max_rule_length: int = 6
    max_rules: int | None = None
    min_samples_rule: float = 5
    loss: Literal["squared_error", "huber", "absolute_error", "quantile"] = "squared_error"
    quantile: float = 0.5
    fixed_rules: Sequence[str] | None = None
    n_grown_rules: int = 600
    n_teachers: int = 4
    n_synthetic_rows: int = 3000
    n_generations: int = 8
    cv: Any = None
    monotonic_cst: Any = None
    interaction_cst: Any = None
    categorical_features: Any = "from_dtype"
    max_categories: int | None = 32
    min_frequency: int = 1
    max_seconds: float | None = None
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None
    verbose: int = 0

    refit = EditableRegressor._refit  # noqa: SLF001 (`DLNRegressor.refit_weights`, where `refit` is a parameter)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None, groups: Any = None
    ) -> Self:
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
        groups : array-like of shape (n_samples,), optional
            A label for every row, a patient's for example: the rows of a group are never on both sides of a split.

        Returns
        -------
        self

        """
        deadline = Deadline(self.max_seconds)
        rows = Rows(self, X, y, sample_weight, groups)
        unseen = rows.unseen(X_val, y_val)
        constraints: tuple[Constraint, ...] = ()
        if self.monotonic_cst is not None or self.interaction_cst is not None:
            source = open_source(X)
            names = array_names(source.n_columns) if source.names is None else source.names
            constraints = read_constraints(self.monotonic_cst, self.interaction_cst, names, rows.table.columns)
        texts = self.fixed_rules
        circuit = None if texts is None else self._read_fixed_rules(texts, rows, constraints)
        config = self._config([] if circuit is None else count_conditions(circuit))
        with Progress(self.verbose) as progress, ctrl_c_calls(deadline.cancel, progress.say_stopping):
            if not is_compiled(change_rules):
                progress.say_compiling()
            most = max(self.max_categories or 0, 1)
            widths = [1 if one.categories is None else min(len(one.categories), most) for one in rows.table.columns]
            given = rows.sample(max(1, min(MAX_ROWS, MAX_CELLS // max(sum(widths), 1))))
            sample = self._sample(given, rows.table.columns, constraints)
            validation = None
            if unseen is not None:
                inputs = bin_rows(sample.inputs.inputs, unseen.values)
                validation = Sample(inputs, unseen.y, unseen.weight, np.ones(len(unseen.y), np.int64), 0.0)
            fixed = None
            if circuit is not None:  # the others are learned from what the fixed rules leave of the target
                fixed = FixedRules(circuit, given, config.loss, constraints)
                sample = sample._replace(y=sample.y - fixed.predict(given.values))
                if validation is not None and unseen is not None:
                    validation = validation._replace(y=validation.y - fixed.predict(unseen.values))
            learned = RuleLearner(config, deadline, progress).learn(sample, validation)
            progress.end(cut_short=deadline.was_cancelled or bool(deadline.cut))
            self._set_model(
                X, rows, learned, given, fixed, constraints, "folds" if unseen is None else "rows set aside"
            )
        end_early(deadline, self.max_seconds, "the model is the best found so far")
        return self

    def _read_fixed_rules(self, texts: Sequence[str], rows: Rows, constraints: tuple[Constraint, ...]) -> Circuit:
        """Return the circuit of the fixed rules, or raise where they do not fit the table, the limits or each other."""
        empty = Circuit(rows.table.columns, (), (), (), 0.0, rows.target.decimals)
        circuit = with_rules(empty, [(one, 0.0) for one in new_rules("fixed_rules", texts, empty.columns).values()])
        lengths = count_conditions(circuit)
        for name, size, what in (
            ("max_rule_length", max(lengths, default=0), "conditions in one of them"),
            ("max_conditions", sum(lengths), "conditions"),
            ("max_rules", len(lengths), "rules"),
        ):
            if (limit := getattr(self, name)) is not None and size > limit:
                raise ValueError(f"fixed_rules must keep within {name}={limit}, but they have {size} {what}")
        for one, sign in zip(circuit.rules, weight_signs(circuit, constraints) or [0] * len(lengths), strict=True):
            alone = replace(circuit, rules=(Rule(one.node, float(sign or 1)),), decimals=0)
            check_constraints(alone, constraints, rows.target_name or "prediction")
        return circuit

    def _config(self, fixed_lengths: Sequence[int] = ()) -> FitConfig:
        conditions = UNLIMITED if self.max_conditions is None else self.max_conditions
        # Not the conditions: larger sizes, of which only the validated R² is computed, have more rules.
        rules = max(conditions, UNLIMITED) if self.max_rules is None else self.max_rules
        return FitConfig(
            Budget(int(conditions) - sum(fixed_lengths), int(self.max_rule_length), int(rules) - len(fixed_lengths)),
            int(self.n_grown_rules),
            int(self.n_generations),
            Loss(self.loss, self.quantile),
            int(self.n_teachers),
            int(self.n_synthetic_rows),
            draw_seed(self.random_state),
            n_threads(self.n_jobs),
        )

    @property
    def constraints_(self) -> ConstraintTable:
        """The constraints, each with a sentence and the outcome of its proof."""
        check_is_fitted(self)
        return constraint_table(self._constraints, self.circuit_.columns, self._target())

    def _sample(self, given: LabelledRows, columns: tuple[Column, ...], constraints: tuple[Constraint, ...]) -> Sample:
        """Return the rows to learn from, in bins."""
        inputs = bin_table(columns, given.values, given.weight, self.max_categories, self.min_frequency)
        share = self.min_samples_rule / (int(given.counts.sum()) if self.min_samples_rule >= 1 else 1)
        min_weight = float(share * given.weight.sum())
        inputs = replace(inputs, constraints=constraints)
        return Sample(inputs, given.y, given.weight, given.counts, min_weight, given.division)

    def _set_model(
        self,
        X: Any,
        rows: Rows,
        learned: Learned,
        given: LabelledRows,
        fixed: FixedRules | None,
        constraints: tuple[Constraint, ...],
        source: Source,
    ) -> None:
        """Set the fitted attributes; `given` are the rows learned from, `source` is where intervals come from."""
        models = assemble(learned.points, learned.inputs, rows.table.columns, rows.target)
        circuits = [readable(circuit) for circuit in models]
        if fixed is not None:
            learned, circuits = _with_fixed(learned, circuits, fixed, rows.target)
        explained = {} if learned.validation is None else dict(learned.validation.explained)
        points = []
        for model, circuit in zip(learned.points, circuits, strict=True):
            conditions = count_conditions(circuit)
            support = rule_support(circuit.rule_values(given.values), given.weight)
            r2 = explained.pop(model.budget, None)
            points.append(Point(model.budget, sum(conditions), len(conditions), r2, circuit, tuple(support)))
        # last: the codes of the table are those of all categories
        n_kept = learned.chosen + 1
        circuits = without_unused_categories(circuits[:n_kept])
        for circuit in circuits if constraints else ():
            check_constraints(circuit, constraints, rows.target_name or "prediction")
        kept = [replace(point, circuit=own) for point, own in zip(points[:n_kept], circuits, strict=True)]
        larger = [replace(point, circuit=None, support=()) for point in points[n_kept:]]
        # Sizes for which the validation had a model and the fit has none, where `max_rules` is reached before them.
        larger += [Point(size, None, None, r2) for size, r2 in explained.items()]
        self._learned(X, rows, circuits[-1])
        self._constraints = constraints
        self.support_ = list(kept[-1].support)
        ascending = sorted([*kept, *larger], key=lambda point: point.max_conditions)
        self._frontier = Frontier(tuple(ascending), learned.ceiling)
        validation, size = learned.validation, kept[-1].max_conditions
        if validation is not None and size in validation.predicted:
            spread, mean = rows.target.spread, rows.target.mean
            y, predicted = (mean + spread * part for part in (validation.y, validation.predicted[size]))
            # Held-out predictions of what fixed rules leave do not tell how errors grow with the prediction.
            scale = None if fixed is None else Scale()
            self._set_intervals(predicted, y, validation.weight, source, scale)


def _with_fixed(
    learned: Learned, circuits: Sequence[Circuit], fixed: FixedRules, target: Target
) -> tuple[Learned, list[Circuit]]:
    """Return the models of all sizes, and their circuits, with the fixed rules in each; they alone are the smallest."""
    n, alone = sum(count_conditions(fixed.circuit)), SizedRules(0, (), 0.0, np.empty(0))
    points = tuple(replace(point, budget=point.budget + n) for point in (alone, *learned.points))
    validation = learned.validation
    if validation is not None:
        explained = {size + n: fixed.r2(r2) for size, r2 in validation.explained.items()}
        predicted = {size + n: values for size, values in validation.predicted.items()}
        validation = replace(validation, explained=explained, predicted=predicted)
    ceiling = None if learned.ceiling is None else fixed.r2(learned.ceiling)
    learned = replace(learned, points=points, chosen=learned.chosen + 1, validation=validation, ceiling=ceiling)
    return learned, [
        fixed.joined(one, target) for one in (replace(circuits[0], literals=(), gates=(), rules=()), *circuits)
    ]
