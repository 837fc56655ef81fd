"""Models of every size: budgets, rules with weights, their circuits, and the smallest size that is nearly the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dln.circuit._circuit import Circuit, Column
from dln.circuit._graph import Graph
from dln.data._target import Target
from dln.rules._bins import Input, Inputs
from dln.rules._constants import (
    MAX_SEARCHED,
    MEMBER,
    PAGE,
    ROWS_PER_CONDITION,
    SIZE_TOLERANCE,
    SIZES,
)
from dln.rules._expression import Expression, Signals, Test
from dln.rules._local_search import polish, shrink
from dln.rules._rule_set import RuleSet
from dln.solve._products import Floats
from dln.solve._select import Budget


def searched(budget: Budget) -> Budget:
    """Return the part of a budget that is searched with care: a larger set is slow to polish."""
    return budget if budget.conditions <= MAX_SEARCHED else budget.resized(PAGE)


def n_members(budget: Budget) -> int:
    """Return how many models share a budget, to be averaged: one where rules are limited, for each would have few."""
    return 1 if budget.rules < budget.conditions else max(1, budget.conditions // MEMBER)


def member(budget: Budget) -> Budget:
    """Return the part of the budget that each of them has."""
    return budget.resized(budget.conditions // n_members(budget))


@dataclass(frozen=True, slots=True)
class SizedRules:
    """The best rules found for a budget of conditions, with weights for the standardised target."""

    budget: int
    expressions: tuple[Expression, ...]
    intercept: float
    weights: Floats

    def predict(self, inputs: Inputs) -> Floats:
        """Return the predictions for rows."""
        return weighted_sum(self.expressions, self.intercept, self.weights, inputs)

    @classmethod
    def mean(cls, members: Sequence[SizedRules]) -> SizedRules:
        """Return the model that predicts the mean of some: their rules together, each once."""
        weights: dict[Expression, float] = {}
        for one in members:
            for expression, weight in zip(one.expressions, one.weights.tolist(), strict=True):
                weights[expression] = weights.get(expression, 0.0) + weight / len(members)
        intercept = sum(one.intercept for one in members) / len(members)
        return cls(sum(one.budget for one in members), tuple(weights), intercept, np.array(list(weights.values())))


def weighted_sum(expressions: Sequence[Expression], intercept: float, weights: Floats, inputs: Inputs) -> Floats:
    """Return for every row the intercept plus the weights of the rules that fire."""
    signals = Signals(inputs)
    predicted = np.full(inputs.n_rows, intercept)
    for expression, weight in zip(expressions, weights, strict=True):
        predicted += weight * signals(expression)
    return predicted


def shrinking_path(rules: RuleSet, budget: Budget, rng: np.random.Generator) -> dict[int, RuleSet]:
    """Return sets for ever smaller budgets, each shrunk from the one before and polished; the whole set first.

    Without time they are shrunk only, which is quick: a fit that was cut short may be pruned too.
    """
    path = {budget.conditions: rules}
    for size in sorted((size for size in SIZES if size < rules.n_conditions), reverse=True):
        rules = rules.copy()
        shrink(rules, budget.resized(size))
        path[size] = rules if rules.task.stop() else polish(rules, budget.resized(size), rng, sweeps=1)
    return path


@dataclass(frozen=True, slots=True)
class Validation:
    """Losses and predictions of each size on held-out rows, for the standardised target ``(n,)``."""

    losses: dict[int, Floats]
    explained: dict[int, float]
    """R²: 1 less the loss as a share of that of the best constant."""
    predicted: dict[int, Floats]
    y: Floats
    weight: Floats

    def is_nearly(self, size: int, best: int) -> bool:
        """Return True if a size is as good as the best: within one standard error of their paired difference.

        The difference d of the losses has the weighted mean m over held-out rows, with the standard error
        √(Σ w² (d - m)²) / Σ w. Few or noisy rows leave large differences open, so it must be small besides.
        """
        difference, weight = self.losses[size] - self.losses[best], self.weight
        mean = float(weight @ difference) / float(weight.sum())
        error = float(np.linalg.norm(weight * (difference - mean))) / float(weight.sum())
        return mean <= error and self.explained[size] >= self.explained[best] - SIZE_TOLERANCE


def smallest_good(points: Sequence[SizedRules], validation: Validation | None, n_rows: int) -> int:
    """Return the index of the smallest size that is as good as the best on held-out rows; only such sizes are taken.

    Without validation each condition needs some rows.
    """
    if validation is None:
        few = max(1, n_rows // ROWS_PER_CONDITION)
        return max((i for i, point in enumerate(points) if point.budget <= few), default=0)
    explained = {i: validation.explained[p.budget] for i, p in enumerate(points) if p.budget in validation.explained}
    best = points[max(explained, key=lambda i: explained[i])].budget
    return next(i for i in explained if validation.is_nearly(points[i].budget, best))


def assemble(
    models: Sequence[SizedRules], inputs: Sequence[Input], columns: tuple[Column, ...], target: Target
) -> list[Circuit]:
    """Return the circuits of models, in the user's units; the models' weights are for the standardised target."""
    graph = Graph()

    def edge(expression: Expression) -> int:
        if isinstance(expression, Test):
            return graph.literal(inputs[expression.input].literal(expression.cutoff)) ^ expression.negated
        return graph.gate(expression.gate, edge(expression.a), edge(expression.b))

    return [
        graph.circuit(
            columns,
            target.mean + target.spread * model.intercept,
            [(edge(one), float(w) * target.spread) for one, w in zip(model.expressions, model.weights, strict=True)],
            decimals=target.decimals,
        )
        for model in models
    ]
