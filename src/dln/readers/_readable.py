"""Methods of a fitted model besides prediction: rules, explanations, cost, pictures, smaller models."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dln.circuit._circuit import Circuit, Values
from dln.circuit._cost import CircuitCost, Reading, circuit_cost
from dln.data._reader import read_table
from dln.readers._charts import frontier_chart, history_chart, importance_chart
from dln.readers._draw import Picture, draw
from dln.readers._explain import Explanations, explain, feature_importances, shapley_values
from dln.readers._frontier import Frontier
from dln.readers._rules import RuleTable, rule_table

Floats = npt.NDArray[np.float64]


class ReadableModel:
    """The readers of a circuit as methods of a fitted model, which has it as ``circuit_``."""

    circuit_: Circuit
    history_: Mapping[str, Sequence[Any]]
    support_: list[float]
    target_name_: str
    _frontier: Frontier | None

    @property
    def rules_(self) -> RuleTable:
        """The rules, in words, those that move the prediction most first."""
        check_is_fitted(self)
        return rule_table(self.circuit_, getattr(self, "support_", None), self._target())

    @property
    def feature_importances_(self) -> Floats:
        """The importance of each column, summing to one: rules share what they move equally among their columns."""
        check_is_fitted(self)
        return feature_importances(self.circuit_, self.rules_)

    @property
    def frontier_(self) -> Frontier:
        """Conditions against validated R², and the best models found for fewer conditions."""
        check_is_fitted(self)
        if self._frontier is None:
            message = "the model was saved by a version that kept no frontier: fit it again"
            raise AttributeError(message)
        return self._frontier

    def explain(self, X: Any) -> Explanations:
        """Return for every row the rules that fired and their weights, which add up to the prediction exactly.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of shape (n_samples, n_features)
            The rows to explain.

        Returns
        -------
        Explanations
            One `Explanation` per row: ``prediction``, ``intercept``, ``terms`` and, where it is known, ``interval``.

        """
        check_is_fitted(self)
        return explain(self.circuit_, self._values(X), self._target(), getattr(self, "intervals_", None))

    def shapley_values(self, X: Any, background: Any) -> tuple[Floats, float]:
        """Return exact Shapley values ``(n_rows, n_columns)`` against the background rows, and the base value.

        Base and values of a row add up to its prediction. Nothing is sampled: every row of the background counts.

        Parameters
        ----------
        X : pandas, polars or pyarrow table, or array of shape (n_samples, n_features)
            The rows to explain.
        background : table like X
            The rows that they are compared with, those of training for example.

        Returns
        -------
        values : ndarray of shape (n_samples, n_features)
            Contribution of each column to the prediction of each row.
        base : float
            The mean prediction of the background.

        Raises
        ------
        ValueError
            If a rule reads too many columns for exact values.

        """
        check_is_fitted(self)
        return shapley_values(self.circuit_, self._values(X), self._values(background))

    def cost(self, reading: Reading = "multiply") -> CircuitCost:
        """Return what one prediction costs in basic logic operations, by part.

        Parameters
        ----------
        reading : {"multiply", "select"}, default="multiply"
            Cost of a rule: "multiply" counts a multiplication and an addition, "select" an addition that it gates.

        Returns
        -------
        CircuitCost
            Its ``total``, and the parts that make it up.

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
            A picture of the rules, or a chart: of the columns' importance, of the training, or of conditions against
            validated R².
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
            return importance_chart([column.name for column in self.circuit_.columns], self.feature_importances_, ax)
        if kind == "history":
            return history_chart(self.history_, ax)
        if kind == "frontier":
            return frontier_chart(self.frontier_, ax)
        message = f'kind must be "circuit", "importance", "history" or "frontier", got {kind!r}'
        raise ValueError(message)

    def prune(self, max_conditions: int) -> Self:
        """Return a copy with at most so many conditions: the best model found for that size, with its own weights.

        Parameters
        ----------
        max_conditions : int
            Largest number of printed comparisons.

        Returns
        -------
        RuleRegressor or DLNRegressor
            A fitted copy; the model itself stays as it is.

        Raises
        ------
        ValueError
            If no model that small is known.

        """
        point = self.frontier_.pick(max_conditions)
        smaller = copy.copy(self)
        smaller._frontier = self.frontier_.at_most(point)  # noqa: SLF001 (same class)
        if point.circuit != self.circuit_:
            assert point.circuit is not None  # noqa: S101 (only such points are picked)
            smaller.circuit_ = point.circuit
            smaller.support_ = list(point.support)
            smaller.__dict__.pop("intervals_", None)  # those of the larger model are too narrow
        return smaller

    def _target(self) -> str:
        return getattr(self, "target_name_", None) or "prediction"

    def _values(self, X: Any) -> Sequence[Values]:
        return read_table(X, self.circuit_.columns).values
