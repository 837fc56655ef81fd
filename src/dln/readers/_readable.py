"""Methods of a fitted model besides `predict`: rules, explanations, intervals, cost, pictures, smaller models."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dln.circuit._circuit import Circuit, Values
from dln.circuit._cost import Cost, Reading, circuit_cost
from dln.circuit._words import aligned
from dln.data._dates import with_dates_whole
from dln.data._reader import read_batches, read_table
from dln.readers._charts import frontier_chart, history_chart, importance_chart
from dln.readers._draw import Picture, draw
from dln.readers._explain import (
    Explanations,
    explain,
    feature_importances,
    importance_table,
    shapley_values,
    sum_by_input,
)
from dln.readers._frontier import Frontier
from dln.readers._intervals import USUAL, Intervals, Scale, Source, conformal_intervals, target_limits
from dln.readers._monitor import Drift, monitor
from dln.readers._reasons import Direction, ReasonFinder, Reasons, reasons_of
from dln.readers._rules import Importances, RuleTable, rule_table
from dln.readers._summary import summary_facts

Floats = npt.NDArray[np.float64]


class ReadableModel:
    """The readers of a circuit as methods of a fitted model, which has it as ``circuit_``."""

    predict: Any  # the estimator's
    circuit_: Circuit
    history_: Mapping[str, Sequence[Any]]
    intervals_: Intervals
    support_: list[float]
    target_name_: str
    training_facts_: Mapping[str, Any]
    _frontier: Frontier

    @property
    def rules_(self) -> RuleTable:
        """The rules, in words, those that move the prediction most first."""
        check_is_fitted(self)
        n_rows = getattr(self, "training_facts_", {}).get("rows")
        return rule_table(self.circuit_, getattr(self, "support_", None), self._target(), n_rows)

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each input column, summing to one, in the order of ``feature_names_in_``.

        Rules share what they move equally among the columns that they read; parts of a date are added up.
        """
        return sum_by_input(feature_importances(self.rules_), self.circuit_, self._inputs())

    @property
    def importances_(self) -> Importances:
        """The importance of each column with its name, the largest first; parts of dates stand one by one."""
        return importance_table(self.rules_, self._inputs())

    @property
    def frontier_(self) -> Frontier:
        """Conditions against held-out R², and the best models found for fewer conditions."""
        check_is_fitted(self)
        return self._frontier

    def summary(self) -> str:
        """Return the facts of the fit, a line each: training, size, operations and inputs.

        Returns
        -------
        str

        """
        check_is_fitted(self)
        return "\n".join(aligned(summary_facts(self), left=1))

    def explain(self, X: Any) -> Explanations:
        """Return for every row the rules that fired and their weights, which add up to the prediction exactly.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            The rows to explain; a pandas Series, a dictionary or an array of one axis is one row.

        Returns
        -------
        Explanations
            One `Explanation` per row; ``to_pandas()`` and ``to_polars()`` have one line per row and term.

        """
        check_is_fitted(self)
        return explain(self.circuit_, self._values(X), self._target(), getattr(self, "intervals_", None))

    def reasons(
        self,
        X: Any,
        n: int = 4,
        direction: Direction = "higher",
        reference: Any = "best",
        reason_texts: Mapping[str, str] | None = None,
    ) -> Reasons:
        """Return for every row the rules that move its prediction most against a reference, as sentences.

        Rules are merged by column: each belongs to the most important of the columns that it reads.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The rows to explain.
        n : int, default=4
            Largest number of reasons per row.
        direction : {"higher", "lower"}, default="higher"
            Reasons why the prediction is higher than the reference, or lower.
        reference : {"best", "mean"} or one row, default="best"
            "best": the most favourable sum that the rules of each reason reach together on any input: the lowest
            where `direction` is "higher", the highest where it is "lower". "mean": the mean prediction of the training
            rows, each rule's share of it rounded to the grid of the weights. Or a row of the user's.
        reason_texts : dict, optional
            Texts instead of sentences, by the name of a column, or by the words of a rule, which is then a reason of
            its own.

        Returns
        -------
        Reasons
            One `RowReasons` per row: ``prediction``, ``reference``, ``reasons`` and ``rest``, which add up exactly.

        """
        check_is_fitted(self)
        if not isinstance(reference, str):
            is_list = np.ndim(reference) == 1 and not hasattr(reference, "to_frame")
            reference = self._values([reference] if is_list else reference)
        support = getattr(self, "support_", None)
        finder = ReasonFinder(self.circuit_, support, n, direction, reference, reason_texts)
        return reasons_of(finder, self._values(X), self._target())

    def monitor(self, X: Any) -> Drift:
        """Compare rows with those of training: stability of predictions, columns and rules, and values not seen then.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows of today.

        Returns
        -------
        Drift
            One `DriftRow` for the predictions, for each column that rules read, and for each rule. Its
            ``beyond(psi=0.2)`` lists what exceeds a limit. A pruned model does not know the predictions of training.

        """
        check_is_fitted(self)
        used = {literal.column for literal in self.circuit_.literals}
        batches = (batch.values for batch in read_batches(_as_table(X), self.circuit_.columns, used, Counter()))
        support = getattr(self, "support_", None)
        return monitor(self.circuit_, support, self.training_facts_, batches, self._target())

    def shapley_values(self, X: Any, background: Any) -> tuple[Floats, float]:
        """Return exact Shapley values ``(n_rows, n_features_in_)`` against the background rows, and the base value.

        Base and values of a row add up to its prediction. Nothing is sampled: every row of the background counts.

        Parameters
        ----------
        X : table or array of shape (n_samples, n_features)
            The rows to explain.
        background : table like X
            The rows that they are compared with, those of training for example.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features)
            Contribution of each input column to the prediction of each row; parts of a date are added up.
        base : float
            The mean prediction of the background.

        """
        check_is_fitted(self)
        values, base = shapley_values(self.circuit_, self._values(X), self._values(background))
        return sum_by_input(values, self.circuit_, self._inputs()), base

    def calibrate(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the widths of prediction intervals to held-out rows.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows that had no part in `fit`, because errors of its rows are too small. 90 % needs 9 rows, 99 % needs 99;
            with a few hundred, intervals are stable.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            A row of weight 2 counts as two rows.

        Returns
        -------
        self

        """
        scale = self.intervals_.scale if hasattr(self, "intervals_") else Scale()
        self._set_intervals(self.predict(X), y, sample_weight, "rows set aside", scale)
        return self

    def predict_interval(self, X: Any, coverage: float = USUAL) -> Floats:
        """Return an interval for every row that holds its target with the given probability, on average over rows.

        The guarantee, whatever the distribution, is for new rows drawn like those of `calibrate`; with intervals from
        the folds of a fit it holds nearly. Widths follow the prediction as the errors on the fit's folds do. Ends lie
        in the range of the target in training and a tenth of it beyond, and cross zero only where the target did.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The rows to predict.
        coverage : float, default=0.9
            From 0.005 to 0.995.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite if the calibration rows are too few for the coverage.

        """
        check_is_fitted(self)
        if not hasattr(self, "intervals_"):
            raise AttributeError(
                "the model has no prediction intervals: call calibrate(X, y) with rows that were not part of fit"
            )
        return np.stack(self.intervals_.ends(self.predict(X), coverage), axis=1)

    def cost(self, reading: Reading = "multiply") -> Cost:
        """Return what one prediction costs in basic logic operations, by part.

        Parameters
        ----------
        reading : {"multiply", "select"}, default="multiply"
            Cost of a rule: "multiply" counts a multiplication and an addition, "select" an addition that it gates.

        Returns
        -------
        Cost
            ``int`` of it is the number of operations, ``print`` shows the parts.

        """
        check_is_fitted(self)
        return circuit_cost(self.circuit_, reading)

    def plot(
        self,
        kind: Literal["circuit", "importance", "history", "frontier"] = "circuit",
        *,
        max_rules: int | None = 20,
        ax: Any = None,
    ) -> Picture | Any:
        """Draw the model.

        Parameters
        ----------
        kind : {"circuit", "importance", "history", "frontier"}, default="circuit"
            A picture of the rules, or a chart: of importances, of the training, or of conditions against held-out R².
        max_rules : int or None, default=20
            Largest number of rules in the picture, those that move the prediction most; None: all.
        ax : matplotlib axes, optional
            Axes for a chart; by default those of a new figure.

        Returns
        -------
        Picture or matplotlib axes
            A picture has ``svg``, ``png`` and ``save(path)``.

        """
        check_is_fitted(self)
        if kind == "circuit":
            order = [row.index for row in self.rules_]
            return draw(self.circuit_, max_rules=max_rules, order=order, target=self._target())
        if kind == "importance":
            return importance_chart(self.importances_, ax)
        if kind == "history":
            return history_chart(self.history_, ax)
        if kind == "frontier":
            return frontier_chart(self.frontier_, ax)
        raise ValueError(f'kind must be "circuit", "importance", "history" or "frontier", got {kind!r}')

    def prune(self, max_conditions: int) -> Self:
        """Return a copy with at most so many conditions: the best model found for that size, with its own weights.

        Parameters
        ----------
        max_conditions : int
            Largest number of printed comparisons; 0 leaves the intercept alone.

        Returns
        -------
        RuleRegressor or DLNRegressor
            A fitted copy; the model itself stays as it is.

        """
        if getattr(self, "edits_", ()) and max_conditions < self.rules_.n_conditions:
            raise ValueError("an edited model has no smaller models: leave rules out by edit(drop=…), or fit again")
        frontier = self.frontier_.pruned(max_conditions)
        point = frontier.own
        assert point is not None and point.circuit is not None  # noqa: PT018, S101 (a model stands in its frontier)
        smaller = copy.copy(self)
        smaller._frontier = frontier  # noqa: SLF001 (same class)
        if point.circuit != self.circuit_:
            smaller.circuit_ = point.circuit
            smaller.support_ = list(point.support)
            smaller.__dict__.pop("intervals_", None)  # those of the larger model are too narrow
            facts = self.training_facts_.items()
            smaller.training_facts_ = {name: fact for name, fact in facts if name != "predictions"}
        return smaller

    def _set_intervals(self, predicted: Floats, y: Any, weight: Any, source: Source, scale: Scale | None) -> None:
        limits = target_limits(*(self.training_facts_[name] for name in ("target_min", "target_max")))
        self.intervals_ = conformal_intervals(predicted, y, weight, source, scale=scale, limits=limits)

    def _target(self) -> str:
        return getattr(self, "target_name_", None) or "prediction"

    def _inputs(self) -> list[str]:
        """Return the names of the input columns."""
        names = getattr(self, "feature_names_in_", None)
        return with_dates_whole([column.name for column in self.circuit_.columns]) if names is None else list(names)

    def _values(self, X: Any) -> Sequence[Values]:
        return read_table(_as_table(X), self.circuit_.columns).values


def _as_table(X: Any) -> Any:
    """Return one row, a dictionary, a pandas Series or an array of one axis, as a table; anything else as it is."""
    if isinstance(X, np.ndarray) and X.ndim == 1:
        return X[None]
    if isinstance(X, Mapping):
        import polars as pl

        return pl.DataFrame([X])
    return X.to_frame().T.infer_objects() if hasattr(X, "to_frame") and hasattr(X, "index") else X
