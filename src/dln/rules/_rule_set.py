"""A set of rules with the products that give, exactly, what any change of one rule gains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from dln.data._rows import Bools, Floats
from dln.rules._bits import pack
from dln.rules._constants import DEPENDENT, HALF_A_ROW
from dln.rules._expression import Expression, length
from dln.rules._task import Task
from dln.solve._weights import Signs, solve_with_signs


class RuleSet:
    """Rules, all weights refitted by ridge regression whenever anything changes."""

    def __init__(self, task: Task, expressions: Sequence[Expression]) -> None:
        self.task = task
        self.expressions = list(expressions)
        self.lengths = [length(expression) for expression in expressions]
        self.fires: Bools = np.empty((len(self), task.n_rows), np.bool_)
        """(n_rules, n)"""
        for j, expression in enumerate(expressions):
            self.fires[j] = task.signals(expression)
        self.words = pack(self.fires)
        """(n_rules, n_words): the same as bits."""
        self.means: Floats = self.fires @ task.weight / task.total_weight
        self.gram: Floats = self._covariances(self.fires)
        self.right: Floats = self.fires @ (task.weight * task.centred)
        self.marginal_gain = 0.0
        """The gain of the last condition when the set was last extended."""

    def __len__(self) -> int:
        return len(self.expressions)

    @property
    def n_conditions(self) -> int:
        """The conditions of all rules."""
        return sum(self.lengths)

    @property
    def signs(self) -> Signs | None:
        """The sign that each rule's weight must have, 0 for any; None without constraints."""
        limits = self.task.limits
        return None if limits.is_free else np.array([limits.sign(one) for one in self.expressions], np.int64)

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of the penalised Gram matrix: who changes the products changes it too, or forgets it."""
        return np.ascontiguousarray(np.linalg.inv(self._penalised()))

    def forget_inverse(self) -> None:
        """Let the inverse be computed anew: rounding errors add up when it is updated."""
        self.__dict__.pop("inverse", None)

    def copy(self) -> RuleSet:
        """Return a copy."""
        other = object.__new__(RuleSet)
        other.__dict__.update(self.__dict__)
        other.expressions, other.lengths = list(self.expressions), list(self.lengths)
        for name in ("fires", "words", "means", "gram", "right"):
            setattr(other, name, getattr(self, name).copy())
        other.forget_inverse()
        return other

    def weights(self, penalty: float | None = None) -> tuple[float, Floats]:
        """Return the intercept and the rules' weights."""
        if not len(self):
            return self.task.mean, np.empty(0)
        weights = solve_with_signs(self._penalised(penalty), self.right, self.signs)
        return self.task.mean - float(weights @ self.means), weights

    def loss(self) -> float:
        """Return the penalised squared error of the refitted rules."""
        return self.task.variation - float(self.right @ self.weights()[1])

    def residual(self) -> Floats:
        """Return the target less the prediction of the refitted rules, ``(n,)``."""
        intercept, weights = self.weights()
        return self.task.target - intercept - weights @ self.fires

    def gains(self, rules: Bools) -> Floats:
        """Return by how much each of some rules ``(n_rules, n)`` would lower the loss if it joined the set.

        With the residual r of the refitted set, a new rule x lowers the penalised squared error by (x·r)² / v. Here v
        is its variance given the set, plus the penalty: x·x + penalty - a'(G + penalty I)⁻¹a, where a are its products
        with the rules of the set and G those of the set.
        """
        task = self.task
        weight_sum = rules @ task.weight
        variance = weight_sum * (1.0 - weight_sum / task.total_weight)
        products = rules @ (task.weight * self.residual())
        across = self._covariances(rules)
        given = variance + task.penalty - ((across @ self.inverse) * across).sum(axis=1)
        gains: Floats = products**2 / np.maximum(given, DEPENDENT * variance + np.finfo(np.float64).tiny)
        # The products of a rule that always or never fires are rounding errors.
        varies = (weight_sum > HALF_A_ROW) & (weight_sum < task.total_weight - HALF_A_ROW)
        return np.where(varies, gains, 0.0)

    def replace(self, j: int, expression: Expression) -> None:
        """Put another rule in the place of one."""
        self.forget_inverse()
        self.expressions[j], self.lengths[j] = expression, length(expression)
        task = self.task
        fires = self.fires[j] = task.signals(expression)
        self.words[j] = pack(fires[np.newaxis])[0]
        self.means[j] = float(task.weight @ fires) / task.total_weight
        self.gram[j] = self.gram[:, j] = self._covariances(fires[np.newaxis])[0]
        self.right[j] = float((task.weight * task.centred) @ fires)

    def add(self, expression: Expression) -> None:
        """Add a rule."""
        self.expressions.append(expression)
        self.lengths.append(length(expression))
        self.fires = np.concatenate([self.fires, np.empty((1, self.task.n_rows), np.bool_)])
        self.words = np.concatenate([self.words, np.empty((1, self.words.shape[1]), np.uint64)])
        self.means, self.right = np.append(self.means, 0.0), np.append(self.right, 0.0)
        self.gram = np.pad(self.gram, ((0, 1), (0, 1)))
        self.replace(len(self) - 1, expression)

    def keep(self, kept: Sequence[int]) -> None:
        """Drop all other rules."""
        self.forget_inverse()
        self.expressions = [self.expressions[j] for j in kept]
        self.lengths = [self.lengths[j] for j in kept]
        indices = np.array(kept, np.intp)
        self.fires, self.words = self.fires[indices], self.words[indices]
        self.means, self.right = self.means[indices], self.right[indices]
        self.gram = self.gram[np.ix_(indices, indices)]

    def keep_signs(self) -> bool:
        """Drop the rules that constraints leave without a weight, so that a plain refit keeps the signs of the others.

        Returns True if there were any.
        """
        if (signs := self.signs) is None:
            return False
        kept = np.flatnonzero((self.weights()[1] != 0.0) | (signs == 0)).tolist()
        if len(kept) == len(self):
            return False
        self.keep(kept)
        return True

    def _penalised(self, penalty: float | None = None) -> Floats:
        return self.gram + (self.task.penalty if penalty is None else penalty) * np.eye(len(self))

    def _covariances(self, rules: Bools) -> Floats:
        """Return the covariances of rules ``(n_rules, n)`` with those of the set, times the weight of all rows."""
        weight = self.task.weight
        # Single precision: counts of rows are exact in it, and it takes half the time.
        together = (rules * weight.astype(np.float32)) @ self.fires.astype(np.float32).T
        return np.asarray(together - np.outer(rules @ weight, self.means), np.float64)
