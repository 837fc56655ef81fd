"""A set of rules with the products that tell, exactly, what any change of one rule would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dln.learning._expression import Expression, length
from dln.learning._inputs import Bools, Floats
from dln.learning._task import Task

#: A rule whose variance given the others is below this share of its own is taken as a sum of them.
DEPENDENT = 1e-4


@dataclass(frozen=True, slots=True)
class Rest:
    """The other rules, refitted without one of them: what a rule in its place would be judged by."""

    inverse: Floats
    """Of the others' penalised Gram matrix; zero in the row and column of the rule that is out."""
    residual: Floats
    """(n,): what the others leave of the target."""


class RuleSet:
    """Rules, all weights refitted by ridge regression whenever anything changes."""

    def __init__(self, task: Task, expressions: Sequence[Expression]) -> None:
        self.task = task
        self.expressions = list(expressions)
        self.lengths = [length(expression) for expression in expressions]
        self.fires = [task.signals(expression) for expression in expressions]
        self.weighted = np.empty((task.n_rows, len(self.fires)), dtype=np.float32)
        """(n, n_rules): rules less their means, times the rows' weights. A column's sum over the rows where another
        rule fires is their covariance; rows lie together, for such sums are made all the time."""
        for j, fires in enumerate(self.fires):
            self.weighted[:, j] = self._weigh(fires)
        self.gram = (_as_rows(self.fires, task.n_rows) @ self.weighted).astype(np.float64)
        self.right: Floats = np.asarray(self.task.centred @ self.weighted, np.float64)
        self._inverse: Floats | None = None
        self.marginal = 0.0
        """What the last condition brought when the set was last extended."""

    def __len__(self) -> int:
        return len(self.expressions)

    @property
    def n_conditions(self) -> int:
        return sum(self.lengths)

    def copy(self) -> RuleSet:
        """Return a set that changes on its own."""
        other = object.__new__(RuleSet)
        other.__dict__.update(self.__dict__)
        other.expressions, other.lengths, other.fires = list(self.expressions), list(self.lengths), list(self.fires)
        other.weighted, other.gram, other.right = self.weighted.copy(), self.gram.copy(), self.right.copy()
        return other

    def weights(self, penalty: float | None = None) -> tuple[float, Floats]:
        """Return the intercept and the rules' weights."""
        task = self.task
        if not len(self):
            return task.mean, np.empty(0)
        penalised = self.gram + (task.penalty if penalty is None else penalty) * np.eye(len(self))
        weights: Floats = np.asarray(np.linalg.solve(penalised, self.right), np.float64)
        means = np.array([float(task.weight @ fires) for fires in self.fires]) / task.total_weight
        return task.mean - float(weights @ means), weights

    def loss(self) -> float:
        """Return the penalised squared error of the refitted rules."""
        if not len(self):
            return self.task.variation
        penalised = self.gram + self.task.penalty * np.eye(len(self))
        return self.task.variation - float(self.right @ np.linalg.solve(penalised, self.right))

    def without(self, j: int | None) -> Rest:
        """Return the set without rule j, or the whole set for None."""
        if self._inverse is None:
            self._inverse = np.asarray(np.linalg.inv(self.gram + self.task.penalty * np.eye(len(self))), np.float64)
        inverse: Floats = self._inverse
        if j is not None:  # the inverse without a row and a column
            inverse = inverse - np.outer(inverse[:, j], inverse[j] / inverse[j, j])
            inverse[j] = inverse[:, j] = 0.0
        weights = (inverse @ self.right).astype(np.float32)
        residual = self.task.centred - (self.weighted @ weights) / self.task.weight
        return Rest(inverse, residual)

    def gains(self, rest: Rest, rules: Sequence[Bools]) -> Floats:
        """Return by how much each of some rules would lower the loss, if it joined the rest."""
        task = self.task
        fires = _as_rows(rules, task.n_rows)
        mass = fires @ task.weight
        own = mass * (1.0 - mass / task.total_weight)
        explained = fires @ (task.weight * rest.residual)
        across = (fires @ self.weighted).astype(np.float64)
        given = own + task.penalty - ((across @ rest.inverse) * across).sum(axis=1)
        gains: Floats = explained**2 / np.maximum(given, DEPENDENT * own + np.finfo(np.float64).tiny)
        # A rule that always fires, or never, tells nothing; its products are rounding errors.
        return np.where((mass > 0.5) & (mass < task.total_weight - 0.5), gains, 0.0)  # noqa: PLR2004 (half a row)

    def replace(self, j: int, expression: Expression, fires: Bools) -> None:
        """Put another rule in the place of one."""
        self._inverse = None
        self.expressions[j], self.lengths[j], self.fires[j] = expression, length(expression), fires
        self.weighted[:, j] = self._weigh(fires)
        self.gram[j] = self.gram[:, j] = fires.astype(np.float32) @ self.weighted
        self.right[j] = float(self.task.centred @ self.weighted[:, j])

    def add(self, expression: Expression, fires: Bools) -> None:
        """Add a rule."""
        self._inverse = None
        self.expressions.append(expression)
        self.lengths.append(length(expression))
        self.fires.append(fires)
        self.weighted = np.concatenate([self.weighted, self._weigh(fires)[:, np.newaxis]], axis=1)
        self.gram = np.pad(self.gram, ((0, 1), (0, 1)))
        self.gram[-1] = self.gram[:, -1] = fires.astype(np.float32) @ self.weighted
        self.right = np.append(self.right, float(self.task.centred @ self.weighted[:, -1]))

    def remove(self, j: int) -> None:
        """Take a rule away."""
        self._inverse = None
        keep = np.array([i for i in range(len(self)) if i != j], dtype=np.intp)
        self.expressions.pop(j)
        self.lengths.pop(j)
        self.fires.pop(j)
        self.weighted, self.gram = self.weighted[:, keep], self.gram[np.ix_(keep, keep)]
        self.right = self.right[keep]

    def _weigh(self, fires: Bools) -> npt.NDArray[np.float32]:
        weight = self.task.weight
        return np.asarray((fires - float(weight @ fires) / self.task.total_weight) * weight, np.float32)


def _as_rows(rules: Sequence[Bools], n_rows: int) -> npt.NDArray[np.float32]:
    """Return rules as ``(n_rules, n_rows)``, also if there are none."""
    return np.array(rules, dtype=np.float32).reshape(len(rules), n_rows)
