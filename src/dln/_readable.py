"""What a person does with a fitted model besides predicting: read, ask why, look, count, make smaller."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from dln._charts import frontier_chart, history_chart, importance_chart
from dln._circuit import Circuit, Values
from dln._draw import Picture, draw
from dln._explain import Explanations, explain, feature_importances, shapley_values
from dln._frontier import Frontier, find_frontier, prune
from dln._operations import CircuitCost, Reading, circuit_cost
from dln._rules import RuleTable, rule_support, rule_table
from dln._table import read_table

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    """What the frontier is found from: where rules fired in training, a bit a row, and what was to be predicted."""

    fires: npt.NDArray[np.uint8]
    y: Floats
    weight: Floats
    validation: tuple[npt.NDArray[np.bool_], Floats, Floats | None] | None

    def frontier(self) -> Frontier:
        fires = np.unpackbits(self.fires, axis=1, count=len(self.y)).astype(np.bool_)
        return find_frontier(fires, self.y, self.weight, validation=self.validation)


class ReadableModel:
    """The readers of a circuit as methods of a fitted model, which has it as ``circuit_``."""

    circuit_: Circuit
    history_: Mapping[str, Sequence[Any]]
    support_: list[float]
    target_name_: str
    _rehearsal: _Rehearsal
    _frontier: Frontier

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
        """Rules kept against the error on the training rows, found when it is first asked for."""
        check_is_fitted(self)
        if not hasattr(self, "_frontier"):
            if not hasattr(self, "_rehearsal"):
                message = "the frontier is known after fit, but is not kept in a model file: fit the model again"
                raise AttributeError(message)
            self._frontier = self._rehearsal.frontier()
        return self._frontier

    def explain(self, X: Any) -> Explanations:
        """Return for every row the rules that fired and their weights, which add up to the prediction exactly."""
        check_is_fitted(self)
        return explain(self.circuit_, self._values(X), self._target())

    def shapley_values(self, X: Any, background: Any) -> tuple[Floats, float]:
        """Return exact Shapley values ``(n_rows, n_columns)`` against the background rows, and the base value.

        Base and values of a row add up to its prediction. Nothing is sampled: every row of the background counts.
        """
        check_is_fitted(self)
        return shapley_values(self.circuit_, self._values(X), self._values(background))

    def cost(self, reading: Reading = "paper") -> CircuitCost:
        """Return what one prediction costs in basic logic operations, by part.

        ``"paper"`` counts a multiplication and an addition per rule, ``"select"`` an addition that the rule lets
        through.
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

        ``"circuit"`` is a picture of the rules that move the prediction most, at most `max_rules` of them; the others
        are charts, and return matplotlib axes: ``"importance"`` of the columns, ``"history"`` of the training,
        ``"frontier"`` of rules against error.
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

    def prune(self, max_rules: int) -> Self:
        """Return a copy of the model with at most so many rules, the best found, with weights of their own."""
        point = self.frontier_.pick(max_rules)
        smaller = copy.copy(self)
        smaller.circuit_ = prune(self.circuit_, point)
        smaller.support_ = [self.support_[i] for i in point.rules]
        smaller._frontier = self.frontier_.within(point)  # noqa: SLF001 (it is one of us)
        return smaller

    def _study(
        self,
        values: Sequence[Values],
        y: Floats,
        weight: Floats,
        validation: tuple[Sequence[Values], Floats, Floats | None] | None = None,
    ) -> None:
        """Learn from the training rows how often rules fire, and remember what the frontier needs."""
        fires = _matrix(self.circuit_, values, len(y))
        self.support_ = rule_support(list(fires), weight)
        other = None
        if validation is not None:
            other = (_matrix(self.circuit_, validation[0], len(validation[1])), validation[1], validation[2])
        self._rehearsal = _Rehearsal(np.packbits(fires, axis=1), y, weight, other)
        self.__dict__.pop("_frontier", None)

    def _target(self) -> str:
        return getattr(self, "target_name_", None) or "prediction"

    def _values(self, X: Any) -> Sequence[Values]:
        return read_table(X, self.circuit_.columns).values


def _matrix(circuit: Circuit, values: Sequence[Values], n_rows: int) -> npt.NDArray[np.bool_]:
    return np.array(circuit.rule_values(values), dtype=np.bool_).reshape(len(circuit.rules), n_rows)
